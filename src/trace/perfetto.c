/* perfetto.c: writes a trace as trace-event JSON for Perfetto and Chrome: a track per thread, a slice per event, an
 * arrow from an event to each event of another thread that reads from it. Runs in the supervisor.
 *
 * Events have an order but no times: each takes a microsecond. An arrow needs the thread of its source event, which is
 * kept for the last RECENT events; arrows from earlier events are omitted. */
#include "trace/trace_int.h"

#include <stdlib.h>

#define RECENT (1u << 20)

struct writer {
  const struct hd_tr_tables *t;
  struct hd__labels labels;
  uint32_t *recent; /* [RECENT] threads; owned */
  uint64_t number, arrows;
  struct hd_str b, word;
};

/* The length of the UTF-8 character at s; 0 if it is invalid. */
static size_t utf8(const unsigned char *s) {
  size_t n = s[0] < 0x80                   ? 1
             : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
             : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
             : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                           : 0;
  for (size_t i = 1; i < n; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0))) return 0;
  if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))) return 0;
  return n;
}

static void add_json(struct hd_str *b, const char *s) {
  hd_str_addc(b, '"');
  for (size_t n; *s; s += n) {
    n = utf8((const unsigned char *)s);
    if (n == 0)
      hd_str_addc(b, '?'), n = 1;
    else if (*s == '"' || *s == '\\')
      hd_str_addf(b, "\\%c", *s);
    else if ((unsigned char)*s < ' ' || *s == 0x7f)
      hd_str_addf(b, "\\u%04x", (unsigned char)*s);
    else
      hd_str_addn(b, s, n);
  }
  hd_str_addc(b, '"');
}

static void add_key(struct hd_str *b, const char *key, const char *value) {
  hd_str_addf(b, "\"%s\":", key);
  add_json(b, value);
}

static void add_threads(struct writer *w) {
  for (size_t i = 0; i < w->t->thread.n; i++) {
    const struct hd_tr_thread *t = &w->t->thread.v[i];
    hd_str_clear(&w->word);
    hd_str_add(&w->word, t->name);
    if (t->called) hd_str_addf(&w->word, " %s", t->called);
    if (t->function) hd_str_addf(&w->word, " (%s)", t->function);
    hd_str_addf(&w->b, "{\"ph\":\"M\",\"pid\":1,\"tid\":%zu,\"name\":\"thread_name\",\"args\":{", i);
    add_key(&w->b, "name", w->word.s);
    hd_str_addf(&w->b,
                "}},\n{\"ph\":\"M\",\"pid\":1,\"tid\":%zu,\"name\":\"thread_sort_index\",\"args\":"
                "{\"sort_index\":%zu}},\n",
                i, i);
  }
}

/* Writes the object of the event into w->word. */
static void object_word(struct writer *w, const struct hd_event *e) {
  hd_str_clear(&w->word);
  if (hd_op_object(e->op.kind) == HD_OBJ_THREAD)
    hd__add_thread(&w->word, &w->labels, e->op.object);
  else if (e->op.object)
    hd__add_object(&w->word, &w->labels, e->op.object);
}

static void add_arrow(struct writer *w, const struct hd_event *e) {
  if (!e->from || w->number - e->from >= RECENT) return;
  uint32_t thread = w->recent[e->from % RECENT];
  if (thread == e->op.thread) return;
  unsigned long long id = ++w->arrows, from = e->from, to = w->number;
  hd_str_addf(
      &w->b,
      ",\n{\"ph\":\"s\",\"pid\":1,\"tid\":%u,\"ts\":%llu.5,\"id\":%llu,\"cat\":\"order\",\"name\":\"seen\"},\n"
      "{\"ph\":\"f\",\"bp\":\"e\",\"pid\":1,\"tid\":%u,\"ts\":%llu.25,\"id\":%llu,\"cat\":\"order\","
      "\"name\":\"seen\"}",
      thread, from, id, e->op.thread, to, id);
}

static void add_event(struct writer *w, const struct hd_event *e) {
  struct hd_str *b = &w->b;
  w->recent[++w->number % RECENT] = e->op.thread;
  object_word(w, e);
  hd_str_addf(b, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%llu,\"dur\":1,\"cat\":\"%s\",", e->op.thread,
              (unsigned long long)w->number, e->flags & HD_EV_PLAIN ? "access" : "operation");
  char *object = hd_strdup(w->word.s);
  hd_str_clear(&w->word);
  hd_str_addf(&w->word, "%s%s%s%s", hd_op_text(e->op.kind), e->flags & HD_EV_FAILED ? " (failed)" : "",
              *object ? " " : "", object);
  add_key(b, "name", w->word.s);
  hd_str_addf(b, ",\"args\":{\"event\":%llu", (unsigned long long)w->number);
  if (*object) {
    hd_str_addc(b, ',');
    add_key(b, "object", object);
  }
  free(object);
  /* As text: JSON readers lose digits of large numbers. */
  if (e->op.size) hd_str_addf(b, ",\"size\":%u", e->op.size);
  if (e->flags & HD_EV_VALUE) hd_str_addf(b, ",\"value\":\"0x%llx\"", (unsigned long long)e->value);
  for (const struct hd_field *f = hd_payload_table[hd_op_payload(e->op.kind)].field; f->key; f++) {
    if (!hd_field_recorded(&e->op, f)) continue;
    hd_str_clear(&w->word);
    hd__add_field(&w->word, &w->labels, &e->op, f);
    hd_str_addc(b, ',');
    add_key(b, f->key, w->word.s);
  }
  for (const struct hd_field *f = hd_event_fields; f->key; f++)
    if (hd_field_get(e, f)) hd_str_addf(b, ",\"%s\":%llu", f->key, (unsigned long long)hd_field_get(e, f));
  if (e->from) hd_str_addf(b, ",\"from\":%llu", (unsigned long long)e->from);
  const struct hd_tr_place *p = e->place ? &w->t->place.v[e->place - 1] : NULL;
  if (p) {
    hd_str_clear(&w->word);
    if (p->file)
      hd_str_addf(&w->word, "%s:%u", p->file, p->line);
    else
      hd__add_place(&w->word, &w->labels, e->place - 1);
    hd_str_addc(b, ',');
    add_key(b, "at", w->word.s);
    if (p->function) {
      hd_str_addc(b, ',');
      add_key(b, "function", p->function);
    }
  }
  hd_str_add(b, "}}");
  add_arrow(w, e);
}

int hd__write_perfetto(struct hd_tr_source *s, FILE *out, struct hd_err *err) {
  struct writer w = {.t = s->tables, .recent = hd_alloc(RECENT * sizeof(uint32_t))};
  struct hd_event e;
  int rc;
  hd__labels_init(&w.labels, s->tables);
  hd_str_init(&w.b);
  hd_str_init(&w.word);
  hd_str_add(&w.b, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  add_threads(&w);
  hd_str_add(&w.b, "{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\",\"args\":{");
  add_key(&w.b, "name", s->tables->command ? s->tables->command : "heddle");
  hd_str_add(&w.b, "}}");
  while ((rc = hd_tr_next(s, &e, err)) > 0) {
    add_event(&w, &e);
    if (w.b.n > 65536) {
      fwrite(w.b.s, 1, w.b.n, out);
      hd_str_clear(&w.b);
    }
  }
  hd_str_add(&w.b, "\n]}\n");
  fwrite(w.b.s, 1, w.b.n, out);
  hd_str_fini(&w.b);
  hd_str_fini(&w.word);
  hd__labels_fini(&w.labels);
  free(w.recent);
  return rc;
}
