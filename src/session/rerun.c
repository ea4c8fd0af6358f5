/* rerun.c: executes a schedule in a fresh process, to confirm a finding or to replay a stored one, and turns the
 * recording into a finding, a story or a trace. Runs in the supervisor. */
#include "session/rerun.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define STORY_EVENTS (1u << 22) /* of a run that has a story */
#define TICK 20                 /* milliseconds between looks at the clock, where there is a limit */

/* With detail the runtime makes one record per leaking place; they are reported as one finding. */
static void add_leak(struct hd_finding_rec *to, const struct hd_control *c, size_t index) {
  struct hd_capture more;
  hd_capture_finding(&more, c, index);
  to->leaked_bytes += more.rec->leaked_bytes;
  to->leaked_blocks += more.rec->leaked_blocks;
  for (uint32_t i = 0; i < more.rec->nsites && to->nsites < HD_MAX_SITES; i++)
    to->site[to->nsites++] = more.rec->site[i];
  hd_capture_fini(&more);
}

/* The finding of the rerun: the expected one if it is among them, else the first. */
static bool pick_finding(const struct hd_control *c, const struct hd_schedule *s, struct hd_capture *out) {
  size_t n = c->ctl->status.nfindings;
  if (n > HD_MAX_FINDINGS) n = HD_MAX_FINDINGS;
  if (n == 0) return false;
  size_t best = 0;
  for (size_t i = n; i-- > 0;)
    if (c->ctl->finding[i].kind == s->kind) best = i;
  for (size_t i = n; i-- > 0;)
    if (c->ctl->finding[i].kind == s->kind && c->ctl->finding[i].key == s->key) best = i;
  hd_capture_finding(out, c, best);
  if (s->kind == HD_KIND_LEAK)
    for (size_t i = best + 1; i < n; i++)
      if (c->ctl->finding[i].kind == HD_KIND_LEAK) add_leak(out->rec, c, i);
  return true;
}

enum hd_kind hd_death_kind(const struct hd_outcome *o, const struct hd_control *c) {
  /* Once the runtime's memory is overwritten, the way the process ends is arbitrary. */
  if (!hd_control_sane(c)) return HD_KIND_CRASH;
  if (o->end == HD_PROCESS_HUNG) return HD_KIND_HANG;
  if (o->signal == SIGABRT) return HD_KIND_ABORT;
  return o->signal ? HD_KIND_CRASH : HD_KIND_EXIT;
}

/* Decides which events go into the trace; notes refer to events by their numbers there. */
static void take_events(struct hd_rerun *out) {
  out->event = hd_control_area(&out->control, HD_SHM_EVENT);
  out->nevents = out->status.nevents;
  out->kept = hd_alloc(out->nevents);
  hd_tr_keep_shared(out->event, out->nevents, out->kept);
  struct hd_finding_rec *f = out->found ? out->capture.rec : NULL;
  uint64_t number = 0;
  uint32_t k = 0;
  for (size_t i = 0; f && i < out->nevents; i++) {
    number += out->kept[i];
    for (; k < f->nnotes && k < HD_MAX_NOTES && f->note[k].event <= i + 1; k++) f->note[k].event = number;
  }
}

/* Copies the results of the tested process, which are not trusted. */
static void take_result(struct hd_rerun *out, const struct hd_command *cmd, const struct hd_schedule *s) {
  const struct hd_control *c = &out->control;
  bool sane = hd_control_sane(c);
  out->status = sane ? c->ctl->status : c->good;
  out->found = sane && pick_finding(c, s, &out->capture);
  bool died = !sane || out->outcome.end == HD_PROCESS_DIED || out->outcome.end == HD_PROCESS_HUNG;
  if (!out->found && died) {
    hd_capture_death(&out->capture, c, hd_death_kind(&out->outcome, c), out->outcome.signal,
                     out->outcome.status);
    out->found = true;
  }
  take_events(out);
  out->calls = hd_control_area(c, HD_SHM_CALLS);
  out->ncalls = !s->callers ? 0 : out->nevents < HD_CALLS_CAP ? out->nevents : HD_CALLS_CAP;
  out->nmodules = out->status.nmodules;
  out->module = hd_alloc(out->nmodules * sizeof *out->module);
  memcpy(out->module, c->ctl->module, out->nmodules * sizeof *out->module);
  if (sane && out->outcome.end == HD_PROCESS_ERROR) {
    struct hd_str text;
    hd_str_init(&text);
    hd_runtime_error_text(&text, c->ctl, cmd);
    out->error = hd_str_take(&text);
  }
}

void hd_control_schedule(const struct hd_control *c, const struct hd_schedule *s) {
  if (s->nsteps) memcpy(hd_control_area(c, HD_SHM_PATH), s->step, s->nsteps * sizeof *s->step);
  if (s->nvisible) memcpy(hd_control_area(c, HD_SHM_VISIBLE), s->visible, s->nvisible * sizeof *s->visible);
  hd_inputs_put(&s->inputs, c);
}

int hd_rerun_schedule(const struct hd_command *cmd, const struct hd_schedule *s, const struct hd_input *in,
                      enum hd_output how, struct hd_str *kept, double hang_timeout, struct hd_rerun *out,
                      struct hd_err *err) {
  struct hd_config config;
  hd_schedule_config(s, &config);
  int rc = hd_rerun_config(cmd, s, &config, in, how, kept, hang_timeout, 0, out, err);
  if (rc != HD_OK || out->found || s->kind != HD_KIND_DATA_RACE || !config.plain) return rc;
  /* Recording plain accesses changes the history of each, so another pair may be reported as the race than in the
   * search. Run it as the search did. */
  hd_rerun_fini(out);
  if (kept) hd_str_clear(kept);
  config.plain = 0;
  return hd_rerun_config(cmd, s, &config, in, how, kept, hang_timeout, 0, out, err);
}

/* Before the process starts: `s`, or what `prepare` does, is put into its memory. `seconds` 0: no limit. */
struct before {
  const struct hd_schedule *s;
  hd_prepare *prepare;
  void *arg;
  double seconds;
};

static int execute(const struct hd_command *cmd, const struct before *b, const struct hd_config *config,
                   const struct hd_input *in, enum hd_output how, struct hd_str *kept, double hang_timeout,
                   struct hd_rerun *out, struct hd_err *err) {
  static const struct hd_schedule none;
  *out = HD_RERUN_NONE;
  struct hd_control *c = &out->control;
  int rc = hd_control_init(c, config, NULL, err);
  if (rc != HD_OK) return rc;
  if (b->s)
    hd_control_schedule(c, b->s);
  else
    b->prepare(b->arg, c);
  struct hd_streams streams;
  rc = hd_streams_open(&streams, in, how, kept, err);
  if (rc == HD_OK) {
    struct hd_watch watch = {.hang_timeout = hang_timeout,
                             .step_timeout = HD_STEP_TIMEOUT * hang_timeout,
                             .deadline = b->seconds > 0 ? hd_now() + b->seconds : 0,
                             .abrupt = true,
                             .interrupts = hd_interrupts(),
                             .tick_ms = b->seconds > 0 ? TICK : 0};
    rc = hd_supervise(cmd, c, &streams, &watch, &out->outcome, err);
    hd_streams_close(&streams);
  }
  if (rc == HD_OK)
    take_result(out, cmd, b->s ? b->s : &none);
  else
    hd_rerun_fini(out);
  return rc;
}

int hd_rerun_config(const struct hd_command *cmd, const struct hd_schedule *s, const struct hd_config *config,
                    const struct hd_input *in, enum hd_output how, struct hd_str *kept, double hang_timeout,
                    double seconds, struct hd_rerun *out, struct hd_err *err) {
  struct before b = {.s = s, .seconds = seconds};
  return execute(cmd, &b, config, in, how, kept, hang_timeout, out, err);
}

int hd_rerun_prepared(const struct hd_command *cmd, const struct hd_config *config, hd_prepare *prepare,
                      void *arg, const struct hd_input *in, double hang_timeout, double seconds,
                      struct hd_rerun *out, struct hd_err *err) {
  struct before b = {.prepare = prepare, .arg = arg, .seconds = seconds};
  return execute(cmd, &b, config, in, HD_OUTPUT_NULL, NULL, hang_timeout, out, err);
}

void hd_rerun_fini(struct hd_rerun *r) {
  hd_capture_fini(&r->capture);
  hd_control_fini(&r->control);
  free(r->module);
  free(r->error);
  free(r->kept);
  *r = HD_RERUN_NONE;
}

/* "at step 12 the schedule wants thread 2 ..." */
static void add_divergence(struct hd_str *why, const struct hd_status *st) {
  hd_str_addf(why, "at step %llu of the schedule ", (unsigned long long)st->diverge_step);
  unsigned want = (unsigned)st->diverge_want;
  if (st->diverge_kind == HD_DECIDE_OUTCOME)
    hd_str_addf(why, "outcome %u of a choice was not possible", want);
  else if (st->diverge_kind == HD_DECIDE_INPUT || st->diverge_kind == HD_DECIDE_READS)
    hd_str_addf(why, "%s is decided that the program did not ask for",
                st->diverge_kind == HD_DECIDE_INPUT ? "an input" : "the write that a read sees");
  else if (st->diverge_op == HD_OP_NONE || st->diverge_op >= HD_OP_COUNT)
    hd_str_addf(why, "thread number %u was to run, but it had not started or had ended", want);
  else
    hd_str_addf(why, "thread number %u was to run, but could not: it was about to %s", want,
                hd_op_text(st->diverge_op));
}

bool hd_rerun_same(const struct hd_rerun *r, const struct hd_schedule *s, struct hd_str *why) {
  if (r->found && r->capture.rec->kind == s->kind &&
      (!hd_schedule_has_key(s) || r->capture.rec->partial || r->capture.rec->key == s->key))
    return true;
  if (r->error)
    hd_str_add(why, r->error);
  else if (r->outcome.end == HD_PROCESS_START) {
    struct hd_err err;
    hd_start_failed(&r->outcome, "the program", &err);
    hd_str_add(why, err.text);
  } else if (r->outcome.end == HD_PROCESS_STOPPED)
    hd_str_add(why, "it was interrupted");
  else if (r->status.diverged)
    add_divergence(why, &r->status);
  else if (r->found && r->capture.rec->kind == s->kind)
    hd_str_addf(why, "it ended in another %s", hd_kind_title[s->kind]);
  else if (r->found)
    hd_str_addf(why, "it ended in another way: %s", hd_kind_title[r->capture.rec->kind]);
  else
    hd_str_add(why, "it ran to its end without a failure");
  return false;
}

/* ---- the finding, the story, the trace ---- */

struct hd_symbolizer *hd_rerun_symbolizer(const struct hd_rerun *r, const struct hd_command *cmd) {
  struct hd_symbolizer *s = hd_symbolizer_new(r->module, r->nmodules, cmd->program.path, cmd->cwd);
  if (r->control.ctl) {
    hd_symbolizer_frames(s, hd_control_area(&r->control, HD_SHM_FRAMES));
    hd_symbolizer_blocks(s, hd_control_area(&r->control, HD_SHM_BLOCKS));
  }
  return s;
}

struct hd_finding *hd_rerun_finding(const struct hd_rerun *r, const struct hd_command *cmd,
                                    struct hd_symbolizer **sym) {
  struct hd_symbolizer *own = hd_rerun_symbolizer(r, cmd);
  struct hd_finding *f = hd_finding_new(r->capture.rec, own);
  struct hd_inputs inputs;
  hd_inputs_take(&inputs, &r->control);
  hd_inputs_show(f, &inputs, r->capture.rec);
  hd_inputs_fini(&inputs);
  if (sym)
    *sym = own;
  else
    hd_symbolizer_free(own);
  return f;
}

struct hd_story *hd_rerun_story(const struct hd_rerun *r, const struct hd_finding *f,
                                struct hd_symbolizer *sym) {
  if (r->nevents > STORY_EVENTS) return NULL;
  struct hd_recording recording = {
      r->event, r->nevents, r->calls, r->ncalls, r->capture.rec->thread, r->capture.rec->nthreads, r->kept};
  return hd_story_new(&recording, f, sym);
}

static void locate(void *arg, uint64_t pc, char **file, uint32_t *line, char **function) {
  struct hd_frames f = {0};
  hd_symbolize_pc(arg, pc, false, &f);
  if (f.n > 0) {
    *file = f.v[0].file ? hd_strdup(f.v[0].file) : NULL;
    *function = f.v[0].function ? hd_strdup(f.v[0].function) : NULL;
    *line = f.v[0].line > 0 ? (uint32_t)f.v[0].line : 0;
  }
  hd_frames_free(&f);
}

static char *name(void *arg, uint64_t addr) { return hd_symbolize_object(arg, addr); }

struct hd_tr_source *hd_rerun_trace(const struct hd_rerun *r, const struct hd_command *cmd, bool names,
                                    bool all) {
  struct hd_symbolizer *sym = names ? hd_rerun_symbolizer(r, cmd) : NULL;
  struct hd_str command;
  hd_str_init(&command);
  for (char **w = cmd->argv; *w; w++) {
    if (w > cmd->argv) hd_str_addc(&command, ' ');
    hd_str_add_quoted(&command, *w);
  }
  struct hd_tr_recording recording = {.event = r->event,
                                      .n = r->nevents,
                                      .kept = all ? NULL : r->kept,
                                      .thread_name = r->control.ctl ? r->control.ctl->thread_name : NULL,
                                      .command = command.s,
                                      .locate = sym ? locate : NULL,
                                      .name = sym ? name : NULL,
                                      .arg = sym};
  struct hd_tr_source *s = hd_tr_record(&recording);
  hd_str_fini(&command);
  hd_symbolizer_free(sym);
  return s;
}

/* ---- errors of the runtime ---- */

void hd_runtime_error_text(struct hd_str *out, const struct hd_ctl *ctl, const struct hd_command *cmd) {
  const struct hd_status *st = &ctl->status;
  if (st->error == HD_RTE_INTERNAL) hd_str_add(out, "bug in heddle's runtime, please report it: ");
  hd_str_addf(out, "%.*s", (int)sizeof st->error_text, st->error_text);
  const struct hd_site *site = &st->error_site;
  if (site->npc == 0 || site->npc > HD_MAX_STACK) return;
  size_t n = st->nmodules < HD_MAX_MODULES ? st->nmodules : HD_MAX_MODULES;
  struct hd_symbolizer *s = hd_symbolizer_new(ctl->module, n, cmd->program.path, cmd->cwd);
  struct hd_frames stack = {0};
  for (unsigned i = 0; i < site->npc && stack.n == 0; i++)
    hd_symbolize_pc(s, site->pc[i], i == 0 && (site->flags & HD_SITE_EXACT), &stack);
  if (stack.n > 0) {
    const struct hd_frame *f = &stack.v[0];
    hd_str_add(out, st->error == HD_RTE_UNSUPPORTED ? " (called at " : " (at ");
    if (f->file && f->line)
      hd_str_addf(out, "%s:%d", f->file, f->line);
    else
      hd_str_addf(out, "%#llx", (unsigned long long)f->pc);
    hd_str_addf(out, "%s%s)", f->function ? " in " : "", f->function ? f->function : "");
  }
  hd_frames_free(&stack);
  hd_symbolizer_free(s);
}

int hd_runtime_error_code(uint32_t error) { return error == HD_RTE_INTERNAL ? HD_EINTERNAL : HD_EENV; }
