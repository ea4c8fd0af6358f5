/* htslib's thread pool: results come in order, a queue is shut down while jobs are in it. */
#include <htslib/hts_log.h>
#include <htslib/thread_pool.h>
#include <stdlib.h>
#include <string.h>

void hts_log(enum htsLogLevel severity, const char *context, const char *format, ...) {
  (void)severity, (void)context, (void)format;
}

static void *twice(void *arg) {
  int *n = arg;
  *n *= 2;
  return n;
}

int main(int argc, char **argv) {
  hts_tpool *pool = hts_tpool_init(2);
  hts_tpool_process *queue = hts_tpool_process_init(pool, 2, 0);
  int cancel = argc > 1 && !strcmp(argv[1], "cancel");
  for (int i = 0; i < 3; i++) {
    int *n = malloc(sizeof *n);
    *n = i;
    if (hts_tpool_dispatch2(pool, queue, twice, n, cancel ? 1 : 0)) free(n);
    if (cancel || i < 1) continue;
    hts_tpool_result *r = hts_tpool_next_result_wait(queue);
    if (*(int *)hts_tpool_result_data(r) != 2 * (i - 1)) abort();
    hts_tpool_delete_result(r, 1);
  }
  if (!cancel && hts_tpool_process_flush(queue)) abort();
  hts_tpool_process_destroy(queue);
  hts_tpool_destroy(pool);
  return 0;
}
