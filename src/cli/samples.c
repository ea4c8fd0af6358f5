/* samples.c: how a search went over time, for the report page. Runs in the supervisor.
 *
 * There are at most MOST samples: when they are full, every other one is dropped and the next ones are taken half as
 * often, so that an hour costs no more than a second. */
#include "cli/search_int.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FIRST_INTERVAL 0.05 /* seconds */

static void add(struct hd_search_run *s, double now) {
  struct hd_samples *a = &s->samples;
  struct hd_status st = hd_search_total(s);
  if (a->n == HD_MAX_SAMPLES) {
    for (size_t i = 0; i < HD_MAX_SAMPLES / 2; i++) a->v[i] = a->v[2 * i];
    a->n = HD_MAX_SAMPLES / 2;
    a->interval *= 2;
  }
  a->v[a->n++] = (struct hd_sample){.seconds = now - s->started + s->carried_seconds,
                                    .executions = st.executions + s->deaths,
                                    .classes = st.classes,
                                    .findings = s->finding.n};
  a->next = now + a->interval;
}

void hd_search_sample(struct hd_search_run *s, bool last) {
  double now = hd_now();
  if (!s->samples.interval) s->samples.interval = FIRST_INTERVAL;
  /* A rate between two samples at nearly the same time would mean nothing. */
  if (last && s->samples.n && now < s->samples.next - s->samples.interval / 2) s->samples.n--;
  if (last || now >= s->samples.next) add(s, now);
}

void hd_search_keep(struct hd_search_run *s, const struct hd_summary *sum) {
  struct hd_err err;
  struct stat st;
  bool there = stat(s->store.dir, &st) == 0;
  /* Without findings there is no folder, and none is made that nobody asked for. */
  if (!there && (!s->o->out || mkdir(s->store.dir, 0777))) return;
  hd_search_sample(s, true);
  json_t *json = hd_json_summary(sum), *samples = json_array();
  for (size_t i = 0; i < s->samples.n; i++) {
    const struct hd_sample *a = &s->samples.v[i];
    json_t *one = json_pack("[f,I,I]", (double)(long long)(a->seconds * 1e4 + 0.5) / 1e4,
                            (json_int_t)a->executions, (json_int_t)a->findings);
    if (s->o->classes) json_array_append_new(one, json_integer((json_int_t)a->classes));
    json_array_append_new(samples, one);
  }
  json_object_set_new(json, "samples", samples);
  char *dump = json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
  char *text = hd_sprintf("%s\n", dump ? dump : "{}"), *path = hd_sprintf("%s/" HD_SEARCH_FILE, s->store.dir);
  if (hd_write_file_atomic(path, text, strlen(text), &err) != HD_OK)
    hd_warn("the search is not kept for `heddle report`: %s", err.text);
  free(path);
  free(text);
  free(dump);
  json_decref(json);
}
