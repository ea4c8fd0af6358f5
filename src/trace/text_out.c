/* text_out.c: writes a trace as lines of text (docs/formats.md has the grammar). Runs in the supervisor. The output is
 * canonical: each trace has one text, and text_in.c reads it back to the same trace. */
#include "trace/trace_int.h"

#include <stdlib.h>

static void flush(struct hd_str *b, FILE *out) {
  fwrite(b->s, 1, b->n, out);
  hd_str_clear(b);
}

static void put_tables(const struct hd__labels *l, struct hd_str *b, FILE *out) {
  const struct hd_tr_tables *t = l->t;
  hd_str_add(b, "heddle-trace 3\ncommand ");
  hd__escape(b, t->command);
  hd_str_addf(b, "\nthreads %zu\n", t->thread.n);
  for (size_t i = 0; i < t->thread.n; i++) {
    hd_str_add(b, "thread ");
    hd__add_thread(b, l, i);
    hd_str_addc(b, ' ');
    hd__escape(b, t->thread.v[i].called);
    hd_str_addc(b, ' ');
    hd__escape(b, t->thread.v[i].function);
    hd_str_addc(b, '\n');
    flush(b, out);
  }
  hd_str_addf(b, "places %zu\n", t->place.n);
  for (size_t i = 0; i < t->place.n; i++) {
    const struct hd_tr_place *p = &t->place.v[i];
    hd_str_add(b, "place ");
    hd__add_place(b, l, i);
    hd_str_addf(b, " %llx ", (unsigned long long)p->pc);
    hd__escape(b, p->file);
    hd_str_addf(b, " %u ", p->line);
    hd__escape(b, p->function);
    hd_str_addc(b, '\n');
    flush(b, out);
  }
  hd_str_addf(b, "objects %zu\n", t->object.n);
  for (size_t i = 0; i < t->object.n; i++) {
    hd_str_add(b, "object ");
    hd__add_named(b, l, i);
    hd_str_addf(b, " %llx\n", (unsigned long long)t->object.v[i].addr);
    flush(b, out);
  }
  hd_str_addf(b, "events %llu\n", (unsigned long long)t->nevents);
}

void hd_tr_value(struct hd_str *out, uint64_t v, uint32_t size) {
  unsigned shift = 64 - 8 * size;
  int64_t n = (int64_t)(v << shift) >> shift;
  if (n > -65536 && n < 65536)
    hd_str_addf(out, "%lld", (long long)n);
  else
    hd_str_addf(out, "0x%llx", (unsigned long long)v);
}

static void add_event(struct hd_str *b, const struct hd__labels *l, const struct hd_event *e,
                      uint64_t number) {
  hd_str_addf(b, "%llu ", (unsigned long long)number);
  hd__add_thread(b, l, e->op.thread);
  hd_str_addf(b, " %s ", hd_op_text(e->op.kind));
  if (hd_op_object(e->op.kind) == HD_OBJ_THREAD)
    hd__add_thread(b, l, e->op.object);
  else
    hd__add_object(b, l, e->op.object);
  hd_str_addf(b, " %u ", e->op.size);
  if (e->place)
    hd__add_place(b, l, e->place - 1);
  else
    hd_str_addc(b, '-');
  if (e->flags & HD_EV_FAILED) hd_str_add(b, " failed");
  if (e->flags & HD_EV_LATE) hd_str_add(b, " late");
  if (e->flags & HD_EV_PLAIN) hd_str_add(b, " plain");
  for (const struct hd_field *f = hd_payload_table[hd_op_payload(e->op.kind)].field; f->key; f++) {
    if (!hd_field_recorded(&e->op, f)) continue;
    hd_str_addf(b, " %s=", f->key);
    hd__add_field(b, l, &e->op, f);
  }
  for (const struct hd_field *f = hd_event_fields; f->key; f++)
    if (hd_field_get(e, f)) hd_str_addf(b, " %s=%llu", f->key, (unsigned long long)hd_field_get(e, f));
  if (e->flags & HD_EV_VALUE) {
    hd_str_add(b, " value=");
    hd_tr_value(b, e->value, e->op.size);
  }
  if (e->from) hd_str_addf(b, " from=%llu", (unsigned long long)e->from);
  hd_str_addc(b, '\n');
}

int hd__write_text(struct hd_tr_source *s, FILE *out, struct hd_err *err) {
  struct hd__labels l;
  struct hd_str b;
  struct hd_event e;
  uint64_t number = 0;
  int rc;
  hd__labels_init(&l, s->tables);
  hd_str_init(&b);
  put_tables(&l, &b, out);
  while ((rc = hd_tr_next(s, &e, err)) > 0) {
    add_event(&b, &l, &e, ++number);
    if (b.n > 65536) flush(&b, out);
  }
  if (rc == 0) hd_str_add(&b, "end\n");
  flush(&b, out);
  hd_str_fini(&b);
  hd__labels_fini(&l);
  return rc;
}
