/* replay.c: re-executes a stored finding and compares it with the recording, event by event. Runs in the supervisor.
 *
 * Possible differences, in this order: the program was rebuilt (known before anything is run), the schedule could not
 * be followed, an event differs, the finding did not occur. */
#include "session/rerun.h"

#include <string.h>
#include <sys/stat.h>

/* Checks that the program can still be run, and whether it is the one that the finding was stored for. */
static int check_program(struct hd_replay *r, struct hd_err *err) {
  struct hd_command *c = &r->stored.command;
  r->now.preload = hd_command_preloads(c);
  /* The user named a folder, not this program: a missing program is not wrong usage. */
  if (hd_program_open(c->program.path, NULL, "/", &r->now, err) != HD_OK) return err->code = HD_EENV;
  struct stat st;
  if (stat(c->cwd, &st) || !S_ISDIR(st.st_mode))
    return hd_fail(err, HD_EENV, "%s: the folder it was run in is gone; create it to replay", c->cwd);
  r->rebuilt = r->now.hash != c->program.hash || r->now.size != c->program.size;
  c->program.runtime_found = r->now.runtime_found;
  c->program.preload = r->now.preload;
  return hd_command_find_runtime(c, err);
}

int hd_replay_init(struct hd_replay *r, const char *dir, bool original, struct hd_err *err) {
  *r = (struct hd_replay){.input.fd = -1};
  int rc = hd_store_read(dir, original, &r->stored, err);
  if (rc == HD_OK) rc = check_program(r, err);
  if (rc == HD_OK) rc = hd_input_from_file(&r->input, r->stored.input_path, err);
  if (rc != HD_OK) hd_replay_fini(r);
  return rc;
}

void hd_replay_fini(struct hd_replay *r) {
  hd_stored_fini(&r->stored);
  hd_program_fini(&r->now);
  hd_input_fini(&r->input);
}

struct hd_finding *hd_replay_finding(const struct hd_replay *r, const struct hd_rerun *run, const char *dir,
                                     struct hd_symbolizer **sym) {
  const struct hd_schedule *s = &r->stored.schedule;
  struct hd_finding *f = hd_rerun_finding(run, &r->stored.command, sym);
  f->execution = s->execution;
  f->seed = s->seed;
  f->key = s->key;
  f->steps = s->nsteps;
  memcpy(f->strategy, s->strategy, sizeof f->strategy);
  f->replays = true;
  f->folder = hd_strdup(dir);
  const char *name = strrchr(dir, '/');
  uint64_t id;
  if (hd_parse_u64(name ? name + 1 : dir, 10, 1000000000, &id)) f->id = (unsigned)id;
  return f;
}

/* ---- comparing events ---- */

/* The stored and the new trace, event by event. */
struct pairs {
  struct hd_tr_source *then, *now;
  struct hd_event want, got;
  bool wants, gets; /* there is such an event */
  uint64_t at; /* number of `want` in the trace, from 1; where there is none, one more than it has events */
};

/* The next event. `plain`: accesses that were no operations of the schedule, too. */
static int next_event(struct hd_tr_source *s, bool plain, struct hd_event *e, uint64_t *number, bool *there,
                      struct hd_err *err) {
  int rc;
  do {
    rc = hd_tr_next(s, e, err);
    ++*number;
  } while (rc > 0 && !plain && (e->flags & HD_EV_PLAIN));
  *there = rc > 0;
  return rc < 0 ? rc : HD_OK;
}

/* In a rebuilt program every address may have moved: then only the threads' operations are compared. */
static bool same_event(const struct pairs *p, bool rebuilt) {
  const struct hd_tr_tables *t = p->then->tables, *u = p->now->tables;
  const struct hd_event *a = &p->want, *b = &p->got;
  if (a->op.kind != b->op.kind || ((a->flags ^ b->flags) & HD_EV_FAILED) || a->op.size != b->op.size ||
      strcmp(t->thread.v[a->op.thread].name, u->thread.v[b->op.thread].name) != 0)
    return false;
  if (rebuilt) return true;
  uint64_t pc = a->place ? t->place.v[a->place - 1].pc : 0;
  if (pc != (b->place ? u->place.v[b->place - 1].pc : 0)) return false;
  if (hd_op_object(a->op.kind) != HD_OBJ_THREAD) return a->op.object == b->op.object;
  return strcmp(t->thread.v[a->op.object].name, u->thread.v[b->op.object].name) == 0;
}

/* Finds the first pair that differs; `differs` is false if all are the same. The caller closes both. */
static int first_difference(const struct hd_replay *r, const struct hd_rerun *run, bool names, bool plain,
                            struct pairs *p, bool *differs, struct hd_err *err) {
  *p = (struct pairs){0};
  *differs = false;
  int rc = hd_tr_open_file(r->stored.trace, &p->then, err);
  if (rc != HD_OK) return rc;
  p->now = hd_rerun_trace(run, &r->stored.command, names, false);
  uint64_t got = 0;
  do {
    rc = next_event(p->then, plain, &p->want, &p->at, &p->wants, err);
    if (rc == HD_OK) rc = next_event(p->now, plain, &p->got, &got, &p->gets, err);
    if (rc != HD_OK) return rc;
    *differs = p->wants != p->gets || (p->wants && !same_event(p, r->rebuilt));
  } while (p->wants && !*differs);
  return HD_OK;
}

static void close_pairs(struct pairs *p) {
  hd_tr_close(p->then);
  hd_tr_close(p->now);
}

static const char *likely_cause(const struct hd_replay *r, const struct pairs *p) {
  if (r->rebuilt) return "the program was rebuilt; run heddle check again";
  const struct hd_tr_tables *t = p->then->tables, *u = p->now->tables;
  if (p->wants && p->gets && p->want.op.kind == p->got.op.kind && p->want.place && p->got.place &&
      t->place.v[p->want.place - 1].pc == u->place.v[p->got.place - 1].pc &&
      strcmp(t->thread.v[p->want.op.thread].name, u->thread.v[p->got.op.thread].name) == 0)
    return "the same operation on another address: a library or the kernel changed since";
  return "the program read something that differs between runs: a file, the network, or the time";
}

/* Compares once more, with names, which take time and are rarely needed. */
static int describe_difference(const struct hd_replay *r, const struct hd_rerun *run,
                               struct hd_comparison *out, struct hd_err *err) {
  struct pairs p;
  bool differs;
  int rc = first_difference(r, run, true, false, &p, &differs, err);
  if (rc == HD_OK) {
    out->event = p.at;
    out->beyond = !p.wants;
    out->cause = likely_cause(r, &p);
    if (p.wants) hd_tr_describe(&out->want, p.then->tables, &p.want);
    if (p.gets) hd_tr_describe(&out->got, p.now->tables, &p.got);
    if (!p.gets) hd_str_add(&out->got, "the end");
  }
  close_pairs(&p);
  return rc;
}

/* ---- the result ---- */

static int check_start(const struct hd_replay *r, const struct hd_rerun *run, struct hd_err *err) {
  const struct hd_command *c = &r->stored.command;
  if (run->outcome.end != HD_PROCESS_START) return HD_OK;
  if (!c->calls) return hd_start_failed(&run->outcome, c->program.path, err);
  return hd_fail(err, HD_EENV, "%s did not reach the call of hd_check that this was found in: %s",
                 c->program.path,
                 r->rebuilt ? "it was rebuilt; run the test again"
                            : "its tests have to run in the same order, at the same addresses");
}

int hd_replay_compare(const struct hd_replay *r, const struct hd_rerun *run, struct hd_comparison *out,
                      struct hd_err *err) {
  struct pairs p;
  bool differs;
  *out = (struct hd_comparison){0};
  hd_str_init(&out->why);
  hd_str_init(&out->want);
  hd_str_init(&out->got);
  if (r->stored.nevents == 0) { /* `heddle run` recorded none */
    out->same = hd_rerun_same(run, &r->stored.schedule, &out->why);
    out->result = out->same ? HD_REPLAY_SAME : run->error ? HD_REPLAY_ERROR : HD_REPLAY_NOT_REPRODUCED;
    return check_start(r, run, err);
  }
  int rc = first_difference(r, run, false, true, &p, &differs, err);
  close_pairs(&p);
  out->whole = rc == HD_OK && !differs;
  /* Which other accesses are recorded depends on which memory is known to be shared: only operations must be the same. */
  if (rc == HD_OK && differs) {
    rc = first_difference(r, run, false, false, &p, &differs, err);
    close_pairs(&p);
  }
  if (rc == HD_OK) rc = check_start(r, run, err);
  if (rc != HD_OK) return rc;
  out->same = hd_rerun_same(run, &r->stored.schedule, &out->why);
  /* The trace of a process that died may lack its last event: only the death itself is compared. */
  bool partial = r->stored.schedule.partial || (run->found && run->capture.rec->partial);
  differs = differs && !(out->same && partial && !(p.wants && p.gets));
  if (differs && run->outcome.end != HD_PROCESS_STOPPED) rc = describe_difference(r, run, out, err);
  out->result = run->outcome.end == HD_PROCESS_ERROR ? HD_REPLAY_ERROR
                : !out->same                         ? HD_REPLAY_NOT_REPRODUCED
                : differs                            ? HD_REPLAY_OTHER_EVENTS
                                                     : HD_REPLAY_SAME;
  return rc;
}

void hd_comparison_fini(struct hd_comparison *c) {
  hd_str_fini(&c->why);
  hd_str_fini(&c->want);
  hd_str_fini(&c->got);
}
