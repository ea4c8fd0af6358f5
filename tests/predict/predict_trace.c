/* predict_trace.c: runs detectors over a trace file and prints what they predict, for tests and measurements.
 *
 *   predict_trace [-l] [-w WINDOW] [-r RELAX] [-n LIMIT] [-q SECONDS] [-s] [-e smt|plan|both] [-m LIBDIR] [-p FOLDER]
 *                 DETECTOR[,...] FILE
 *
 * One line for each prediction: detector, kind, certain or plausible, broken reads, events, order (numbers from 1).
 * -l: lenient; -s: statistics instead, one line for each detector. Exit status 1: the trace or the options are wrong. */
#include "predict/predict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const kinds[HD_PREDICTED_KINDS] = {"race",  "deadlock", "null",  "freed", "atomicity",
                                                      "order", "unset",    "index", "signal"};

static void print(const struct hd_prediction *p) {
  printf("%s %s %s %u", p->detector, kinds[p->kind], p->certainty == HD_CERTAIN ? "certain" : "plausible",
         p->broken);
  for (size_t i = 0; i < p->event.n; i++) printf("%c%u", i ? ',' : ' ', p->event.v[i] + 1);
  putchar(' ');
  for (size_t i = 0; i < p->order.n; i++) printf("%s%u", i ? "," : "", p->order.v[i] + 1);
  putchar('\n');
}

static void print_stats(const struct hd_predict_options *o, const struct hd_predict_stats *s) {
  printf("events=%llu threads=%llu locations=%llu locks=%llu unexplained=%llu disagreed=%llu load=%.3f\n",
         (unsigned long long)s->events, (unsigned long long)s->threads, (unsigned long long)s->locations,
         (unsigned long long)s->locks, (unsigned long long)s->unexplained, (unsigned long long)s->disagreed,
         s->load_seconds);
  for (int d = 0; d < HD_DETECTORS; d++) {
    const struct hd_detector_stats *x = &s->detector[d];
    if (!(o->detectors & HD_DETECTOR_BIT(d))) continue;
    printf("%s candidates=%llu filtered=%llu solved=%llu predicted=%llu unknown=%llu skipped=%llu cut=%llu "
           "seconds=%.3f\n",
           hd_detector_name[d], (unsigned long long)x->candidates, (unsigned long long)x->filtered,
           (unsigned long long)x->solved, (unsigned long long)x->predicted, (unsigned long long)x->unknown,
           (unsigned long long)x->skipped, (unsigned long long)x->cut, x->seconds);
  }
}

int main(int argc, char **argv) {
  struct hd_predict_options o = {0};
  bool stats_only = false;
  int c;
  while ((c = getopt(argc, argv, "lsw:r:n:q:m:e:p:")) != -1) {
    if (c == 'l') o.lenient = true;
    if (c == 's') stats_only = true;
    if (c == 'w') o.window = (uint32_t)atoi(optarg);
    if (c == 'r') o.relax = (uint32_t)atoi(optarg);
    if (c == 'n') o.limit = (uint32_t)atoi(optarg);
    if (c == 'q') o.query_seconds = atof(optarg);
    if (c == 'e')
      o.engines = *optarg == 'p'   ? HD_ENGINE_PLAN
                  : *optarg == 's' ? HD_ENGINE_SMT
                                   : HD_ENGINE_SMT | HD_ENGINE_PLAN;
    if (c == 'm') o.libdir = optarg;
    if (c == 'p') o.pddl = optarg;
    if (c == '?') return 1;
  }
  if (argc - optind != 2) {
    fprintf(stderr, "usage: predict_trace [options] DETECTOR[,...] FILE\n");
    return 1;
  }
  for (char *name = strtok(argv[optind], ","); name; name = strtok(NULL, ",")) {
    enum hd_detector d;
    if (!hd_detector_by_name(name, &d)) {
      fprintf(stderr, "predict_trace: no detector %s\n", name);
      return 1;
    }
    o.detectors |= HD_DETECTOR_BIT(d);
  }
  struct hd_tr_source *source = NULL;
  struct hd_event *event = NULL;
  size_t n = 0;
  struct hd_err err;
  struct hd_predictions out = {0};
  struct hd_predict_stats stats;
  int rc = hd_tr_open_file(argv[optind + 1], &source, &err);
  if (rc == HD_OK) rc = hd_tr_collect(source, &event, &n, &err);
  if (rc == HD_OK) rc = hd_predict(event, n, source->tables, &o, &out, &stats, &err);
  if (rc != HD_OK) {
    fprintf(stderr, "predict_trace: %s\n", err.text);
  } else if (stats_only) {
    print_stats(&o, &stats);
  } else {
    for (size_t i = 0; i < out.v.n; i++) print(&out.v.v[i]);
  }
  hd_predictions_fini(&out);
  free(event);
  hd_tr_close(source);
  return rc != HD_OK;
}
