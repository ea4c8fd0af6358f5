/* io.h: system calls on descriptors (fds.h). Private to the files that serve them (sysguard.c, fds.c, io.c, io_calls.c,
 * io_wait.c, io_socket.c, files.c, child.c, timers.c, wrap/futex.c). */
#ifndef HD_IO_H
#define HD_IO_H

#include "runtime/kernel/fds.h"

/* ---- queues.c ---- */

/* A message is about to be sent: whether that may notify somebody. */
bool hd__queue_was_empty(const struct hd_desc *d, long fd);
/* It was, and the queue was empty. Returns who is to be notified after the event, or NULL. */
const struct hd_notice *hd__queue_notifies(struct hd_desc *d);
void hd__queue_notify(const struct hd_notice *n, uint64_t pc);

/* ---- io.c ---- */

struct hd_item {
  struct hd_desc *d;
  uint8_t dir;
};

/* An operation on descriptors, before it is executed. */
struct hd_io {
  uint8_t kind; /* enum hd_op_kind */
  uint64_t object;
  uint16_t reads, writes;     /* facets */
  const struct hd_item *item; /* enabled when one of these is ready; none: always */
  unsigned n;
  int fd;           /* for reports */
  uint64_t timeout; /* nanoseconds, HD_FOREVER */
  uint64_t pc;
  const struct hd_interest *interest; /* epoll: whose readiness enables it */
  uint32_t stalled;                   /* disabled until there have been more changes than this */
  bool any_time;                      /* its time may be over at any moment */
  uint32_t due;                       /* ... since it nearly is: the event before which time passed, from 1 */
  /* Whether it can be executed now and since when, where that is not a matter of items. */
  bool (*can)(const struct hd_io *o, struct hd_ready *r);
  /* An operation on one descriptor: sets the fields above from what the number refers to, again when that changes. */
  void (*aim)(struct hd_io *o);
  struct hd_desc *d; /* NULL: closed */
  struct hd_item self;
  const long *a;
  long nr;
  uint8_t what;
  bool
      enters; /* it finds out whether it has to wait in a step of its own, since its descriptor may be closed */
  bool entered; /* it has found d, and waits for that */
  /* When a handler ends the wait (signal(7)): */
  bool ends;    /* it returns EINTR also with SA_RESTART */
  long partial; /* it has transferred so much already, and returns that */
  int opened;   /* FIFO: the own side, from 1, which is closed, or waits again */
};

void hd__io_begin(void);
/* Waits until it may be executed. Returns true when it timed out. The caller then executes it and calls
 * hd__io_done. */
bool hd__io_point(struct hd_io *o);
/* It was executed: reports the event, and enables the threads that can continue. */
void hd__io_done(bool late);
/* Before that: it has found nothing and changed nothing. */
void hd__io_nothing(void);
/* hd__io_point with nothing to wait for, and all channels as its object (facet masks as given). */
void hd__io_world(unsigned kind, uint16_t reads, uint16_t writes, long fd, uint64_t pc);
void hd__io_publish(struct hd_chan *c);
void hd__io_learn(const struct hd_chan *c);
/* The same for one direction. */
void hd__io_sent(struct hd_desc *d);
void hd__io_received(const struct hd_desc *d);
/* It could not be executed after all: reports an event that changed nothing. It is disabled until another operation
 * changes something. */
void hd__io_stalled(struct hd_io *o);
/* Makes a system call as the program made it. Pages that are still protected are made writable. */
long hd__plain(long nr, const long *a);
/* The same without waiting. */
long hd__nowait(long nr, const long *a);
/* A number refers to something else now, or the flags of d have changed. */
void hd__io_retarget(long fd, const struct hd_desc *d);
/* The operation had to wait although its descriptor was ready: it is repeated after other operations. */
void hd__io_retry(struct hd_io *o);
/* The other end of a connection that was not accepted yet has no descriptor to poll: something was sent to it. */
/* The running thread looks at the description without waiting. What makes some ready is not known. */
void hd__io_unwaited(const struct hd_desc *d, long nr);
void hd__io_unaccepted(const struct hd_desc *d);

/* ---- io_calls.c ---- */

/* Whether the call (read, write, recv, send, ...) is an operation of the schedule: others can observe it. */
bool hd__io_is_op(long nr, const long *a);
long hd__io_call(long nr, long *a, uint64_t pc);
/* Whether the call names a descriptor and no path. */
bool hd__io_takes(long nr, const long *a);
/* The operation concerns a closed number: what that depends on. */
void hd__io_closed(struct hd_io *o);
/* Serves a call that is no operation, or whose turn it is (sysguard.c). */
long hd__serve(long nr, long *a);

/* Whether nothing but output through streams is known of the file: their order does not matter. */
bool hd__file_unread(struct hd_desc *d);
void hd__file_read(struct hd_desc *d); /* its contents are looked at */

/* ---- io_move.c ---- */

long hd__move_call(long nr, long *a, uint64_t pc);
/* Such a call is made: others may contend for its files. */
void hd__move_touch(long nr, const long *a);
/* A FIFO was opened: waits for its other side. */
void hd__fifo_wait(long fd, bool writes, uint64_t pc);

/* ---- child.c ---- */

/* fork, vfork, clone: `uc` is what the program was doing. */
long hd__fork_call(long nr, const long *a, const ucontext_t *uc);
bool hd__child_is_op(long nr);
long hd__child_call(long nr, long *a, uint64_t pc);
long hd__exec_call(long nr, const long *a);

/* ---- files.c ---- */

void hd__file_changes(long fd); /* the contents are about to change */
/* Makes a file with that contents, which a restart undoes. Returns 0 or a negative error. */
struct stat;
long hd__file_put(const char *name, const void *bytes, uint64_t n, struct stat *st);
/* The running thread accesses these facets of a file. Returns whether that is an operation of the schedule. */
bool hd__file_contended(struct hd_touch *t, uint64_t object, uint16_t reads, uint16_t writes);
/* The address by which it is known (learned and logged as for memory) that threads contend for an object. */
uint64_t hd__contention(uint64_t object);
/* The program is about to take a port that it names itself: other processes of this search must not have it at the same
 * time. */
void hd__port_taken(void);
/* Makes the call, which makes the name: that of a socket. */
long hd__name_bound(long nr, const long *a, const char *name);
/* What was written to the file (-1: to any) will be thrown away: nothing is gained by waiting for the disk. */
bool hd__sync_is_idle(long fd);
bool hd__names_serves(long nr);
/* Whether the call has a relative path. `makes`: it may make a file. */
bool hd__names_use(long nr, const long *a, bool *makes);
long hd__names_serve(long nr, const long *a);
bool hd__names_is_op(long nr, const long *a);
long hd__names_call(long nr, const long *a, uint64_t pc);

/* ---- ipc.c ---- */

bool hd__ipc_is_op(long nr);
long hd__ipc_call(long nr, long *a, uint64_t pc);
HD_EACH void hd__ipc_begin(void); /* removes what the last execution has left */

/* ---- wrap/futex.c: futex calls made by hand ---- */

bool hd__futex_is_op(const long *a);
long hd__futex_call(const long *a, uint64_t pc);

/* ---- timers.c: alarm, setitimer, timer_create ---- */

bool hd__alarm_serves(long nr);
long hd__alarm_call(long nr, const long *a);
long hd__tid(const struct hd_thread *t);
int hd__thread_of_tid(long tid); /* in pids.c; -1: none */

/* ---- io_wait.c: poll, select, epoll, timers ---- */

bool hd__wait_is_op(long nr, const long *a);
long hd__wait_call(long nr, long *a, uint64_t pc);
long hd__timerfd_create(const long *a);
long hd__signalfd_create(long nr, const long *a);
/* Fills the buffer with what is pending for the running thread; -EAGAIN when nothing is. */
long hd__signalfd_read(const struct hd_desc *d, const long *a);
void hd__signalfds_update(void); /* before they are polled */

/* ---- io_socket.c ---- */

bool hd__socket_is_op(long nr, const long *a);
long hd__socket_call(long nr, long *a, uint64_t pc);
long hd__socket_create(const long *a);
long hd__socket_pair(const long *a);
long hd__socket_option(long *a);
long hd__socket_query(const long *a);
/* Replaces the number of this process by the one that it knows. */
struct ucred;
void hd__socket_credentials(struct ucred *c);
/* After a send: waits until the kernel has delivered it to the other end, if that is in this process. */
void hd__socket_settle(struct hd_desc *d, long sent, int waiting);
/* Something is about to be sent: whether the program is its own client. */
void hd__socket_sends(const struct hd_desc *d, long nr, const long *a);
int hd__socket_waiting(const struct hd_desc *d); /* bytes that the other end has not read */

#endif
