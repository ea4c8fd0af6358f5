// Asynchronous requests under the names that programs with _FILE_OFFSET_BITS=64 use.
// expect: kind=data-race
// argv: early
// expect: clean
// argv: all
#include "litmus.h"
#include <aio.h>
#include <fcntl.h>

static char text[8] = "hello", got[8];

static int ended(struct aiocb64 *a)
{
  const struct aiocb64 *list[] = {a};
  while (aio_error64(a) == EINPROGRESS) aio_suspend64(list, 1, NULL);
  return (int)aio_return64(a);
}

int main(int argc, char **argv)
{
  struct aiocb64 w = {.aio_buf = text, .aio_nbytes = 5}, r = {.aio_buf = got, .aio_nbytes = 5}, *list[] = {&r};
  if (argc < 2) return 0;
  w.aio_fildes = r.aio_fildes = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
  assert(aio_write64(&w) == 0 && ended(&w) == 5);
  assert(aio_fsync64(O_SYNC, &w) == 0 && ended(&w) == 0);
  if (!strcmp(argv[1], "early")) {
    assert(aio_read64(&r) == 0);
    got[0] = 'x';
    assert(ended(&r) == 5);
    return 0;
  }
  r.aio_lio_opcode = LIO_READ;
  assert(lio_listio64(LIO_WAIT, list, 1, NULL) == 0);
  assert(aio_cancel64(r.aio_fildes, &r) == AIO_ALLDONE);
  assert(!strcmp(got, "hello"));
  return 0;
}
