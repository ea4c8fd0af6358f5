/* spin.h: loops that wait by reading (spin.c). */
#ifndef HD_RUNTIME_SPIN_H
#define HD_RUNTIME_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/op.h"
#include "model/order.h"

struct hd_thread;

struct hd_spin_read {
  uint64_t value, now; /* what the loop read; what was there when last looked at */
};

/* What is done before such a wait: a round in which its own changes are noted, one in which its reads are collected. */
enum hd_spin_counts { HD_SPIN_GOES_ON, HD_SPIN_LOOKS, HD_SPIN_COLLECTS };
#define HD_SPIN_OWN 4
#define HD_SPIN_HOLDS 8
#define HD_SPIN_TRAIL 32
#define HD_SPIN_PRIVATE 24
#define HD_SPIN_IMAGE 128
/* What is known of a thread that may be in such a loop. A round is one pass through the loop, from one check at its
 * anchor to the next. */
struct hd_spin {
  /* What every event and every access looks at. */
  uint64_t writes;  /* by the thread so far, to anything but its own stack */
  uint64_t changes; /* visible ones */
  uint8_t mode;     /* enum hd_spin_mode: of the access to come */
  uint8_t passes;   /* locks to come that are not looked at */
  /* The round under way. */
  uint64_t pc, addr;     /* the anchor */
  uint64_t state;        /* hash of registers and stack there, 0: not known */
  uint64_t registers;    /* hash of them */
  uint64_t change;       /* what is learned if the difference to the state before matters (invariant 5) */
  uint64_t round_writes; /* `writes` at the start of the round */
  uint64_t trail_writes; /* and at the last check */
  unsigned nimage;
  unsigned nheld;
  unsigned rounds; /* without a write */
  unsigned steps;  /* of this round that are neither accesses to memory nor tries that failed */
  unsigned misses; /* checks elsewhere since */
  unsigned window; /* so many are let pass before the anchor moves */
  unsigned moves;  /* of the anchor from one known loop to another */
  bool gave;       /* this round has released a lock that it had not taken */
  bool again;      /* this round repeats the one before without scheduling points (invariant 5) */
  bool mixed;      /* one place had two values in this round */
  bool locals;     /* this round has read variables on its own stack, which others may write */
  bool lent;       /* and one has, while it waited */
  bool unlike;     /* such a repetition was not like the round before: the loop does more than wait */
  bool swapped;    /* and memory has the values of that one */
  bool on;         /* one of the values differs */
  bool waiting;    /* the pending operation waits for that */
  /* An update whose effect is not known yet; size 0: none. */
  uint32_t update_size;
  uint64_t update_addr, update_pc, update_value, update_event;
  /* Loops that do not only wait (invariant 6). */
  uint8_t counts; /* enum hd_spin_counts */
  unsigned nown;
  bool late;            /* it ended since nothing else could run */
  unsigned laps;        /* rounds in a row in which the anchor had the same value, whatever else was done */
  unsigned lap_limit;   /* 0: the first; it grows, and does not shrink with the next loop */
  unsigned lap_changes; /* of the laps, those with a visible change by the thread itself */
  unsigned alike;       /* laps with a change, but with the same local state */
  unsigned not_alike; /* laps in a row with a change and another local state, or one that was not looked at */
  uint64_t lap_event; /* where the wait began */
  uint64_t changes_before;    /* `changes` at the last lap */
  uint64_t seen, seen_before; /* values at the anchor */
  struct {
    uint64_t addr, writes; /* `writes` when it was looked at */
    unsigned times;
    uint8_t value;
  } local; /* a volatile variable on its own stack */
  unsigned ntrail, ntrail_wrote, nprivate;
  /* From the places of the guard on, what is beyond the counts is not defined: a new thread does not clear it. */
  struct hd_guard guard;
  struct hd_spin_read read[HD_GUARD_PLACES]; /* guard.nplaces */
  uint64_t held[HD_SPIN_HOLDS]; /* nheld: locks taken and not released since the start of the round */
  uint64_t own[HD_SPIN_OWN];    /* nown: what it changes itself */
  struct hd_spin_look {
    uint64_t pc, addr;
  } trail[HD_SPIN_TRAIL]; /* ntrail: the last checks; since ntrail_wrote without a write */
  uint64_t image
      [HD_SPIN_IMAGE]; /* nimage: the registers and the words of the stack next to them, of a known loop */
  struct hd_spin_private {
    uint64_t addr, value;
    uint32_t size;
  } private
      [HD_SPIN_PRIVATE]; /* nprivate: what else it has read, memory that no other thread was seen to write */
};

/* What the check decided about the access that it was made for. */
enum hd_spin_mode {
  HD_SPIN_PLAIN,
  HD_SPIN_SEEN, /* it is part of the wait that was executed just now: no scheduling point */
  HD_SPIN_HELD, /* it is the operation that waits */
};
/* What kind of operation it is: a plain or volatile read of one place, an atomic one, one that may change it, or another; a
 * lock, around which loops seldom wait. */
enum hd_spin_head { HD_SPIN_READS, HD_SPIN_LOADS, HD_SPIN_UPDATES, HD_SPIN_OTHER, HD_SPIN_LOCK };

/* hooks.c: a plain read of visible memory, or any read while a thread is watched. The entry hd_arch_watched_read
 * saves the caller's registers and continues there. */
void hd__watched_read(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);
void hd_arch_watched_read(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);
/* The same from code of ours that stands for code of the program: pc is that of its caller, so where it is called from is
 * part of the state. */
void hd_arch_watched_read_here(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);

/* The running thread is about to access `a` at pc, in a way that a waiting loop may. Returns true when it is no scheduling
 * point this time, and not to be recorded. */
bool hd__spin_check(uint64_t a, enum hd_spin_head head, uint64_t pc);
/* The same for a lock that is waited for: a loop may wait for what it protects. */
#define hd__spin_lock(a, pc)                   \
  do {                                         \
    struct hd_spin *spin_ = &rt.cur->spin;     \
    if (spin_->passes)                         \
      spin_->passes--;                         \
    else                                       \
      hd__spin_check((a), HD_SPIN_LOCK, (pc)); \
  } while (0)
/* The same for a call that looks at something that is no memory: a system call, or a function whose entry has noted the
 * registers. hd__spin_polled when it was as before. */
void hd__spin_poll(unsigned what, bool noted, uint64_t pc);
void hd__spin_polled(unsigned what, bool noted);
/* How often it has changed: a kind of state (model/states.def), descriptors and files, asynchronous requests, threads that
 * have ended. */
enum { HD_POLLS_IO = HD_STATE_COUNT, HD_POLLS_AIO, HD_POLLS_ENDS, HD_POLLS };
extern uint32_t hd__spin_word[HD_POLLS];
/* Around the step of an access whose mode is HD_SPIN_HELD. */
void hd__spin_hold(void);
void hd__spin_let_go(void);
/* After the step of an operation that was held: whether a handler ran in the place of it. */
bool hd__spin_interrupted(void);
/* Whether a yield of the running thread is part of a loop that waits. */
bool hd__spin_idles(void);
void hd__spin_read(uint64_t a, uint32_t size);
/* The same for an access that is not atomic: one to the thread's own stack is seldom what a loop waits for. */
void hd__spin_read_plain(uint64_t a, uint32_t size);
/* The same as hd__spin_updated of an instruction that comes after the hook: at the thread's next check it is known whether the
 * value is still the same. */
void hd__spin_updates(uint64_t a, uint32_t size, uint64_t pc);
/* At the end of a hook, while the thread's reads are collected or states are compared: clears what the runtime has left below on the stack. A
 * function of the program may find it in its frame, and would never be in the same state twice. */
#define HD_SPIN_LEAVES hd__either((const uint8_t *)&rt.cur->armed)
#define HD_SPIN_LEAVE()                               \
  do {                                                \
    if (HD_UNLIKELY(HD_SPIN_LEAVES)) hd_arch_scrub(); \
  } while (0)
void hd__spin_wrote(uint64_t a);
/* The same for an operation that has stored what was there before, if `same`. */
void hd__spin_updated(uint64_t a, uint32_t size, bool same);
/* The running thread has seen, or changed, something that is not memory: a clock. */
void hd__spin_unlike(void);
/* The running thread is about to write to the stack of t. */
void hd__spin_lent(struct hd_thread *t, uint64_t a);
/* An operation of a thread whose reads are collected was executed. */
void hd__spin_event(const struct hd_op *op, unsigned flags);
/* Nothing can run: lets a loop go on that counts its rounds. Returns false when there is none. */
bool hd__spin_late(void);
/* The thread has left its loop. */
void hd__spin_stop(struct hd_thread *t);
/* Before a decision: enables and disables waiting loops by the values in memory. */
void hd__spin_update(void);
/* Waits for another process to end the loops. Returns false when none could. */
bool hd__spin_outside(void);
void hd__spin_learn(uint64_t pc);
bool hd__spin_known(uint64_t pc);
unsigned hd__spin_places(void); /* how many are known */
/* Learns a place and logs it, so that every later execution and a replay know it too. Returns false when the table of such
 * places is full. */
bool hd__learn(uint64_t what);
/* Rebuilds the known loops from the visible log, which was truncated. */
void hd__spin_relearn(void);

#endif
