/* present.c: presents a search to the user: the live line, findings as they are confirmed, the summary, files, and the
 * exit code. Runs in the supervisor. */
#include "cli/cli.h"
#include "cluster/cluster.h"
#include "session/process.h"
#include "session/rerun.h"

#include <stdio.h>
#include <unistd.h>

struct present {
  const struct hd_options *o;
  enum hd_verb verb;
  int fd;                     /* findings and the summary go there */
  struct hd_cluster *cluster; /* NULL: the search is this machine's */
};

/* ---- while the search runs ---- */

static void print(int fd, const struct hd_str *text) {
  hd_live_line(NULL);
  hd_write_all(fd, text->s, text->n);
}

/* What the other ranks do, at the end of the live line. */
static int add_ranks(char *line, size_t size, const struct hd_cluster_counts *c) {
  return snprintf(line, size, ", %u ranks, %.0f%% idle", c->ranks.n, 100 * c->ranks.idle);
}

static void on_progress(void *arg, const struct hd_session_progress *given) {
  const struct present *present = arg;
  struct hd_session_progress here = *given, *p = &here;
  struct hd_cluster_counts others = {0};
  if (present->cluster) hd_cluster_counts(present->cluster, &others);
  here.executions += others.executions;
  here.events += others.events;
  if (present->cluster && p->seconds > 0) p->rate = (double)p->executions / p->seconds;
  if (p->minimising) {
    hd_live_line("looking for a smaller schedule");
    return;
  }
  char count[16], rate[16], events[16], line[320];
  hd_text_count(count, (double)p->executions);
  hd_text_count(rate, p->rate);
  hd_text_count(events, (double)p->events);
  int n = snprintf(line, sizeof line, "%s executions, %s/s, %s events, %zu finding%s, %.1f s", count, rate,
                   events, p->findings, p->findings == 1 ? "" : "s", p->seconds);
  if (present->cluster) n += add_ranks(line + n, sizeof line - (size_t)n, &others);
  if (p->bounded) n += snprintf(line + n, sizeof line - (size_t)n, ", bound %u", p->bound);
  char all[64];
  if (hd_text_size(all, &p->estimate, p->at_least)) {
    n += snprintf(line + n, sizeof line - (size_t)n, ", %s in all", all);
  } else if (p->at_least > (double)p->executions) {
    hd_text_count(count, p->at_least);
    n += snprintf(line + n, sizeof line - (size_t)n, ", at least %s in all", count);
  }
  if (p->last_class > 0)
    n += snprintf(line + n, sizeof line - (size_t)n, ", last new class at %.0f s", p->last_class);
  if (p->last_pair > 0)
    snprintf(line + n, sizeof line - (size_t)n, ", last new pair at %.0f s", p->last_pair);
  hd_live_line(line);
}

void hd_present_found(const struct hd_options *o, int fd, const struct hd_finding *f) {
  struct hd_str text;
  hd_str_init(&text);
  if (o->format == HD_FORMAT_TEXT)
    hd_text_finding(&text, f, hd_text_colour(fd));
  else
    hd_lines_finding(&text, f, o->format);
  print(fd, &text);
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
    case HD_STOP_TIME: return sum->only_time ? 0 : 5;
    default: return 0;
  }
}

static int conclude(const struct present *p, const struct hd_session *s, struct hd_err *err) {
  const struct hd_summary *sum = hd_session_summary(s);
  hd_live_line(NULL);
  if (sum->stop == HD_STOP_ERROR) hd_say("%s", sum->error);
  /* `run` prints a summary only when there is something to report: its output is the program's. */
  bool quiet = p->o->quiet || (p->verb == HD_VERB_RUN && (sum->nfindings == 0 || sum->stop == HD_STOP_ERROR));
  if (!quiet) {
    struct hd_str text;
    hd_str_init(&text);
    hd_text_summary(&text, sum, hd_text_colour(p->fd));
    print(p->fd, &text);
    hd_str_fini(&text);
  }
  int rc = hd_outputs_write(p->o, sum, hd_session_cwd(s), err);
  return rc == HD_OK ? exit_code(s) : hd_err_exit(err);
}

static int present(struct hd_options *o, enum hd_verb verb, struct hd_cluster *cluster) {
  struct hd_err err;
  /* Standard output may be used by the program, or for a result. */
  bool taken = verb == HD_VERB_RUN || hd_outputs_own_stdout(o);
  struct present p = {o, verb, taken ? STDERR_FILENO : STDOUT_FILENO, cluster};
  bool live = verb == HD_VERB_CHECK && !o->quiet && isatty(STDERR_FILENO);
  struct hd_session_events events = {
      .arg = &p,
      .progress = live ? on_progress : NULL,
      .finding = on_finding,
      .startup_output = on_startup_output,
  };
  struct hd_session_config config;
  struct hd_attachment attachment;
  struct hd_session *s = NULL;
  hd_interrupt_catch();
  hd_options_session(o, verb, &config);
  if (verb == HD_VERB_CHECK && hd_attachment_find(&attachment)) config.attachment = &attachment;
  int rc = hd_outputs_check(o, &err);
  if (rc == HD_OK && o->resume) rc = hd_options_resume(o, &config, &err);
  if (rc == HD_OK && cluster) rc = hd_cluster_configure(cluster, &config, &err);
  if (rc == HD_OK && cluster && hd_cluster_rank(cluster) > 0)
    return hd_cluster_serve(cluster, &config, &err) == HD_OK ? 0 : 3;
  if (rc != HD_OK && cluster && hd_cluster_rank(cluster) > 0) return -rc; /* the first says it */
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

int hd_present_search(struct hd_options *o, enum hd_verb verb) { return present(o, verb, NULL); }

int hd_present_cluster(struct hd_options *o, struct hd_cluster *c) { return present(o, HD_VERB_CHECK, c); }

/* ---- stored findings ---- */

void hd_present_finding(int fd, const struct hd_finding *f) {
  struct hd_str text;
  hd_str_init(&text);
  hd_text_finding(&text, f, hd_text_colour(fd));
  hd_write_all(fd, text.s, text.n);
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
