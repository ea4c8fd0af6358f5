/* inexact.c: the reasons why a search is not complete, as text and JSON. Runs in the supervisor.
 *
 * The runtime counts reasons (model/inexact.def). This file adds those that follow from how the search was run and
 * ended, and looks up their source lines. A summary is complete if and only if it has no reason. */
#include "report/report_int.h"

#include "model/syscalls.h"

#include <stdlib.h>
#include <string.h>

static const char *const name_of[] = {
#define HD_INEXACT(id, class, name, text, advice) [HD_INEXACT_##id] = name,
#include "model/inexact.def"
#undef HD_INEXACT
};
static const char *const text_of[] = {
#define HD_INEXACT(id, class, name, text, advice) [HD_INEXACT_##id] = text,
#include "model/inexact.def"
#undef HD_INEXACT
};
static const char *const advice_of[] = {
#define HD_INEXACT(id, class, name, text, advice) [HD_INEXACT_##id] = advice,
#include "model/inexact.def"
#undef HD_INEXACT
};

const char *hd_reason_name(enum hd_inexact what) { return name_of[what]; }

/* ---- collecting reasons ---- */

/* Whether the reason follows from how the search was run or ended, which the first line of the summary states. */
static bool from_end(const struct hd_summary *s, const struct hd_evidence *e, enum hd_inexact what) {
  /* For a sampling strategy, time and executions are the amount of work: reaching them is not an early stop. */
  bool early = s->systematic ? !e->over : s->stop != HD_STOP_FINISHED;
  switch (what) {
    case HD_INEXACT_SAMPLING: return !s->systematic;
    case HD_INEXACT_BOUND: return e->bound_cut;
    case HD_INEXACT_PROPERTY: return s->property != 0;
    case HD_INEXACT_TIME: return early && s->systematic && s->stop == HD_STOP_TIME;
    case HD_INEXACT_EXECUTIONS: return early && s->stop == HD_STOP_EXECUTIONS;
    case HD_INEXACT_INTERRUPTED: return early && s->stop == HD_STOP_INTERRUPTED;
    case HD_INEXACT_CRASH_LOOP: return early && s->stop == HD_STOP_CRASH_LOOP;
    case HD_INEXACT_ERROR: return early && s->stop == HD_STOP_ERROR;
    /* A resumed search also ends this way when it reaches a finding that was reported before. */
    case HD_INEXACT_FIRST_FINDING: return early && (s->stop == HD_STOP_FOUND || s->stop == HD_STOP_FINISHED);
    case HD_INEXACT_PRELOAD: return s->preload;
    default: return false;
  }
}

static const char *module_at(const struct hd_evidence *e, uint64_t pc) {
  for (size_t i = 0; i < e->nmodules; i++) {
    if (pc < e->module[i].start || pc >= e->module[i].end) continue;
    size_t n = strnlen(e->module[i].path, sizeof e->module[i].path);
    const char *path = n ? e->module[i].path : e->program; /* the loader gives the program no name */
    const char *slash = memrchr(path, '/', n ? n : strlen(path));
    return slash ? slash + 1 : path;
  }
  return "a library";
}

static void add_detail(struct hd_reason *r, const struct hd_summary *s, const struct hd_evidence *e) {
  unsigned long long n = s->executions;
  const char *unit = s->bound_kind == HD_BOUND_DELAYS ? "delay" : "preemption";
  switch (r->what) {
#define DETAIL(...) snprintf(r->detail, sizeof r->detail, __VA_ARGS__)
    case HD_INEXACT_SAMPLING: DETAIL("%s", s->strategy); break;
    case HD_INEXACT_BOUND: DETAIL("%u %s%s", s->bound, unit, s->bound == 1 ? "" : "s"); break;
    case HD_INEXACT_TIME: DETAIL("%.1f s", s->seconds); break;
    case HD_INEXACT_EXECUTIONS: DETAIL("%llu execution%s", n, n == 1 ? "" : "s"); break;
    case HD_INEXACT_FINDINGS: DETAIL("%d", HD_MAX_FINDINGS); break;
    case HD_INEXACT_LENGTH: DETAIL("%llu", (unsigned long long)e->max_length); break;
    case HD_INEXACT_SEGMENTS: DETAIL("%u", HD_MAX_SEGMENTS); break;
    case HD_INEXACT_EARLY_TIMEOUTS: DETAIL("%d", HD_EARLY_TIMEOUTS); break;
    case HD_INEXACT_SYSCALL: {
      long nr = (long)(e->counts[r->what].first_pc >> HD_INEXACT_DETAIL);
      const char *name = hd_syscall(nr)->name;
      if (name)
        DETAIL("%s", name);
      else
        DETAIL("number %ld", nr);
      break;
    }
    case HD_INEXACT_NO_PLUGIN:
    case HD_INEXACT_PLAIN_LIBRARY:
    case HD_INEXACT_PLAIN_OBJECT:
    case HD_INEXACT_FOREIGN_THREADS: DETAIL("%.60s", module_at(e, e->counts[r->what].first_pc)); break;
    default: break;
#undef DETAIL
  }
}

static void add_place(struct hd_reason *r, struct hd_symbolizer *sym, uint64_t pc) {
  struct hd_place at = {0};
  hd_symbolize_pc(sym, pc, false, &at.stack);
  const struct hd_frame *f = hd_place_frame(&at);
  if (f) {
    r->file = hd_strdup(f->file);
    r->function = f->function ? hd_strdup(f->function) : NULL;
    r->line = f->line;
  }
  hd_frames_free(&at.stack);
}

void hd_summary_judge(struct hd_summary *s, const struct hd_evidence *e) {
  static const struct hd_inexact_count none;
  struct hd_symbolizer *sym = NULL; /* reads debug information, so only when it is needed */
  for (unsigned i = 0; i < HD_INEXACT_COUNT; i++) {
    const struct hd_inexact_count *n = e->counts ? &e->counts[i] : &none;
    bool end = from_end(s, e, (enum hd_inexact)i);
    if (!end && !n->count) continue;
    struct hd_reason *r = &s->reason[s->nreasons++];
    *r = (struct hd_reason){.what = (enum hd_inexact)i, .count = n->count + end};
    add_detail(r, s, e);
    if (!n->first_pc) continue;
    if (!sym) sym = hd_symbolizer_new(e->module, e->nmodules, e->program, e->cwd);
    add_place(r, sym, n->first_pc & ((1ull << HD_INEXACT_DETAIL) - 1));
  }
  hd_symbolizer_free(sym);
  s->complete = s->nreasons == 0;
}

void hd_summary_fini(struct hd_summary *s) {
  for (size_t i = 0; i < s->nreasons; i++) {
    free(s->reason[i].file);
    free(s->reason[i].function);
  }
  s->nreasons = 0;
  hd_lock_orders_free(&s->lock_orders);
}

const struct hd_reason *hd_summary_reason(const struct hd_summary *s, enum hd_inexact what) {
  for (size_t i = 0; i < s->nreasons; i++)
    if (s->reason[i].what == what) return &s->reason[i];
  return NULL;
}

uint64_t hd_summary_cut(const struct hd_summary *s) {
  const struct hd_reason *length = hd_summary_reason(s, HD_INEXACT_LENGTH),
                         *segments = hd_summary_reason(s, HD_INEXACT_SEGMENTS);
  return (length ? length->count : 0) + (segments ? segments->count : 0);
}

/* ---- in words ---- */

void hd_reason_text(struct hd_str *out, const struct hd_reason *r) {
  bool shown = true, many = r->count != 1;
  for (const char *p = text_of[r->what]; *p; p++) {
    switch (*p) {
      case '{': shown = !many; break;
      case '|': shown = many; break;
      case '}': shown = true; break;
      case '#': hd_str_addf(out, "%llu", (unsigned long long)r->count); break;
      case '$': hd_str_add(out, r->detail); break;
      default:
        if (shown) hd_str_addc(out, *p);
    }
  }
}

#define INDENT 6

/* Words from column INDENT on, in lines of `width` columns. pre: the first line has its indent. */
static void add_wrapped(struct hd_str *out, const char *text, size_t width) {
  size_t column = INDENT;
  for (const char *p = text; *p;) {
    size_t n = strcspn(p, " ");
    if (column > INDENT && column + 1 + n > width) {
      hd_str_addf(out, "\n%*s", INDENT, "");
      column = INDENT;
    } else if (column > INDENT) {
      hd_str_addc(out, ' ');
      column++;
    }
    hd_str_addf(out, "%.*s", (int)n, p);
    column += n;
    p += n + (p[n] == ' ');
  }
  hd_str_addc(out, '\n');
}

void hd_text_reasons(struct hd_str *out, const struct hd_summary *s, unsigned width) {
  bool first = true;
  for (size_t i = 0; i < s->nreasons; i++) {
    const struct hd_reason *r = &s->reason[i];
    if (hd_inexact_class[r->what] == HD_CLASS_END) continue;
    struct hd_str line;
    hd_str_init(&line);
    hd_reason_text(&line, r);
    if (r->file) hd_str_addf(&line, " (%s:%d)", r->file, r->line);
    hd_str_addf(&line, ": %s", advice_of[r->what]);
    hd_str_addf(out, "%s    - ", first ? "  not complete, because:\n" : "");
    add_wrapped(out, line.s, width);
    hd_str_fini(&line);
    first = false;
  }
}

json_t *hd_json_reasons(const struct hd_summary *s) {
  json_t *all = json_array();
  for (size_t i = 0; i < s->nreasons; i++) {
    const struct hd_reason *r = &s->reason[i];
    struct hd_str text;
    hd_str_init(&text);
    hd_reason_text(&text, r);
    json_t *where = r->file ? json_pack("{s:o,s:i,s:o}", "file", hd_json_text(r->file), "line", r->line,
                                        "function", hd_json_text(r->function))
                            : json_null();
    json_array_append_new(all, json_pack("{s:s,s:I,s:o,s:s,s:o}", "reason", name_of[r->what], "count",
                                         (json_int_t)r->count, "text", hd_json_text(text.s), "advice",
                                         advice_of[r->what], "where", where));
    hd_str_fini(&text);
  }
  return all;
}
