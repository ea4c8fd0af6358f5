/* queues.c: notification of POSIX message queues (mq_notify). Runs in the tested process.
 *
 * The kernel never learns of a registration: its signals would come from outside, and glibc's threads would be its own. A
 * message that arrives at an empty queue notifies whoever has registered, once. If a thread waits for a message, it gets this
 * one, and nobody is notified; whether it waits already, or is about to, is a choice. */
#include <errno.h>
#include <mqueue.h>
#include <signal.h>

#include "runtime/core/core.h"
#include "runtime/kernel/io.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/signal.h"
#include "runtime/wrap/wrap.h"

struct hd_notice {
  struct sigevent event;
};

static long messages(long fd) {
  struct mq_attr a;
  return hd_sys3(SYS_mq_getsetattr, fd, 0, &a) < 0 ? -1 : a.mq_curmsgs;
}

bool hd__queue_was_empty(const struct hd_desc *d, long fd) {
  return d && d->chan->notice && messages(fd) == 0;
}

const struct hd_notice *hd__queue_notifies(struct hd_desc *d) {
  struct hd_notice *n = d->chan->notice;
  bool waits = false;
  for (unsigned i = 0; i < rt.nthreads; i++) {
    const struct hd_thread *t = &rt.thread[i];
    waits |= t->state == HD_T_BLOCKED && t->sys.io && t->sys.io->d && t->sys.io->d->chan == d->chan;
  }
  if (waits && hd__choose(2)) return NULL;
  d->chan->notice = NULL;
  return n;
}

static void *hd_rt_notify(void *arg) {
  const struct sigevent *e = &((struct hd_notice *)arg)->event;
  e->sigev_notify_function(e->sigev_value);
  return NULL;
}

void hd__queue_notify(const struct hd_notice *n, uint64_t pc) {
  const struct sigevent *e = &n->event;
  pthread_t thread;
  if (e->sigev_notify == SIGEV_SIGNAL) {
    siginfo_t info = hd__signal_info(e->sigev_signo, SI_MESGQ);
    info.si_value = e->sigev_value;
    hd__signal_send(NULL, &info, pc);
  } else if (e->sigev_notify == SIGEV_THREAD) {
    hd__start_detached(&thread, hd_rt_notify, (void *)n, pc);
    hd__thread_find(thread)->sig.mask = ~0ull;
  }
}

static int registers(long fd, const struct sigevent *e, uint64_t pc) {
  struct hd_desc *d = hd__fd(fd);
  if (e) hd__access_range((uint64_t)e, sizeof *e, 0, pc);
  if (!d || d->kind != HD_IO_QUEUE) return EBADF;
  if (e && e->sigev_notify != SIGEV_NONE && e->sigev_notify != SIGEV_SIGNAL &&
      e->sigev_notify != SIGEV_THREAD)
    return EINVAL;
  if (e && e->sigev_notify == SIGEV_SIGNAL && (e->sigev_signo < 1 || e->sigev_signo > 64)) return EINVAL;
  struct hd_io o = {.kind = HD_OP_IOCHANGE,
                    .object = hd__object(d->chan),
                    .writes = 0xffff,
                    .fd = (int)fd,
                    .timeout = HD_FOREVER,
                    .pc = pc};
  hd__io_point(&o);
  bool busy = e && d->chan->notice;
  if (!busy) d->chan->notice = NULL;
  if (e && !busy) {
    d->chan->notice = hd_arena_get(&rt.arena, sizeof *d->chan->notice);
    HD_BUG_ON(!d->chan->notice);
    d->chan->notice->event = *e;
  }
  hd__io_done(false);
  return busy ? EBUSY : 0;
}

HD_EXPORT int mq_notify(mqd_t q, const struct sigevent *e) {
  if (!hot.active) return real_mq_notify(q, e);
  int error = registers(q, e, HD_CALLER);
  if (!error) return 0;
  errno = error;
  return -1;
}
