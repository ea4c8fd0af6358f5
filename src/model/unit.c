/* unit.c: units of work as bytes. Linked into both binaries. */
#include "model/unit.h"

#include "model/model.h"

#define BRANCHINGS 4096 /* of one path of a tree of branches */

/* ---- numbers and bytes ---- */

static uint8_t *room(struct hd_writer *w, size_t n) {
  if (w->bad || (w->cap - w->n < n && !w->grow(w, n))) {
    w->bad = 1;
    return NULL;
  }
  w->n += n;
  return w->data + w->n - n;
}

void hd_put_number(struct hd_writer *w, uint64_t v) {
  uint8_t byte[10];
  size_t n = 0;
  do {
    byte[n] = (uint8_t)(v & 0x7f);
    v >>= 7;
    if (v) byte[n] |= 0x80;
    n++;
  } while (v);
  hd_put_bytes(w, byte, n);
}

void hd_put_bytes(struct hd_writer *w, const void *p, size_t n) {
  uint8_t *to = room(w, n);
  for (size_t i = 0; to && i < n; i++) to[i] = ((const uint8_t *)p)[i];
}

uint64_t hd_get_number(struct hd_reader *r, uint64_t max) {
  uint64_t v = 0;
  for (unsigned shift = 0; !r->bad; shift += 7) {
    if (r->at == r->n || shift > 63) break;
    uint8_t byte = r->data[r->at++];
    if (shift == 63 && byte > 1) break;
    v |= (uint64_t)(byte & 0x7f) << shift;
    if (byte & 0x80) continue;
    if ((!byte && shift) || v > max) break; /* not the shortest form */
    return v;
  }
  r->bad = 1;
  return 0;
}

const void *hd_get_bytes(struct hd_reader *r, size_t n) {
  if (r->bad || r->n - r->at < n) {
    r->bad = 1;
    return NULL;
  }
  r->at += n;
  return r->data + r->at - n;
}

/* ---- blocks ---- */

static uint64_t checksum(const uint8_t *p, size_t n) {
  uint64_t h = n + 0x9e3779b97f4a7c15ull;
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t v;
    hd__memcpy(&v, p, 8);
    h = hd_mix64(h ^ v) * 3 + 1;
  }
  while (n--) h = hd_mix64(h ^ *p++) * 3 + 1;
  return h;
}

struct block {
  uint32_t magic, version;
  uint64_t length, check;
};

void hd_put_block(struct hd_writer *w, uint32_t magic) {
  struct block b = {magic, HD_UNIT_VERSION, 0, 0};
  w->block = w->n + 1;
  hd_put_bytes(w, &b, sizeof b);
}

void hd_put_block_end(struct hd_writer *w) {
  if (w->bad) return;
  size_t at = w->block - 1, from = at + sizeof(struct block);
  struct block b;
  hd__memcpy(&b, w->data + at, sizeof b);
  b.length = w->n - from;
  b.check = checksum(w->data + from, b.length);
  hd__memcpy(w->data + at, &b, sizeof b);
  w->block = 0;
}

int hd_get_block(struct hd_reader *r, uint32_t magic) {
  struct block b = {0};
  const void *p = hd_get_bytes(r, sizeof b);
  if (p) hd__memcpy(&b, p, sizeof b);
  if (r->bad || b.magic != magic || b.version != HD_UNIT_VERSION || b.length > r->n - r->at ||
      b.check != checksum(r->data + r->at, b.length)) {
    r->bad = 1;
    return 0;
  }
  r->outer = r->n;
  r->n = r->at + b.length;
  return 1;
}

int hd_get_block_end(struct hd_reader *r) {
  if (r->at != r->n) r->bad = 1;
  r->n = r->outer;
  return !r->bad;
}

/* ---- operations ---- */

/* The name of the range plus 1, and the offset; or 0 and the number itself. */
void hd_put_address(struct hd_writer *w, uint64_t addr) {
  const struct hd_range *r = w->layout ? hd_layout_find(w->layout, addr) : NULL;
  hd_put_number(w, r ? r->name + 1ull : 0);
  hd_put_number(w, r ? addr - r->start : addr);
}

uint64_t hd_get_address(struct hd_reader *r) {
  uint64_t name = hd_get_number(r, UINT32_MAX + 1ull), v = hd_get_number(r, UINT64_MAX);
  if (!name || r->bad) return v;
  const struct hd_range *range = r->layout ? hd_layout_named(r->layout, (uint32_t)(name - 1)) : NULL;
  if (!range || v >= range->end - range->start) {
    r->bad = 1;
    return 0;
  }
  return range->start + v;
}

/* The payload, field by field (payloads.def). Pointers into the memory of the run are left out: they matter to the
 * event itself, which is executed again. */
static void put_payload(struct hd_writer *w, const struct hd_op *op) {
  for (const struct hd_field *f = hd_payload_table[hd_op_payload(op->kind)].field; f->key; f++) {
    if (f->type == HD_FIELD_POINTER) continue;
    if (f->type == HD_FIELD_FOUND) hd_put_number(w, op->access.known);
    if (f->type == HD_FIELD_OBJECT)
      hd_put_address(w, hd_field_get(op, f));
    else
      hd_put_number(w, hd_field_get(op, f));
  }
}

static void get_payload(struct hd_reader *r, struct hd_op *op) {
  for (const struct hd_field *f = hd_payload_table[hd_op_payload(op->kind)].field; f->key; f++) {
    if (f->type == HD_FIELD_POINTER) continue;
    if (f->type == HD_FIELD_FOUND) op->access.known = (uint8_t)hd_get_number(r, 1);
    uint64_t most = f->size < 8 ? (1ull << 8 * f->size) - 1 : UINT64_MAX;
    hd_field_set(op, f, f->type == HD_FIELD_OBJECT ? hd_get_address(r) : hd_get_number(r, most));
  }
}

void hd_put_op(struct hd_writer *w, const struct hd_op *op) {
  hd_put_number(w, op->kind);
  hd_put_number(w, op->section);
  hd_put_number(w, op->thread);
  hd_put_number(w, op->size);
  hd_put_address(w, op->object);
  hd_put_address(w, op->pc);
  put_payload(w, op);
}

void hd_get_op(struct hd_reader *r, struct hd_op *op) {
  *op = (struct hd_op){.kind = (uint8_t)hd_get_number(r, HD_OP_COUNT - 1)};
  op->section = (uint8_t)hd_get_number(r, HD_SECTION_INSIDE);
  op->thread = (uint16_t)hd_get_number(r, HD_MAX_THREADS - 1);
  op->size = (uint32_t)hd_get_number(r, UINT32_MAX);
  op->object = hd_get_address(r);
  op->pc = hd_get_address(r);
  get_payload(r, op);
}

/* ---- steps and branches ---- */

void hd_put_sleeper(struct hd_writer *w, const struct hd_sleeper *s) {
  hd_put_op(w, &s->op);
  hd_put_number(w, s->choice);
  hd_put_number(w, s->nchoices);
  hd_put_number(w, s->flags);
  hd_put_number(w, s->weak);
}

void hd_get_sleeper(struct hd_reader *r, struct hd_sleeper *s) {
  hd_get_op(r, &s->op);
  s->choice = (uint32_t)hd_get_number(r, UINT32_MAX);
  s->nchoices = (uint32_t)hd_get_number(r, HD_CHOICES_MAX) & HD_CHOICES_MAX;
  s->flags = (uint32_t)hd_get_number(r, 0xff) & 0xff;
  s->weak = hd_get_number(r, 1) != 0;
}

/* A tree of branches is written in the order of a walk: a step, then what is below it, then what follows it. Neither
 * writing nor reading recurses: sequences are long. */
enum { HAS_CHILD = 1, HAS_NEXT = 2, ANY_CHOICE = 4, LATE = 8 };

static void put_step(struct hd_writer *w, const struct hd_branch *b, int follow) {
  hd_put_number(w, (b->child ? HAS_CHILD : 0) | (follow && b->next ? HAS_NEXT : 0) |
                       (b->any_choice ? ANY_CHOICE : 0) | (b->late ? LATE : 0));
  hd_put_op(w, &b->op);
  hd_put_number(w, b->choice);
  hd_put_number(w, b->flags);
}

static void put_tree(struct hd_writer *w, const struct hd_branch *b, int follow) {
  const struct hd_branch *after[BRANCHINGS];
  unsigned n = 0;
  while (b && !w->bad) {
    put_step(w, b, follow);
    if (follow && b->next) {
      if (n == BRANCHINGS) w->bad = 1;
      if (!w->bad) after[n++] = b->next;
    }
    follow = 1;
    b = b->child ? b->child : n ? after[--n] : NULL;
  }
}

void hd_put_branch(struct hd_writer *w, const struct hd_branch *b) {
  hd_put_number(w, b != NULL);
  put_tree(w, b, 0);
}

void hd_put_branches(struct hd_writer *w, const struct hd_branch *list) {
  hd_put_number(w, list != NULL);
  put_tree(w, list, 1);
}

static struct hd_branch *get_tree(struct hd_reader *r, hd_branch_source *source, void *ctx, int follow) {
  struct hd_branch *top = NULL, **to = &top, *after = NULL; /* steps whose `next` is to come, linked by it */
  if (!hd_get_number(r, 1)) return NULL;
  for (;;) {
    struct hd_branch *b = r->bad ? NULL : source(ctx);
    if (!b) {
      r->bad = 1;
      return NULL;
    }
    unsigned has = (unsigned)hd_get_number(r, HAS_CHILD | HAS_NEXT | ANY_CHOICE | LATE);
    hd_get_op(r, &b->op);
    b->choice = (uint32_t)hd_get_number(r, UINT32_MAX);
    b->flags = (uint16_t)hd_get_number(r, 0xff);
    b->any_choice = (has & ANY_CHOICE) != 0;
    b->late = (has & LATE) != 0;
    *to = b;
    if ((has & HAS_NEXT) && !follow) r->bad = 1;
    if (has & HAS_NEXT) {
      b->next = after;
      after = b;
    }
    follow = 1;
    if (has & HAS_CHILD) {
      to = &b->child;
    } else if (after) {
      to = &after->next;
      after = after->next;
      *to = NULL;
    } else {
      return r->bad ? NULL : top;
    }
  }
}

struct hd_branch *hd_get_branch(struct hd_reader *r, hd_branch_source *source, void *ctx) {
  return get_tree(r, source, ctx, 0);
}

struct hd_branch *hd_get_branches(struct hd_reader *r, hd_branch_source *source, void *ctx) {
  return get_tree(r, source, ctx, 1);
}
