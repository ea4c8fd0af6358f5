/* std.c: the STD text format of RAPID and other race predictors: one event per line, thread|op(object)|place.
 * Runs in the supervisor. STD has fewer operations than Heddle: docs/formats.md has the mapping. */
#include "trace/trace_int.h"

#include <stdlib.h>

/* ---- reading ---- */

#define FIRST_ADDRESS 0x1000 /* objects of STD have names but no addresses: these are assigned */

struct field {
  const char *s;
  size_t n;
};

struct line {
  struct field thread, op, arg, place;
};

struct reader {
  struct hd_tr_source source;
  struct hd__input in;
  struct hd_tr_tables tables;
  struct hd__map thread, object, place; /* names to entries plus 1 */
  struct hd__linker *linker;
  const char *rest;
  size_t line;
  uint64_t number;
};

static const struct {
  const char *word;
  enum hd_op_kind op;
} std_ops[] = {
    {"r", HD_OP_READ},      {"w", HD_OP_WRITE},   {"acq", HD_OP_LOCK},    {"rel", HD_OP_UNLOCK},
    {"fork", HD_OP_CREATE}, {"join", HD_OP_JOIN}, {"begin", HD_OP_START}, {"end", HD_OP_EXIT},
};

static bool field_is(struct field f, const char *s) { return f.n == strlen(s) && memcmp(f.s, s, f.n) == 0; }

static enum hd_op_kind op_of(struct field f) {
  for (size_t i = 0; i < sizeof std_ops / sizeof std_ops[0]; i++)
    if (field_is(f, std_ops[i].word)) return std_ops[i].op;
  return HD_OP_NONE;
}

/* Splits a line. Only `begin` and `end` may omit the object; any line may omit the place. */
static bool split(const char *s, size_t n, struct line *out) {
  const char *end = s + n, *bar = memchr(s, '|', n);
  if (!bar || bar == s) return false;
  out->thread = (struct field){s, (size_t)(bar - s)};
  const char *op = bar + 1, *last = memchr(op, '|', (size_t)(end - op));
  const char *op_end = last ? last : end;
  out->place = last ? (struct field){last + 1, (size_t)(end - last - 1)} : (struct field){end, 0};
  const char *open = memchr(op, '(', (size_t)(op_end - op));
  out->op = (struct field){op, (size_t)((open ? open : op_end) - op)};
  out->arg = (struct field){op_end, 0};
  if (open) {
    if (op_end[-1] != ')') return false;
    out->arg = (struct field){open + 1, (size_t)(op_end - 1 - (open + 1))};
  }
  bool bare = field_is(out->op, "begin") || field_is(out->op, "end");
  return op_of(out->op) != HD_OP_NONE && (bare || out->arg.n) && out->thread.n <= HD_TR_MAX_STRING &&
         out->arg.n <= HD_TR_MAX_STRING && !memchr(out->place.s, '|', out->place.n);
}

/* The next line that is not empty; NULL at the end. */
static const char *next_line(struct reader *r, size_t *n) {
  const char *end = r->in.data + r->in.len;
  while (r->rest < end) {
    const char *s = r->rest, *nl = memchr(s, '\n', (size_t)(end - s));
    *n = (size_t)((nl ? nl : end) - s);
    r->rest = nl ? nl + 1 : end;
    r->line++;
    while (*n && (s[*n - 1] == '\r' || s[*n - 1] == ' ')) --*n;
    if (*n) return s;
  }
  return NULL;
}

static uint64_t *entry(struct hd__map *m, struct field f) { return hd__map_at(m, hd__string_key(f.s, f.n)); }

static uint32_t thread_entry(struct reader *r, struct field f) {
  uint64_t *at = entry(&r->thread, f);
  if (!*at) {
    hd_vec_push(&r->tables.thread,
                ((struct hd_tr_thread){.name = hd__keep(&r->tables, hd_strndup(f.s, f.n))}));
    *at = r->tables.thread.n;
  }
  return (uint32_t)*at - 1;
}

static uint64_t object_address(struct reader *r, struct field f) {
  uint64_t *at = entry(&r->object, f);
  if (!*at) {
    uint64_t addr = FIRST_ADDRESS + 8 * r->tables.object.n;
    hd_vec_push(&r->tables.object, ((struct hd_tr_object){addr, hd__keep(&r->tables, hd_strndup(f.s, f.n))}));
    *at = addr;
  }
  return *at;
}

/* A place of STD is a number, read as a line of an unknown file; any other word is read as a function. */
static uint32_t place_entry(struct reader *r, struct field f) {
  if (!f.n || field_is(f, "0")) return 0;
  uint64_t *at = entry(&r->place, f);
  if (!*at) {
    struct hd_tr_place p = {0};
    char *text = hd_strndup(f.s, f.n);
    uint64_t n;
    if (hd_parse_u64(text, 10, UINT32_MAX, &n)) {
      p.line = (uint32_t)n;
      free(text);
    } else {
      p.function = hd__keep(&r->tables, text);
    }
    hd_vec_push(&r->tables.place, p);
    *at = r->tables.place.n;
  }
  return (uint32_t)*at;
}

/* Begins or ends the thread itself, which STD writes without an object. */
static bool is_own(unsigned op) {
  return hd_op_effect(op, 0) == HD_EFF_BEGIN || hd_op_effect(op, 0) == HD_EFF_FINISH;
}

/* The event of a line; adds to the tables what it names. */
static struct hd_event make_event(struct reader *r, const struct line *l) {
  enum hd_op_kind op = op_of(l->op);
  struct hd_event e = {.op = {.kind = (uint8_t)op, .thread = (uint16_t)thread_entry(r, l->thread)}};
  if (is_own(op))
    e.op.object = e.op.thread;
  else if (hd_op_object(op) == HD_OBJ_THREAD)
    e.op.object = thread_entry(r, l->arg);
  else
    e.op.object = object_address(r, l->arg);
  if (hd_op_object(op) == HD_OBJ_MEMORY) e.op.size = 8;
  e.place = place_entry(r, l->place);
  return e;
}

static int next(struct hd_tr_source *s, struct hd_event *e, struct hd_err *err) {
  (void)err;
  struct reader *r = (struct reader *)s;
  size_t n;
  struct line l;
  const char *text = next_line(r, &n);
  if (!text) return 0;
  HD_BUG_ON(!split(text, n, &l)); /* checked when the trace was opened */
  *e = make_event(r, &l);
  hd__link(r->linker, e, ++r->number);
  return 1;
}

static void close_reader(struct hd_tr_source *s) {
  struct reader *r = (struct reader *)s;
  hd_tr_tables_fini(&r->tables);
  hd__map_fini(&r->thread);
  hd__map_fini(&r->object);
  hd__map_fini(&r->place);
  hd__linker_free(r->linker);
  hd__input_fini(&r->in);
  free(r);
}

bool hd__is_std(const char *data, size_t len) {
  struct reader r = {.in = {.data = (char *)data, .len = len}, .rest = data};
  struct line l;
  size_t n;
  const char *text = next_line(&r, &n);
  return text && split(text, n, &l);
}

static int read_tables(struct reader *r, struct hd_err *err) {
  size_t n;
  struct line l;
  const char *text;
  if (memchr(r->in.data, 0, r->in.len))
    return hd_fail(err, HD_EUSAGE, "%s: damaged: contains a NUL byte", r->in.name);
  for (; (text = next_line(r, &n)); r->tables.nevents++) {
    if (!split(text, n, &l))
      return hd_fail(err, HD_EUSAGE,
                     "%s:%zu: expected THREAD|OP(OBJECT)|PLACE with r, w, acq, rel, fork, join, begin or end",
                     r->in.name, r->line);
    make_event(r, &l);
    if (r->tables.thread.n > HD_TR_MAX_THREADS)
      return hd_fail(err, HD_EUSAGE, "%s:%zu: more than %u threads", r->in.name, r->line, HD_TR_MAX_THREADS);
  }
  r->rest = r->in.data;
  return HD_OK;
}

int hd__open_std(struct hd__input in, struct hd_tr_source **out, struct hd_err *err) {
  struct reader *r = hd_alloc(sizeof *r);
  r->source = (struct hd_tr_source){.tables = &r->tables, .next = next, .close = close_reader};
  r->in = in;
  r->rest = in.data;
  r->linker = hd__linker_new();
  int rc = read_tables(r, err);
  if (rc != HD_OK) {
    close_reader(&r->source);
    return rc;
  }
  *out = &r->source;
  return HD_OK;
}

/* ---- writing ---- */

#define ONCE_MAX (1u << 20) /* `once` objects that are tracked */

struct writer {
  struct hd__labels labels;
  struct hd__map once; /* address plus 1 to 1: in progress, 2: done */
  struct hd_str b;
  uint64_t left_out;
};

/* The object's name if any reader of the format parses it as one word, else its kind and address. */
static void add_name(struct writer *w, char kind, uint64_t addr) {
  static const char fine[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.[]:$#+-";
  size_t from = w->b.n;
  if (addr && addr != UINT64_MAX && hd__map_get(&w->labels.by_addr, addr + 1)) {
    hd__add_object(&w->b, &w->labels, addr);
    if (strspn(w->b.s + from, fine) == w->b.n - from) return;
    w->b.n = from;
  }
  hd_str_addf(&w->b, "%c%llx", kind, (unsigned long long)addr);
}

static void add_line(struct writer *w, const struct hd_event *e, const char *op, uint64_t object) {
  const struct hd_tr_tables *t = w->labels.t;
  bool thread = strcmp(op, "fork") == 0 || strcmp(op, "join") == 0, bare = is_own(e->op.kind);
  hd__add_thread(&w->b, &w->labels, e->op.thread);
  hd_str_addf(&w->b, "|%s", op);
  if (!bare) {
    hd_str_addc(&w->b, '(');
    if (thread)
      hd__add_thread(&w->b, &w->labels, object);
    else
      add_name(w, op[0] == 'a' || strcmp(op, "rel") == 0 ? 'L' : 'V', object);
    hd_str_addc(&w->b, ')');
  }
  const struct hd_tr_place *p = e->place ? &t->place.v[e->place - 1] : NULL;
  hd_str_addf(&w->b, "|%u\n", p && !p->file && p->line ? p->line : e->place);
}

/* A `once` is written as a lock: the first thread holds it for the call, later ones acquire and release it at once. */
static void add_once(struct writer *w, const struct hd_event *e) {
  if (e->op.object == UINT64_MAX || w->once.n >= ONCE_MAX) {
    w->left_out++;
    return;
  }
  uint64_t *state = hd__map_at(&w->once, e->op.object + 1);
  if (hd_op_effect(e->op.kind, e->flags) == HD_EFF_RELEASE) {
    if (*state == 1) add_line(w, e, "rel", e->op.object);
    *state = 2;
    return;
  }
  add_line(w, e, "acq", e->op.object);
  if (*state == 2) add_line(w, e, "rel", e->op.object);
  if (*state == 0) *state = 1;
}

/* The STD operation for an effect; NULL: it has none. An update is a read and a write. */
static const char *std_word(enum hd_effect effect) {
  switch (effect) {
    case HD_EFF_READ: return "r";
    case HD_EFF_WRITE:
    case HD_EFF_UPDATE:
    case HD_EFF_FREE: return "w";
    case HD_EFF_ACQUIRE: return "acq";
    case HD_EFF_RELEASE: return "rel";
    case HD_EFF_SPAWN: return "fork";
    case HD_EFF_JOIN:
    case HD_EFF_FIND_ENDED: return "join";
    case HD_EFF_BEGIN: return "begin";
    case HD_EFF_FINISH: return "end";
    default: return NULL;
  }
}

static void add_event(struct writer *w, const struct hd_event *e) {
  enum hd_effect effect = hd_op_effect(e->op.kind, e->flags);
  if (hd_op_object(e->op.kind) == HD_OBJ_ONCE) {
    add_once(w, e);
    return;
  }
  if (effect == HD_EFF_UPDATE) add_line(w, e, "r", e->op.object);
  const char *word = std_word(effect), *second = std_word(hd_op_second(e->op.kind, e->flags));
  if (word) add_line(w, e, word, e->op.object);
  if (second) add_line(w, e, second, hd_op_second_object(&e->op));
  if (!word && !second) w->left_out++;
}

int hd__write_std(struct hd_tr_source *s, FILE *out, struct hd_err *err) {
  struct writer w = {0};
  struct hd_event e;
  int rc;
  hd__labels_init(&w.labels, s->tables);
  hd_str_init(&w.b);
  while ((rc = hd_tr_next(s, &e, err)) > 0) {
    add_event(&w, &e);
    if (w.b.n > 65536) {
      fwrite(w.b.s, 1, w.b.n, out);
      hd_str_clear(&w.b);
    }
  }
  fwrite(w.b.s, 1, w.b.n, out);
  if (rc == 0 && w.left_out)
    hd_warn("%llu of %llu events have no counterpart in STD and were left out",
            (unsigned long long)w.left_out, (unsigned long long)s->tables->nevents);
  hd_str_fini(&w.b);
  hd__map_fini(&w.once);
  hd__labels_fini(&w.labels);
  return rc;
}
