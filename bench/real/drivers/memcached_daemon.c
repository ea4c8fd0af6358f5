/* memcached from start to shutdown, with two worker threads: a value is set and read by each request. */
#include "daemon.h"

int memcached_main(int argc, char **argv);

int main(void) {
  static char *argv[] = {"memcached", "-l", "127.0.0.1", "-p", "18882", "-U", "0", "-t", "2", "-u", "nobody", "-m", "8",
                         "-o", "no_lru_crawler,no_lru_maintainer,no_slab_reassign,no_hashexpand", NULL};
  pthread_t t = start_clients(18882, "set k 0 0 1\r\nx\r\nget k\r\nquit\r\n", NULL);
  int status = memcached_main(15, argv);
  pthread_join(t, NULL);
  return status;
}
