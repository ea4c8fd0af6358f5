/* predict.c: runs the wanted detectors over one trace. Runs in the supervisor. */
#include "predict/predict_int.h"
#include "smt/smt.h"

#define LIMIT 200
#define WINDOW 1000
#define RELAX 2
#define QUERY_SECONDS 2.0
#define SECONDS 3600.0

static bool wanted(const struct hd_predict_options *o, enum hd_detector d) {
  return o->detectors & HD_DETECTOR_BIT(d);
}

static bool needs_solver(const struct hd_predict_options *o) {
  for (int d = 0; d < HD_DETECTORS; d++)
    if (wanted(o, (enum hd_detector)d) && hd_detector_solves((enum hd_detector)d)) return true;
  return false;
}

static bool solver_is_there(const struct hd_predict_options *o) {
  struct hd_smt *s = NULL;
  struct hd_err none;
  bool there = hd_smt_new(o->libdir, HD_SMT_DIFFERENCES, &s, &none) == HD_OK;
  hd_smt_free(s);
  return there;
}

#define MOST_CLOCKS (2ull << 30) /* bytes */

/* A clock has an entry for each thread, and each event that waits for another thread may need one. */
static int check_size(const struct hd__trace *tr, struct hd_err *err) {
  uint64_t rows = tr->edge_at[tr->n] + tr->section.n;
  for (uint32_t e = 0; e < tr->n; e++) rows += tr->access_at[e + 1] > tr->access_at[e];
  uint64_t bytes = (rows < tr->n ? rows : tr->n) * tr->nthreads * sizeof(uint32_t);
  if (tr->nthreads < 256 || bytes <= MOST_CLOCKS) return HD_OK;
  return hd_fail(err, HD_EUSAGE,
                 "%u threads with %u events are too many to predict from: record a smaller run", tr->nthreads,
                 tr->n);
}

/* When a detector has to stop that is one of so many until the end. */
static double share(double end, unsigned detectors) {
  double now = hd_now();
  return now < end ? now + (end - now) / detectors : end;
}

int hd_predict(const struct hd_event *event, size_t n, const struct hd_tr_tables *tables,
               const struct hd_predict_options *options, struct hd_predictions *out,
               struct hd_predict_stats *stats, struct hd_err *err) {
  struct hd_predict_options o = *options;
  struct hd_predict_stats own;
  struct hd__trace tr;
  double start = hd_now();
  if (!stats) stats = &own;
  *stats = (struct hd_predict_stats){0};
  if (!o.limit) o.limit = LIMIT;
  if (!o.window) o.window = WINDOW;
  if (!o.relax) o.relax = RELAX;
  if (!(o.query_seconds > 0)) o.query_seconds = QUERY_SECONDS;
  if (!(o.seconds > 0)) o.seconds = SECONDS;
  int rc = hd__trace_init(&tr, event, n, tables, o.lenient, err);
  if (rc != HD_OK) return rc;
  rc = check_size(&tr, err);
  if (rc != HD_OK) {
    hd__trace_fini(&tr);
    return rc;
  }
  struct hd__run r = {.tr = &tr, .o = &o, .out = out, .stats = stats, .deadline = start + o.seconds};
  double end = r.deadline;
  if (needs_solver(&o)) r.has_solver = solver_is_there(&o);
  stats->events = tr.n;
  stats->threads = tr.nthreads;
  stats->locations = tr.location.n;
  stats->locks = tr.nlocks;
  stats->unexplained = tr.unexplained;
  stats->first_unexplained = tr.first_unexplained;
  stats->unmatched = tr.unmatched;
  stats->first_unmatched = tr.first_unmatched;
  stats->unmatched_why = tr.unmatched_why;
  stats->load_seconds = hd_now() - start;
  if (wanted(&o, HD_DETECT_LOCKSET) || wanted(&o, HD_DETECT_LOOSE)) hd__detect_filters(&r);
  if (wanted(&o, HD_DETECT_HB)) hd__detect_hb(&r, HD_DETECT_HB);
  if (wanted(&o, HD_DETECT_SHB)) hd__detect_hb(&r, HD_DETECT_SHB);
  if (wanted(&o, HD_DETECT_SYNC)) hd__detect_sync(&r);
  if (wanted(&o, HD_DETECT_DEADLOCK)) hd__detect_deadlocks(&r);
  if (wanted(&o, HD_DETECT_FLIP)) hd__detect_flips(&r);
  unsigned left =
      0; /* detectors that may take long: each has its share of the time, and what those before it leave */
  for (int d = 0; d < HD_DETECTORS; d++) left += wanted(&o, d) && hd_detector_solves((enum hd_detector)d);
  static const uint8_t races[] = {HD_DETECT_STRICT, HD_DETECT_SAID, HD_DETECT_HUANG};
  for (size_t i = 0; i < sizeof races && rc == HD_OK; i++)
    if (wanted(&o, races[i])) {
      r.deadline = share(end, left--);
      rc = hd__detect_races(&r, races[i], err);
    }
  static const uint8_t nulls[] = {HD_DETECT_NULLS, HD_DETECT_FREED, HD_DETECT_UNSET, HD_DETECT_INDEX};
  for (size_t i = 0; i < sizeof nulls && rc == HD_OK; i++)
    if (wanted(&o, nulls[i])) {
      r.deadline = share(end, left--);
      rc = hd__detect_nulls(&r, nulls[i], err);
    }
  r.deadline = end;
  if (wanted(&o, HD_DETECT_SIGNAL) && rc == HD_OK) hd__detect_signals(&r);
  if (wanted(&o, HD_DETECT_ATOMICITY) && rc == HD_OK) rc = hd__detect_atomicity(&r, err);
  hd__trace_fini(&tr);
  return rc;
}
