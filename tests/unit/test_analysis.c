/* What is concluded from recorded events: which of them matter, pairs that might have come otherwise, locks held. */
#include "analysis/analysis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <string.h>

#include <cmocka.h>

#define X 0x1000
#define Y 0x2000
#define M 0x3000
#define COUNT(a) (sizeof(a) / sizeof(a)[0])
#define BOTH (HD_MARK_SHARED | HD_MARK_CONE)

static struct hd_event ev(unsigned thread, unsigned op, uint64_t object, uint32_t size) {
  return (struct hd_event){
      .op = {.thread = (uint16_t)thread, .kind = (uint8_t)op, .object = object, .size = size}};
}

/* T1 and T2 each read and write X; T2 also uses Y, which nobody else does. */
static const uint8_t create = HD_OP_CREATE, rd = HD_OP_READ, wr = HD_OP_WRITE;

static void lost_update(struct hd_event e[8]) {
  e[0] = ev(0, wr, X, 4);
  e[1] = ev(0, create, 1, 0);
  e[2] = ev(0, create, 2, 0);
  e[3] = ev(1, rd, X, 4);
  e[4] = ev(2, rd, X, 4);
  e[5] = ev(2, wr, Y, 4);
  e[6] = ev(2, wr, X, 4);
  e[7] = ev(1, wr, X, 4);
}

static void what_is_shared(void **state) {
  (void)state;
  struct hd_event e[8];
  lost_update(e);
  const struct hd_pending end[] = {{1, 0}};
  uint8_t *mark = hd_analysis_mark(e, COUNT(e), end, 1);
  const uint8_t want[] = {BOTH, HD_MARK_CONE, HD_MARK_CONE, BOTH, BOTH, HD_MARK_CONE, BOTH, BOTH};
  for (size_t i = 0; i < COUNT(e); i++) assert_int_equal(mark[i], want[i]);
  free(mark);
}

static void bytes_side_by_side_are_not_shared(void **state) {
  (void)state;
  const struct hd_event e[] = {ev(0, create, 1, 0), ev(0, wr, X, 1), ev(1, wr, X + 1, 1), ev(1, rd, X + 2, 2),
                               ev(0, rd, X + 3, 1)};
  const struct hd_pending end[] = {{0, 0}, {1, 0}};
  uint8_t *mark = hd_analysis_mark(e, COUNT(e), end, 2);
  for (size_t i = 0; i < COUNT(e); i++)
    assert_int_equal(mark[i], HD_MARK_CONE); /* nor is what is only read */
  free(mark);
}

static void what_comes_after_does_not_matter(void **state) {
  (void)state;
  const struct hd_event e[] = {ev(0, create, 1, 0), ev(0, create, 2, 0), ev(1, wr, X, 4), ev(0, rd, X, 4),
                               ev(2, wr, X, 4)};
  const struct hd_pending end[] = {{0, 0}};
  uint8_t *mark = hd_analysis_mark(e, COUNT(e), end, 1);
  assert_int_equal(mark[2], BOTH); /* it was read */
  assert_int_equal(mark[3], BOTH);
  assert_int_equal(mark[4], HD_MARK_SHARED);
  free(mark);
}

/* The stale write, what it was computed from, and the write that it overwrites are near; what came before them is not. */
static void why_it_failed(void **state) {
  (void)state;
  struct hd_event e[9];
  lost_update(e);
  e[8] = ev(0, rd, X, 4);
  const uint32_t line[] = {1, 2, 2, 3, 4, 5, 6, 7, 8};
  const struct hd_failing failing = {.thread = 0, .from = 8, .at = 9};
  uint8_t *distance = hd_analysis_why(e, COUNT(e), line, &failing, 1);
  const uint8_t want[] = {2, HD_WHY_NONE, HD_WHY_NONE, 1, HD_WHY_NONE, HD_WHY_NONE, 1, 1, 0};
  for (size_t i = 0; i < COUNT(e); i++)
    if (i != 4) assert_int_equal(distance[i], want[i]); /* T2's read is as near as its write or farther */
  assert_true(distance[4] >= 1);
  free(distance);
}

static void pairs_of_memory(void **state) {
  (void)state;
  struct hd_event e[8];
  lost_update(e);
  const struct hd_pending end[] = {{1, 0}};
  uint8_t *mark = hd_analysis_mark(e, COUNT(e), end, 1);
  struct hd_pairs pairs;
  hd_analysis_pairs(e, COUNT(e), mark, end, 1, &pairs);
  /* The last first: the writes; T1 read before T2 wrote; what was there at the beginning. */
  assert_true(pairs.n >= 2);
  assert_int_equal(pairs.v[0].first, 6);
  assert_int_equal(pairs.v[0].second, 7);
  bool reversible = false;
  for (size_t i = 0; i < pairs.n; i++) {
    reversible |= pairs.v[i].first == 3 && pairs.v[i].second == 6;
    assert_int_not_equal(e[pairs.v[i].first].op.thread, e[pairs.v[i].second].op.thread);
  }
  assert_true(reversible);
  free(pairs.v);
  free(mark);
}

static void pairs_with_who_waits(void **state) {
  (void)state;
  const struct hd_event e[] = {ev(0, create, 1, 0), ev(0, create, 2, 0), ev(1, HD_OP_LOCK, M, 0),
                               ev(2, HD_OP_LOCK, M + 64, 0)};
  const struct hd_pending end[] = {{1, M + 64}, {2, M}};
  uint8_t *mark = hd_analysis_mark(e, COUNT(e), end, 2);
  assert_int_equal(mark[2], BOTH); /* though only one has got it */
  struct hd_pairs pairs;
  hd_analysis_pairs(e, COUNT(e), mark, end, 2, &pairs);
  assert_int_equal(pairs.n, 2);
  assert_int_equal(pairs.v[0].first, 2);
  assert_int_equal(pairs.v[0].second, HD_PENDING);
  assert_int_equal(pairs.v[0].thread, 2);
  free(pairs.v);
  free(mark);
}

static void locks_held(void **state) {
  (void)state;
  struct hd_event e[] = {ev(1, HD_OP_LOCK, M, 0),          ev(1, HD_OP_LOCK, M + 64, 0),
                         ev(1, HD_OP_TRYLOCK, M + 128, 0), ev(1, HD_OP_WAIT, 0x9000, 0),
                         ev(2, HD_OP_LOCK, M, 0),          ev(1, HD_OP_WAKE, M + 64, 0),
                         ev(1, HD_OP_UNLOCK, M, 0)};
  e[2].flags = HD_EV_FAILED;
  e[3].op.wait.mutex = M + 64;
  uint64_t lock[4];
  assert_int_equal(hd_analysis_held(e, 3, 1, lock, 4), 2);
  assert_true(lock[0] == M && lock[1] == M + 64);
  assert_int_equal(hd_analysis_held(e, 5, 1, lock, 4), 1); /* given back while it waits */
  assert_int_equal(hd_analysis_held(e, 6, 1, lock, 4), 2);
  assert_int_equal(hd_analysis_held(e, 7, 1, lock, 4), 1);
  assert_true(lock[0] == M + 64);
  assert_int_equal(hd_analysis_held(e, 7, 1, lock, 0), 0);
}

/* A lock that was not got is not taken, however it was asked for. */
static void outcomes_decide(void **state) {
  (void)state;
  struct hd_event e[] = {ev(0, create, 1, 0),
                         ev(0, create, 2, 0),
                         ev(1, HD_OP_LOCK, M, 0),
                         ev(2, HD_OP_TIMEDLOCK, M, 0),
                         ev(1, HD_OP_TRYWRLOCK, M + 64, 0),
                         ev(2, HD_OP_TRYRDLOCK, M + 64, 0),
                         ev(2, HD_OP_TIMEDRDLOCK, M + 64, 0)};
  e[3].flags = e[5].flags = HD_EV_FAILED;
  const struct hd_pending end[] = {{1, 0}, {2, 0}};
  uint8_t *mark = hd_analysis_mark(e, COUNT(e), end, 2);
  struct hd_pairs pairs;
  hd_analysis_pairs(e, COUNT(e), mark, end, 2, &pairs);
  bool taken = false;
  for (size_t i = 0; i < pairs.n; i++) {
    assert_int_not_equal(pairs.v[i].second, 3); /* it only looked */
    taken |= pairs.v[i].first == 4 && pairs.v[i].second == 6;
  }
  assert_true(taken);
  free(pairs.v);
  free(mark);
  uint64_t lock[4];
  assert_int_equal(hd_analysis_held(e, COUNT(e), 1, lock, 4), 2);
  assert_true(lock[0] == M && lock[1] == M + 64);
  assert_int_equal(hd_analysis_held(e, 6, 2, lock, 4), 0);
  assert_int_equal(hd_analysis_held(e, COUNT(e), 2, lock, 4), 1);
}

/* A trace file gives the same slice as the recording it was made of. */
static void slice_of_a_trace(void **state) {
  (void)state;
  struct hd_event e[8], *read;
  lost_update(e);
  char path[] = "/tmp/heddle-analysis-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  struct hd_err err;
  struct hd_tr_source *s = hd_tr_record(&(struct hd_tr_recording){.event = e, .n = COUNT(e)});
  assert_int_equal(hd_tr_write_file(s, HD_TR_BINARY, path, &err), HD_OK);
  hd_tr_close(s);
  size_t n;
  assert_int_equal(hd_analysis_load(path, &s, &read, &n, &err), HD_OK);
  assert_int_equal(n, COUNT(e));
  const struct hd_pending end[] = {{1, 0}};
  uint8_t *a = hd_analysis_mark(e, n, end, 1), *b = hd_analysis_mark(read, n, end, 1);
  assert_memory_equal(a, b, n);
  assert_int_equal(read[7].from, 0); /* a write sees nothing; T1 read what main wrote */
  assert_int_equal(read[3].from, 1);
  free(a);
  free(b);
  free(read);
  hd_tr_close(s);
  unlink(path);
  assert_int_equal(hd_analysis_load(path, &s, &read, &n, &err), HD_EUSAGE);
}

/* What a tested process leaves may be anything. */
static void anything(void **state) {
  (void)state;
  enum { N = 20000 };
  struct hd_event *e = hd_alloc(N * sizeof *e);
  uint64_t seed = 1;
  for (size_t round = 0; round < 3; round++) {
    unsigned char *b = (unsigned char *)e;
    for (size_t i = 0; i < N * sizeof *e; i++)
      b[i] = (unsigned char)((seed = seed * 6364136223846793005u + 1) >> 56);
    const struct hd_pending end[] = {{e[0].op.thread, e[0].op.object}, {1, 0}};
    uint8_t *mark = hd_analysis_mark(e, N, end, 2);
    memset(mark, BOTH, N);
    for (size_t i = 0; i < N; i++)
      e[i].op.kind %= HD_OP_COUNT; /* those that are marked as shared are known ones */
    struct hd_pairs pairs;
    hd_analysis_pairs(e, N, mark, end, 2, &pairs);
    for (size_t i = 0; i < pairs.n; i++) assert_true(pairs.v[i].first < N);
    uint64_t lock[16];
    assert_true(hd_analysis_held(e, N, e[5].op.thread, lock, 16) <= 16);
    free(pairs.v);
    free(mark);
  }
  free(e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_shared),
      cmocka_unit_test(bytes_side_by_side_are_not_shared),
      cmocka_unit_test(what_comes_after_does_not_matter),
      cmocka_unit_test(why_it_failed),
      cmocka_unit_test(pairs_of_memory),
      cmocka_unit_test(pairs_with_who_waits),
      cmocka_unit_test(locks_held),
      cmocka_unit_test(outcomes_decide),
      cmocka_unit_test(slice_of_a_trace),
      cmocka_unit_test(anything),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
