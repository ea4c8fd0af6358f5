/* fds.h: descriptors and what they refer to (fds.c). Private to the files that serve system calls; part of io.h.
 *
 * Terms. An open *description* is what the kernel calls an open file: what dup shares, and what is ready or not. A
 * *channel* is what descriptions share: a pipe has two descriptions, a connection has two, an eventfd one. Its name
 * is the object of operations; a name depends on what the creating thread did, not on other threads. An operation
 * on a channel reads and writes *facets* of it: each direction of a connection is one, so are the contents of a
 * file, and the offset of one of its descriptions. */
#ifndef HD_FDS_H
#define HD_FDS_H

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
  bool passed;    /* a child process has it, too */
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
  int owner;                    /* thread that gets its signals (F_OWNER_TID), 0: none in particular */
  struct hd_desc *next;         /* all of this execution */
};

/* ---- functions ---- */

void hd__fds_init(void);
void hd__fds_begin(void); /* closes what the last execution opened, restores what it replaced */
/* The description that a descriptor refers to, or NULL. */
struct hd_desc *hd__fd(long fd);
extern struct hd_desc *hd__descs;
extern bool hd__descs_new; /* one of them has not been polled yet */
struct hd_desc *hd__desc_new(unsigned kind, struct hd_chan *c);
/* Whether something outside this process can make it ready. */
bool hd__fd_outside(const struct hd_desc *d);
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
/* The first number from there on that the program has opened, -1: none. */
long hd__fd_next(unsigned from);
/* Whether the number is taken, but counts as free: nothing may be done with it. */
bool hd__fd_is_free(long fd);
long hd__fd_close_range(unsigned from, unsigned to, unsigned flags);
void hd__fd_moved(long fd); /* the offset changes */
bool hd__fd_random(long fd);
bool hd__fd_before(long fd);
bool hd__fd_hidden(long fd); /* it is the runtime's */
void hd__fd_is_random(long fd);

#endif
