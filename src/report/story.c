/* story.c: the story of a finding: source lines in the order of execution. Runs in the supervisor.
 *
 * A story has the recorded events that are in the cone of the failure and operate on something shared (analysis.h).
 * They are merged into rows: consecutive events of one thread in one source line. An access inside a library is
 * attributed to the line that called it. */
#include "analysis/analysis.h"
#include "report/report_int.h"

#include <stdlib.h>
#include <string.h>

#define MAX_EVENTS 4000 /* events; of more, only the last ones are used */
#define MAX_ROWS 14     /* shown, unless more explain the failure ... */
#define MOST_ROWS 24    /* ... but so many at most */
#define FEW_ROWS 8      /* shown, whether they explain it or not */
#define EXPLAINS 1      /* rows at most so far from the failure are always shown, ... */
#define RELATED 4       /* and those so far while there is room */
#define MAX_WHAT 160
#define FIRST_EVENTS 32  /* of a thread, by which its function is found */
#define SMALL 1000000000 /* numbers below are shown in decimal */
#define MAX_TOUCHES 6    /* shown in one row */

/* The effect of a row on one memory location. */
struct touch {
  uint64_t object;
  uint32_t size;
  bool read, written, known; /* known: the values are */
  uint64_t before, after;    /* first read, last written or read */
};

struct builder {
  const struct hd_recording *r;
  const struct hd_finding *f;
  struct hd_symbolizer *sym;
  struct hd_story *story;
  const uint8_t *distance;         /* of each event from the failure */
  struct touch touch[MAX_TOUCHES]; /* of the last row */
  size_t ntouches;
};

/* ---- where ---- */

static bool take_frame(struct hd_row *row, const struct hd_frames *frames) {
  if (row->thread >= HD_MAX_THREADS) return false; /* the recording is not trusted */
  for (size_t i = 0; i < frames->n; i++) {
    const struct hd_frame *f = &frames->v[i];
    if (hd__is_plumbing(f) || !f->line || !f->file) continue;
    row->file = hd_strdup(f->file);
    row->path = hd_strdup(f->path);
    row->function = f->function ? hd_strdup(f->function) : NULL;
    row->line = f->line;
    return true;
  }
  return false;
}

/* The line of the user's source in which event `i` was executed; false if none is known. `inside`: it was in a library
 * called from there. */
static bool locate(struct builder *t, size_t i, struct hd_row *row, bool *inside) {
  const struct hd_event *e = &t->r->event[i];
  bool found = false;
  *inside = false;
  for (int k = -1; k < HD_CALLS && !found; k++) {
    uint64_t pc = k < 0 ? e->op.pc : i < t->r->ncalls ? t->r->calls[i * HD_CALLS + (size_t)k] : 0;
    if (!pc && k >= 0) break;
    struct hd_frames frames = {0};
    if (pc) hd_symbolize_pc(t->sym, pc, false, &frames);
    found = take_frame(row, &frames);
    if (!found) *inside = true;
    hd_frames_free(&frames);
  }
  return found;
}

static void clear_place(struct hd_row *row) {
  free(row->file);
  free(row->path);
  free(row->function);
  row->file = row->path = row->function = NULL;
}

/* ---- what ---- */

static void add_object(struct builder *t, struct hd_str *out, uint64_t addr) {
  char *name = hd_symbolize_object(t->sym, addr);
  if (name)
    hd_str_addf(out, " %s", name);
  else
    hd_str_add(out, " it");
  free(name);
}

void hd__text_value(struct hd_str *out, uint64_t v, uint32_t size) {
  int64_t s = size == 1 ? (int8_t)v : size == 2 ? (int16_t)v : size == 4 ? (int32_t)v : (int64_t)v;
  if (s > -SMALL && s < SMALL)
    hd_str_addf(out, "%lld", (long long)s);
  else
    hd_str_addf(out, "%#llx", (unsigned long long)v);
}

static void add_thread(struct builder *t, struct hd_str *out, unsigned thread) {
  char *name = hd_thread_name(t->r->thread, t->r->nthreads, thread);
  hd_str_add(out, name);
  free(name);
}

/* Notes an access. It is added to the text when the row is complete. */
static void note_access(struct builder *t, const struct hd_event *e) {
  struct touch *c = NULL;
  for (size_t i = 0; i < t->ntouches && !c; i++)
    if (t->touch[i].object == e->op.object && t->touch[i].size == e->op.size) c = &t->touch[i];
  if (!c) {
    if (t->ntouches == MAX_TOUCHES) return;
    c = &t->touch[t->ntouches++];
    *c = (struct touch){.object = e->op.object, .size = e->op.size, .known = true};
  }
  bool write = hd_op_does(e->op.kind, e->flags, HD_EFF_CHANGES);
  bool found = e->op.access.known;
  if (!c->written && !c->read && (!write || found)) c->before = found ? e->op.access.found : e->value;
  c->read |= !write || found;
  c->written |= write;
  c->after = e->value;
  c->known &= (e->flags & HD_EV_VALUE) != 0;
}

static bool is_small(uint64_t v, uint32_t size) {
  return size < 8 || ((int64_t)v < SMALL && (int64_t)v > -SMALL);
}

/* "count is 0", "count: 0 -> 1", "count = 1" */
static void add_touch(struct builder *t, struct hd_str *out, const struct touch *c) {
  char *name = hd_symbolize_object(t->sym, c->object);
  /* An address without a name is not informative. */
  bool small = is_small(c->after, c->size) && (!c->read || is_small(c->before, c->size));
  if (!name && (!c->known || !small)) return;
  if (out->n) hd_str_add(out, "; ");
  if (!c->known) {
    hd_str_addf(out, "%s %s", c->written ? "writes" : "reads", name);
  } else if (c->written && c->read) {
    hd_str_addf(out, "%s%s", name ? name : "", name ? ": " : "");
    hd__text_value(out, c->before, c->size);
    hd_str_add(out, " -> ");
    hd__text_value(out, c->after, c->size);
  } else {
    if (name)
      hd_str_addf(out, "%s %s ", name, c->written ? "=" : "is");
    else
      hd_str_add(out, c->written ? "writes " : "reads ");
    hd__text_value(out, c->after, c->size);
  }
  free(name);
}

static void add_wakes(struct builder *t, struct hd_str *out, const struct hd_op *op) {
  bool one = hd_op_effect(op->kind, 0) == HD_EFF_NOTIFY;
  if (one ? !op->wake.thread : !op->wake.count)
    hd_str_add(out, ": no thread waits");
  else if (one) {
    hd_str_add(out, ": wakes ");
    add_thread(t, out, hd_op_woken(op) - 1);
  } else {
    hd_str_addf(out, ": wakes %u", op->wake.count);
  }
}

/* Describes the event; adds nothing where the source line is clear. */
static void add_what(struct builder *t, struct hd_str *out, const struct hd_event *e) {
  enum hd_effect effect = hd_op_effect(e->op.kind, e->flags);
  unsigned object = hd_op_object(e->op.kind);
  const char *verb = NULL, *after = "";
  bool reads = hd_op_effect(e->op.kind, 0) == HD_EFF_SHARE;
  if (object == HD_OBJ_ONCE && (effect == HD_EFF_ACQUIRE || effect == HD_EFF_LOOK)) {
    char *name = hd_symbolize_object(t->sym, e->op.object);
    hd_str_addf(out, "%s: %s", name ? name : "once-control",
                effect == HD_EFF_ACQUIRE ? "first call" : "called before");
    free(name);
    return;
  }
  switch (effect) {
    case HD_EFF_FREE: hd_str_add(out, "frees it"); return;
    case HD_EFF_RELEASE:
    case HD_EFF_UNSHARE: return;
    case HD_EFF_NOTIFY:
    case HD_EFF_NOTIFY_ALL:
      if (object == HD_OBJ_COND) verb = "signals";
      break;
    case HD_EFF_QUEUE: verb = "waits on"; break;
    case HD_EFF_POST:
    case HD_EFF_TAKE: verb = "semaphore"; break;
    case HD_EFF_ACQUIRE:
    case HD_EFF_SHARE:
      verb = hd_op_second(e->op.kind, e->flags) == HD_EFF_RETURN ? "is woken and retakes" : "takes";
      break;
    case HD_EFF_LOOK:
    case HD_EFF_LOOK_SHARED: verb = object == HD_OBJ_SEM ? "semaphore" : "fails to take"; break;
    default:
      if (object == HD_OBJ_MEMORY) return;
  }
  if (!verb) {
    hd_str_addf(out, "%s%s", hd_op_text(e->op.kind), e->flags & HD_EV_FAILED ? " (fails)" : "");
    if (object != HD_OBJ_IO) add_object(t, out, e->op.object);
    return;
  }
  if (object == HD_OBJ_RWLOCK) after = reads ? " to read" : " to write";
  hd_str_add(out, verb);
  add_object(t, out, e->op.object);
  hd_str_add(out, after);
  if (object == HD_OBJ_COND && effect != HD_EFF_QUEUE) add_wakes(t, out, &e->op);
  if (object != HD_OBJ_SEM) return;
  int64_t had = (int64_t)e->op.sem.value, change = (effect == HD_EFF_POST) - (effect == HD_EFF_TAKE);
  hd_str_addf(out, change ? ": %lld -> %lld" : " is %lld", (long long)had, (long long)(had + change));
}

static void say(struct hd_row *row, const char *what) {
  if (!*what || (row->what && strstr(row->what, what))) return;
  if (row->what && strlen(row->what) + strlen(what) > MAX_WHAT) return;
  char *more = row->what ? hd_sprintf("%s; %s", row->what, what) : hd_strdup(what);
  free(row->what);
  row->what = more;
}

/* ---- rows ---- */

static struct hd_row *last_row(struct hd_story *s) { return s->row.n ? &s->row.v[s->row.n - 1] : NULL; }

/* Completes the last row. */
static void close_row(struct builder *t) {
  struct hd_row *row = last_row(t->story);
  struct hd_str what;
  hd_str_init(&what);
  for (size_t i = 0; i < t->ntouches; i++) add_touch(t, &what, &t->touch[i]);
  t->ntouches = 0;
  if (what.n && row) {
    char *words = row->what;
    row->what = words ? hd_sprintf("%s; %s", what.s, words) : hd_strdup(what.s);
    free(words);
  }
  hd_str_fini(&what);
}

static bool same_line(const struct hd_row *a, const struct hd_row *b) {
  return a->line == b->line && a->path && b->path && strcmp(a->path, b->path) == 0;
}

/* Takes ownership of the row. Merges it with the last one if thread and line are the same. */
static struct hd_row *add_row(struct builder *t, struct hd_row *row) {
  struct hd_row *last = last_row(t->story);
  if (last && last->thread == row->thread && same_line(last, row)) {
    if (row->what) say(last, row->what);
    if (row->first <= row->last) last->last = row->last;
    if (row->distance < last->distance) last->distance = row->distance;
    clear_place(row);
    free(row->what);
    return last;
  }
  close_row(t);
  row->kept = true;
  hd_vec_push(&t->story->row, *row);
  return last_row(t->story);
}

static bool is_shown(const struct hd_event *e) {
  if (e->op.kind == HD_OP_NONE || e->op.kind >= HD_OP_COUNT) return false;
  unsigned object = hd_op_object(e->op.kind);
  return object != HD_OBJ_THREAD && object != HD_OBJ_NONE && object != HD_OBJ_STREAM;
}

/* A library's accesses to its own memory are not shown; those of std::atomic are to the program's. */
static bool is_accessed(struct builder *t, const struct hd_event *e, bool inside) {
  if (hd_op_object(e->op.kind) != HD_OBJ_MEMORY || hd_op_effect(e->op.kind, 0) == HD_EFF_FREE) return false;
  if (!inside || !hd_op_is(e->op.kind, HD_TRAIT_ATOMIC)) return !inside;
  char *name = hd_symbolize_object(t->sym, e->op.object);
  bool known = name && !strchr(name, '+');
  free(name);
  return known;
}

static void add_event(struct builder *t, size_t i) {
  const struct hd_event *e = &t->r->event[i];
  struct hd_row row = {.thread = e->op.thread, .first = i, .last = i, .distance = t->distance[i]};
  bool inside, memory = hd_op_object(e->op.kind) == HD_OBJ_MEMORY;
  if (!locate(t, i, &row, &inside)) return;
  struct hd_str what;
  hd_str_init(&what);
  add_what(t, &what, e);
  const struct hd_row *last = last_row(t->story);
  bool goes_on = last && last->thread == row.thread && same_line(last, &row);
  if (what.n == 0 && !memory && !goes_on) {
    clear_place(&row);
    hd_str_fini(&what);
    return;
  }
  unsigned object = hd_op_object(e->op.kind);
  row.locks = (object == HD_OBJ_MUTEX || object == HD_OBJ_RWLOCK) && !(e->flags & HD_EV_FAILED) &&
              hd_op_second(e->op.kind, e->flags) != HD_EFF_RETURN;
  row.what = what.n ? hd_strdup(what.s) : NULL;
  hd_str_fini(&what);
  row.memory = memory;
  bool locks = row.locks;
  struct hd_row *now = add_row(t, &row);
  now->locks &= locks;
  now->memory &= memory;
  if (is_accessed(t, e, inside)) note_access(t, e);
}

/* The last row of the thread, or NULL. */
static struct hd_row *row_of(struct hd_story *s, unsigned thread) {
  for (size_t i = s->row.n; i-- > 0;)
    if (s->row.v[i].thread == thread) return &s->row.v[i];
  return NULL;
}

/* The row of a place of the finding: the last row of its thread if it has that line, else a new one. */
static struct hd_row *place_row(struct builder *t, const struct hd_place *p, bool anywhere) {
  struct hd_row row = {.thread = p->thread_no, .first = 1, .distance = HD_WHY_NONE};
  if (!take_frame(&row, &p->stack)) return NULL;
  for (size_t i = t->story->row.n; i-- > 0;) {
    struct hd_row *at = &t->story->row.v[i];
    if (at->thread != row.thread) continue;
    if (same_line(at, &row)) {
      clear_place(&row);
      return at;
    }
    if (!anywhere) break;
  }
  return add_row(t, &row);
}

/* As in the list of places; names are not quoted in rows. */
static void add_wait(struct hd_str *out, const struct hd_place *p) {
  struct hd_str text;
  hd_str_init(&text);
  hd__text_wait(&text, p);
  for (const char *c = text.s; *c; c++)
    if (*c != '`') hd_str_addc(out, *c);
  hd_str_fini(&text);
}

static void add_wait_row(struct builder *t, const struct hd_place *p) {
  if (hd_op_object(p->op) == HD_OBJ_THREAD) return; /* waits for another of these threads */
  struct hd_row *last = row_of(t->story, p->thread_no);
  bool cond = hd_op_object(p->op) == HD_OBJ_COND;
  struct hd_row row = {.thread = p->thread_no, .first = 1, .distance = HD_WHY_NONE, .mark = HD_ROW_WAITS};
  if (!take_frame(&row, &p->stack)) return;
  struct hd_str what;
  hd_str_init(&what);
  if (cond)
    hd_str_add(&what, "no thread can wake it");
  else
    add_wait(&what, p);
  if (cond && last && same_line(last, &row)) {
    say(last, what.s);
    last->mark = HD_ROW_WAITS;
    clear_place(&row);
    hd_str_fini(&what);
    return;
  }
  close_row(t);
  row.what = hd_str_take(&what);
  row.kept = true;
  hd_vec_push(&t->story->row, row);
}

/* Adds the places of the finding itself as the last rows. */
static void add_end(struct builder *t) {
  const struct hd_finding *f = t->f;
  for (size_t i = 0; i < f->nplaces; i++) {
    const struct hd_place *p = &f->place[i];
    if (p->role == HD_ROLE_PREVIOUS) {
      struct hd_row *row = place_row(t, p, true);
      if (row && row->mark == HD_ROW_STEP) row->mark = HD_ROW_RACES;
    }
    if (p->role == HD_ROLE_WAITS) add_wait_row(t, p);
    if (p->role == HD_ROLE_FREE) {
      struct hd_row *row = place_row(t, p, true);
      if (row) say(row, "frees it");
    }
  }
  for (size_t i = 0; i < f->nplaces; i++) {
    const struct hd_place *p = &f->place[i];
    if (p->role != HD_ROLE_AT) continue;
    struct hd_row *last = last_row(t->story);
    /* It is the last event, after those of all other threads. */
    struct hd_row *row = last && last->thread == p->thread_no ? place_row(t, p, false) : NULL;
    if (!row) {
      struct hd_row own = {.thread = p->thread_no, .first = 1, .distance = HD_WHY_NONE};
      if (!take_frame(&own, &p->stack)) continue;
      close_row(t);
      own.kept = true;
      hd_vec_push(&t->story->row, own);
      row = last_row(t->story);
    }
    row->mark = HD_ROW_FAILS;
    break;
  }
}

/* ---- room ---- */

static void drop_row(struct hd_story *s, size_t i) {
  clear_place(&s->row.v[i]);
  free(s->row.v[i].what);
  memmove(&s->row.v[i], &s->row.v[i + 1], (s->row.n - i - 1) * sizeof s->row.v[0]);
  s->row.n--;
}

static bool spawns(const struct hd_event *e) {
  return e->op.kind < HD_OP_COUNT && hd_op_effect(e->op.kind, 0) == HD_EFF_SPAWN;
}

/* Whether a thread is created in this line; it may be one that runs a function written there. */
static bool creates(struct builder *t, const struct hd_row *row) {
  for (size_t i = 0; i < t->r->n; i++) {
    if (!spawns(&t->r->event[i])) continue;
    struct hd_row at = {0};
    bool inside, same = locate(t, i, &at, &inside) && same_line(&at, row);
    clear_place(&at);
    if (same) return true;
  }
  return false;
}

/* In a deadlock, locks that nobody waits for at the end. */
static bool is_other_lock(const struct builder *t, const struct hd_row *r) {
  return t->f->kind == HD_KIND_DEADLOCK && r->locks && r->distance == HD_WHY_NONE;
}

/* Drops rows that do not explain the failure: locks unless the finding is about locks, memory if it is a deadlock, the
 * arguments prepared for a new thread, and lines of which nothing can be said. */
static void leave_out(struct builder *t) {
  struct hd_story *s = t->story;
  bool locks = t->f->kind == HD_KIND_DEADLOCK || t->f->kind == HD_KIND_DOUBLE_LOCK ||
               t->f->kind == HD_KIND_NOT_OWNER || t->f->kind == HD_KIND_DESTROY_BUSY;
  size_t others = 0;
  for (size_t i = 0; i < s->row.n; i++) others += !s->row.v[i].locks && s->row.v[i].mark == HD_ROW_STEP;
  bool deadlock = t->f->kind == HD_KIND_DEADLOCK, held = false;
  for (size_t i = 0; i < s->row.n; i++) held |= s->row.v[i].locks && s->row.v[i].distance == 0;
  for (size_t i = s->row.n; i-- > 0;) {
    const struct hd_row *r = &s->row.v[i];
    if (r->mark != HD_ROW_STEP) continue;
    bool silent = !r->what && r->distance > RELATED && s->row.n > MAX_ROWS;
    if ((r->locks && !locks && others) || (r->memory && deadlock) || (!r->what && creates(t, r)) || silent ||
        (is_other_lock(t, r) && held))
      drop_row(s, i);
  }
}

/* Shows up to `most` rows that are at most this far from the failure, the last ones if there are more. */
static size_t show(struct hd_story *s, unsigned distance, size_t shown, size_t most) {
  for (size_t i = s->row.n; i-- > 0 && shown < most;) {
    struct hd_row *r = &s->row.v[i];
    if (r->kept || r->distance > distance) continue;
    r->kept = true;
    shown++;
  }
  return shown;
}

/* Hides what is far from the failure. Where no distances are known, the last rows are shown. */
static void make_room(struct hd_story *s) {
  if (s->row.n <= MAX_ROWS) return;
  size_t shown = 0;
  bool known = false;
  for (size_t i = 0; i < s->row.n; i++) {
    struct hd_row *r = &s->row.v[i];
    r->kept = r->mark != HD_ROW_STEP;
    shown += r->kept;
    known |= r->distance != HD_WHY_NONE;
  }
  for (unsigned d = 0; d <= EXPLAINS; d++) shown = show(s, d, shown, MOST_ROWS);
  for (unsigned d = EXPLAINS + 1; d <= RELATED; d++) shown = show(s, d, shown, MAX_ROWS);
  show(s, HD_WHY_NONE, shown, known ? FEW_ROWS : MAX_ROWS);
}

/* "main::{lambda()#1}::operator()", where it is in line 12, is "lambda:12" to people. */
static char *lambda_name(const struct hd_frame *f) {
  struct hd_str name;
  hd_str_init(&name);
  /* GCC's name, Clang's, and that of one without a linkage name. */
  if (strstr(f->function, "{lambda(") || strstr(f->function, "::$_") ||
      strcmp(f->function, "operator()") == 0)
    hd_str_addf(&name, "lambda:%d", f->line);
  else
    hd__text_function(&name, f->function);
  return hd_str_take(&name);
}

/* The outermost function of the user's around the event, or NULL. */
static char *outermost_at(struct builder *t, size_t i) {
  char *name = NULL;
  for (int k = -1; k < HD_CALLS; k++) {
    uint64_t pc = k < 0 ? t->r->event[i].op.pc : i < t->r->ncalls ? t->r->calls[i * HD_CALLS + (size_t)k] : 0;
    if (!pc && k >= 0) break;
    struct hd_frames frames = {0};
    if (pc) hd_symbolize_pc(t->sym, pc, false, &frames);
    for (size_t f = 0; f < frames.n; f++) {
      if (hd__is_plumbing(&frames.v[f]) || !frames.v[f].function) continue;
      free(name);
      name = lambda_name(&frames.v[f]);
    }
    hd_frames_free(&frames);
  }
  return name;
}

/* Where a std::thread begins: the outermost function of the user's in its first events. Before these, the library may read
 * what the thread was given. */
static char *outermost(struct builder *t, unsigned thread) {
  char *name = NULL;
  for (size_t i = 0, n = 0; i < t->r->n && n < FIRST_EVENTS && !name; i++) {
    const struct hd_event *e = &t->r->event[i];
    if (e->op.thread != thread || hd_op_effect(e->op.kind, 0) == HD_EFF_BEGIN) continue;
    name = outermost_at(t, i);
    n++;
  }
  return name;
}

/* The thread's name given by the program, or its start function; NULL if neither is known. */
static char *own_name(struct builder *t, unsigned thread) {
  if (thread == 0) return hd_strdup("main");
  if (thread >= t->r->nthreads) return NULL;
  const struct hd_thread_rec *rec = &t->r->thread[thread];
  if (rec->name[0]) return hd_sprintf("%.15s", rec->name);
  struct hd_frames frames = {0};
  if (rec->start) hd_symbolize_pc(t->sym, rec->start, true, &frames);
  char *name = frames.n && !hd__is_plumbing(&frames.v[0]) && frames.v[0].function
                   ? hd_strdup(frames.v[0].function)
                   : NULL;
  hd_frames_free(&frames);
  return name ? name : outermost(t, thread);
}

static void name_threads(struct builder *t) {
  struct hd_story *s = t->story;
  for (unsigned k = 0; k < HD_MAX_THREADS; k++) {
    bool there = false;
    for (size_t i = 0; i < s->row.n && !there; i++) there = s->row.v[i].thread == k;
    if (!there) continue;
    char *number = hd_thread_name(t->r->thread, t->r->nthreads, k), *own = own_name(t, k);
    char *name = own ? hd_sprintf("%s %s", number, own) : hd_strdup(number);
    free(number);
    free(own);
    for (char *c = name; *c; c++)
      if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
    hd_vec_push(&s->thread, k);
    hd_vec_push(&s->name, name);
  }
}

/* ---- remarks ---- */

#define MAX_HELD 16

static void add_locks(struct builder *t, struct hd_str *out, const char *who, const uint64_t *lock,
                      size_t n) {
  hd_str_addf(out, "%s held", who);
  for (size_t i = 0; i < n; i++) {
    char *name = hd_symbolize_object(t->sym, lock[i]);
    hd_str_addf(out, name ? "%s`%s`" : "%sa lock", i ? ", " : " ", name);
    free(name);
  }
  if (n == 0) hd_str_add(out, " no lock");
}

size_t hd__event_of_place(const struct hd_recording *r, const struct hd_place *p) {
  for (size_t i = r->n; i-- > 0;) {
    const struct hd_event *e = &r->event[i];
    if (e->op.thread == p->thread_no && p->stack.n && e->op.pc == p->stack.v[0].pc) return i;
  }
  return r->n;
}

/* States which lock would have ordered the accesses of a race. */
static char *remark_of_race(struct builder *t) {
  const struct hd_place *at = NULL, *previous = NULL;
  for (size_t i = 0; i < t->f->nplaces; i++) {
    if (t->f->place[i].role == HD_ROLE_AT) at = &t->f->place[i];
    if (t->f->place[i].role == HD_ROLE_PREVIOUS) previous = &t->f->place[i];
  }
  if (!at || !previous) return NULL;
  uint64_t one[MAX_HELD], two[MAX_HELD];
  size_t n =
      hd_analysis_held(t->r->event, hd__event_of_place(t->r, previous), previous->thread_no, one, MAX_HELD);
  size_t m = hd_analysis_held(t->r->event, t->r->n, at->thread_no, two, MAX_HELD);
  if (n == 0 && m == 0) return hd_strdup("Nothing orders the two accesses: neither thread held a lock.");
  /* A mutex held by both, or a read-write lock that one of them held for writing, would have ordered them. */
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < m; k++)
      if (one[i] == two[k]) {
        char *shared = hd_symbolize_object(t->sym, one[i]);
        char *text = hd_sprintf(
            "Nothing orders the two accesses: both threads held %s%s%s for reading only. Holding it for writing would order them.",
            shared ? "`" : "", shared ? shared : "the lock", shared ? "`" : "");
        free(shared);
        return text;
      }
  struct hd_str out;
  hd_str_init(&out);
  hd_str_add(&out, "Nothing orders the two accesses: ");
  add_locks(t, &out, previous->thread, one, n);
  hd_str_add(&out, ", ");
  add_locks(t, &out, at->thread, two, m);
  char *name = n + m == 1 ? hd_symbolize_object(t->sym, n ? one[0] : two[0]) : NULL;
  hd_str_addf(&out, name ? ". Holding `%s` in both would." : ". Holding one lock in both would.", name);
  free(name);
  return hd_str_take(&out);
}

/* Whether a list with commas has this item. */
static bool listed(const char *list, const char *item) {
  size_t n = strlen(item);
  for (const char *at = list; at && (at = strstr(at, item)); at += n)
    if (at[n] == ',' || !at[n]) return true;
  return false;
}

/* Signals that came while no thread was waiting. */
static char *remark_of_wakeup(struct builder *t) {
  for (size_t i = 0; i < t->f->nplaces; i++) {
    const struct hd_place *p = &t->f->place[i];
    if (p->role != HD_ROLE_WAITS || hd_op_object(p->op) != HD_OBJ_COND) continue;
    struct hd_str out;
    hd_str_init(&out);
    for (size_t k = 0; k < t->r->n; k++) {
      const struct hd_event *e = &t->r->event[k];
      enum hd_effect effect = e->op.kind < HD_OP_COUNT ? hd_op_effect(e->op.kind, 0) : HD_EFF_NONE;
      bool one = effect == HD_EFF_NOTIFY;
      if (e->op.object != p->object_addr || (!one && effect != HD_EFF_NOTIFY_ALL)) continue;
      struct hd_row row = {.first = 1};
      bool inside, woke = one ? e->op.wake.thread : e->op.wake.count;
      if (!locate(t, k, &row, &inside)) continue;
      struct hd_str item;
      hd_str_init(&item);
      hd_str_addf(&item, "the signal at line %d %s", row.line,
                  !woke ? "came while no thread was waiting"
                  : one ? "woke "
                        : "woke other threads");
      if (one && woke) add_thread(t, &item, hd_op_woken(&e->op) - 1);
      if (!listed(out.s, item.s)) hd_str_addf(&out, "%s%s", out.n ? ", " : "", item.s);
      hd_str_fini(&item);
      clear_place(&row);
    }
    char *name = p->object ? hd_sprintf("`%s`", p->object) : hd_strdup("its condition");
    char *text = out.n ? hd_sprintf("%s waits on %s; %s", p->thread, name, out.s)
                       : hd_sprintf("%s waits on %s, which no thread signals", p->thread, name);
    free(name);
    hd_str_fini(&out);
    return text;
  }
  return NULL;
}

/* ---- the whole story ---- */

size_t hd_story_ends(const struct hd_finding *f, struct hd_pending *out, size_t max) {
  size_t n = 0;
  for (size_t i = 0; i < f->nplaces && n < max; i++) {
    const struct hd_place *p = &f->place[i];
    if (p->role != HD_ROLE_AT && p->role != HD_ROLE_PREVIOUS && p->role != HD_ROLE_WAITS) continue;
    unsigned object = hd_op_object(p->op);
    bool sync = object != HD_OBJ_THREAD && object != HD_OBJ_MEMORY && object != HD_OBJ_NONE;
    out[n++] = (struct hd_pending){p->thread_no, sync ? p->object_addr : 0};
  }
  return n;
}

#define BOTH (HD_MARK_SHARED | HD_MARK_CONE)
#define OWN_READS 4

/* Marks what the failing function has read last, up to so many variables. */
static void mark_own_reads(struct builder *t, uint8_t *mark) {
  const struct hd_place *p = hd_finding_place(t->f);
  const struct hd_frame *at = p ? hd_place_frame(p) : NULL;
  uint64_t seen[OWN_READS];
  if (!at || !at->function) return;
  for (size_t i = t->r->n, n = 0; i-- > 0 && n < OWN_READS;) {
    const struct hd_event *e = &t->r->event[i];
    if (e->op.thread != p->thread_no || e->op.kind >= HD_OP_COUNT) continue;
    if (hd_op_effect(e->op.kind, 0) == HD_EFF_BEGIN) break;
    if (hd_op_effect(e->op.kind, e->flags) != HD_EFF_READ || !(e->flags & HD_EV_VALUE)) continue;
    struct hd_row row = {.thread = p->thread_no};
    bool inside,
        known = false,
        same = locate(t, i, &row, &inside) && row.function && strcmp(row.function, at->function) == 0;
    clear_place(&row);
    if (!same) break;
    for (size_t k = 0; k < n && !known; k++) known = seen[k] == e->op.object;
    if (known) continue;
    seen[n++] = e->op.object;
    mark[i] = BOTH;
  }
}

/* The reads of the line that failed, the last one first. Returns how many. */
static size_t reads_of_failing_line(struct builder *t, size_t *out, size_t max) {
  const struct hd_place *p = hd_finding_place(t->f);
  struct hd_row at = {.thread = p ? p->thread_no : 0};
  size_t n = 0;
  bool same = p && take_frame(&at, &p->stack);
  for (size_t i = t->r->n; same && i-- > 0 && n < max;) {
    const struct hd_event *e = &t->r->event[i];
    if (e->op.thread != p->thread_no) continue;
    struct hd_row row = {.thread = p->thread_no};
    bool inside;
    same = locate(t, i, &row, &inside) && same_line(&row, &at);
    clear_place(&row);
    if (same && !inside && e->op.kind < HD_OP_COUNT && hd_op_effect(e->op.kind, e->flags) == HD_EFF_READ)
      out[n++] = i;
  }
  clear_place(&at);
  return n;
}

/* Marks what the line that failed has read, also what no other thread has written to: that may be what is wrong. Each name
 * once; first come those that are marked. */
static void mark_failing_line(struct builder *t, uint8_t *mark) {
  size_t at[OWN_READS];
  char *name[OWN_READS] = {NULL};
  if (t->f->kind != HD_KIND_ASSERTION && t->f->kind != HD_KIND_CRASH) return;
  size_t n = reads_of_failing_line(t, at, OWN_READS);
  for (size_t i = 0; i < n; i++) name[i] = hd_symbolize_object(t->sym, t->r->event[at[i]].op.object);
  for (size_t i = 0; i < n; i++) {
    bool known = !name[i];
    for (size_t k = 0; k < n && !known; k++)
      known = k != i && name[k] && (mark[at[k]] & BOTH) == BOTH && strcmp(name[k], name[i]) == 0;
    if (!known) mark[at[i]] = BOTH;
  }
  for (size_t i = 0; i < n; i++) free(name[i]);
}

/* Numbers the events of the rows as in the trace of the run. */
static void number_events(struct hd_story *s, const struct hd_recording *r) {
  uint64_t number = 0;
  size_t at = 0;
  uint64_t *trace = hd_alloc((r->n + 1) * sizeof *trace);
  for (; at < r->n; at++) trace[at] = number += !r->kept || r->kept[at];
  for (size_t i = 0; i < s->row.n; i++) {
    struct hd_row *row = &s->row.v[i];
    if (row->first > row->last || row->last >= r->n) continue;
    row->event = trace[row->first];
    row->last_event = trace[row->last];
  }
  free(trace);
}

static void add_rows(struct builder *t, const uint8_t *mark) {
  const struct hd_recording *r = t->r;
  size_t from = r->n, used = 0;
  while (from > 0 && used < MAX_EVENTS) used += (mark[--from] & BOTH) == BOTH;
  bool threads = false; /* events before the first creation are omitted */
  for (size_t i = 0; i < r->n; i++) {
    threads |= spawns(&r->event[i]);
    bool wanted = i >= from || t->distance[i] <= EXPLAINS;
    if (wanted && threads && (mark[i] & BOTH) == BOTH && is_shown(&r->event[i])) add_event(t, i);
  }
  add_end(t);
  close_row(t);
  leave_out(t);
}

struct hd_story *hd_story_new(const struct hd_recording *r, const struct hd_finding *f,
                              struct hd_symbolizer *sym) {
  struct hd_story *s = hd_alloc(sizeof *s);
  struct builder t = {.r = r, .f = f, .sym = sym, .story = s};
  struct hd_pending ends[HD_MAX_SITES];
  uint8_t *mark = hd_analysis_mark(r->event, r->n, ends, hd_story_ends(f, ends, HD_MAX_SITES));
  uint8_t *distance = hd__story_why(r, f, sym);
  t.distance = distance;
  mark_failing_line(&t, mark);
  add_rows(&t, mark);
  if (s->row.n <
      2) { /* nothing that another thread did led to it: what the thread itself has read may say why */
    while (s->row.n) drop_row(s, s->row.n - 1);
    mark_own_reads(&t, mark);
    add_rows(&t, mark);
  }
  free(mark);
  free(distance);
  name_threads(&t);
  if (s->row.n < 2) {
    hd_story_free(s);
    return NULL;
  }
  make_room(s);
  number_events(s, r);
  if (f->kind == HD_KIND_DATA_RACE) s->remark = remark_of_race(&t);
  if (f->kind == HD_KIND_LOST_WAKEUP) s->remark = remark_of_wakeup(&t);
  return s;
}

size_t hd_story_row(const struct hd_story *s, size_t event, unsigned thread) {
  for (size_t i = s->row.n; i-- > 0;) {
    const struct hd_row *r = &s->row.v[i];
    if (r->thread != thread) continue;
    if (event == HD_PENDING || (event >= r->first && event <= r->last)) return i + 1;
  }
  return 0;
}

static bool is_write(const struct hd_event *e) {
  return e->op.kind < HD_OP_COUNT && hd_op_object(e->op.kind) == HD_OBJ_MEMORY &&
         hd_op_does(e->op.kind, e->flags, HD_EFF_CHANGES);
}

/* Shows where a thread writes to what it has read in the row, if another thread wrote to it in between: that write is lost. */
static void keep_stale_write(struct hd_story *s, const struct hd_event *event, size_t n,
                             const struct hd_row *r) {
  for (size_t i = r->first; i <= r->last && i < n; i++) {
    const struct hd_event *read = &event[i];
    if (read->op.thread != r->thread || read->op.kind >= HD_OP_COUNT ||
        hd_op_effect(read->op.kind, read->flags) != HD_EFF_READ)
      continue;
    bool other = false;
    for (size_t k = i + 1; k < n; k++) {
      if (event[k].op.object != read->op.object || !is_write(&event[k])) continue;
      size_t row = event[k].op.thread == r->thread && other ? hd_story_row(s, k, r->thread) : 0;
      if (row) s->row.v[row - 1].kept = true;
      if (event[k].op.thread == r->thread) break;
      other = true;
    }
  }
}

void hd_story_order(struct hd_story *s, const struct hd_event *event, size_t n, size_t before, size_t after) {
  HD_BUG_ON(before == 0 || after == 0 || before > s->row.n || after > s->row.n);
  s->before = before;
  s->after = after;
  s->row.v[before - 1].kept = s->row.v[after - 1].kept = true;
  keep_stale_write(s, event, n, &s->row.v[before - 1]);
  keep_stale_write(s, event, n, &s->row.v[after - 1]);
}

void hd_story_free(struct hd_story *s) {
  if (!s) return;
  for (size_t i = 0; i < s->row.n; i++) {
    clear_place(&s->row.v[i]);
    free(s->row.v[i].what);
  }
  for (size_t i = 0; i < s->name.n; i++) free(s->name.v[i]);
  hd_vec_free(&s->thread);
  hd_vec_free(&s->name);
  free(s->remark);
  hd_vec_free(&s->row);
  free(s);
}
