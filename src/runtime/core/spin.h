/* spin.h: loops that wait by reading (spin.c). */
#ifndef HD_RUNTIME_SPIN_H
#define HD_RUNTIME_SPIN_H

#include <stdbool.h>
#include <stdint.h>

struct hd_thread;

#define HD_SPIN_READS 8
struct hd_spin_read {
  uint64_t addr, value;
  uint32_t size;
};

/* What is known of a thread that may be in such a loop. A round is one pass through the loop. */
struct hd_spin {
  uint64_t pc, addr;     /* of the read that starts a round */
  uint64_t state;        /* hash of registers and stack at that read */
  uint64_t writes;       /* by the thread so far, to anything but its own stack */
  uint64_t round_writes; /* `writes` at the start of the round */
  unsigned rounds;
  unsigned events; /* of the thread in this round */
  unsigned misses; /* plain reads elsewhere since */
  unsigned nread;  /* more than HD_SPIN_READS: too many to watch */
  bool armed;      /* reads are being collected, or waited for */
  bool again;      /* this round repeats the one before without a scheduling point (invariant 5) */
  bool on;         /* one of the values has changed since */
  bool waiting;    /* the pending operation is a SPINWAIT */
  uint32_t enabler, disabler, enabler_before; /* as in struct hd_op */
  struct hd_spin_read read[HD_SPIN_READS];
};

/* hooks.c: a plain read of visible memory, or any read while a thread is watched. The entry hd_arch_watched_read
 * saves the caller's registers and continues there. */
void hd__watched_read(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);
void hd_arch_watched_read(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);

/* Asks the kernel for hd__spin_tick in this process. */
void hd__spin_clock(void);
/* The running thread has used processor time without a scheduling point. */
void hd__spin_tick(uint64_t pc, uint64_t sp);
/* The running thread is about to read `a` at pc. Returns true when the read is no scheduling point this time. */
bool hd__spin_check(uint64_t a, uint64_t pc);
bool hd__spin_check_plain(uint64_t a, uint64_t pc);
/* Whether a yield of the running thread is part of a loop that waits. */
bool hd__spin_idles(void);
void hd__spin_read(uint64_t a, uint32_t size);
void hd__spin_wrote(uint64_t a);
/* The thread has left its loop. */
void hd__spin_stop(struct hd_thread *t);
/* Before a decision: enables and disables waiting loops by the values in memory. */
void hd__spin_update(void);
/* Waits for another process to end the loops. Returns false when none could. */
bool hd__spin_outside(void);
void hd__spin_learn(uint64_t pc);
bool hd__spin_known(uint64_t pc);
/* Rebuilds the known loops from the visible log, which was truncated. */
void hd__spin_relearn(void);

#endif
