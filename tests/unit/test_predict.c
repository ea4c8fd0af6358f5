/* The model of a trace, and detectors on small ones: what orders events, what does not, what is an error. */
#include "predict/predict_int.h"
#include "smt/smt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define X 0x1000
#define Y 0x2000
#define M 0x3000
#define N 0x3100
#define C 0x3200
#define COUNT(a) (sizeof(a) / sizeof(a)[0])
#define BIT(d) HD_DETECTOR_BIT(HD_DETECT_##d)

static struct hd_event ev(unsigned thread, unsigned op, uint64_t object) {
  uint32_t size = hd_op_object(op) == HD_OBJ_MEMORY ? 8 : 0;
  return (struct hd_event){
      .op = {.thread = (uint16_t)thread, .kind = (uint8_t)op, .object = object, .size = size}};
}
static struct hd_event val(unsigned thread, unsigned op, uint64_t object, uint64_t value) {
  struct hd_event e = ev(thread, op, object);
  e.value = value;
  e.flags = HD_EV_VALUE;
  return e;
}
static struct hd_event wait_for(unsigned thread, uint64_t cond, uint64_t mutex) {
  struct hd_event e = ev(thread, HD_OP_WAIT, cond);
  e.op.wait.mutex = mutex;
  return e;
}
static struct hd_event failed(struct hd_event e) {
  e.flags |= HD_EV_FAILED;
  return e;
}

static const char *libdir(void) {
  static char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
  assert_true(n > 0);
  path[n] = 0;
  for (int i = 0; i < 3; i++) *strrchr(path, '/') = 0; /* tests/unit/test_predict */
  return strcat(path, "/lib/heddle");
}

static bool has_solver(void) {
  struct hd_smt *s = NULL;
  struct hd_err err;
  bool has = hd_smt_new(libdir(), HD_SMT_DIFFERENCES, &s, &err) == HD_OK;
  hd_smt_free(s);
  return has;
}

/* Runs one detector; every order must be valid. Returns how many predictions there are. */
static size_t predict(const struct hd_event *e, size_t n, uint32_t detectors, struct hd_predictions *out) {
  struct hd_predict_options o = {.detectors = detectors, .libdir = libdir()};
  struct hd_predictions own = {0};
  struct hd_err err = {0};
  struct hd__trace tr;
  if (!out) out = &own;
  int rc = hd_predict(e, n, NULL, &o, out, NULL, &err);
  if (rc != HD_OK) fail_msg("%s", err.text);
  assert_int_equal(hd__trace_init(&tr, e, n, NULL, false, &err), HD_OK);
  for (size_t i = 0; i < out->v.n; i++) {
    const struct hd_prediction *p = &out->v.v[i];
    uint32_t broken;
    size_t next = p->kind == HD_PREDICTED_ATOMICITY ? 1 : p->event.n - p->late;
    assert_true(hd__order_valid(&tr, p->order.v, p->order.n, p->event.v + p->late, next, &broken));
    assert_int_equal(broken, p->broken);
  }
  hd__trace_fini(&tr);
  size_t found = out->v.n;
  if (out == &own) hd_predictions_fini(&own);
  return found;
}
#define PREDICT(e, detectors) predict(e, COUNT(e), detectors, NULL)

static const uint32_t linear[] = {BIT(HB), BIT(SHB), BIT(SYNC)};

/* How many races each of hb, shb and sync finds. */
static void expect(const struct hd_event *e, size_t n, size_t hb, size_t shb, size_t sync) {
  const size_t want[] = {hb, shb, sync};
  for (size_t i = 0; i < COUNT(linear); i++) assert_int_equal(predict(e, n, linear[i], NULL), want[i]);
}
#define EXPECT(e, hb, shb, sync) expect(e, COUNT(e), hb, shb, sync)

#define FORK ev(0, HD_OP_CREATE, 1), ev(0, HD_OP_CREATE, 2)

/* ---- what orders events ---- */

static void creation_and_joining(void **state) {
  (void)state;
  const struct hd_event ordered[] = {ev(0, HD_OP_WRITE, X), ev(0, HD_OP_CREATE, 1), ev(1, HD_OP_START, 1),
                                     ev(1, HD_OP_WRITE, X), ev(1, HD_OP_EXIT, 1),   ev(0, HD_OP_JOIN, 1),
                                     ev(0, HD_OP_WRITE, X)};
  EXPECT(ordered, 0, 0, 0);
  const struct hd_event unordered[] = {ev(0, HD_OP_CREATE, 1), ev(1, HD_OP_START, 1), ev(1, HD_OP_WRITE, X),
                                       ev(0, HD_OP_WRITE, X),  ev(1, HD_OP_EXIT, 1),  ev(0, HD_OP_JOIN, 1)};
  EXPECT(unordered, 1, 1, 1);
}

static void a_common_lock(void **state) {
  (void)state;
  const struct hd_event e[] = {FORK,
                               ev(1, HD_OP_LOCK, M),
                               ev(1, HD_OP_WRITE, X),
                               ev(1, HD_OP_UNLOCK, M),
                               ev(2, HD_OP_LOCK, M),
                               ev(2, HD_OP_WRITE, X),
                               ev(2, HD_OP_UNLOCK, M)};
  EXPECT(e, 0, 0, 0);
}

/* The sections can be left out, or come in the other order: only happens-before is fooled by them. */
static void locks_that_do_not_help(void **state) {
  (void)state;
  const struct hd_event e[] = {FORK,
                               ev(1, HD_OP_WRITE, X),
                               ev(1, HD_OP_LOCK, M),
                               ev(1, HD_OP_UNLOCK, M),
                               ev(2, HD_OP_LOCK, M),
                               ev(2, HD_OP_UNLOCK, M),
                               ev(2, HD_OP_WRITE, X)};
  EXPECT(e, 0, 0, 1);
}

static void recursive_locks_are_one_section(void **state) {
  (void)state;
  const struct hd_event e[] = {FORK,
                               ev(1, HD_OP_LOCK, M),
                               ev(1, HD_OP_LOCK, M),
                               ev(1, HD_OP_UNLOCK, M),
                               ev(1, HD_OP_WRITE, X),
                               ev(1, HD_OP_UNLOCK, M),
                               ev(2, HD_OP_LOCK, M),
                               ev(2, HD_OP_WRITE, X),
                               ev(2, HD_OP_UNLOCK, M)};
  EXPECT(e, 0, 0, 0);
}

static void read_locks_share(void **state) {
  (void)state;
  const struct hd_event shared[] = {FORK,
                                    ev(1, HD_OP_RDLOCK, M),
                                    ev(1, HD_OP_WRITE, X),
                                    ev(1, HD_OP_RDUNLOCK, M),
                                    ev(2, HD_OP_RDLOCK, M),
                                    ev(2, HD_OP_WRITE, X),
                                    ev(2, HD_OP_RDUNLOCK, M)};
  EXPECT(shared, 1, 1, 1);
  const struct hd_event exclusive[] = {FORK,
                                       ev(1, HD_OP_RDLOCK, M),
                                       ev(1, HD_OP_READ, X),
                                       ev(1, HD_OP_RDUNLOCK, M),
                                       ev(2, HD_OP_WRLOCK, M),
                                       ev(2, HD_OP_WRITE, X),
                                       ev(2, HD_OP_WRUNLOCK, M)};
  EXPECT(exclusive, 0, 0, 0);
}

/* The attempt failed because the other thread was in its section, so the write of X came before. */
static void failed_attempts(void **state) {
  (void)state;
  const struct hd_event e[] = {FORK,
                               ev(1, HD_OP_WRITE, X),
                               ev(1, HD_OP_LOCK, M),
                               failed(ev(2, HD_OP_TRYLOCK, M)),
                               ev(2, HD_OP_WRITE, X),
                               ev(1, HD_OP_UNLOCK, M)};
  assert_int_equal(PREDICT(e, BIT(SYNC)), 0);
  if (has_solver()) assert_int_equal(PREDICT(e, BIT(HUANG)), 0);
}

static void notification_and_return(void **state) {
  (void)state;
  const struct hd_event e[] = {FORK,
                               ev(1, HD_OP_LOCK, M),
                               wait_for(1, C, M),
                               ev(2, HD_OP_WRITE, X),
                               ev(2, HD_OP_SIGNAL, C),
                               ev(1, HD_OP_WAKE, M),
                               ev(1, HD_OP_WRITE, X),
                               ev(1, HD_OP_UNLOCK, M)};
  EXPECT(e, 0, 0, 0);
}

static void a_wait_releases_its_mutex(void **state) {
  (void)state;
  const struct hd_event e[] = {FORK,
                               ev(1, HD_OP_LOCK, M),
                               wait_for(1, C, M),
                               ev(2, HD_OP_LOCK, M),
                               ev(2, HD_OP_SIGNAL, C),
                               ev(2, HD_OP_WRITE, X),
                               ev(2, HD_OP_UNLOCK, M),
                               ev(1, HD_OP_WAKE, M),
                               ev(1, HD_OP_WRITE, X),
                               ev(1, HD_OP_UNLOCK, M)};
  EXPECT(e, 0, 0, 0);
}

static void semaphores_and_barriers(void **state) {
  (void)state;
  const struct hd_event sem[] = {FORK, ev(1, HD_OP_WRITE, X), ev(1, HD_OP_SEMPOST, C),
                                 ev(2, HD_OP_SEMWAIT, C), ev(2, HD_OP_WRITE, X)};
  EXPECT(sem, 0, 0, 0);
  const struct hd_event barrier[] = {FORK,
                                     ev(1, HD_OP_WRITE, X),
                                     ev(1, HD_OP_BARRIER, C),
                                     ev(2, HD_OP_BARRIER, C),
                                     ev(2, HD_OP_BLEAVE, C),
                                     ev(2, HD_OP_WRITE, X),
                                     ev(1, HD_OP_BLEAVE, C)};
  EXPECT(barrier, 0, 0, 0);
}

static void atomics(void **state) {
  (void)state;
  struct hd_event e[] = {FORK, ev(1, HD_OP_WRITE, X), val(1, HD_OP_ASTORE, Y, 1), val(2, HD_OP_ALOAD, Y, 1),
                         ev(2, HD_OP_WRITE, X)};
  e[3].op.access.order = HD_MO_RELEASE;
  e[4].op.access.order = HD_MO_ACQUIRE;
  EXPECT(e, 0, 0, 0);
  /* Relaxed ones do not synchronise: a race in C11, though under sequential consistency the two are never adjacent. */
  e[3].op.access.order = e[4].op.access.order = HD_MO_RELAXED;
  EXPECT(e, 1, 0, 0);
  struct hd_event fenced[] = {FORK,
                              ev(1, HD_OP_WRITE, X),
                              ev(1, HD_OP_FENCE, 0),
                              val(1, HD_OP_ASTORE, Y, 1),
                              val(2, HD_OP_ALOAD, Y, 1),
                              ev(2, HD_OP_FENCE, 0),
                              ev(2, HD_OP_WRITE, X)};
  fenced[3].op.access.order = HD_MO_RELEASE;
  fenced[4].op.access.order = fenced[5].op.access.order = HD_MO_RELAXED;
  fenced[6].op.access.order = HD_MO_ACQUIRE;
  EXPECT(fenced, 0, 0, 0);
}

static void cancellations_keep_their_place(void **state) {
  (void)state;
  const struct hd_event e[] = {FORK, ev(1, HD_OP_WRITE, X), ev(0, HD_OP_CANCEL, 1), ev(2, HD_OP_WRITE, X)};
  EXPECT(e, 0, 0, 0);
}

/* ---- memory ---- */

static void bytes(void **state) {
  (void)state;
  struct hd_event e[] = {FORK, ev(1, HD_OP_WRITE, X), ev(2, HD_OP_WRITE, X + 4)};
  e[2].op.size = e[3].op.size = 4;
  EXPECT(e, 0, 0, 0);
  e[2].op.size = 5;
  EXPECT(e, 1, 1, 1);
  struct hd__trace tr;
  struct hd_err err;
  uint64_t v;
  e[2].value = 0x1122334455;
  e[2].flags = HD_EV_VALUE;
  assert_int_equal(hd__trace_init(&tr, e, COUNT(e), NULL, false, &err), HD_OK);
  assert_int_equal(tr.location.n, 1);
  assert_true(hd__value_written(&tr, 2, 0, &v));
  assert_int_equal(v, 0x11);
  hd__trace_fini(&tr);
}

static void a_free_is_a_write(void **state) {
  (void)state;
  struct hd_event e[] = {FORK, ev(1, HD_OP_READ, X + 8), ev(2, HD_OP_FREE, X)};
  e[3].op.size = 64;
  EXPECT(e, 1, 1, 1);
  if (has_solver()) assert_int_equal(PREDICT(e, BIT(FREED)), 1);
}

/* Another write of the same value will do, for those that know values. */
static void values(void **state) {
  (void)state;
  const struct hd_event e[] = {FORK,
                               val(1, HD_OP_WRITE, X, 1),
                               val(1, HD_OP_WRITE, Y, 1),
                               val(2, HD_OP_WRITE, Y, 1),
                               val(1, HD_OP_WRITE, Y, 1),
                               val(2, HD_OP_READ, Y, 1),
                               val(2, HD_OP_WRITE, X, 2)};
  struct hd_predictions out = {0};
  if (!has_solver()) skip();
  predict(e, COUNT(e), BIT(HUANG), &out);
  bool found = false;
  for (size_t i = 0; i < out.v.n; i++) found |= out.v.v[i].event.v[0] == 2 && out.v.v[i].event.v[1] == 7;
  assert_true(found);
  hd_predictions_fini(&out);
  predict(e, COUNT(e), BIT(SYNC), &out);
  for (size_t i = 0; i < out.v.n; i++) assert_false(out.v.v[i].event.v[0] == 2 && out.v.v[i].event.v[1] == 7);
  hd_predictions_fini(&out);
}

/* ---- traces that contradict themselves ---- */

static void refuse(const struct hd_event *e, size_t n, const char *why) {
  struct hd_predict_options o = {.detectors = BIT(HB) | BIT(SYNC)};
  struct hd_predictions out = {0};
  struct hd_err err = {0};
  assert_int_equal(hd_predict(e, n, NULL, &o, &out, NULL, &err), HD_EUSAGE);
  assert_non_null(strstr(err.text, why));
  assert_null(strchr(err.text, '\n'));
  struct hd_predict_stats stats;
  o.lenient = true;
  assert_int_equal(hd_predict(e, n, NULL, &o, &out, &stats, &err), HD_OK);
  hd_predictions_fini(&out);
}
#define REFUSE(e, why) refuse(e, COUNT(e), why)

static void contradictions(void **state) {
  (void)state;
  const struct hd_event unlock[] = {FORK, ev(1, HD_OP_LOCK, M), ev(2, HD_OP_UNLOCK, M)};
  REFUSE(unlock, "event 4 (thread 2 unlock) releases a lock that its thread does not hold");
  const struct hd_event twice[] = {FORK, ev(1, HD_OP_LOCK, M), ev(2, HD_OP_LOCK, M)};
  REFUSE(twice, "event 4 (thread 2 lock) takes a lock that another thread holds");
  const struct hd_event value[] = {FORK, val(1, HD_OP_WRITE, X, 1), val(2, HD_OP_READ, X, 2)};
  REFUSE(value, "event 4 reads a value that nobody wrote");
  const struct hd_event born[] = {ev(1, HD_OP_WRITE, X), ev(0, HD_OP_CREATE, 1)};
  REFUSE(born, "creates a thread that is running already");
}

static void unexplained_reads_keep_their_place(void **state) {
  (void)state;
  const struct hd_event e[] = {FORK, val(1, HD_OP_WRITE, X, 1), val(2, HD_OP_READ, X, 2),
                               val(2, HD_OP_WRITE, X, 3)};
  struct hd_predict_options o = {.detectors = BIT(SYNC), .lenient = true};
  struct hd_predictions out = {0};
  struct hd_predict_stats stats;
  struct hd_err err;
  assert_int_equal(hd_predict(e, COUNT(e), NULL, &o, &out, &stats, &err), HD_OK);
  assert_int_equal(stats.unexplained, 1);
  assert_int_equal(stats.first_unexplained, 4);
  assert_int_equal(out.v.n, 0);
  hd_predictions_fini(&out);
}

static void nothing(void **state) {
  (void)state;
  struct hd_predict_options o = {.detectors = (1u << HD_DETECTORS) - 1, .libdir = libdir()};
  struct hd_predictions out = {0};
  struct hd_err err;
  int rc = hd_predict(NULL, 0, NULL, &o, &out, NULL, &err);
  assert_int_equal(rc, HD_OK);
  assert_int_equal(out.v.n, 0);
  hd_predictions_fini(&out);
}

/* ---- the solver ---- */

static void the_solver(void **state) {
  (void)state;
  struct hd_smt *s;
  struct hd_err err;
  if (!has_solver()) skip();
  assert_int_equal(hd_smt_new(libdir(), HD_SMT_DIFFERENCES, &s, &err), HD_OK);
  hd_term a = hd_smt_integer(s), b = hd_smt_integer(s), p[3];
  hd_smt_require(s, hd_smt_less(s, a, b, 3));
  assert_int_equal(hd_smt_check(s, 10), HD_SMT_SAT);
  assert_true(hd_smt_value(s, a) + 3 <= hd_smt_value(s, b));
  hd_smt_push(s);
  hd_smt_require(s, hd_smt_less(s, b, a, -2));
  assert_int_equal(hd_smt_check(s, 10), HD_SMT_UNSAT);
  hd_smt_pop(s);
  assert_int_equal(hd_smt_check(s, 10), HD_SMT_SAT);
  for (int i = 0; i < 3; i++) p[i] = hd_smt_boolean(s);
  hd_smt_require(s, hd_smt_at_most(s, p, 3, 1));
  hd_smt_require(s, hd_smt_any(s, p, 2));
  hd_smt_require(s, hd_smt_not(s, p[0]));
  assert_int_equal(hd_smt_check(s, 10), HD_SMT_SAT);
  assert_true(hd_smt_truth(s, p[1]));
  assert_false(hd_smt_truth(s, p[2]));
  hd_smt_require(s, hd_smt_any(s, NULL, 0));
  assert_int_equal(hd_smt_check(s, 10), HD_SMT_UNSAT);
  hd_smt_free(s);
}

static void null_pointers(void **state) {
  (void)state;
  const struct hd_event e[] = {val(0, HD_OP_WRITE, X, 0x5000), FORK, val(1, HD_OP_READ, X, 0x5000),
                               val(1, HD_OP_READ, X, 0x5000), val(2, HD_OP_WRITE, X, 0)};
  struct hd_predictions out = {0};
  if (!has_solver()) skip();
  predict(e, COUNT(e), BIT(NULLS), &out);
  assert_true(out.v.n >= 1);
  assert_int_equal(out.v.v[0].late, 1);
  assert_int_equal(out.v.v[0].event.v[0], 5);
  hd_predictions_fini(&out);
  assert_true(PREDICT(e, BIT(ATOMICITY)) == 1);
}

/* ---- what cannot be reordered within the order: hb's later races ---- */

static void only_plausible(void **state) {
  (void)state;
  /* The read of Y decides whether X is written: happens-before takes it for a race all the same. */
  const struct hd_event e[] = {FORK, ev(1, HD_OP_WRITE, X), ev(1, HD_OP_WRITE, Y), ev(2, HD_OP_READ, Y),
                               ev(2, HD_OP_WRITE, X)};
  struct hd_predictions out = {0};
  assert_int_equal(predict(e, COUNT(e), BIT(HB), &out), 2);
  unsigned plausible = 0;
  for (size_t i = 0; i < out.v.n; i++) plausible += out.v.v[i].certainty == HD_PLAUSIBLE;
  assert_int_equal(plausible, 1);
  hd_predictions_fini(&out);
  assert_int_equal(PREDICT(e, BIT(SHB)), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(creation_and_joining),
      cmocka_unit_test(a_common_lock),
      cmocka_unit_test(locks_that_do_not_help),
      cmocka_unit_test(recursive_locks_are_one_section),
      cmocka_unit_test(read_locks_share),
      cmocka_unit_test(failed_attempts),
      cmocka_unit_test(notification_and_return),
      cmocka_unit_test(a_wait_releases_its_mutex),
      cmocka_unit_test(semaphores_and_barriers),
      cmocka_unit_test(atomics),
      cmocka_unit_test(cancellations_keep_their_place),
      cmocka_unit_test(bytes),
      cmocka_unit_test(a_free_is_a_write),
      cmocka_unit_test(values),
      cmocka_unit_test(contradictions),
      cmocka_unit_test(unexplained_reads_keep_their_place),
      cmocka_unit_test(nothing),
      cmocka_unit_test(the_solver),
      cmocka_unit_test(null_pointers),
      cmocka_unit_test(only_plausible),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
