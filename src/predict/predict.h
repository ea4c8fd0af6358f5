/* predict.h: failures of other schedules, from the events of one execution. Runs in the supervisor.
 *
 *   trace       events of one execution with the tables that they refer to (trace/trace.h)
 *   candidate   events that would fail if they came next to each other, or in the other order
 *   prediction  a candidate with an order of events that leads to it, by the events alone; only an execution
 *               that fails makes it a finding (session/confirm.h)
 *
 * A detector reads a trace and adds predictions. Nothing here runs the program. */
#ifndef HD_PREDICT_H
#define HD_PREDICT_H

#include "base/base.h"
#include "trace/trace.h"

enum hd_predicted {
  HD_PREDICTED_RACE,      /* event[0] and event[1], accesses of two threads, are next to each other */
  HD_PREDICTED_DEADLOCK,  /* event[i] waits for what the thread of event[i + 1] holds */
  HD_PREDICTED_NULL,      /* event[0] writes a null pointer, event[1] reads it and goes on */
  HD_PREDICTED_FREED,     /* event[0] frees, event[1] uses */
  HD_PREDICTED_ATOMICITY, /* event[1] comes between event[0] and event[2], which are of one thread */
  HD_PREDICTED_ORDER,     /* event[0] comes before event[1], which came first */
  HD_PREDICTED_UNSET,     /* event[0] reads what event[1] is the first to write */
  HD_PREDICTED_INDEX,  /* event[0] writes an index, event[1] reads it and goes on: it is out of range there */
  HD_PREDICTED_SIGNAL, /* event[0] signals before event[1] waits for it */
  HD_PREDICTED_OUTCOME, /* event[0] has another outcome: whom a signal wakes, a choice */
  HD_PREDICTED_KINDS
};

/* What is known of the order: whether every execution that keeps to it must fail. */
enum hd_certainty {
  HD_CERTAIN, /* each read before the failure sees the value that it saw, so the threads cannot go elsewhere */
  HD_PLAUSIBLE /* some reads see other values: `broken` of them */
};

struct hd_prediction {
  enum hd_predicted kind;
  enum hd_certainty certainty;
  const char *detector; /* static: "hb", "strict", ... */
  uint32_t broken;
  uint32_t outcome; /* OUTCOME: which one */
  uint32_t late;    /* the first of `event` that is not in `order`: 0, but for null, freed, index, signal and
                             atomicity 1; to be executed are `order`, then the events from there on */
  HD_VEC(uint32_t) event; /* of the failure, by index in the trace from 0; in the order in which they fail */
  HD_VEC(uint32_t)
  order; /* the events that come before them, by index, in the wanted order; each thread's are a
                             prefix of what it did */
};

struct hd_predictions {
  HD_VEC(struct hd_prediction) v;
};
void hd_predictions_fini(struct hd_predictions *p);
/* Frees what one of them owns. */
void hd_prediction_fini(struct hd_prediction *p);

enum hd_detector {
#define HD_DETECTOR(id, name, traits, what) HD_DETECT_##id,
#include "predict/detectors.def"
#undef HD_DETECTOR
  HD_DETECTORS
};
#define HD_DETECTOR_BIT(d) (1u << (d))
extern const char *const hd_detector_name[HD_DETECTORS], *const hd_detector_what[HD_DETECTORS];
bool hd_detector_by_name(const char *name, enum hd_detector *out);
/* Whether it needs the solver; whether it only filters candidates. */
bool hd_detector_solves(enum hd_detector d);
bool hd_detector_filters(enum hd_detector d);

/* What looks for orders: the solver, or the planner, which needs nothing to be installed, but gives up sooner. By
 * default the planner is asked first, for a short time, and then the solver, where it is installed. With both, each query
 * goes to both. The detectors strict and said have only the solver. */
enum { HD_ENGINE_SMT = 1, HD_ENGINE_PLAN = 2 };

/* Zero is the default of each number. */
struct hd_predict_options {
  uint32_t detectors;   /* HD_DETECTOR_BIT of each one wanted */
  uint32_t engines;     /* HD_ENGINE_* */
  uint32_t limit;       /* predictions of each detector */
  uint32_t window;      /* events that one query looks at; longer traces are cut into windows of this size */
  uint32_t relax;       /* reads that may see another value, of null and freed */
  double seconds;       /* for everything; what is left out counts as skipped */
  double query_seconds; /* for one query of the solver */
  bool lenient;         /* a read of a value that nobody wrote is kept in its place, instead of an error */
  bool spurious;        /* flip: waits for conditions may end by themselves */
  const char
      *pddl; /* folder for the planner's questions as PDDL, which is created; NULL: they are not written */
  const char *libdir; /* where the solver's module is: hd_libdir() */
};

struct hd_detector_stats {
  uint64_t
      candidates; /* conflicting accesses (or the like), bunched: by places in the code, or, for lockset, loose
                          and sync, by location, threads and locks held */
  uint64_t filtered;  /* that a cheap filter showed to be impossible */
  uint64_t solved;    /* decided, by the detector or the solver */
  uint64_t predicted; /* that can fail */
  uint64_t unknown;   /* the solver gave up */
  uint64_t skipped;   /* left out: no time, or the limit was reached */
  uint64_t cut;       /* not looked at, since the two are never in one window */
  double seconds;
};

struct hd_predict_stats {
  struct hd_detector_stats detector[HD_DETECTORS];
  uint64_t events, threads, locations, locks; /* of the model: locations that several threads access */
  uint64_t disagreed;                         /* queries that the two engines answered differently */
  uint64_t unexplained;                       /* reads of values that nobody wrote (lenient) */
  uint64_t first_unexplained;                 /* number of the first such event, from 1 */
  uint64_t
      unmatched; /* locks taken while another thread holds them, or released by a thread that does not, and
                               threads created while they run, or going on after their end (lenient) */
  uint64_t first_unmatched; /* number of the first such event, from 1 ... */
  const char
      *unmatched_why; /* ... and what is wrong with it: "releases a lock that its thread does not hold" */
  double load_seconds;
};

/* Runs the wanted detectors over one trace and adds what they predict; each pair of places at most once for each
 * detector. Fails if the trace contradicts itself: an unlock by a thread that does not hold the lock, two holders of
 * one lock, a read of a value that nobody wrote. `stats` may be NULL. */
int hd_predict(const struct hd_event *event, size_t n, const struct hd_tr_tables *tables,
               const struct hd_predict_options *options, struct hd_predictions *out,
               struct hd_predict_stats *stats, struct hd_err *err);

/* ---- several runs of one program (combine.c) ---- */

struct hd_run_trace {
  const struct hd_event *event;
  size_t n;
  const struct hd_tr_tables *tables;
};

/* Traces in which one thread is as in another run. The runs must outlive it, and it what it yields. */
struct hd_combination;
struct hd_combination *hd_combination_new(const struct hd_run_trace *run, size_t nruns);
/* The next one, whose events the caller frees; false: there are no more. What is predicted from it is only plausible. */
bool hd_combination_next(struct hd_combination *c, struct hd_run_trace *out);
void hd_combination_free(struct hd_combination *c);

#endif
