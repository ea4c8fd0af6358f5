/* sarif.c: a search as SARIF 2.1.0, the format of code scanning services and editors. Runs in the supervisor.
 *
 * One run with one result per finding. Every kind of finding is a rule, in the order of kinds.def, so that the index
 * of a rule does not depend on the findings. The steps of the story are a code flow with one thread flow per thread;
 * executionOrder puts them on one axis. Files below the working folder are named relative to it. */
#include "report/report_int.h"

#include <stdlib.h>
#include <string.h>

#define BASE "SRCROOT"
#define SCHEMA "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

static void set(json_t *o, const char *key, json_t *value) { json_object_set_new(o, key, value); }

static void append(json_t *list, json_t *value) { json_array_append_new(list, value); }

/* {"text": "..."}: a message, or a piece of source. */
static json_t *message(const char *s) {
  json_t *o = json_object();
  set(o, "text", hd_json_text(s));
  return o;
}

static bool has_one(const char *s, const char *const *pieces) {
  for (; *pieces; pieces++)
    if (strstr(s, *pieces)) return true;
  return false;
}

/* In a message `[x](y)` is a link and `{0}` a placeholder. Text without these is not escaped, since some readers show
 * the escapes. */
static json_t *escaped_message(const char *s) {
  static const char *const link[] = {"](", "\\[", "\\]", "\\\\", NULL};
  static const char *const brace[] = {"{0", "{1", "{2", "{3", "{4", "{5", "{6",
                                      "{7", "{8", "{9", "{{", "}}", NULL};
  bool links = has_one(s, link), braces = has_one(s, brace);
  struct hd_str b;
  hd_str_init(&b);
  for (; *s; s++) {
    if (links && (*s == '[' || *s == ']' || *s == '\\')) hd_str_addc(&b, '\\');
    if (braces && (*s == '{' || *s == '}')) hd_str_addc(&b, *s);
    hd_str_addc(&b, *s);
  }
  json_t *o = message(b.s);
  hd_str_fini(&b);
  return o;
}

/* ---- where ---- */

/* A path as (part of) a URI, percent-encoded. */
static void add_uri(struct hd_str *out, const char *path) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/+@";
  for (; *path; path++) {
    if (strchr(plain, *path))
      hd_str_addc(out, *path);
    else
      hd_str_addf(out, "%%%02X", (unsigned char)*path);
  }
}

static json_t *artifact(const char *file) {
  json_t *o = json_object();
  struct hd_str uri;
  hd_str_init(&uri);
  if (file[0] == '/') hd_str_add(&uri, "file://");
  add_uri(&uri, file);
  set(o, "uri", hd_json_text(uri.s));
  if (file[0] != '/') set(o, "uriBaseId", json_string(BASE));
  hd_str_fini(&uri);
  return o;
}

static json_t *physical(const char *file, const char *path, int line, int column) {
  json_t *o = json_object(), *region = json_object();
  set(region, "startLine", json_integer(line));
  if (column > 0) set(region, "startColumn", json_integer(column));
  const char *source = hd__source_line(path, line);
  if (source) set(region, "snippet", message(source));
  set(o, "artifactLocation", artifact(file));
  set(o, "region", region);
  return o;
}

static json_t *logical(const char *function) {
  json_t *list = json_array(), *o = json_object();
  set(o, "fullyQualifiedName", hd_json_text(function));
  set(o, "kind", json_string("function"));
  append(list, o);
  return list;
}

static json_t *frame_location(const struct hd_frame *f) {
  json_t *o = json_object();
  if (f->file && f->line > 0)
    set(o, "physicalLocation", physical(f->file, f->path, f->line, f->column));
  else
    set(o, "physicalLocation",
        json_pack("{s:{s:I}}", "address", "absoluteAddress", (json_int_t)(f->pc & INT64_MAX)));
  if (f->function) set(o, "logicalLocations", logical(f->function));
  return o;
}

static char *said_at(const struct hd_place *p) {
  struct hd_str what;
  hd_str_init(&what);
  hd__text_place(&what, p);
  if (p->role == HD_ROLE_PREVIOUS) hd_str_add(&what, " (previous access)");
  return hd_str_take(&what);
}

/* The place with its operation; NULL when its location is unknown. */
static json_t *place_location(const struct hd_place *p) {
  const struct hd_frame *f = hd_place_frame(p);
  if (!f && p->stack.n > 0) f = &p->stack.v[0];
  if (!f) return NULL;
  char *what = said_at(p);
  json_t *o = frame_location(f);
  set(o, "message", escaped_message(what));
  free(what);
  return o;
}

static json_t *stack(const struct hd_place *p) {
  json_t *o = json_object(), *frames = json_array();
  char *what = said_at(p);
  set(o, "message", escaped_message(what));
  free(what);
  for (size_t i = 0; i < p->stack.n; i++) {
    json_t *frame = json_object();
    set(frame, "location", frame_location(&p->stack.v[i]));
    append(frames, frame);
  }
  set(o, "frames", frames);
  return o;
}

/* ---- the steps ---- */

static json_t *step(const struct hd_story *s, size_t i) {
  const struct hd_row *r = &s->row.v[i];
  json_t *o = json_object(), *location = json_object();
  if (r->file && r->line > 0) set(location, "physicalLocation", physical(r->file, r->path, r->line, 0));
  if (r->function) set(location, "logicalLocations", logical(r->function));
  struct hd_str what;
  hd_str_init(&what);
  hd__text_row(&what, s, i);
  if (what.n) set(location, "message", escaped_message(what.s));
  hd_str_fini(&what);
  set(o, "location", location);
  set(o, "executionOrder", json_integer((json_int_t)i + 1));
  set(o, "importance",
      json_string(r->mark != HD_ROW_STEP ? "essential"
                  : r->kept              ? "important"
                                         : "unimportant"));
  return o;
}

static json_t *flow(const struct hd_story *s) {
  json_t *o = json_object(), *threads = json_array();
  for (size_t t = 0; t < s->thread.n; t++) {
    json_t *steps = json_array();
    for (size_t i = 0; i < s->row.n; i++)
      if (s->row.v[i].thread == s->thread.v[t]) append(steps, step(s, i));
    json_t *thread = json_object();
    set(thread, "id", hd_json_text(s->name.v[t]));
    set(thread, "locations", steps);
    if (json_array_size(steps))
      append(threads, thread);
    else
      json_decref(thread);
  }
  struct hd_str why;
  hd_str_init(&why);
  if (s->before && s->after)
    hd_str_addf(&why, "The order of steps %zu and %zu matters: swapping them makes it pass (verified).",
                s->before, s->after);
  if (s->remark) hd_str_addf(&why, "%s%s", why.n ? " " : "", s->remark);
  if (why.n) set(o, "message", escaped_message(why.s));
  hd_str_fini(&why);
  set(o, "threadFlows", threads);
  return o;
}

/* ---- results ---- */

static json_t *finding_message(const struct hd_finding *f) {
  struct hd_str b;
  hd_str_init(&b);
  hd_str_add(&b, f->title);
  if (f->no_replay) hd_str_addf(&b, "\nIt did not replay: %s", f->no_replay);
  if (f->folder) {
    hd_str_add(&b, "\nreplay: heddle replay ");
    hd_str_add_quoted(&b, f->folder);
  }
  json_t *o = escaped_message(b.s);
  hd_str_fini(&b);
  return o;
}

/* The first place is the location; all the others are related to it. */
static void add_places(json_t *o, const struct hd_finding *f) {
  const struct hd_place *main = hd_finding_place(f);
  json_t *related = json_array(), *stacks = json_array(), *location = NULL;
  for (size_t i = 0; i < f->nplaces; i++) {
    const struct hd_place *p = &f->place[i];
    json_t *here = place_location(p);
    if (!here) continue;
    append(stacks, stack(p));
    if (!location && (p == main || !main)) {
      location = here;
      continue;
    }
    set(here, "id", json_integer((json_int_t)json_array_size(related) + 1));
    append(related, here);
  }
  json_t *locations = json_array();
  if (location) append(locations, location);
  set(o, "locations", locations);
  set(o, "relatedLocations", related);
  set(o, "stacks", stacks);
}

static json_t *result(const struct hd_finding *f) {
  json_t *o = json_object();
  set(o, "ruleId", json_string(hd_kind_name[f->kind]));
  set(o, "ruleIndex", json_integer(f->kind - 1));
  set(o, "level", json_string("error"));
  set(o, "message", finding_message(f));
  add_places(o, f);
  if (f->story && f->story->row.n > 0) {
    json_t *flows = json_array();
    append(flows, flow(f->story));
    set(o, "codeFlows", flows);
  }
  char key[24];
  snprintf(key, sizeof key, "%016llx", (unsigned long long)f->key);
  set(o, "partialFingerprints", json_pack("{s:s}", "heddleKey/v1", key));
  json_t *more = json_object();
  set(more, "execution", json_integer((json_int_t)f->execution));
  set(more, "strategy", hd_json_text(f->strategy));
  set(more, "replay", hd_json_text(f->folder));
  set(more, "replays", hd__json_replays(f));
  set(o, "properties", more);
  return o;
}

/* ---- the run ---- */

static json_t *rules(void) {
  json_t *list = json_array();
  for (int k = 1; k < HD_KIND_COUNT; k++) {
    json_t *o = json_object();
    set(o, "id", json_string(hd_kind_name[k]));
    set(o, "shortDescription", message(hd_kind_title[k]));
    set(o, "defaultConfiguration", json_pack("{s:s}", "level", "error"));
    append(list, o);
  }
  return list;
}

static json_t *invocation(const struct hd_summary *s, const char *cwd) {
  json_t *o = json_object();
  set(o, "executionSuccessful", json_boolean(s->stop != HD_STOP_ERROR));
  set(o, "workingDirectory", artifact(cwd));
  if (s->error) {
    json_t *list = json_array(), *said = json_object();
    set(said, "level", json_string("error"));
    set(said, "message", escaped_message(s->error));
    append(list, said);
    set(o, "toolExecutionNotifications", list);
  }
  return o;
}

json_t *hd_sarif_run(const struct hd_summary *s, const char *cwd, const char *target) {
  json_t *driver = json_object(), *run = json_object();
  set(driver, "name", json_string("Heddle"));
  set(driver, "version", json_string(HD_VERSION));
  set(driver, "rules", rules());
  set(run, "tool", json_pack("{s:o}", "driver", driver));
  if (target) { /* distinguishes the runs of one file; the last slash ends the category */
    char *id = hd_sprintf("heddle/%s/", target);
    set(run, "automationDetails", json_pack("{s:o}", "id", hd_json_text(id)));
    free(id);
  }
  json_t *invocations = json_array();
  append(invocations, invocation(s, cwd));
  set(run, "invocations", invocations);
  char *folder = hd_sprintf("%s%s", cwd, cwd[strlen(cwd) - 1] == '/' ? "" : "/");
  set(run, "originalUriBaseIds", json_pack("{s:o}", BASE, artifact(folder)));
  free(folder);
  json_t *results = json_array();
  for (size_t i = 0; i < s->nfindings; i++) append(results, result(s->findings[i]));
  set(run, "results", results);
  /* The summary as in the JSON output, without the findings and the lines. */
  json_t *more = hd_json_summary(s);
  json_object_del(more, "findings");
  json_object_del(more, "coverage");
  json_object_del(more, "heddle");
  set(run, "properties", more);
  return run;
}

json_t *hd_sarif(json_t *runs) {
  json_t *log = json_object();
  set(log, "$schema", json_string(SCHEMA));
  set(log, "version", json_string("2.1.0"));
  set(log, "runs", runs);
  return log;
}
