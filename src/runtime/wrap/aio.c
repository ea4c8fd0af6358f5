/* aio.c: asynchronous input and output. Runs in the tested process.
 *
 * Every request is a detached thread of the schedule that makes the transfer, records its result under a mutex and notifies.
 * As in glibc, requests of one descriptor are served in the order in which they were made. A buffer that is used before its
 * request is over is a data race. */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "runtime/core/core.h"
#include "runtime/core/spin.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

enum { SYNC = LIO_NOP + 100 };

/* Several requests with one notification (lio_listio). */
struct batch {
  struct sigevent event;
  unsigned left;
};

struct request {
  struct aiocb *cb, as_made;
  int op;
  bool done;
  uint64_t pc;
  struct batch *batch;
  struct request *before; /* the last one of the same descriptor */
  struct request *next;   /* all of this execution */
};

static HD_EXEC pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static HD_EXEC pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static HD_EXEC struct request *all;
static HD_EXEC uint32_t epoch;

static void *get(size_t n) {
  void *p = hd_arena_get(&rt.arena, n);
  HD_BUG_ON(!p);
  hd__zero(p, n);
  return p;
}

static void notify(const struct sigevent *e) {
  if (e->sigev_notify == SIGEV_SIGNAL && e->sigev_signo)
    sigqueue(getpid(), e->sigev_signo, e->sigev_value);
  else if (e->sigev_notify == SIGEV_THREAD)
    e->sigev_notify_function(e->sigev_value);
}

static ssize_t transfer(const struct request *r) {
  const struct aiocb *cb = &r->as_made;
  void *buf = (void *)cb->aio_buf;
  if (r->op == SYNC) return fsync(cb->aio_fildes);
  if (r->op == LIO_READ) return pread(cb->aio_fildes, buf, cb->aio_nbytes, cb->aio_offset);
  if (fcntl(cb->aio_fildes, F_GETFL) & O_APPEND) return write(cb->aio_fildes, buf, cb->aio_nbytes);
  return pwrite(cb->aio_fildes, buf, cb->aio_nbytes, cb->aio_offset);
}

static void *hd_rt_aio(void *arg) {
  struct request *r = arg;
  uint64_t pc = r->pc;
  struct sigevent event = r->as_made.aio_sigevent;
  if (r->before) {
    hd__mutex_lock(&lock, pc);
    while (!r->before->done) hd__cond_wait(&changed, &lock, 0, NULL, pc);
    hd__mutex_unlock(&lock, pc);
  }
  ssize_t result = transfer(r);
  int error = result < 0 ? errno : 0;
  hd__mutex_lock(&lock, pc);
  r->cb->__return_value = result;
  r->cb->__error_code = error;
  r->done = true;
  bool last = r->batch && --r->batch->left == 0;
  hd__cond_broadcast(&changed, pc);
  hd__mutex_unlock(&lock, pc);
  hd__spin_word[HD_POLLS_AIO]++;
  notify(&event);
  if (last) notify(&r->batch->event);
  return NULL;
}

static void begin(void) {
  if (epoch == rt.epoch) return;
  epoch = rt.epoch;
  all = NULL;
  lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

static int submit(struct aiocb *cb, int op, struct batch *batch, uint64_t pc) {
  pthread_attr_t attr;
  pthread_t thread;
  begin();
  hd__access_range((uint64_t)cb, sizeof *cb, 0, pc);
  if (op != SYNC && (cb->aio_offset < 0 || cb->aio_reqprio < 0)) {
    errno = EINVAL;
    return -1;
  }
  struct request *r = get(sizeof *r), *b = all;
  while (b && (b->as_made.aio_fildes != cb->aio_fildes || b->done)) b = b->next;
  *r = (struct request){
      .cb = cb, .as_made = *cb, .op = op, .pc = pc, .batch = batch, .before = b, .next = all};
  all = r;
  cb->__error_code = EINPROGRESS;
  cb->__return_value = 0;
  pthread_attr_init(&attr);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  return hd__thread_create(&thread, &attr, hd_rt_aio, r, pc);
}

static int status(const struct aiocb *cb, uint64_t pc) {
  begin();
  hd__mutex_lock(&lock, pc);
  int e = cb->__error_code;
  hd__mutex_unlock(&lock, pc);
  return e;
}

/* pre: the lock is held. */
static unsigned under_way(const struct aiocb *const *list, int n) {
  unsigned count = 0;
  for (int i = 0; i < n; i++)
    if (list[i] && list[i]->aio_lio_opcode != LIO_NOP) count += list[i]->__error_code == EINPROGRESS;
  return count;
}

static int suspend(const struct aiocb *const *list, int n, const struct timespec *limit, uint64_t pc) {
  struct timespec at, *until = NULL;
  unsigned requests = 0;
  int e = 0;
  begin();
  if (limit) {
    uint64_t ns = hd__time() + hd__clock_zero(CLOCK_MONOTONIC) + (uint64_t)limit->tv_sec * 1000000000ull +
                  (uint64_t)limit->tv_nsec;
    at = (struct timespec){(time_t)(ns / 1000000000ull), (long)(ns % 1000000000ull)};
    until = &at;
  }
  for (int i = 0; i < n; i++) requests += list[i] != NULL;
  hd__mutex_lock(&lock, pc);
  for (bool over = false; !over && !e;) {
    over = !requests;
    for (int i = 0; i < n; i++) over |= list[i] && list[i]->__error_code != EINPROGRESS;
    if (!over) e = hd__cond_wait(&changed, &lock, CLOCK_MONOTONIC, until, pc);
  }
  hd__mutex_unlock(&lock, pc);
  if (!e) return 0;
  errno = EAGAIN;
  return -1;
}

static int list_requests(int mode, struct aiocb *const *list, int n, const struct sigevent *e, uint64_t pc) {
  struct batch *batch = get(sizeof *batch);
  bool failed = false;
  if (mode != LIO_WAIT && mode != LIO_NOWAIT) {
    errno = EINVAL;
    return -1;
  }
  begin();
  if (e && mode == LIO_NOWAIT) batch->event = *e;
  if (!e || mode == LIO_WAIT) batch->event.sigev_notify = SIGEV_NONE;
  for (int i = 0; i < n; i++) batch->left += list[i] && list[i]->aio_lio_opcode != LIO_NOP;
  for (int i = 0; i < n; i++)
    if (list[i] && list[i]->aio_lio_opcode != LIO_NOP &&
        submit(list[i], list[i]->aio_lio_opcode, batch, pc)) {
      failed = true;
      batch->left--;
    }
  if (mode == LIO_WAIT) {
    hd__mutex_lock(&lock, pc);
    while (under_way((const struct aiocb *const *)list, n)) hd__cond_wait(&changed, &lock, 0, NULL, pc);
    for (int i = 0; i < n; i++)
      failed |= list[i] && list[i]->aio_lio_opcode != LIO_NOP && list[i]->__error_code;
    hd__mutex_unlock(&lock, pc);
  }
  if (!failed) return 0;
  errno = EIO;
  return -1;
}

HD_EXPORT int aio_read(struct aiocb *cb) {
  return hot.active ? submit(cb, LIO_READ, NULL, HD_CALLER) : real_aio_read(cb);
}

HD_EXPORT int aio_write(struct aiocb *cb) {
  return hot.active ? submit(cb, LIO_WRITE, NULL, HD_CALLER) : real_aio_write(cb);
}

HD_EXPORT int aio_fsync(int how, struct aiocb *cb) {
  return hot.active ? submit(cb, SYNC, NULL, HD_CALLER) : real_aio_fsync(how, cb);
}

HD_EXPORT int lio_listio(int mode, struct aiocb *const list[restrict], int n, struct sigevent *restrict e) {
  return hot.active ? list_requests(mode, list, n, e, HD_CALLER) : real_lio_listio(mode, list, n, e);
}

HD_EXPORT int aio_suspend(const struct aiocb *const list[], int n, const struct timespec *restrict limit) {
  return hot.active ? suspend(list, n, limit, HD_CALLER) : real_aio_suspend(list, n, limit);
}

static int ask(const struct aiocb *cb, uint64_t pc) {
  uint32_t *over = &hd__spin_word[HD_POLLS_AIO];
  hd__spin_check((uint64_t)over, HD_SPIN_OTHER, pc); /* a loop may wait for the result */
  int e = status(cb, pc);
  hd__spin_read((uint64_t)over, sizeof *over);
  return e;
}

int HD_IN(aio_error)(const struct aiocb *cb);
int HD_IN(aio_error)(const struct aiocb *cb) { return hot.active ? ask(cb, HD_CALLER) : real_aio_error(cb); }

/* The name of programs with _FILE_OFFSET_BITS=64 (large.c has those of the other functions). */
int HD_IN(aio_error64)(const struct aiocb64 *cb);
int HD_IN(aio_error64)(const struct aiocb64 *cb) {
  const struct aiocb *same = (const struct aiocb *)cb;
  return hot.active ? ask(same, HD_CALLER) : real_aio_error(same);
}

HD_EXPORT ssize_t aio_return(struct aiocb *cb) {
  if (!hot.active) return real_aio_return(cb);
  return status(cb, HD_CALLER) == EINPROGRESS ? 0 : cb->__return_value;
}

/* A transfer that was requested is made. */
HD_EXPORT int aio_cancel(int fd, struct aiocb *cb) {
  if (!hot.active) return real_aio_cancel(fd, cb);
  begin();
  bool left = false;
  hd__mutex_lock(&lock, HD_CALLER);
  for (const struct request *r = all; r; r = r->next)
    left |= r->as_made.aio_fildes == fd && (!cb || r->cb == cb) && !r->done;
  hd__mutex_unlock(&lock, HD_CALLER);
  return left ? AIO_NOTCANCELED : AIO_ALLDONE;
}
