/* io.h: descriptors and what they stand for, private to the files of this folder that serve system calls
 * (sysguard.c, fds.c, io.c, io_wait.c, io_socket.c).
 *
 * Words. An open *description* is what the kernel calls an open file: what dup shares, and what is ready or
 * not. A *channel* is what descriptions meet in: a pipe has two, a connection has two, an eventfd one. Its
 * name is the object of operations; a name depends on what the creating thread did, not on the others. Of a
 * channel an operation reads and writes *facets*: each direction of a connection is one, so is the contents
 * of a file, and the offset of one of its descriptions. */
#ifndef HD_IO_H
#define HD_IO_H

#include "runtime/core/thread.h"

#define HD_FDS 1024
#define HD_FD_OWN 900 /* from here on: the runtime's own */

enum hd_io_kind {
  HD_IO_OTHER, /* devices and what else never waits, or is not looked at */
  HD_IO_FILE,  /* a regular file */
  HD_IO_PIPE,
  HD_IO_SOCKET,
  HD_IO_EVENT,
  HD_IO_TIMER,
  HD_IO_EPOLL,
  HD_IO_CHILD, /* a child process */
};

struct hd_interest {
  struct hd_desc *d;
  uint32_t events; /* EPOLL* */
  struct hd_interest *next;
};

/* Which threads touched which facets of a file, in this execution: number + 1, or UINT16_MAX for several. */
struct hd_touch {
  uint32_t epoch;
  uint16_t reader[16], writer[16];
};

/* Descriptions at one epoll descriptor are one object from then on: it reports them in the order in which they
 * became ready, so the order of writes to any two of them matters. */
struct hd_chan {
  uint64_t object; /* kind << 56 | who made it and how many before */
  struct hd_vc vc; /* what writers published */
  struct hd_desc *end[2];
  struct hd_chan *group; /* the epoll it is registered at */
  struct hd_chan *next;  /* waiting to be accepted */
  uint64_t dev, ino;     /* of a file */
  bool created, saved;   /* by this execution; its contents are in the log */
  struct hd_touch touch;
};

static inline uint64_t hd__object(const struct hd_chan *c) { return c->group ? c->group->object : c->object; }

/* Whether reading (0) or writing (1) would not wait, and the events that last changed it, counted from 1. */
struct hd_ready {
  bool on;
  uint32_t enabler, disabler, enabler_before;
};

struct hd_desc {
  struct hd_chan *chan;
  uint8_t kind;
  bool inside;    /* nobody outside this process can make it ready */
  bool polled;    /* its readiness is kept up to date */
  bool looked;    /* it has been looked up */
  bool idle_only; /* outside, and looked at only when no thread can run */
  bool before;    /* from before main */
  bool inet, stream, listening;
  bool unaccepted;  /* the end that accept will return */
  bool broken;      /* nobody is left to read what is written */
  uint16_t in, out; /* facets that reading and writing change */
  int fd;           /* one that refers to it */
  unsigned refs;
  struct hd_ready ready[2];
  uint64_t limit[2];            /* SO_RCVTIMEO and SO_SNDTIMEO, nanoseconds, 0: none */
  struct hd_interest *interest; /* epoll: what it waits for */
  struct hd_chan *queue;        /* listening: connections made and not accepted, first to last */
  uint64_t at, every;           /* timer: virtual time of the next expiration (0: none), period */
  int clock;                    /* timer */
  bool late;                    /* timer: time passed to make it ready */
  struct hd_desc *next;         /* all of this execution */
};

/* ---- fds.c ---- */

void hd__fds_init(void);
void hd__fds_begin(void); /* closes what the last execution opened, puts back what it replaced */
/* The description a descriptor stands for; NULL for none. */
struct hd_desc *hd__fd(long fd);
extern struct hd_desc *hd__descs;
extern bool hd__descs_new; /* one of them has not been looked at */
struct hd_desc *hd__desc_new(unsigned kind, struct hd_chan *c);
struct hd_chan *hd__chan_new(unsigned kind);
/* The execution has a new descriptor; returns its number, which may be another one. */
long hd__fd_opened(long fd, struct hd_desc *d);
long hd__fd_dup(long nr, const long *a);
long hd__fd_close(long fd);
void hd__fd_close_range(unsigned from, unsigned to);
void hd__fd_moved(long fd); /* the offset changes */
bool hd__fd_random(long fd);
bool hd__fd_before(long fd);
void hd__fd_is_random(long fd);

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
  uint32_t stalled; /* not before the state of the world has changed since this number of changes */
};

void hd__io_begin(void);
/* Waits until it may be executed. Returns true when its time was over before. The caller executes it then, and
 * calls hd__io_done. */
bool hd__io_point(struct hd_io *o);
/* It was executed: tells the strategy, and finds out who can go on. */
void hd__io_done(bool late);
/* hd__io_point with nothing to wait for, and the whole world for an object (facet masks as given). */
void hd__io_world(unsigned kind, uint16_t reads, uint16_t writes, long fd, uint64_t pc);
void hd__io_publish(struct hd_chan *c);
void hd__io_learn(const struct hd_chan *c);
/* It could not be done after all: an event that changed nothing; it waits until somebody changes something. */
void hd__io_stalled(struct hd_io *o);
/* A system call as the program made it; pages that are still read-only are made writable. */
long hd__plain(long nr, const long *a);
/* The same without waiting. */
long hd__nowait(long nr, const long *a);
/* read, write, recv, send, ...: what system call and which descriptor. Returns false when it is not one of
 * these, or not one that others can notice. */
bool hd__io_is_op(long nr, const long *a);
long hd__io_call(long nr, long *a, uint64_t pc);

/* ---- child.c ---- */

/* fork, vfork, clone: `uc` is what the program was doing. */
long hd__fork_call(long nr, const long *a, const ucontext_t *uc);
bool hd__child_is_op(long nr);
long hd__child_call(long nr, long *a, uint64_t pc);
long hd__exec_call(long nr, const long *a);

/* ---- files.c ---- */

void hd__file_changes(long fd); /* the contents are about to change */
/* The running thread touches these facets of a file: whether that is an operation of the schedule. */
bool hd__file_contended(struct hd_touch *t, uint64_t object, uint16_t reads, uint16_t writes);
bool hd__names_serves(long nr);
long hd__names_serve(long nr, const long *a);
bool hd__names_is_op(long nr, const long *a);
long hd__names_call(long nr, const long *a, uint64_t pc);

/* ---- wrap/futex.c: futex calls made by hand ---- */

bool hd__futex_is_op(const long *a);
long hd__futex_call(const long *a, uint64_t pc);

/* ---- timers.c: alarm, setitimer, timer_create ---- */

bool hd__alarm_serves(long nr);
long hd__alarm_call(long nr, const long *a);
long hd__tid(const struct hd_thread *t);
int hd__thread_of_tid(long tid); /* sysguard.c; -1: none */

/* ---- io_wait.c: poll, select, epoll, timers ---- */

bool hd__wait_is_op(long nr);
long hd__wait_call(long nr, long *a, uint64_t pc);
long hd__timerfd_create(const long *a);
long hd__timerfd_get(const long *a);
/* ---- io_socket.c ---- */

bool hd__socket_is_op(long nr);
long hd__socket_call(long nr, long *a, uint64_t pc);
long hd__socket_create(const long *a);
long hd__socket_pair(const long *a);
long hd__socket_option(long *a);
/* After something was sent: the kernel has delivered it to the other end, if that is ours. */
void hd__socket_settle(struct hd_desc *d, long sent, int waiting);
int hd__socket_waiting(const struct hd_desc *d); /* bytes the other end has not read */

#endif
