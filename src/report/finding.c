/* finding.c: from the runtime's record (numbers and addresses) to a finding (names and lines).
 * Runs in the supervisor. */
#include "report/report_int.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static char *thread_name(const struct hd_thread_rec *threads, size_t n, unsigned number, unsigned depth) {
  if (number == 0) return hd_strdup("T0");
  if (number >= n || depth > n) return hd_sprintf("#%u", number);
  unsigned parent = threads[number].parent;
  if (parent == 0) return hd_sprintf("T%u", threads[number].nth);
  char *base = thread_name(threads, n, parent, depth + 1);
  char *name = base[0] == '#' ? hd_sprintf("#%u", number) : hd_sprintf("%s.%u", base, threads[number].nth);
  free(base);
  return name;
}

char *hd_thread_name(const struct hd_thread_rec *threads, size_t n, unsigned number) {
  /* Numbers are reused, so a creator's number may be larger than its child's. */
  return thread_name(threads, n, number, 0);
}

const char *hd_signal_name(int sig) {
  static char other[32];
  const char *abbrev = sigabbrev_np(sig);
  if (abbrev)
    snprintf(other, sizeof other, "SIG%s", abbrev);
  else
    snprintf(other, sizeof other, "signal %d", sig);
  return other;
}

static void fill_place(struct hd_place *p, const struct hd_finding_rec *rec, const struct hd_site *site,
                       struct hd_symbolizer *s) {
  p->role = site->role;
  p->op = site->op;
  p->thread_no = site->thread;
  p->thread = hd_thread_name(rec->thread, rec->nthreads, site->thread);
  if (site->thread < rec->nthreads && rec->thread[site->thread].name[0])
    p->thread_name = hd_sprintf("%.15s", rec->thread[site->thread].name);
  for (char *c = p->thread_name; c && *c; c++)
    if ((unsigned char)*c < ' ') *c = '?';
  p->who = p->thread_name ? hd_sprintf("%s (%s)", p->thread, p->thread_name) : hd_strdup(p->thread);
  if (site->role == HD_ROLE_WAITS && site->peer != 0xffff)
    p->peer = hd_thread_name(rec->thread, rec->nthreads, site->peer);
  p->object_addr = site->object;
  p->size = site->size;
  p->atomic = site->flags & HD_SITE_ATOMIC;
  bool is_thread = hd_op_object(site->op) == HD_OBJ_THREAD;
  if (is_thread && site->op != HD_OP_NONE)
    p->object = hd_thread_name(rec->thread, rec->nthreads, (unsigned)site->object);
  else if (s && site->object)
    p->object = hd_op_effect(site->op, 0) == HD_EFF_FREE ? hd_symbolize_block(s, site->object)
                                                         : hd_symbolize_object(s, site->object);
  for (unsigned i = 0; s && i < site->npc; i++)
    hd_symbolize_pc(s, site->pc[i], i == 0 && (site->flags & HD_SITE_EXACT), &p->stack);
  /* The line that called a library says more than the library's own frames. */
  bool known = false;
  for (size_t i = 0; i < p->stack.n; i++) known |= !hd__is_plumbing(&p->stack.v[i]);
  bool heap = site->role == HD_ROLE_ALLOC || site->role == HD_ROLE_FREE;
  while (known && (heap ? hd__is_plumbing(&p->stack.v[0]) : p->stack.v[0].system || !p->stack.v[0].file))
    hd_frames_drop(&p->stack, 0);
}

static const struct hd_place *first_with(const struct hd_finding *f, enum hd_role role) {
  for (size_t i = 0; i < f->nplaces; i++)
    if (f->place[i].role == role) return &f->place[i];
  return NULL;
}

static void add_object(struct hd_str *out, const struct hd_finding *f, const struct hd_place *p) {
  const struct hd_place *block = first_with(f, HD_ROLE_ALLOC);
  if (p->object)
    hd_str_addf(out, "`%s`", p->object);
  else if (block && p->object_addr >= block->object_addr && block->object_addr &&
           p->object_addr > block->object_addr)
    hd_str_addf(out, "byte %llu of a heap block of %u bytes",
                (unsigned long long)(p->object_addr - block->object_addr), block->size);
  else if (block)
    hd_str_addf(out, "a heap block of %u bytes", block->size);
  else
    hd_str_addf(out, "%#llx", (unsigned long long)p->object_addr);
}

/* "T1, T2 and T3": the threads that wait. */
static void add_waiters(struct hd_str *out, const struct hd_finding *f) {
  size_t n = 0, k = 0;
  for (size_t i = 0; i < f->nplaces; i++) n += f->place[i].role == HD_ROLE_WAITS;
  for (size_t i = 0; i < f->nplaces; i++) {
    if (f->place[i].role != HD_ROLE_WAITS) continue;
    hd_str_addf(out, "%s%s", k == 0 ? "" : k + 1 == n ? " and " : ", ", f->place[i].thread);
    k++;
  }
  hd_str_add(out, n == 1 ? " waits" : " wait");
}

static bool is_signalled(const struct hd_place *p) {
  unsigned object = hd_op_object(p->op);
  return p->role == HD_ROLE_WAITS && (object == HD_OBJ_COND || object == HD_OBJ_FUTEX);
}

/* The threads that wait on the same condition as place `i`: "T1 and T2 wait on `changed`". */
static void add_condition(struct hd_str *out, const struct hd_finding *f, size_t i) {
  const struct hd_place *p = &f->place[i];
  size_t n = 0, k = 0;
  for (size_t j = 0; j < f->nplaces; j++)
    n += is_signalled(&f->place[j]) && f->place[j].object_addr == p->object_addr;
  for (size_t j = 0; j < f->nplaces; j++) {
    if (!is_signalled(&f->place[j]) || f->place[j].object_addr != p->object_addr) continue;
    hd_str_addf(out, "%s%s", k == 0 ? "" : k + 1 == n ? " and " : ", ", f->place[j].thread);
    k++;
  }
  hd_str_add(out, n == 1 ? " waits on " : " wait on ");
  if (p->object)
    hd_str_addf(out, "`%s`", p->object);
  else
    hd_str_add(out, hd_op_object(p->op) == HD_OBJ_COND ? "a condition" : "a futex");
}

/* "T1 waits on `changed` and no thread can signal it; T0 is joining T1". Threads that wait for something else are
 * listed below the title. */
static void add_lost_wakeup(struct hd_str *out, const struct hd_finding *f) {
  size_t conditions = 0;
  for (size_t i = 0; i < f->nplaces; i++) {
    bool first = is_signalled(&f->place[i]);
    for (size_t j = 0; j < i && first; j++)
      first = !is_signalled(&f->place[j]) || f->place[j].object_addr != f->place[i].object_addr;
    if (!first) continue;
    if (conditions++) hd_str_add(out, ", ");
    add_condition(out, f, i);
  }
  hd_str_addf(out, " and no thread can signal %s", conditions == 1 ? "it" : "them");
  for (size_t i = 0; i < f->nplaces; i++) {
    const struct hd_place *p = &f->place[i];
    bool joins = p->op == HD_OP_JOIN || p->op == HD_OP_TIMEDJOIN;
    if (p->role == HD_ROLE_WAITS && joins && p->object)
      hd_str_addf(out, "; %s is joining %s", p->thread, p->object);
  }
}

/* The operation of the place in words: "write of 4 bytes". */
static void add_access(struct hd_str *out, const struct hd_place *p) {
  if (p->op == HD_OP_NONE) return;
  hd_str_addf(out, "%s", hd_op_text(p->op));
  if (p->size) hd_str_addf(out, " of %u byte%s", p->size, p->size == 1 ? "" : "s");
  hd_str_add(out, " at ");
}

/* The expression in "file:line: function: `x == 2'"; the rest is shown below the title. */
static void add_expression(struct hd_str *out, const char *detail) {
  if (!detail) return;
  const char *from = strchr(detail, '`'), *to = strrchr(detail, '\'');
  hd_str_add(out, ": ");
  if (from && to > from)
    hd_str_addn(out, from + 1, (size_t)(to - from - 1));
  else
    hd_str_add(out, detail);
}

static char *make_title(const struct hd_finding *f) {
  struct hd_str t;
  hd_str_init(&t);
  hd_str_add(&t, hd_kind_title[f->kind]);
  const struct hd_place *at = first_with(f, HD_ROLE_AT);
  switch (f->kind) {
    case HD_KIND_DATA_RACE:
      if (!at) break;
      hd_str_add(&t, " on ");
      add_object(&t, f, at);
      bool said = !at->object && first_with(f, HD_ROLE_ALLOC) && hd_op_effect(at->op, 0) == HD_EFF_FREE;
      if (at->size && !said) hd_str_addf(&t, " (%u byte%s)", at->size, at->size == 1 ? "" : "s");
      break;
    case HD_KIND_DEADLOCK:
      if (!first_with(f, HD_ROLE_WAITS)) break;
      hd_str_add(&t, ": ");
      add_waiters(&t, f);
      hd_str_add(&t, " forever");
      break;
    case HD_KIND_LOST_WAKEUP: {
      size_t signalled = 0;
      for (size_t i = 0; i < f->nplaces; i++) signalled += is_signalled(&f->place[i]);
      if (!signalled) break;
      hd_str_add(&t, ": ");
      add_lost_wakeup(&t, f);
      break;
    }
    case HD_KIND_ASSERTION: add_expression(&t, f->detail); break;
    case HD_KIND_EXCEPTION:
      if (f->exception) hd_str_addf(&t, ": %s", f->exception);
      if (f->what) hd_str_addf(&t, ": %s", f->what);
      break;
    case HD_KIND_THREAD_LEFT:
      if (f->nplaces > 0) hd_str_addf(&t, ": %s", f->place[0].thread);
      break;
    case HD_KIND_CRASH:
      if (f->signal) hd_str_addf(&t, ": %s", hd_signal_name(f->signal));
      if (f->signal == SIGSEGV || f->signal == SIGBUS)
        if (!f->partial) hd_str_addf(&t, " at address 0x%llx", (unsigned long long)f->fault_addr);
      break;
    case HD_KIND_EXIT:
      hd_str_clear(&t);
      hd_str_addf(&t, "%s with status %d", f->partial ? "the program terminated its own process," : "exit",
                  f->status);
      break;
    case HD_KIND_LEAK:
      hd_str_addf(&t, ": %llu byte%s in %llu block%s", (unsigned long long)f->leaked_bytes,
                  f->leaked_bytes == 1 ? "" : "s", (unsigned long long)f->leaked_blocks,
                  f->leaked_blocks == 1 ? "" : "s");
      break;
    case HD_KIND_USE_AFTER_FREE:
    case HD_KIND_HEAP_OVERFLOW:
      if (!at) break;
      hd_str_add(&t, ": ");
      add_access(&t, at);
      add_object(&t, f, at);
      break;
    default:
      if (at && at->object) hd_str_addf(&t, ": `%s`", at->object);
      break;
  }
  char *title = hd_str_take(&t);
  for (char *p = title; *p; p++)
    if (*p == '\n') *p = ' ';
  return title;
}

/* The runtime records the mangled name of the type. */
static void fill_exception(struct hd_finding *f, const struct hd_finding_rec *rec) {
  char *type = hd_sprintf("%.*s", (int)strcspn(rec->text, "\n"), rec->text);
  const char *what = strchr(rec->text, '\n');
  f->exception = hd_symbolize_type(type);
  if (what && what[1]) f->what = hd_strdup(what + 1);
  if (rec->status)
    f->detail = hd_strdup("it reached a noexcept function, or a handler that calls std::terminate");
  free(type);
}

struct hd_finding *hd_finding_new(const struct hd_finding_rec *rec, struct hd_symbolizer *s) {
  struct hd_finding *f = hd_alloc(sizeof *f);
  f->kind = rec->kind;
  f->signal = rec->signal;
  f->status = rec->status;
  f->partial = rec->partial;
  f->key = rec->key;
  f->execution = rec->execution;
  f->seed = rec->seed;
  f->fault_addr = rec->fault_addr;
  f->leaked_bytes = rec->leaked_bytes;
  f->leaked_blocks = rec->leaked_blocks;
  f->steps = rec->path_len;
  if (rec->kind == HD_KIND_EXCEPTION)
    fill_exception(f, rec);
  else if (rec->text[0])
    f->detail = hd_strdup(rec->text);
  f->nplaces = rec->nsites;
  f->place = hd_alloc(f->nplaces * sizeof *f->place);
  for (size_t i = 0; i < f->nplaces; i++) fill_place(&f->place[i], rec, &rec->site[i], s);
  f->nnotes = rec->nnotes < HD_MAX_NOTES ? rec->nnotes : HD_MAX_NOTES;
  for (size_t i = 0; i < f->nnotes; i++) {
    f->note[i].thread = hd_thread_name(rec->thread, rec->nthreads, rec->note[i].thread);
    f->note[i].text = hd_sprintf("%.*s", (int)sizeof rec->note[i].text, rec->note[i].text);
    for (char *c = f->note[i].text; *c; c++)
      if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
    f->note[i].event = rec->note[i].event;
  }
  f->title = make_title(f);
  return f;
}

void hd_finding_free(struct hd_finding *f) {
  if (!f) return;
  for (size_t i = 0; i < f->nplaces; i++) {
    struct hd_place *p = &f->place[i];
    free(p->thread);
    free(p->thread_name);
    free(p->who);
    free(p->peer);
    free(p->object);
    hd_frames_free(&p->stack);
  }
  for (size_t i = 0; i < f->nnotes; i++) {
    free(f->note[i].thread);
    free(f->note[i].text);
  }
  for (size_t i = 0; i < f->ninputs; i++) {
    free(f->input[i].thread);
    free(f->input[i].name);
    free(f->input[i].value);
  }
  free(f->input);
  hd_story_free(f->story);
  free(f->place);
  free(f->title);
  free(f->detail);
  free(f->exception);
  free(f->what);
  free(f->folder);
  free(f->said);
  free(f->no_replay);
  free(f->observed);
  free(f->predicted);
  free(f);
}

static void rename_file(char **file, const char *path, const char *base) {
  if (!*file || !path || path[0] != '/') return;
  size_t len = strlen(base);
  bool below = len > 1 && strncmp(path, base, len) == 0 && path[len] == '/';
  free(*file);
  *file = hd_strdup(below ? path + len + 1 : path);
}

void hd_finding_names(struct hd_finding *f, const char *base) {
  for (size_t i = 0; i < f->nplaces; i++) {
    struct hd_frames *stack = &f->place[i].stack;
    for (size_t k = 0; k < stack->n; k++) rename_file(&stack->v[k].file, stack->v[k].path, base);
  }
  for (size_t i = 0; f->story && i < f->story->row.n; i++)
    rename_file(&f->story->row.v[i].file, f->story->row.v[i].path, base);
}

const struct hd_frame *hd_place_frame(const struct hd_place *p) {
  const struct hd_frame *found = NULL;
  for (size_t i = 0; i < p->stack.n; i++) {
    const struct hd_frame *f = &p->stack.v[i];
    if (!f->file || !f->line) continue;
    if (!hd__is_plumbing(f)) return f;
    if (!found) found = f;
  }
  return found;
}

const struct hd_place *hd_finding_place(const struct hd_finding *f) {
  const struct hd_place *first = NULL;
  for (size_t i = 0; i < f->nplaces; i++) {
    const struct hd_place *p = &f->place[i];
    if (!hd_place_frame(p)) continue;
    if (p->role != HD_ROLE_WAITS || hd_op_object(p->op) != HD_OBJ_THREAD) return p;
    if (!first) first = p;
  }
  return first;
}

static int compare_strings(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_principal(const struct hd_place *p) {
  return p->role == HD_ROLE_AT || p->role == HD_ROLE_PREVIOUS || p->role == HD_ROLE_WAITS;
}

char *hd_finding_identity(const struct hd_finding *f) {
  HD_VEC(char *) where = {0};
  /* A leak has only the places of its allocations, a leaked thread only that of its creation. */
  bool principal = false;
  for (size_t i = 0; i < f->nplaces; i++) principal |= is_principal(&f->place[i]);
  for (size_t i = 0; i < f->nplaces; i++) {
    const struct hd_place *p = &f->place[i];
    if ((principal && !is_principal(p)) || p->stack.n == 0) continue;
    const struct hd_frame *top = &p->stack.v[0];
    hd_vec_push(&where, top->file && top->line ? hd_sprintf("%s:%d", top->file, top->line)
                                               : hd_sprintf("%llx", (unsigned long long)top->pc));
  }
  struct hd_str out;
  hd_str_init(&out);
  hd_str_add(&out, hd_kind_name[f->kind]);
  /* Without locations only the runtime's key distinguishes findings. */
  if (where.n == 0) hd_str_addf(&out, " %016llx", (unsigned long long)f->key);
  if (where.n > 0) qsort(where.v, where.n, sizeof *where.v, compare_strings);
  for (size_t i = 0; i < where.n; i++) {
    hd_str_addf(&out, " %s", where.v[i]);
    free(where.v[i]);
  }
  hd_vec_free(&where);
  char *identity = hd_str_take(&out);
  return identity;
}

#define SAID_LINES 4
#define SAID_BYTES 400

void hd_finding_said(struct hd_finding *f, const char *output, size_t len) {
  if (f->kind != HD_KIND_EXIT || f->said) return;
  size_t from = len, lines = 0;
  while (len && (output[len - 1] == '\n' || output[len - 1] == ' ')) len--;
  for (from = len; from > 0 && len - from < SAID_BYTES; from--)
    if (output[from - 1] == '\n' && ++lines == SAID_LINES) break;
  while (from < len && output[from] == '\n') from++;
  if (from == len) return;
  f->said = hd_strndup(output + from, len - from);
  for (char *c = f->said; *c; c++)
    if ((unsigned char)*c < ' ' && *c != '\n') *c = ' ';
}
