/* text_in.c: reads what text_out.c writes. Runs in the supervisor.
 *
 * Strict: the lines must follow the order of the grammar, counts must match, and references must resolve. The first
 * error is reported with its line. The tables are read when the trace is opened, the events one by one. */
#include "trace/trace_int.h"

#include <stdlib.h>

struct reader {
  struct hd_tr_source source;
  struct hd__input in;
  struct hd_tr_tables tables;
  struct hd__map thread, place, object; /* labels (hd__string_key) to entries plus 1 */
  HD_VEC(const char *) thread_label;
  HD_VEC(const char *) place_label;
  HD_VEC(const char *) object_label;
  char *rest; /* unread text */
  size_t line;
  uint64_t number; /* of the last event */
  bool over;
};

static int refuse(const struct reader *r, const char *what, struct hd_err *err) {
  return hd_fail(err, HD_EUSAGE, "%s:%zu: damaged: expected %s", r->in.name, r->line, what);
}

/* The next line without its newline; NULL at the end of the text or without a newline. */
static char *next_line(struct reader *r) {
  r->line++;
  size_t left = r->in.len - (size_t)(r->rest - r->in.data);
  char *line = r->rest, *nl = left ? memchr(line, '\n', left) : NULL;
  if (!nl) return NULL;
  *nl = '\0';
  r->rest = nl + 1;
  return line;
}

/* The next word of a line; NULL at its end. */
static char *word(char **line) {
  char *w = *line;
  if (!w) return NULL;
  char *space = strchr(w, ' ');
  *line = space ? space + 1 : NULL;
  if (space) *space = '\0';
  return *w ? w : NULL;
}

/* The rest of a line that begins with this word. */
static char *after(char *line, const char *key) {
  size_t n = strlen(key);
  return line && strncmp(line, key, n) == 0 && line[n] == ' ' ? line + n + 1 : NULL;
}

static bool number(const char *s, int base, uint64_t max, uint64_t *out) {
  return s && hd_parse_u64(s, base, max, out);
}

/* A string that may be absent ("-"); false if it is malformed. */
static bool string(struct reader *r, char *s, const char **out) {
  if (!s || !hd__unescape(&s)) return false;
  if (s && strlen(s) > HD_TR_MAX_STRING) return false;
  *out = s ? hd__keep(&r->tables, hd_strdup(s)) : NULL;
  return true;
}

/* ---- labels ---- */

static bool add_label(struct hd__map *m, const char *label, size_t entry) {
  uint64_t *at = hd__map_at(m, hd__string_key(label, strlen(label)));
  if (*at) return false;
  *at = entry + 1;
  return true;
}

/* The entry plus 1; 0 if the word is not a label. */
static uint32_t find_label(const struct hd__map *m, const char *const *label, const char *w) {
  uint64_t at = hd__map_get(m, hd__string_key(w, strlen(w)));
  return at && strcmp(label[at - 1], w) == 0 ? (uint32_t)at : 0;
}

/* The name that a label was derived from. Returns false if it is not a label. */
static bool base_name(struct reader *r, const char *label, const char **out) {
  char *copy = hd_strdup(label), *tilde = strchr(copy, '~');
  uint64_t n;
  bool ok = !tilde || number(tilde + 1, 10, UINT32_MAX, &n);
  if (ok && tilde) *tilde = '\0';
  ok = ok && string(r, copy, out) && *out;
  free(copy);
  return ok;
}

/* ---- tables ---- */

static bool read_thread(struct reader *r, char *line) {
  char *rest = after(line, "thread"), *label = word(&rest), *called = word(&rest), *function = word(&rest);
  struct hd_tr_thread t;
  if (!label || rest || !add_label(&r->thread, label, r->tables.thread.n) || !base_name(r, label, &t.name) ||
      !string(r, called, &t.called) || !string(r, function, &t.function))
    return false;
  hd_vec_push(&r->thread_label, label);
  hd_vec_push(&r->tables.thread, t);
  return true;
}

static bool read_place(struct reader *r, char *line) {
  char *rest = after(line, "place"), *label = word(&rest), *pc = word(&rest), *file = word(&rest),
       *number_word = word(&rest), *function = word(&rest);
  struct hd_tr_place p;
  uint64_t n;
  if (!label || rest || strcmp(label, "-") == 0 || !add_label(&r->place, label, r->tables.place.n) ||
      !number(pc, 16, UINT64_MAX, &p.pc) || !string(r, file, &p.file) ||
      !number(number_word, 10, UINT32_MAX, &n) || !string(r, function, &p.function))
    return false;
  p.line = (uint32_t)n;
  hd_vec_push(&r->place_label, label);
  hd_vec_push(&r->tables.place, p);
  return true;
}

static bool read_object(struct reader *r, char *line) {
  char *rest = after(line, "object"), *label = word(&rest), *addr = word(&rest);
  struct hd_tr_object o;
  if (!label || rest || !add_label(&r->object, label, r->tables.object.n) || !base_name(r, label, &o.name) ||
      !number(addr, 16, UINT64_MAX - 1, &o.addr) || !o.addr)
    return false;
  hd_vec_push(&r->object_label, label);
  hd_vec_push(&r->tables.object, o);
  return true;
}

static int read_table(struct reader *r, const char *key, size_t min, size_t max,
                      bool (*entry)(struct reader *, char *), const char *what, struct hd_err *err) {
  uint64_t n;
  char *line = next_line(r);
  if (!number(after(line, key), 10, max, &n) || n < min) return refuse(r, what, err);
  for (uint64_t i = 0; i < n; i++) {
    line = next_line(r);
    if (!line || !entry(r, line)) return refuse(r, what, err);
  }
  return HD_OK;
}

static int read_tables(struct reader *r, struct hd_err *err) {
  char *line = next_line(r), *command;
  if (!line || strcmp(line, "heddle-trace 3") != 0) {
    if (!after(line, "heddle-trace")) return refuse(r, "\"heddle-trace 3\"", err);
    return hd_fail(err, HD_EUSAGE,
                   "%s:1: written by another version of heddle (this one reads \"heddle-trace 3\")",
                   r->in.name);
  }
  command = after(next_line(r), "command");
  if (!command || strchr(command, ' ') || !string(r, command, &r->tables.command))
    return refuse(r, "\"command WORD\"", err);
  int rc = read_table(r, "threads", 1, HD_TR_MAX_THREADS, read_thread,
                      "\"threads N\" and N lines \"thread LABEL NAME FUNCTION\"", err);
  if (rc == HD_OK)
    rc = read_table(r, "places", 0, HD_TR_MAX_TABLE, read_place,
                    "\"places N\" and N lines \"place LABEL PC FILE LINE FUNCTION\"", err);
  if (rc == HD_OK)
    rc = read_table(r, "objects", 0, HD_TR_MAX_TABLE, read_object,
                    "\"objects N\" and N lines \"object LABEL ADDRESS\"", err);
  if (rc != HD_OK) return rc;
  if (!number(after(next_line(r), "events"), 10, HD_TR_MAX_EVENTS - 1, &r->tables.nevents))
    return refuse(r, "\"events N\"", err);
  return HD_OK;
}

/* ---- events ---- */

static bool find_op(const char *w, uint8_t *op) {
  for (int k = 1; k < HD_OP_COUNT; k++)
    if (strcmp(w, hd_op_text(k)) == 0) return *op = (uint8_t)k, true;
  return false;
}

static bool thread_word(const struct reader *r, const char *w, uint32_t *out) {
  uint32_t at = w ? find_label(&r->thread, r->thread_label.v, w) : 0;
  *out = at - 1;
  return at != 0;
}

static bool object_word(const struct reader *r, const char *w, uint64_t *out) {
  if (!w) return false;
  if (strcmp(w, "-") == 0) return *out = 0, true;
  if (w[0] == '@') return number(w + 1, 16, UINT64_MAX, out) && *out;
  uint32_t at = find_label(&r->object, r->object_label.v, w);
  if (at) *out = r->tables.object.v[at - 1].addr;
  return at != 0;
}

/* The value of a word key=value, or NULL if it has another key. */
static char *value_of(char *w, const char *key) {
  size_t n = strlen(key);
  return strncmp(w, key, n) == 0 && w[n] == '=' ? w + n + 1 : NULL;
}

static bool memory_value(const char *s, uint32_t size, uint64_t *out) {
  if (size < 1 || size > 8) return false;
  if (s[0] == '0' && s[1] == 'x') return number(s + 2, 16, hd__value_mask(size), out);
  bool negative = s[0] == '-';
  if (!number(s + negative, 10, 65535, out)) return false;
  if (negative) *out = -*out & hd__value_mask(size);
  return true;
}

static bool order_word(const char *w, uint64_t *out) {
  for (*out = HD_MO_NONE + 1; *out < HD_MO_COUNT; ++*out)
    if (strcmp(w, hd_memory_order_text[*out]) == 0) return true;
  return false;
}

/* A field of the payload; false if the word is not a field, or repeats one. */
static bool field_word(const struct reader *r, struct hd_event *e, char *w) {
  const struct hd_field *f = hd_payload_table[hd_op_payload(e->op.kind)].field;
  char *v = NULL;
  while (f->key && (f->type >= HD_FIELD_RUN || !(v = value_of(w, f->key)))) f++;
  if (!v || hd_field_get(&e->op, f)) return false;
  uint64_t most = f->size == 8 ? UINT64_MAX : (1ull << 8 * f->size) - 1, n = 0;
  uint32_t thread;
  switch ((enum hd_field_type)f->type) {
    case HD_FIELD_OBJECT:
      if (!object_word(r, v, &n)) return false;
      break;
    case HD_FIELD_THREAD:
      if (strcmp(v, "-") == 0) return true;
      if (!thread_word(r, v, &thread)) return false;
      n = thread + 1ull;
      break;
    case HD_FIELD_ORDER:
      if (!order_word(v, &n)) return false;
      break;
    case HD_FIELD_FOUND:
      if (e->op.access.known || !memory_value(v, e->op.size, &n)) return false;
      e->op.access.known = 1;
      break;
    default:
      if (!number(v, 10, most, &n)) return false;
  }
  hd_field_set(&e->op, f, n);
  return true;
}

/* A number of events.def; false if the word is none, or that is there already. */
static bool number_word(struct hd_event *e, char *w) {
  const struct hd_field *f = hd_event_fields;
  char *v = NULL;
  uint64_t n, most;
  while (f->key && !(v = value_of(w, f->key))) f++;
  if (!v || hd_field_get(e, f)) return false;
  most = f->size == 8 ? UINT64_MAX : (1ull << 8 * f->size) - 1;
  if (!number(v, 10, most, &n) || !n) return false;
  hd_field_set(e, f, n);
  return true;
}

/* One of the words after the place. */
static bool read_extra(const struct reader *r, struct hd_event *e, char *w) {
  static const struct {
    const char *word;
    unsigned flag;
  } flags[] = {{"failed", HD_EV_FAILED}, {"late", HD_EV_LATE}, {"plain", HD_EV_PLAIN}};
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
    if (strcmp(w, flags[i].word) == 0) {
      bool fresh = !(e->flags & flags[i].flag);
      e->flags |= (uint8_t)flags[i].flag;
      return fresh;
    }
  char *v;
  if ((v = value_of(w, "value"))) {
    if (e->flags & HD_EV_VALUE) return false;
    e->flags |= HD_EV_VALUE;
    return memory_value(v, e->op.size, &e->value);
  }
  uint64_t n;
  if ((v = value_of(w, "from"))) return number(v, 10, UINT32_MAX, &n) && (e->from = (uint32_t)n) != 0;
  return number_word(e, w) || field_word(r, e, w);
}

static bool read_event(const struct reader *r, struct hd_event *e, char *line) {
  uint64_t n, size;
  uint32_t thread;
  char *w[6];
  for (int i = 0; i < 6; i++)
    if (!(w[i] = word(&line))) return false;
  if (!number(w[0], 10, UINT64_MAX, &n) || n != r->number + 1 || !thread_word(r, w[1], &thread) ||
      !find_op(w[2], &e->op.kind) || !number(w[4], 10, UINT32_MAX, &size))
    return false;
  e->op.thread = (uint16_t)thread;
  e->op.size = (uint32_t)size;
  if (hd_op_object(e->op.kind) != HD_OBJ_THREAD) {
    if (!object_word(r, w[3], &e->op.object)) return false;
  } else if (thread_word(r, w[3], &thread)) {
    e->op.object = thread;
  } else {
    return false;
  }
  if (strcmp(w[5], "-") != 0 && !(e->place = find_label(&r->place, r->place_label.v, w[5]))) return false;
  if (e->place) e->op.pc = r->tables.place.v[e->place - 1].pc;
  while (line) {
    char *extra = word(&line);
    if (!extra || !read_extra(r, e, extra)) return false;
  }
  return true;
}

static int next(struct hd_tr_source *s, struct hd_event *e, struct hd_err *err) {
  struct reader *r = (struct reader *)s;
  if (r->over) return 0;
  char *line = next_line(r);
  if (r->number == r->tables.nevents) {
    if (!line || strcmp(line, "end") != 0) return refuse(r, "\"end\"", err);
    if (r->rest != r->in.data + r->in.len) {
      r->line++;
      return refuse(r, "nothing after \"end\"", err);
    }
    r->over = true;
    return 0;
  }
  *e = (struct hd_event){0};
  if (!line || !read_event(r, e, line))
    return refuse(r, "an event: NUMBER THREAD OPERATION OBJECT SIZE PLACE ...", err);
  const char *wrong = hd__event_wrong(&r->tables, e, ++r->number);
  if (wrong) return hd_fail(err, HD_EUSAGE, "%s:%zu: damaged: the event has %s", r->in.name, r->line, wrong);
  return 1;
}

static void close_reader(struct hd_tr_source *s) {
  struct reader *r = (struct reader *)s;
  hd_tr_tables_fini(&r->tables);
  hd__map_fini(&r->thread);
  hd__map_fini(&r->place);
  hd__map_fini(&r->object);
  hd_vec_free(&r->thread_label);
  hd_vec_free(&r->place_label);
  hd_vec_free(&r->object_label);
  hd__input_fini(&r->in);
  free(r);
}

bool hd__is_text(const char *data, size_t len) {
  static const char head[] = "heddle-trace ";
  return len >= sizeof head - 1 && memcmp(data, head, sizeof head - 1) == 0;
}

int hd__open_text(struct hd__input in, struct hd_tr_source **out, struct hd_err *err) {
  struct reader *r = hd_alloc(sizeof *r);
  r->source = (struct hd_tr_source){.tables = &r->tables, .next = next, .close = close_reader};
  r->in = in;
  r->rest = in.data;
  const char *nul = memchr(in.data, 0, in.len);
  int rc = nul ? hd_fail(err, HD_EUSAGE, "%s: damaged: contains a NUL byte", in.name) : read_tables(r, err);
  if (rc != HD_OK) {
    close_reader(&r->source);
    return rc;
  }
  *out = &r->source;
  return HD_OK;
}
