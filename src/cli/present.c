/* present.c: presents a search to the user: the live line, findings as they are confirmed, the summary, files, and the
 * exit code. Runs in the supervisor. */
#include "cli/cli.h"
#include "cluster/cluster.h"
#include "session/process.h"
#include "session/rerun.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LINE_SECONDS 60 /* between two lines about a search where there is no terminal */
#define SAY_EVERY 10.0  /* the same for that of several machines; for tests HEDDLE_TEST_SAY_EVERY */
#define SAY_PART 0.05   /* of the time so far, if that is more */

struct present {
  const struct hd_options *o;
  enum hd_verb verb;
  int fd;                     /* findings and the summary go there */
  struct hd_cluster *cluster; /* NULL: the search is this machine's */
  bool live; /* standard error is a terminal; else there are lines: launchers pass them on, logs keep them */
  double say_at, say_every; /* seconds of the search */
};

/* ---- while the search runs ---- */

void hd_print(int fd, struct hd_str *text) {
  hd_live_line(NULL);
  if (isatty(fd)) hd_text_fold(text, hd_style_of(fd, false).width);
  hd_write_all(fd, text->s, text->n);
}

/* What the other ranks do, at the end of the live line. */
static int add_ranks(char *line, size_t size, const struct hd_cluster_counts *c) {
  return snprintf(line, size, ", %u ranks, %.0f%% idle", c->ranks.n, 100 * c->ranks.idle);
}

/* "12.3 s of 60 s" */
static void add_budget(struct hd_str *out, const struct hd_options *o, const struct hd_session_progress *p) {
  hd_str_addf(out, "%.1f s", p->seconds);
  if (o->time > 0) hd_str_addf(out, " of %g s", o->time);
  if (o->max_executions) hd_str_addf(out, ", at most %llu executions", (unsigned long long)o->max_executions);
}

/* How large the search is, as far as that is known; returns whether anything was added. */
static bool add_size(struct hd_str *out, const struct hd_session_progress *p) {
  char all[64], count[16];
  if (hd_text_size(all, &p->estimate)) {
    hd_str_addf(out, "%s in all", all);
  } else if (p->at_least > (double)p->executions) {
    hd_text_count(count, p->at_least);
    hd_str_addf(out, "at least %s in all", count);
  } else {
    return false;
  }
  return true;
}

static void add_counts(struct hd_str *out, const struct present *present, const struct hd_session_progress *p,
                       const struct hd_cluster_counts *others) {
  char count[16], rate[16], events[16], ranks[64] = "";
  hd_text_count(count, (double)p->executions);
  hd_text_count(rate, p->rate);
  hd_text_count(events, (double)p->events);
  if (present->cluster) add_ranks(ranks, sizeof ranks, others);
  hd_str_addf(out, "%s executions, %s/s, %s events, %zu finding%s%s", count, rate, events, p->findings,
              p->findings == 1 ? "" : "s", ranks);
  if (p->bounded) hd_str_addf(out, ", bound %u", p->bound);
}

/* On one line, or one fact on each. */
static void add_status(struct hd_str *out, const struct present *present, const struct hd_session_progress *p,
                       const struct hd_cluster_counts *others, bool lines) {
  const char *next = lines ? "\n  " : ", ";
  size_t n;
  add_counts(out, present, p, others);
  hd_str_add(out, next);
  add_budget(out, present->o, p);
  n = out->n;
  hd_str_add(out, next);
  if (!add_size(out, p)) out->s[out->n = n] = '\0';
  if (p->last_class > 0 || p->last_pair > 0) hd_str_add(out, next);
  if (p->last_class > 0) hd_str_addf(out, "last new class at %.0f s", p->last_class);
  if (p->last_class > 0 && p->last_pair > 0) hd_str_add(out, ", ");
  if (p->last_pair > 0) hd_str_addf(out, "last new pair at %.0f s", p->last_pair);
}

/* A terminal has a status of a few lines, or one if it is small; elsewhere a line comes every minute. */
static void on_progress(void *arg, const struct hd_session_progress *given) {
  struct present *present = arg;
  struct hd_session_progress here = *given, *p = &here;
  struct hd_cluster_counts others = {0};
  if (!present->live && given->seconds < present->say_at) return;
  if (present->cluster) hd_cluster_counts(present->cluster, &others);
  here.executions += others.executions;
  here.events += others.events;
  if (present->cluster && p->seconds > 0) p->rate = (double)p->executions / p->seconds;
  if (p->minimising) {
    if (present->live) hd_live_line("looking for a smaller schedule");
    return;
  }
  struct hd_str text;
  hd_str_init(&text);
  add_status(&text, present, p, &others, present->live && hd_live_rows() > 1);
  if (present->live)
    hd_live_line(text.s);
  else
    hd_say("%s", text.s);
  double more = present->cluster ? p->seconds * SAY_PART : 0;
  present->say_at = p->seconds + (more > present->say_every ? more : present->say_every);
  hd_str_fini(&text);
}

void hd_present_found(const struct hd_options *o, int fd, const struct hd_finding *f) {
  struct hd_style style = hd_style_of(fd, o->full);
  struct hd_str text;
  hd_str_init(&text);
  if (o->format == HD_FORMAT_TEXT)
    hd_text_finding(&text, f, &style);
  else
    hd_lines_finding(&text, f, o->format);
  hd_print(fd, &text);
  hd_str_fini(&text);
}

static void on_finding(void *arg, const struct hd_finding *f) {
  const struct present *p = arg;
  hd_present_found(p->o, p->fd, f);
}

static void on_startup_output(void *arg, const char *text, size_t n) {
  (void)arg;
  hd_live_line(NULL);
  hd_write_all(STDERR_FILENO, text, n);
}

/* ---- the result ---- */

static int exit_code(const struct hd_session *s) {
  const struct hd_summary *sum = hd_session_summary(s);
  if (sum->nfindings + sum->before > 0) return 1;
  switch (sum->stop) {
    case HD_STOP_ERROR: return -hd_session_error(s);
    case HD_STOP_EXECUTIONS:
    case HD_STOP_INTERRUPTED:
    case HD_STOP_CRASH_LOOP: return 5;
    case HD_STOP_TIME:
      if (!sum->only_time) return 5;
      break;
    default: break;
  }
  return hd_summary_cut(sum) ? 5 : 0; /* what an execution would have done after it was cut is not known */
}

/* After Ctrl-C: what is kept, and how to go on. */
static void add_continuing(struct hd_str *out, const struct hd_options *o, const struct hd_summary *sum) {
  const char *file = o->resume ? o->resume : o->save;
  if (file)
    hd_str_addf(out, "  the search is saved: --resume %s continues it\n", file);
  else if (sum->nfindings)
    hd_str_add(
        out,
        "  the findings are stored; the search is not: --save FILE keeps one that --resume FILE continues\n");
  else
    hd_str_add(out, "  nothing is stored: --save FILE keeps a search that --resume FILE continues\n");
}

static int conclude(const struct present *p, const struct hd_session *s, struct hd_err *err) {
  const struct hd_summary *sum = hd_session_summary(s);
  hd_live_line(NULL);
  if (sum->stop == HD_STOP_ERROR) hd_say("%s", sum->error);
  /* `run` prints a summary only when there is something to report, or the program did not finish: the output is the
   * program's. */
  bool quiet = p->o->quiet || (p->verb == HD_VERB_RUN && sum->stop == HD_STOP_ERROR) ||
               (p->verb == HD_VERB_RUN && sum->nfindings == 0 && !hd_summary_cut(sum));
  if (!quiet) {
    struct hd_str text;
    hd_str_init(&text);
    struct hd_style style = hd_style_of(p->fd, false);
    hd_text_summary(&text, sum, &style);
    if (p->o->covered) hd_str_add(&text, p->o->covered->s);
    if (p->verb == HD_VERB_CHECK && sum->stop == HD_STOP_INTERRUPTED) add_continuing(&text, p->o, sum);
    hd_print(p->fd, &text);
    hd_str_fini(&text);
  }
  int rc = hd_outputs_write(p->o, sum, hd_session_cwd(s), err);
  return rc == HD_OK ? exit_code(s) : hd_err_exit(err);
}

static int present(struct hd_options *o, enum hd_verb verb, struct hd_cluster *cluster) {
  struct hd_err err;
  /* Standard output may be used by the program, or for a result. */
  bool taken = verb == HD_VERB_RUN || hd_outputs_own_stdout(o);
  struct present p = {.o = o,
                      .verb = verb,
                      .fd = taken ? STDERR_FILENO : STDOUT_FILENO,
                      .cluster = cluster,
                      .live = isatty(STDERR_FILENO),
                      .say_every = LINE_SECONDS};
  bool progress = verb == HD_VERB_CHECK && !o->quiet;
  if (cluster && !p.live) {
    const char *every = getenv("HEDDLE_TEST_SAY_EVERY");
    p.say_every = every ? strtod(every, NULL) : SAY_EVERY;
    hd_text_no_colour(); /* standard output may be a terminal of the launcher's, and end in a file */
  }
  p.say_at = p.say_every;
  struct hd_session_events events = {
      .arg = &p,
      .progress = progress ? on_progress : NULL,
      .finding = on_finding,
      .startup_output = on_startup_output,
  };
  struct hd_session_config config;
  struct hd_attachment attachment;
  struct hd_session *s = NULL;
  hd_interrupt_catch();
  hd_options_session(o, verb, &config);
  if (verb == HD_VERB_CHECK && hd_attachment_find(&attachment)) config.attachment = &attachment;
  int rc = cluster && hd_cluster_rank(cluster) > 0 ? HD_OK : hd_outputs_check(o, &err);
  if (rc == HD_OK && o->resume) rc = hd_options_resume(o, &config, &err);
  if (rc == HD_OK && cluster) rc = hd_cluster_configure(cluster, &config, &err);
  if (rc == HD_OK && cluster && hd_cluster_rank(cluster) > 0)
    return hd_cluster_serve(cluster, &config, &err) == HD_OK ? 0 : 3;
  if (rc != HD_OK && cluster && hd_cluster_rank(cluster) > 0) return hd_cluster_give_up(cluster, &err);
  if (cluster) hd_cluster_listen(cluster, &events);
  if (rc == HD_OK) rc = hd_session_new(&s, &config, &events, &err);
  if (rc == HD_OK) rc = hd_session_run(s, &err);
  int code;
  if (rc == HD_OK) {
    code = conclude(&p, s, &err);
  } else {
    hd_live_line(NULL);
    code = hd_err_exit(&err);
  }
  hd_session_free(s);
  return code;
}

int hd_present_search(struct hd_options *o, enum hd_verb verb) {
  hd_options_add_symbolic_args(o);
  return present(o, verb, NULL);
}

int hd_present_cluster(struct hd_options *o, struct hd_cluster *c) { return present(o, HD_VERB_CHECK, c); }

/* ---- stored findings ---- */

void hd_present_finding(int fd, const struct hd_finding *f, bool full) {
  struct hd_str text;
  hd_str_init(&text);
  struct hd_style style = hd_style_of(fd, full);
  hd_text_finding(&text, f, &style);
  hd_print(fd, &text);
  hd_str_fini(&text);
}

void hd_present_rebuilt(const struct hd_replay *r) {
  const struct hd_program *then = &r->stored.command.program, *now = &r->now;
  if (!r->rebuilt) return;
  hd_warn(
      "%s was rebuilt since this failure was stored (build-id %s then, %s now): the schedule may not fit; "
      "run heddle check again",
      then->path, then->build_id[0] ? then->build_id : "none", now->build_id[0] ? now->build_id : "none");
}
