/* partition.c: a search of schedules for every class of inputs. Runs in the supervisor.
 *
 * Invariants
 *  1. A round is a search with fixed inputs. The conditions on inputs that its executions met describe a class: with any
 *     input of the class, a search is the same, step by step, since what it does depends on inputs by these conditions
 *     only. So a round that is complete covers its class.
 *  2. The next round's input is outside of all classes so far. When there is none, every input and every schedule is covered.
 *  3. Expressions keep their numbers over rounds and processes; everything else of the search starts again. */
#include "session/session_int.h"

#include "report/symbolize.h"
#include "symbolic/partition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUERY_SECONDS 20

static const char *const why_text[HD_WHY_COUNT] = {
#define HD_SYMBOLIC_WHY(NAME, text) text,
#include "model/symbolic.def"
#undef HD_SYMBOLIC_WHY
};

#define MAX_CONCRETE 200

void hd__concrete_note(struct hd_session *s, uint64_t site, unsigned why) {
  if (why < HD_WHY_ADDRESS || why >= HD_WHY_COUNT || s->concrete.n == MAX_CONCRETE) return;
  for (size_t i = 0; i < s->concrete.n; i++)
    if (s->concrete.v[i].site == site && s->concrete.v[i].why == why_text[why]) return;
  hd_vec_push(&s->concrete, ((struct hd_branch_outcome){.site = site, .why = why_text[why]}));
}

/* How long the solver may take for a question. */
static double query_seconds(void) {
  const char *test = getenv("HEDDLE_TEST_SOLVER");
  return test ? atof(test) : QUERY_SECONDS;
}

/* Adds the class of the round. */
static int add_class(struct hd_session *s, struct hd_partition *p, struct hd_err *err) {
  const struct hd_control *c = &s->worker[0].control;
  const struct hd_symbolic *sym = hd_control_symbolic(c);
  size_t n = sym->ncond < HD_MAX_CONDITIONS ? sym->ncond : HD_MAX_CONDITIONS;
  const struct hd_condition *condition = hd_control_area(c, HD_SHM_CONDITIONS);
  for (size_t i = 0; i < n; i++) hd__concrete_note(s, condition[i].site, condition[i].why);
  long wrong = hd_partition_add(p, sym, hd_control_area(c, HD_SHM_EXPRS), condition, n);
  if (sym->full) hd_inexact_note(s->past.inexact, HD_INEXACT_INPUT_ROOM, 0);
  if (wrong < 0) return HD_OK;
  return hd_fail(err, HD_EINTERNAL,
                 "a condition on inputs does not have the value that the program saw (%s, code address %llx)",
                 condition[wrong].why < HD_WHY_COUNT ? why_text[condition[wrong].why] : "?",
                 (unsigned long long)condition[wrong].site);
}

/* Starts the search again. */
static int next_round(struct hd_session *s, struct hd_err *err) {
  struct hd_worker *w = &s->worker[0];
  struct hd_control *c = &w->control;
  hd_control_save(c);
  hd__session_past(s);
  uint64_t next = c->shared->next_execution;
  int rc = hd_control_again(c, err);
  if (rc != HD_OK) return rc;
  c->shared->next_execution = next;
  struct hd_symbolic *sym = hd_control_symbolic(c);
  sym->ncond = 0;
  sym->round++;
  w->seen = 0;
  w->fruitless = w->retries = 0;
  w->retried = 0;
  s->counted_death = 0;
  return HD_OK;
}

/* ---- what was covered, for the user ---- */

static void keep(void *arg, const struct hd_outcome_seen *o) {
  struct hd_branches *b = arg;
  hd_vec_push(b, ((struct hd_branch_outcome){.site = o->site,
                                             .thread = -1,
                                             .degree = -1,
                                             .taken = o->taken,
                                             .is_case = o->is_case,
                                             .covered = o->covered,
                                             .why = o->open      ? "not every way there was tried"
                                                    : o->unknown ? "the solver gave up"
                                                                 : "no input leads there"}));
}

void hd__branches_report(struct hd_session *s, const char *what, const struct hd_solver_stats *q) {
  const struct hd_control *c = &s->worker[0].control;
  struct hd_str *out = s->config.covered;
  if ((s->branches.n || s->concrete.n) && hd_control_sane(c)) {
    struct hd_symbolizer *sym =
        hd_symbolizer_new(c->ctl->module, c->ctl->status.nmodules, s->command.program.path, s->command.cwd);
    hd_branches_locate(&s->branches, sym);
    hd_branches_locate(&s->concrete, sym);
    hd_symbolizer_free(sym);
  }
  if (!out) return;
  hd_branches_text(out, &s->branches, what);
  hd_concrete_text(out, &s->concrete);
  if (q->queries)
    hd_str_addf(out, "solver: %llu questions, %llu asked of Z3 in %.2f s, %llu without an answer\n",
                (unsigned long long)q->queries, (unsigned long long)q->asked, q->seconds,
                (unsigned long long)q->unknown);
}

int hd__queries_begin(const struct hd_session *s, struct hd_solver *solver, struct hd_err *err) {
  const char *folder = s->config.queries;
  if (mkdir(folder, 0777) && errno != EEXIST)
    return hd_fail(err, HD_EENV, "--queries %s: cannot create the folder: %s", folder, strerror(errno));
  if (access(folder, W_OK | X_OK)) return hd_fail(err, HD_EENV, "--queries %s: cannot write there", folder);
  hd_solver_export(solver, folder);
  return HD_OK;
}

int hd__partition_run(struct hd_session *s, enum hd_stop *stop, struct hd_err *err) {
  struct hd_partition *p;
  int rc = hd_partition_new(&p, hd_libdir(), err);
  if (rc != HD_OK) return rc;
  const struct hd_control *c = &s->worker[0].control;
  struct hd_symbolic *sym = hd_control_symbolic(c);
  if (s->config.queries) rc = hd__queries_begin(s, hd_partition_solver(p), err);
  while (rc == HD_OK) {
    rc = hd__crew_run(s, stop, err);
    s->classes++;
    if (rc != HD_OK || *stop != HD_STOP_FINISHED || !c->shared->over || !hd_control_sane(c)) {
      if (rc == HD_OK && hd_control_sane(c))
        hd_partition_saw(p, hd_control_area(c, HD_SHM_CONDITIONS),
                         sym->ncond < HD_MAX_CONDITIONS ? sym->ncond : HD_MAX_CONDITIONS);
      break;
    }
    if (sym->no_shadow && sym->ninputs) {
      rc =
          hd_fail(err, HD_EUSAGE, "%s was not built with heddle cc --symbolic: its inputs cannot be followed",
                  s->command.argv[0]);
      break;
    }
    rc = add_class(s, p, err);
    if (rc != HD_OK) break;
    enum hd_smt_answer a = hd_partition_ask(p, sym, query_seconds(), s->deadline);
    if (a == HD_SMT_UNKNOWN) {
      if (s->deadline > 0 && hd_now() >= s->deadline)
        *stop = HD_STOP_TIME;
      else
        hd_inexact_note(s->past.inexact, HD_INEXACT_INPUT_SOLVER, 0);
    }
    if (a != HD_SMT_SAT || hd_interrupts() > 0) {
      if (hd_interrupts() > 0) *stop = HD_STOP_INTERRUPTED;
      break;
    }
    rc = next_round(s, err);
    if (rc != HD_OK) break;
  }
  if (*stop != HD_STOP_FINISHED && hd_control_sane(c))
    c->shared->over = 0; /* the last round was; not all rounds */
  if (rc == HD_OK) {
    hd_partition_outcomes(p, keep, &s->branches);
    for (size_t i = 0; i < s->branches.n && *stop != HD_STOP_FINISHED; i++)
      s->branches.v[i].why = "the search stopped before";
    hd__branches_report(s, "inputs", hd_partition_stats(p));
  }
  hd_partition_free(p);
  return rc;
}
