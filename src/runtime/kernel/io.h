/* io.h: descriptors and what they refer to. Private to the files that serve system calls (sysguard.c, fds.c, io.c,
 * io_calls.c, io_wait.c, io_socket.c, files.c, child.c, timers.c, wrap/futex.c).
 *
 * Terms. An open *description* is what the kernel calls an open file: what dup shares, and what is ready or not. A
 * *channel* is what descriptions share: a pipe has two descriptions, a connection has two, an eventfd one. Its name
 * is the object of operations; a name depends on what the creating thread did, not on other threads. An operation
 * on a channel reads and writes *facets* of it: each direction of a connection is one, so are the contents of a
 * file, and the offset of one of its descriptions. */
#ifndef HD_IO_H
#define HD_IO_H

#include "runtime/core/thread.h"

/* Facets of a file; between these are those of its descriptions: offsets, and whether they are open (HD_IO_LIFE). */
#define HD_FACET_CONTENTS 1
#define HD_FACET_STATUS 0x8000 /* names, mode, owner */

#define HD_FDS 1024
#define HD_FD_OWN 900 /* from here on: the runtime's own */

enum hd_io_kind {
  HD_IO_OTHER, /* devices and others that never wait, or are not observed */
  HD_IO_FILE,  /* a regular file */
  HD_IO_PIPE,
  HD_IO_SOCKET,
  HD_IO_EVENT,
  HD_IO_TIMER,
  HD_IO_EPOLL,
  HD_IO_CHILD,  /* a child process */
  HD_IO_DEVICE, /* what may wait and is not listed above: terminals, inotify, io_uring */
  HD_IO_SIGNAL, /* a signalfd */
  HD_IO_QUEUE,  /* a POSIX message queue */
};

struct hd_interest {
  struct hd_desc *d;
  uint32_t events; /* EPOLL* */
  struct hd_interest *next;
};

/* Which threads accessed which facets of a file, in this execution: number + 1, or UINT16_MAX for several. */
struct hd_touch {
  uint32_t epoch;
  uint16_t reader[16], writer[16];
};

/* Descriptions registered at one epoll descriptor are one object from then on: epoll reports them in the order in
 * which they became ready, so the order of writes to any two of them matters. */
struct hd_chan {
  uint64_t object;   /* kind << 56 | creating thread and how many it made before */
  struct hd_vc vc;   /* published by writers ... */
  struct hd_vc back; /* ... of the other direction of a connection */
  struct hd_desc *end[2];
  struct hd_chan *group; /* the epoll it is registered at */
  struct hd_chan *next;  /* waiting to be accepted */
  uint64_t dev, ino;     /* of a file */
  bool streamed;         /* output went there by streams */
  bool closed;           /* a description of it was closed beside other threads */
  bool created, saved;   /* created by this execution; its contents are in the undo log */
  struct hd_file_lock *locks;
  struct hd_notice *notice; /* message queue: who is notified (queues.c) */
  uint32_t came[2];         /* FIFO: when a reader, a writer opened it, an event counted from 1 */
  struct hd_touch touch;
};

static inline uint64_t hd__object(const struct hd_chan *c) { return c->group ? c->group->object : c->object; }

/* Whether reading (0) or writing (1) would succeed without waiting, and the events that last changed this, counted
 * from 1. */
struct hd_ready {
  bool on;
  uint32_t enabler, disabler, enabler_before;
};

/* Who used a number or a description, and who closed it or changed its flags. */
struct hd_life {
  struct hd_vc users;        /* when each thread did last */
  uint32_t changer, changed; /* the thread, and its clock; 0: nobody did */
};

struct hd_desc {
  struct hd_chan *chan;
  uint8_t kind;
  bool inside;    /* no other process can make it ready */
  bool polled;    /* its readiness is kept up to date */
  bool looked;    /* its readiness has been read */
  bool idle_only; /* outside, and polled only when no thread can run */
  bool before;    /* from before main */
  bool inet, stream, listening;
  bool unaccepted;  /* the end that accept will return */
  bool broken;      /* no reader is left */
  bool shut;        /* this end was shut down for writing */
  uint16_t in, out; /* facets that reading and writing change */
  uint16_t life;    /* facet of HD_IO_LIFE: whether it is open, and its flags */
  struct hd_life flags;
  int fd; /* a descriptor that refers to it */
  unsigned refs;
  struct hd_ready ready[2];
  uint64_t limit[2];            /* SO_RCVTIMEO and SO_SNDTIMEO, nanoseconds, 0: none */
  struct hd_interest *interest; /* epoll: what it waits for */
  struct hd_chan *queue;        /* listening: connections made and not accepted, first to last */
  uint64_t at, every;           /* timer: virtual time of the next expiration (0: none), period */
  int clock;                    /* timer */
  bool late;                    /* timer: time passed to make it ready */
  uint32_t set;                 /* timer: the event that set it, counted from 1 */
  uint64_t signals;             /* signalfd: those it reports, one bit each, from 1 */
  bool signalled;               /* one of them is pending */
  struct hd_desc *next;         /* all of this execution */
};

/* ---- fds.c ---- */

void hd__fds_init(void);
void hd__fds_begin(void); /* closes what the last execution opened, restores what it replaced */
/* The description that a descriptor refers to, or NULL. */
struct hd_desc *hd__fd(long fd);
extern struct hd_desc *hd__descs;
extern bool hd__descs_new; /* one of them has not been polled yet */
struct hd_desc *hd__desc_new(unsigned kind, struct hd_chan *c);
struct hd_chan *hd__chan_new(unsigned kind);
/* What a closed number referred to last in this execution, or NULL. */
struct hd_desc *hd__fd_last(long fd);
/* The running thread uses the number now. A thread that cannot know who opened it may find another description there. */
void hd__fd_reached(long fd);
/* The running thread uses the number, closes it, or changes the flags of the description (NULL: none). Returns whether
 * it contends for them with a thread that nothing orders, in some execution: then this is an operation. */
enum hd_use { HD_USE_PLAIN, HD_USE_LOOK, HD_USE_ENDS, HD_USE_FLAGS };
bool hd__fd_used(long fd, struct hd_desc *d, enum hd_use use);
/* Whether threads contend for them. */
bool hd__fd_contended(long fd, const struct hd_desc *d);
/* A number that is not open was used: from now on it matters who gets which number. */
void hd__fd_stale(void);
/* Whether it does: descriptors get the lowest free number, and opening and closing are operations. */
bool hd__fds_lowest(void);
/* Whether threads open and close descriptors and nothing orders them, and the orders are explored: then these are
 * operations. */
bool hd__fds_shared(void);
/* A call is about to open n descriptors: takes their numbers. */
void hd__fd_reserve(unsigned n, uint64_t pc);
/* At the end of a call: numbers that it closed, or reserved without using them, become free. */
void hd__fds_release(void);
static inline void hd__release_fds(void) {
  if (HD_UNLIKELY(rt.cur->sys.nreserved || rt.cur->sys.closing)) hd__fds_release();
}
/* A description is kept open by a call that waits for it, whatever happens to its number. Returns the number that the
 * call uses meanwhile, and closes in the end. */
long hd__fd_keep(struct hd_desc *d, long fd);
/* The execution has opened a descriptor; returns its number, which may change. */
long hd__fd_opened(long fd, struct hd_desc *d);
/* A message with the descriptor is about to be sent; false: it is not followed. The last n were not sent after all. */
bool hd__fd_send(long fd);
void hd__fd_unsend(unsigned n);
/* It was received. Returns its number, which may change. `peeked`: the message can be received again. */
long hd__fd_received(long fd, bool peeked);
long hd__fd_dup(long nr, const long *a);
long hd__fd_close(long fd);
void hd__fd_close_range(unsigned from, unsigned to);
void hd__fd_moved(long fd); /* the offset changes */
bool hd__fd_random(long fd);
bool hd__fd_before(long fd);
bool hd__fd_hidden(long fd); /* it is the runtime's */
void hd__fd_is_random(long fd);

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
  bool due;                           /* ... since it nearly is */
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
/* The running thread accesses these facets of a file. Returns whether that is an operation of the schedule. */
bool hd__file_contended(struct hd_touch *t, uint64_t object, uint16_t reads, uint16_t writes);
/* The address by which it is known (learned and logged as for memory) that threads contend for an object. */
uint64_t hd__contention(uint64_t object);
bool hd__names_serves(long nr);
/* Whether the call has a relative path. `makes`: it may make a file. */
bool hd__names_use(long nr, const long *a, bool *makes);
long hd__names_serve(long nr, const long *a);
bool hd__names_is_op(long nr, const long *a);
long hd__names_call(long nr, const long *a, uint64_t pc);

/* ---- ipc.c ---- */

bool hd__ipc_is_op(long nr);
long hd__ipc_call(long nr, long *a, uint64_t pc);
void hd__ipc_begin(void); /* removes what the last execution has left */

/* ---- wrap/futex.c: futex calls made by hand ---- */

bool hd__futex_is_op(const long *a);
long hd__futex_call(const long *a, uint64_t pc);

/* ---- timers.c: alarm, setitimer, timer_create ---- */

bool hd__alarm_serves(long nr);
long hd__alarm_call(long nr, const long *a);
long hd__tid(const struct hd_thread *t);
int hd__thread_of_tid(long tid); /* in pids.c; -1: none */

/* ---- io_wait.c: poll, select, epoll, timers ---- */

bool hd__wait_is_op(long nr);
long hd__wait_call(long nr, long *a, uint64_t pc);
long hd__timerfd_create(const long *a);
long hd__signalfd_create(long nr, const long *a);
/* Fills the buffer with what is pending for the running thread; -EAGAIN when nothing is. */
long hd__signalfd_read(const struct hd_desc *d, const long *a);
void hd__signalfds_update(void); /* before they are polled */

/* ---- io_socket.c ---- */

bool hd__socket_is_op(long nr);
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
int hd__socket_waiting(const struct hd_desc *d); /* bytes that the other end has not read */

#endif
