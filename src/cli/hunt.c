/* hunt.c: many tests and one budget of time, for the failure that comes once in ten thousand runs of one of them. Runs in the
 * supervisor.
 *
 * A search that is complete, or that has found something, is over after a moment; what is left of the budget belongs to the
 * others. So every test gets a short slice first. Then the next slice always goes to the test that got the least so far,
 * where the time of one that has just shown something new (a pair of lines that access one variable in a new order) counts
 * a quarter. A slice is as long as all of that test before it, so a search is interrupted a few times at most; it is saved
 * then, and continued. */
#include "cli/project.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST 4         /* the first slices take at most one part in so many of the budget, */
#define SHORTEST 0.2    /* ... but each so many seconds at least */
#define LONGEST 5.0     /* ... and at most */
#define NEW_COUNTS 4    /* time of a test that shows something new counts so many times less */
#define TOO_LITTLE 0.05 /* seconds that are not worth a slice */

struct test {
  struct hd_task *task;
  struct hd_task_row *row;
  double spent;      /* seconds */
  double pair;       /* when the last new pair of lines came; 0: never */
  bool over, is_new; /* the last slice has shown something new */
  char *saved;       /* the file of its search */
  size_t found;      /* the how manieth that found something, from 1 on; 0: it did not */
};

static bool is_over(const struct hd_task_row *row) {
  const char *stopped =
      json_string_value(json_object_get(json_object_get(row->result, "summary"), "stopped"));
  return row->skipped || (row->status != 0 && row->status != 5) || !stopped || strcmp(stopped, "time") != 0;
}

/* A search that cannot be saved restarts in each slice. */
static bool can_save(const struct hd_options *o) {
  return !o->states && !o->property && !o->inputs && !o->preload;
}

static void search(struct hd_runner *r, const struct hd_project *p, struct test *t, double seconds) {
  struct hd_options *o = &t->task->o;
  o->time = seconds;
  o->time_default = false;
  o->all = false;
  o->save = o->resume = NULL;
  if (can_save(o)) *(access(t->saved, F_OK) == 0 ? &o->resume : &o->save) = t->saved;
  if (t->row->name) hd__row_fini(t->row);
  double from = hd_now();
  hd__run_task(r, p, t->task, t->row);
  t->spent += hd_now() - from;
  json_t *summary = json_object_get(t->row->result, "summary");
  double pair = json_number_value(json_object_get(summary, "last_new_pair"));
  json_object_set_new(summary, "seconds", json_real(t->spent));
  t->is_new = pair > t->pair;
  t->pair = pair;
  t->over = is_over(t->row);
  if (t->over) unlink(t->saved);
}

static double counts(const struct test *t) { return t->is_new ? t->spent / NEW_COUNTS : t->spent; }

/* The test that gets the next slice; NULL: all are over. */
static struct test *next(struct test *test, size_t n) {
  struct test *best = NULL;
  for (size_t i = 0; i < n; i++)
    if (!test[i].over && (!best || counts(&test[i]) < counts(best))) best = &test[i];
  return best;
}

/* Findings first, in the order in which they came, then what went wrong, what is not complete, and what is. */
static int rank(const struct test *t) {
  static const int order[] = {[0] = 4, [1] = 0, [2] = 1, [3] = 1, [4] = 1, [5] = 2};
  bool bounded = t->row->status == 0 && strcmp(hd__row_verdict(t->row), "bounded") == 0;
  return t->row->skipped ? 5 : bounded ? 3 : order[t->row->status];
}

static int by_rank(const void *a, const void *b) {
  const struct test *x = a, *y = b;
  if (rank(x) != rank(y)) return rank(x) - rank(y);
  if (x->found != y->found) return x->found < y->found ? -1 : 1;
  return (x->task > y->task) - (x->task < y->task);
}

static void print_table(const struct hd_project *p, struct test *test, size_t n, int fd) {
  bool colour = hd_text_colour(fd);
  struct hd_str text;
  hd_str_init(&text);
  qsort(test, n, sizeof *test, by_rank);
  hd__table_head(&text, p);
  for (size_t i = 0; i < n; i++) hd__table_row(&text, p, test[i].row, colour);
  hd__print(fd, &text);
  hd_str_fini(&text);
}

void hd__hunt(struct hd_runner *r, struct hd_project *p, struct hd_task_row *row, int fd) {
  size_t n = p->task.n, found = 0;
  struct test *test = hd_alloc(n * sizeof *test);
  double end = hd_now() + p->hunt, slice = p->hunt / FIRST / (double)n;
  struct hd_str text;
  hd_str_init(&text);
  if (slice < SHORTEST) slice = SHORTEST;
  if (slice > LONGEST) slice = LONGEST;
  for (size_t i = 0; i < n; i++) {
    struct hd_task *t = &p->task.v[i];
    test[i] = (struct test){.task = t, .row = &row[i], .saved = hd_sprintf("%s.hunt", t->o.out)};
    unlink(test[i].saved); /* of a hunt that was killed */
  }
  if (!p->o.quiet) hd_say("%zu test%s of %s, %g seconds", n, n == 1 ? "" : "s", p->file, p->hunt);
  for (size_t begun = 0;;) {
    struct test *t = begun < n ? &test[begun] : next(test, n);
    double left = end - hd_now(), longest = t && t->spent > slice ? t->spent : slice;
    if (!t || (begun >= n && (left < TOO_LITTLE || hd__runner_interrupted(r)))) break;
    search(r, p, t, begun < n && left < slice ? slice : left < longest ? left : longest);
    begun += begun < n;
    hd__table_lines(&text, t->row);
    if (t->row->status == 1) t->found = ++found;
    hd__print(fd, &text);
  }
  if (found && !p->o.quiet) hd_write_all(fd, "\n", 1);
  for (size_t i = 0; i < n; i++) unlink(test[i].saved);
  if (!p->o.quiet) print_table(p, test, n, fd);
  for (size_t i = 0; i < n; i++) free(test[i].saved);
  hd_str_fini(&text);
  free(test);
}
