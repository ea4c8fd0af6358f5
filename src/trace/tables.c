/* tables.c: the tables of a trace, their labels, and the validation of events. Runs in the supervisor. */
#include "trace/trace_int.h"

#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- a hash map ---- */

static struct hd__map_entry *find(const struct hd__map *m, uint64_t key) {
  size_t i = hd__mix(key) & (m->cap - 1);
  while (m->entry[i].key && m->entry[i].key != key) i = (i + 1) & (m->cap - 1);
  return &m->entry[i];
}

uint64_t *hd__map_at(struct hd__map *m, uint64_t key) {
  HD_BUG_ON(key == 0);
  if (2 * (m->n + 1) > m->cap) {
    struct hd__map bigger = {.cap = m->cap ? 2 * m->cap : 64};
    bigger.entry = hd_alloc(bigger.cap * sizeof *bigger.entry);
    for (size_t i = 0; i < m->cap; i++)
      if (m->entry[i].key) *find(&bigger, m->entry[i].key) = m->entry[i];
    bigger.n = m->n;
    free(m->entry);
    *m = bigger;
  }
  struct hd__map_entry *e = find(m, key);
  if (!e->key) {
    e->key = key;
    m->n++;
  }
  return &e->value;
}

uint64_t hd__map_get(const struct hd__map *m, uint64_t key) { return m->n ? find(m, key)->value : 0; }

void hd__map_fini(struct hd__map *m) {
  free(m->entry);
  *m = (struct hd__map){0};
}

uint64_t hd__string_key(const char *s, size_t n) {
  uint64_t h = XXH3_64bits(s, n);
  return h ? h : 1;
}

/* ---- tables ---- */

const char *hd__keep(struct hd_tr_tables *t, char *s) {
  if (!s || !*s) {
    free(s);
    return NULL;
  }
  if (strlen(s) > HD_TR_MAX_STRING) s[HD_TR_MAX_STRING] = '\0';
  hd_vec_push(&t->string, s);
  return s;
}

void hd_tr_tables_fini(struct hd_tr_tables *t) {
  for (size_t i = 0; i < t->string.n; i++) free(t->string.v[i]);
  hd_vec_free(&t->string);
  hd_vec_free(&t->thread);
  hd_vec_free(&t->place);
  hd_vec_free(&t->object);
  *t = (struct hd_tr_tables){0};
}

/* ---- events ---- */

#define KNOWN_FLAGS (HD_EV_FAILED | HD_EV_LATE | HD_EV_PLAIN | HD_EV_VALUE)

static const char *payload_wrong(const struct hd_tr_tables *t, const struct hd_event *e, uint64_t most) {
  for (const struct hd_field *f = hd_payload_table[hd_op_payload(e->op.kind)].field; f->key; f++) {
    if (!hd_field_recorded(&e->op, f)) continue;
    uint64_t v = hd_field_get(&e->op, f);
    if (f->type == HD_FIELD_THREAD && v > t->thread.n) return "an unknown thread that was woken";
    if (f->type == HD_FIELD_FOUND && v > most)
      return most ? "a value that is too large" : "a value although its operation has none";
    if (f->type == HD_FIELD_ORDER && v >= HD_MO_COUNT) return "an unknown memory order";
  }
  return NULL;
}

const char *hd__event_wrong(const struct hd_tr_tables *t, const struct hd_event *e, uint64_t number) {
  if (e->op.kind == HD_OP_NONE || e->op.kind >= HD_OP_COUNT) return "an unknown operation";
  if (e->flags & ~KNOWN_FLAGS) return "unknown flags";
  if (e->op.thread >= t->thread.n) return "an unknown thread";
  if (e->place > t->place.n) return "an unknown place";
  bool memory = hd_op_object(e->op.kind) == HD_OBJ_MEMORY;
  if (hd_op_object(e->op.kind) == HD_OBJ_THREAD && e->op.object >= t->thread.n)
    return "an operation on an unknown thread";
  uint64_t most = memory && e->op.size >= 1 && e->op.size <= 8 ? hd__value_mask(e->op.size) : 0;
  if (e->flags & HD_EV_VALUE && !most) return "a value although its operation has none";
  if (e->flags & HD_EV_VALUE && e->value > most) return "a value that is too large";
  if (!(e->flags & HD_EV_VALUE) && e->value) return "a value without its flag";
  if (e->nchoices > 1 ? e->choice >= e->nchoices : e->choice || e->nchoices) return "an impossible outcome";
  if (e->from >= number) return "a reference to a later event";
  return payload_wrong(t, e, most);
}

void hd_tr_describe_named(struct hd_str *out, const struct hd_tr_tables *t, const struct hd_event *e,
                          const char *name) {
  hd_str_addf(out, "%s %s%s", t->thread.v[e->op.thread].name, hd_op_text(e->op.kind),
              e->flags & HD_EV_FAILED ? " (failed)" : "");
  if (hd_op_object(e->op.kind) == HD_OBJ_THREAD) {
    hd_str_addf(out, " %s", t->thread.v[e->op.object].name);
  } else {
    for (size_t i = 0; i < t->object.n && !name; i++)
      if (t->object.v[i].addr == e->op.object) name = t->object.v[i].name;
    if (name)
      hd_str_addf(out, " `%s`", name);
    else if (e->op.object)
      hd_str_addf(out, " 0x%llx", (unsigned long long)e->op.object);
  }
  const struct hd_tr_place *p = e->place ? &t->place.v[e->place - 1] : NULL;
  if (p && p->file) hd_str_addf(out, " at %s:%u", p->file, p->line);
}

void hd_tr_describe(struct hd_str *out, const struct hd_tr_tables *t, const struct hd_event *e) {
  hd_tr_describe_named(out, t, e, NULL);
}

/* ---- words ---- */

static bool is_plain(unsigned char c) {
  return c > ' ' && c != 0x7f && c != '%' && c != '~' && c != '@' && c != '=' && c != '|';
}

void hd__escape(struct hd_str *out, const char *s) {
  if (!s) {
    hd_str_addc(out, '-');
    return;
  }
  if (strcmp(s, "-") == 0) {
    hd_str_add(out, "%2d");
    return;
  }
  for (; *s; s++) {
    if (is_plain((unsigned char)*s))
      hd_str_addc(out, *s);
    else
      hd_str_addf(out, "%%%02x", (unsigned char)*s);
  }
}

static int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

bool hd__unescape(char **s) {
  if (strcmp(*s, "-") == 0) return *s = NULL, true;
  char *to = *s;
  if (!*to) return false;
  for (const char *from = *s; *from;) {
    if (*from != '%') {
      if (!is_plain((unsigned char)*from)) return false;
      *to++ = *from++;
      continue;
    }
    int hi = hex(from[1]), lo = hi < 0 ? -1 : hex(from[2]);
    if (lo < 0 || !(hi | lo)) return false;
    *to++ = (char)(hi << 4 | lo);
    from += 3;
  }
  *to = '\0';
  return true;
}

/* ---- labels ---- */

static void thread_word(struct hd_str *b, const struct hd_tr_thread *t) { hd__escape(b, t->name); }

static void place_word(struct hd_str *b, const struct hd_tr_place *p) {
  if (p->file) {
    const char *slash = strrchr(p->file, '/');
    hd__escape(b, slash && slash[1] ? slash + 1 : p->file);
    hd_str_addf(b, ":%u", p->line);
  } else if (p->line) {
    hd_str_addf(b, ":%u", p->line);
  } else {
    hd_str_addf(b, "@%llx", (unsigned long long)p->pc);
  }
}

static void object_word(struct hd_str *b, const struct hd_tr_object *o) { hd__escape(b, o->name); }

static void add_nth(struct hd_str *out, uint32_t nth) {
  if (nth > 1) hd_str_addf(out, "~%u", nth);
}

void hd__add_thread(struct hd_str *out, const struct hd__labels *l, size_t i) {
  thread_word(out, &l->t->thread.v[i]);
  add_nth(out, l->thread[i]);
}

void hd__add_place(struct hd_str *out, const struct hd__labels *l, size_t i) {
  place_word(out, &l->t->place.v[i]);
  add_nth(out, l->place[i]);
}

void hd__add_named(struct hd_str *out, const struct hd__labels *l, size_t i) {
  object_word(out, &l->t->object.v[i]);
  add_nth(out, l->object[i]);
}

void hd__add_object(struct hd_str *out, const struct hd__labels *l, uint64_t addr) {
  size_t entry = addr && addr != UINT64_MAX ? (size_t)hd__map_get(&l->by_addr, addr + 1) : 0;
  if (entry)
    hd__add_named(out, l, entry - 1);
  else if (addr)
    hd_str_addf(out, "@%llx", (unsigned long long)addr);
  else
    hd_str_addc(out, '-');
}

void hd__add_field(struct hd_str *out, const struct hd__labels *l, const struct hd_op *op,
                   const struct hd_field *f) {
  uint64_t v = hd_field_get(op, f);
  switch ((enum hd_field_type)f->type) {
    case HD_FIELD_THREAD:
      if (v)
        hd__add_thread(out, l, v - 1);
      else
        hd_str_addc(out, '-');
      return;
    case HD_FIELD_OBJECT: hd__add_object(out, l, v); return;
    case HD_FIELD_ORDER: hd_str_add(out, hd_memory_order_text[v]); return;
    case HD_FIELD_FOUND: hd_tr_value(out, v, op->size); return;
    default: hd_str_addf(out, "%llu", (unsigned long long)v);
  }
}

#define COUNT_WORDS(table, add)                                                 \
  do {                                                                          \
    struct hd__map seen = {0};                                                  \
    for (size_t i = 0; i < t->table.n; i++) {                                   \
      hd_str_clear(&b);                                                         \
      add(&b, &t->table.v[i]);                                                  \
      l->table[i] = (uint32_t)++ * hd__map_at(&seen, hd__string_key(b.s, b.n)); \
    }                                                                           \
    hd__map_fini(&seen);                                                        \
  } while (0)

void hd__labels_init(struct hd__labels *l, const struct hd_tr_tables *t) {
  *l = (struct hd__labels){.t = t,
                           .thread = hd_alloc(t->thread.n * sizeof *l->thread),
                           .place = hd_alloc(t->place.n * sizeof *l->place),
                           .object = hd_alloc(t->object.n * sizeof *l->object)};
  struct hd_str b;
  hd_str_init(&b);
  COUNT_WORDS(thread, thread_word);
  COUNT_WORDS(place, place_word);
  COUNT_WORDS(object, object_word);
  hd_str_fini(&b);
  for (size_t i = 0; i < t->object.n; i++) {
    uint64_t *at = hd__map_at(&l->by_addr, t->object.v[i].addr + 1);
    if (!*at) *at = i + 1;
  }
}

void hd__labels_fini(struct hd__labels *l) {
  free(l->thread);
  free(l->place);
  free(l->object);
  hd__map_fini(&l->by_addr);
}
