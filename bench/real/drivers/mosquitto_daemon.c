/* mosquitto from start to shutdown: each client connects to the broker and takes its leave. */
#include "daemon.h"

int mosquitto_main(int argc, char **argv);

int main(void) {
  static char *argv[] = {"mosquitto", "-c", "mosquitto.conf", NULL};
  FILE *f = fopen("mosquitto.conf", "w");
  fputs("listener 18885 127.0.0.1\nallow_anonymous true\nlog_dest none\nuser nobody\n", f);
  fclose(f);
  pthread_t t = start_clients(18885, "\x10\x0c\0\4MQTT\4\2\0\x3c\0\0\xe0\0", NULL);
  int status = mosquitto_main(3, argv);
  pthread_join(t, NULL);
  return status;
}
