/* microsocks, a thread for each client: greetings that ask for a method that it does not offer. It has no orderly shutdown. */
#define SHUTDOWN exit(0)
#include "daemon.h"

int microsocks_main(int argc, char **argv);

int main(void) {
  static char *argv[] = {"microsocks", "-i", "127.0.0.1", "-p", "18884", NULL};
  start_clients(18884, "\5\1\2", NULL);
  return microsocks_main(5, argv);
}
