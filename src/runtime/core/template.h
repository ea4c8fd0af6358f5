/* template.h: executions that continue from the middle of another one, in fork mode (template.c). */
#ifndef HD_RUNTIME_TEMPLATE_H
#define HD_RUNTIME_TEMPLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/core/util.h"
#include "model/inexact.h"
#include "model/numbers.h"
#include "abi/abi.h"

/* A checkpoint at a scheduling point: a process that waits there, and what it keeps of the state that is not its own. */
struct hd_template {
  uint64_t path_len;
  uint64_t visible,
      epoch; /* what was known of the program; with other knowledge it would not be where it is */
  uint64_t switches;
  struct hd_numbers numbers;
  struct hd_inexact_count noted[HD_INEXACT_COUNT];
  uint16_t target[HD_MAX_TARGETS];
  unsigned ntargets;
  uint64_t cost;    /* of coming here from the template before, in processor time */
  uint32_t resumed; /* executions that continued from here, after the first one */
};

/* An execution begins at main, or after the set-up, in a process of its own. */
HD_EACH void hd__template_begin(void);
/* The execution is at a scheduling point: it may become a template. pre: rt.templates. */
void hd__template_point(void);

/* While executions restart by restoring memory: one has taken so many nanoseconds. Returns whether it is worth while to measure
 * the next one, too. */
bool hd__template_measure(uint64_t took);
/* Whether executions that are forked from templates would take less. */
bool hd__template_better(void);

/* Keeps what a child may change. pre: this process is at a scheduling point. */
void hd__template_take(struct hd_template *t);
/* Makes execution `number` continue from here. Returns false when it does not have these steps. pre: no other process of this
 * worker runs. post: if true, a fork of this process runs it. */
bool hd__template_restore(struct hd_template *t, uint64_t number);
/* Ends the template: its parent goes on with execution `number` (0: with none). */
_Noreturn void hd__template_drop(const struct hd_template *t, uint64_t number);

#endif
