// Asynchronous requests are threads of the schedule; a buffer that is used before its request is over is a data race.
// expect: kind=data-race
// argv: early
// expect: clean executions=3000
// argv: all
#include <aio.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "litmus.h"

static char text[8] = "hello", got[8];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int notified;
static struct aiocb w, r;

static void notify(union sigval v)
{
  pthread_mutex_lock(&lock);
  notified = v.sival_int;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
  int fd = memfd_create("aio", 0);
  struct aiocb *list[] = {&r};
  const struct aiocb *wait[] = {&w};
  if (argc < 2 || fd < 0) abort();
  w = r = (struct aiocb){.aio_fildes = fd, .aio_buf = text, .aio_nbytes = 5};
  w.aio_sigevent.sigev_notify = r.aio_sigevent.sigev_notify = SIGEV_NONE;
  r.aio_buf = got;
  if (aio_write(&w)) abort();
  while (aio_error(&w) == EINPROGRESS) aio_suspend(wait, 1, NULL);
  assert(aio_return(&w) == 5 && aio_cancel(fd, &w) == AIO_ALLDONE);
  if (argv[1][0] == 'e') {
    if (aio_read(&r)) abort();
    return got[0] == 'x'; /* too early */
  }
  r.aio_lio_opcode = LIO_READ;
  if (lio_listio(LIO_WAIT, list, 1, NULL)) abort();
  assert(aio_return(&r) == 5 && !strcmp(got, "hello"));
  w.aio_sigevent = (struct sigevent){
      .sigev_notify = SIGEV_THREAD, .sigev_notify_function = notify, .sigev_value.sival_int = 7};
  if (aio_fsync(O_SYNC, &w)) abort();
  pthread_mutex_lock(&lock);
  while (!notified) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  assert(notified == 7);
  return 0;
}
