/* unit.h: a unit of work, and how it is written down. Linked into both binaries.
 *
 * A unit is a part of the tree of executions that is left to explore: a prefix of decisions, with the operations they
 * led to; then states on the path below it, each with the steps that were explored from it or sleep there, and with
 * branches that are pending. A search is units and the states that they have in common (explore/walk_save.c).
 *
 * Written down, a unit means the same in every process of the program, on any machine: addresses in operations are
 * relative to what they are in (layout.h). Numbers are written as varints, seven bits a byte, lowest first. A block
 * begins with a magic number, a version, its length and a checksum. Reading is bounded by the length, and whatever is
 * not as it would have been written makes the reader `bad`; nothing is read after that. */
#ifndef HD_MODEL_UNIT_H
#define HD_MODEL_UNIT_H

#include <stddef.h>
#include <stdint.h>

#include "model/decision.h"
#include "model/layout.h"
#include "model/op.h"

/* A pending branch: a sequence of events to follow, as a tree of common prefixes (a wakeup tree). */
struct hd_branch {
  struct hd_op op;
  uint32_t choice;
  uint16_t flags;     /* HD_EV_*; as it was seen */
  uint8_t any_choice; /* the outcome of the choice is open */
  uint8_t sent : 1;   /* its owner, on another machine, knows of it (explore/walk_move.c) */
  uint8_t late : 1;   /* it, or what is below it, came from another machine: something here may cover it */
  struct hd_branch *child, *next;
};

/* A step that was explored, with its outcome. */
struct hd_sleeper {
  struct hd_op op;
  uint32_t choice;
  uint32_t nchoices : 23;
  uint32_t weak : 1;  /* another worker may still explore it: explore/walk_share.c, invariant 4 */
  uint32_t flags : 8; /* HD_EV_* */
};

/* ---- bytes ---- */

struct hd_writer {
  uint8_t *data;
  size_t n, cap;
  const struct hd_layout *layout; /* of the addresses that are written */
  /* Makes room for n more bytes; sets data and cap. Returns 0 when it cannot: the writer is bad then. */
  int (*grow)(struct hd_writer *w, size_t n);
  int bad;
  size_t block; /* where the block that is being written begins, plus 1; 0: none */
};

struct hd_reader {
  const uint8_t *data;
  size_t n, at;
  const struct hd_layout *layout; /* of this process */
  int bad;
  size_t outer; /* while a block is read: the end of what it is in */
};

void hd_put_number(struct hd_writer *w, uint64_t v);
void hd_put_bytes(struct hd_writer *w, const void *p, size_t n);
void hd_put_address(struct hd_writer *w, uint64_t addr);
void hd_put_op(struct hd_writer *w, const struct hd_op *op);
void hd_put_sleeper(struct hd_writer *w, const struct hd_sleeper *s);
/* The branch and what is below it; of a list, all that follow, too. */
void hd_put_branch(struct hd_writer *w, const struct hd_branch *b);
void hd_put_branches(struct hd_writer *w, const struct hd_branch *list);

/* Each returns 0 or nothing when the reader is bad. Numbers larger than max make it so. */
uint64_t hd_get_number(struct hd_reader *r, uint64_t max);
const void *hd_get_bytes(struct hd_reader *r, size_t n);
uint64_t hd_get_address(struct hd_reader *r);
void hd_get_op(struct hd_reader *r, struct hd_op *op);
void hd_get_sleeper(struct hd_reader *r, struct hd_sleeper *s);
/* Memory comes from the caller, zeroed: NULL makes the reader bad. */
typedef struct hd_branch *hd_branch_source(void *ctx);
struct hd_branch *hd_get_branch(struct hd_reader *r, hd_branch_source *source, void *ctx);
struct hd_branch *hd_get_branches(struct hd_reader *r, hd_branch_source *source, void *ctx);

/* ---- blocks: one at a time, not nested ---- */

#define HD_UNIT_VERSION 1
void hd_put_block(struct hd_writer *w, uint32_t magic);
void hd_put_block_end(struct hd_writer *w);
/* pre: nothing of a block is being read. post: the reader ends where the block does. */
int hd_get_block(struct hd_reader *r, uint32_t magic);
/* Everything of the block must have been read. */
int hd_get_block_end(struct hd_reader *r);

#endif
