/* scale.c: generates long traces and measures how the time and memory of detectors grow with them.
 *
 *   predict_scale [-t THREADS] [-v VARIABLES] [-l LOCKS] [-p PLACES] [-s SEED] DETECTOR[,...] EVENTS...
 *
 * The threads take locks, one or two at a time, and access the variables that belong to them; one access in a thousand
 * is to a variable of another lock. One line for each length. */
#include "predict/predict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct {
  unsigned threads, variables, locks, places;
  uint64_t seed;
} g = {8, 1000, 16, 200, 1};

static uint64_t rnd(void) {
  g.seed ^= g.seed << 13;
  g.seed ^= g.seed >> 7;
  return g.seed ^= g.seed << 17;
}

struct thread {
  unsigned held[2], n;
};

/* An object is accessed at a few places. */
static struct hd_event event(unsigned t, unsigned kind, uint64_t object, uint32_t size) {
  return (struct hd_event){
      .op = {.kind = (uint8_t)kind, .thread = (uint16_t)t, .object = object, .size = size},
      .place = 1 + (uint32_t)((object / 8 * 7 + kind + rnd() % 4) % g.places)};
}

#define LOCK(l) (0x100000ull + 64 * (l))
#define VARIABLE(v) (0x1000000ull + 8 * (v))

/* The next event of a thread that can go on. */
static struct hd_event next(struct thread *thread, unsigned *owner, uint64_t *value) {
  for (;;) {
    unsigned t = (unsigned)(rnd() % g.threads);
    struct thread *x = &thread[t];
    unsigned dice = (unsigned)(rnd() % 100);
    if (x->n && dice < 15) {
      unsigned l = x->held[--x->n];
      owner[l] = 0;
      return event(t, HD_OP_UNLOCK, LOCK(l), 0);
    }
    if (!x->n || (x->n == 1 && dice < 18)) {
      unsigned l = (unsigned)(rnd() % g.locks);
      if (owner[l] || (x->n && l <= x->held[0])) continue; /* in one order: no deadlock */
      owner[l] = t + 1;
      x->held[x->n++] = l;
      return event(t, HD_OP_LOCK, LOCK(l), 0);
    }
    unsigned v = (unsigned)(rnd() % g.variables);
    if (rnd() % 1000) v = v / g.locks * g.locks + x->held[x->n - 1];
    if (v >= g.variables) continue;
    bool write = dice < 40;
    struct hd_event e = event(t, write ? HD_OP_WRITE : HD_OP_READ, VARIABLE(v), 8);
    if (write) value[v] = rnd() % 4;
    e.value = value[v];
    e.flags = HD_EV_VALUE;
    return e;
  }
}

static struct hd_event *generate(size_t n) {
  struct hd_event *out = hd_alloc(n * sizeof *out);
  struct thread *thread = hd_alloc(g.threads * sizeof *thread);
  unsigned *owner = hd_alloc(g.locks * sizeof *owner);
  uint64_t *value = hd_alloc(g.variables * sizeof *value);
  for (size_t i = 0; i < n; i++)
    out[i] = i + 1 < g.threads ? event(0, HD_OP_CREATE, i + 1, 0) : next(thread, owner, value);
  free(thread);
  free(owner);
  free(value);
  return out;
}

int main(int argc, char **argv) {
  struct hd_predict_options o = {0};
  int c;
  while ((c = getopt(argc, argv, "t:v:l:p:s:m:")) != -1) {
    if (c == 't') g.threads = (unsigned)atoi(optarg);
    if (c == 'v') g.variables = (unsigned)atoi(optarg);
    if (c == 'l') g.locks = (unsigned)atoi(optarg);
    if (c == 'p') g.places = (unsigned)atoi(optarg);
    if (c == 's') g.seed = strtoull(optarg, NULL, 0);
    if (c == 'm') o.libdir = optarg;
    if (c == '?') return 1;
  }
  if (argc - optind < 2 || !g.threads || !g.variables || g.locks < 2 || !g.places || !g.seed) return 1;
  for (char *name = strtok(argv[optind], ","); name; name = strtok(NULL, ",")) {
    enum hd_detector d;
    if (!hd_detector_by_name(name, &d)) return 1;
    o.detectors |= HD_DETECTOR_BIT(d);
  }
  for (int i = optind + 1; i < argc; i++) {
    size_t n = (size_t)atof(argv[i]);
    struct hd_event *e = generate(n);
    struct hd_predictions out = {0};
    struct hd_predict_stats s;
    struct hd_err err;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double before = (double)usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6;
    double start = hd_now();
    if (hd_predict(e, n, NULL, &o, &out, &s, &err) != HD_OK) return hd_err_exit(&err);
    double seconds = hd_now() - start;
    getrusage(RUSAGE_SELF, &usage);
    double processor = (double)usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6 - before;
    printf("events=%zu seconds=%.2f processor=%.2f peak_mib=%ld model=%.2f", n, seconds, processor,
           usage.ru_maxrss / 1024, s.load_seconds);
    for (int d = 0; d < HD_DETECTORS; d++)
      if (o.detectors & HD_DETECTOR_BIT(d))
        printf(" %s=%.2f (%llu of %llu)", hd_detector_name[d], s.detector[d].seconds,
               (unsigned long long)s.detector[d].predicted, (unsigned long long)s.detector[d].candidates);
    putchar('\n');
    fflush(stdout);
    hd_predictions_fini(&out);
    free(e);
  }
  return 0;
}
