/* memory.c: sequential consistency: a read sees the latest write. Linked into both binaries. */
#include "model/memory.h"
#include "model/model.h"

#define PAGE 4096ull

/* What is known of a granule of 8 bytes, or of a page. */
struct hd_memory_slot {
  uint64_t key;     /* 0: empty */
  uint32_t last[8]; /* the event that wrote each byte; of a page the first is for all */
};

static uint64_t granule_key(uint64_t at) { return (at / 8) << 1 | 1ull << 63; }
static uint64_t page_key(uint64_t at) { return (at / PAGE) << 1 | 1ull << 63 | 1; }

void hd_memory_init(struct hd_memory *m, hd_memory_resize *resize, void *arg) {
  *m = (struct hd_memory){.resize = resize, .arg = arg};
}

void hd_memory_fini(struct hd_memory *m) {
  if (m->slot) m->resize(m->arg, m->slot, 0);
  *m = (struct hd_memory){0};
}

static struct hd_memory_slot *find(const struct hd_memory *m, uint64_t key) {
  size_t i = (size_t)hd_mix64(key) & (m->cap - 1);
  while (m->slot[i].key && m->slot[i].key != key) i = (i + 1) & (m->cap - 1);
  return &m->slot[i];
}

static void grow(struct hd_memory *m) {
  struct hd_memory old = *m;
  m->cap = old.cap ? old.cap * 2 : 64;
  m->slot = m->resize(m->arg, NULL, m->cap * sizeof *m->slot);
  for (size_t i = 0; i < m->cap; i++) m->slot[i].key = 0;
  for (size_t i = 0; i < old.cap; i++)
    if (old.slot[i].key) *find(m, old.slot[i].key) = old.slot[i];
  if (old.slot) m->resize(m->arg, old.slot, 0);
}

static struct hd_memory_slot *slot_of(struct hd_memory *m, uint64_t key) {
  if ((m->n + 1) * 2 > m->cap) grow(m);
  struct hd_memory_slot *s = find(m, key);
  if (!s->key) {
    *s = (struct hd_memory_slot){.key = key};
    m->n++;
  }
  return s;
}

/* One past the last byte, as far as there are addresses. */
static uint64_t end_of(const struct hd_op *op) {
  uint64_t end = op->object + op->size;
  return end < op->object ? UINT64_MAX : end;
}

void hd_memory_write(struct hd_memory *m, const struct hd_op *op, uint32_t number) {
  uint64_t at = op->object, end = end_of(op);
  while (at < end) {
    if (at % PAGE == 0 && end - at >= PAGE) {
      slot_of(m, page_key(at))->last[0] = number;
      at += PAGE;
      continue;
    }
    struct hd_memory_slot *s = slot_of(m, granule_key(at));
    do s->last[at % 8] = number;
    while (++at < end && at % 8);
  }
}

size_t hd_memory_candidates(const struct hd_memory *m, const struct hd_op *read, uint32_t *out, size_t max) {
  uint64_t at = read->object, end = end_of(read);
  uint32_t last = 0;
  (void)max; /* there is one */
  while (m->cap && at < end) {
    const struct hd_memory_slot *page = find(m, page_key(at)), *s = find(m, granule_key(at));
    if (page->key && page->last[0] > last) last = page->last[0];
    do
      if (s->key && s->last[at % 8] > last) last = s->last[at % 8];
    while (++at < end && at % 8);
  }
  *out = last;
  return 1;
}
