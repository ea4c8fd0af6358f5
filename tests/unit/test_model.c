/* test_model.c: the execution model: the tables of operations and payloads, dependence, who holds what, what a read may
 * see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "model/depend.h"
#include "model/holders.h"
#include "model/memory.h"
#include "model/numbers.h"
#include "model/order.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
#define M 0x3000

static struct hd_op op(unsigned kind, unsigned thread, uint64_t object, uint32_t size) {
  return (struct hd_op){.kind = (uint8_t)kind, .thread = (uint16_t)thread, .object = object, .size = size};
}

/* ---- the tables ---- */

static void tables_are_consistent(void **state) {
  (void)state;
  for (unsigned k = 0; k < HD_OP_COUNT; k++) {
    const struct hd_op_info *i = &hd_op_table[k];
    assert_non_null(i->text);
    for (unsigned j = 0; j < k; j++) assert_string_not_equal(i->text, hd_op_text(j));
    int tries = hd_op_is(k, HD_TRAIT_TRIES);
    assert_false(tries && hd_op_is(k, HD_TRAIT_WAITS));
    if (tries) assert_int_not_equal(hd_op_effect(k, 0), hd_op_effect(k, HD_EV_FAILED));
    if (hd_op_is(k, HD_TRAIT_ENABLER)) assert_int_equal(hd_op_payload(k), HD_PAYLOAD_READY);
    if (i->second.object == HD_OBJ_MUTEX) assert_int_equal(hd_op_payload(k), HD_PAYLOAD_WAIT);
    /* A loop may contain what changes nothing. */
    if (hd_op_is(k, HD_TRAIT_QUIET)) assert_false(hd_op_does(k, 0, HD_EFF_CHANGES));
    if (hd_op_is(k, HD_TRAIT_QUIET_FAILED)) assert_false(hd_op_does(k, HD_EV_FAILED, HD_EFF_CHANGES));
  }
}

/* depend.c, invariant 1. */
static void matrix_is_symmetric(void **state) {
  (void)state;
  for (unsigned a = 0; a < HD_EFF_COUNT; a++)
    for (unsigned b = 0; b < HD_EFF_COUNT; b++)
      if ((hd_conflicts[a] >> b & 1) != (hd_conflicts[b] >> a & 1))
        fail_msg("%s conflicts with %s, but not the other way round", hd_effect_word[a], hd_effect_word[b]);
}

static void payloads_are_compared(void **state) {
  (void)state;
  struct hd_op a = op(HD_OP_WAIT, 1, M, 0), b = a;
  a.wait.mutex = b.wait.mutex = M + 64;
  assert_true(hd_payload_same(&a, &b));
  b.wait.mutex++;
  assert_false(hd_payload_same(&a, &b));
  assert_true(hd_payload_same_before(&a, &b)); /* it is not known before */
  a = b = op(HD_OP_ACAS, 1, M, 4);
  b.access.expected = 1;
  assert_false(hd_payload_same(&a, &b) || hd_payload_same_before(&a, &b));
  b.access.expected = 0;
  b.access.found = 1;
  assert_false(hd_payload_same(&a, &b));
  assert_true(hd_payload_same_before(&a, &b));
  /* Pointers into a run are no difference. */
  a = b = op(HD_OP_IOPOLL, 1, M, 0);
  a.ready.alternatives = (const uint32_t *)&a;
  assert_true(hd_payload_same(&a, &b));
  a.ready.enabler = 1;
  assert_false(hd_payload_same(&a, &b));
}

/* What is recorded is what has a meaning outside the run; every field can be read and written. */
static void payloads_are_stripped(void **state) {
  (void)state;
  for (unsigned k = 0; k < HD_OP_COUNT; k++) {
    struct hd_op o = op(k, 1, M, 4);
    memset(o.payload, 0x7f, sizeof o.payload);
    struct hd_op full = o;
    hd_payload_strip(&o);
    for (const struct hd_field *f = hd_payload_table[hd_op_payload(k)].field; f->key; f++) {
      int kept = f->type != HD_FIELD_RUN && f->type != HD_FIELD_POINTER;
      assert_true(hd_field_get(&o, f) == (kept ? hd_field_get(&full, f) : 0));
      hd_field_set(&o, f, 3);
      assert_int_equal(hd_field_get(&o, f), 3);
      hd_field_set(&o, f, 0);
    }
    o.access.known = 0;
    assert_true(o.payload[0] == 0 && o.payload[1] == 0 && (o.payload[2] & ~0xff00ull) == 0);
  }
}

/* ---- dependence ---- */

/* Pairs of different threads, as a reader of POSIX would expect them. */
static void some_dependences(void **state) {
  (void)state;
  static const struct {
    unsigned a, aflags, b, bflags;
    int same_object, dependent;
  } want[] = {
      {HD_OP_READ, 0, HD_OP_READ, 0, 1, 0},
      {HD_OP_READ, 0, HD_OP_WRITE, 0, 1, 1},
      {HD_OP_READ, 0, HD_OP_WRITE, 0, 0, 0},
      {HD_OP_ACAS, HD_EV_FAILED, HD_OP_ALOAD, 0, 1, 0},
      {HD_OP_ACAS, 0, HD_OP_ALOAD, 0, 1, 1},
      {HD_OP_FREE, 0, HD_OP_READ, 0, 1, 1},
      {HD_OP_LOOKUP, 0, HD_OP_LOOKUP, 0, 1, 0},
      {HD_OP_LOOKUP, 0, HD_OP_CHANGE, 0, 1, 1},
      {HD_OP_CHANGE, 0, HD_OP_CHANGE, 0, 0, 0},
      {HD_OP_LOCK, 0, HD_OP_LOCK, 0, 1, 1},
      {HD_OP_LOCK, 0, HD_OP_LOCK, 0, 0, 0},
      {HD_OP_TRYLOCK, HD_EV_FAILED, HD_OP_TRYLOCK, HD_EV_FAILED, 1, 0},
      {HD_OP_TRYLOCK, HD_EV_FAILED, HD_OP_UNLOCK, 0, 1, 1},
      {HD_OP_RDLOCK, 0, HD_OP_RDLOCK, 0, 1, 0},
      {HD_OP_RDLOCK, 0, HD_OP_RDUNLOCK, 0, 1, 0},
      {HD_OP_RDLOCK, 0, HD_OP_TRYWRLOCK, HD_EV_FAILED, 1, 1},
      {HD_OP_RDLOCK, 0, HD_OP_TRYRDLOCK, HD_EV_FAILED, 1, 0},
      {HD_OP_WRLOCK, 0, HD_OP_TRYRDLOCK, HD_EV_FAILED, 1, 1},
      {HD_OP_SEMPOST, 0, HD_OP_SEMPOST, 0, 1, 0},
      {HD_OP_SEMPOST, 0, HD_OP_SEMVALUE, 0, 1, 1},
      {HD_OP_SEMNAME, 0, HD_OP_SEMNAME, 0, 1, 1},
      {HD_OP_WAIT, 0, HD_OP_TIMEDWAIT, 0, 1, 0},
      {HD_OP_WAIT, 0, HD_OP_SIGNAL, 0, 1, 1},
      {HD_OP_SIGNAL, 0, HD_OP_BROADCAST, 0, 1, 0},
      {HD_OP_FWAIT, 0, HD_OP_FWAKE, 0, 1, 1},
      {HD_OP_FWAIT, 0, HD_OP_ASTORE, 0, 1, 1},
      {HD_OP_CTIMEOUT, 0, HD_OP_FWAKE, 0, 1, 1},
      {HD_OP_BARRIER, 0, HD_OP_BARRIER, 0, 1, 0},
      {HD_OP_BARRIER, 0, HD_OP_BDESTROY, 0, 1, 1},
      {HD_OP_CREATE, 0, HD_OP_CREATE, 0, 0, 0},
      {HD_OP_EXIT, 0, HD_OP_TRYJOIN, 0, 1, 1},
      {HD_OP_EXIT, 0, HD_OP_JOIN, 0, 1, 0},
      {HD_OP_SPINWAIT, 0, HD_OP_ASTORE, 0, 1, 1},
      {HD_OP_SPINWAIT, 0, HD_OP_UNLOCK, 0, 1, 1},
      {HD_OP_SPINWAIT, 0, HD_OP_SPINWAIT, 0, 1, 0},
      {HD_OP_KILL, 0, HD_OP_YIELD, 0, 0, 1},
      {HD_OP_END, 0, HD_OP_READ, 0, 0, 1},
      {HD_OP_MDESTROY, 0, HD_OP_SEMWAIT, 0, 1, 0}, /* objects of other kinds are others */
      {HD_OP_FENCE, 0, HD_OP_FENCE, 0, 1, 0},
  };
  for (size_t i = 0; i < COUNT(want); i++) {
    struct hd_op a = op(want[i].a, 1, M, 4), b = op(want[i].b, 2, want[i].same_object ? M : M + 64, 4);
    if (hd_op_payload(a.kind) == HD_PAYLOAD_WAIT) a.wait.mutex = 0x9000;
    if (hd_op_payload(b.kind) == HD_PAYLOAD_WAIT) b.wait.mutex = 0xa000;
    int ab = hd_dependent(&a, want[i].aflags, &b, want[i].bflags);
    int ba = hd_dependent(&b, want[i].bflags, &a, want[i].aflags);
    if (ab != want[i].dependent || ba != ab)
      fail_msg("%s and %s: %d, the other way round %d", hd_op_text(a.kind), hd_op_text(b.kind), ab, ba);
  }
}

static void payloads_decide(void **state) {
  (void)state;
  struct hd_op a = op(HD_OP_SIGNAL, 1, M, 0), b = op(HD_OP_BROADCAST, 2, M, 0);
  b.wake.count = 2;
  assert_true(hd_dependent(&a, 0, &b, 0));
  a = op(HD_OP_BARRIER, 1, M, 2);
  b = op(HD_OP_BARRIER, 2, M, 2);
  b.barrier.ordered = 1;
  assert_true(hd_dependent(&a, 0, &b, 0));
  a = op(HD_OP_EXIT, 1, 1, 0);
  b = op(HD_OP_EXIT, 2, 2, 0);
  assert_false(hd_dependent(&a, 0, &b, 0));
  a.exit.decides = 1;
  assert_true(hd_dependent(&a, 0, &b, 0));
  a = op(HD_OP_WAIT, 1, M, 0); /* releases its mutex */
  a.wait.mutex = M + 64;
  b = op(HD_OP_TRYLOCK, 2, M + 64, 0);
  assert_true(hd_dependent(&a, 0, &b, HD_EV_FAILED) && hd_dependent(&b, HD_EV_FAILED, &a, 0));
  a = op(HD_OP_IOREAD, 1, 1, 1 << 16); /* facets: reads nothing, writes 1 */
  b = op(HD_OP_IOLOOK, 2, 1, 1);
  assert_true(hd_dependent(&a, 0, &b, 0));
  b.size = 2;
  assert_false(hd_dependent(&a, 0, &b, 0));
}

/* Operations of all kinds and outcomes: dependence is symmetric, and keys tell nothing apart that is dependent. */
static void keys_are_sound(void **state) {
  (void)state;
  const uint64_t object[] = {0, 1, M, M + 4, M + 8};
  for (unsigned i = 0; i < HD_OP_COUNT * COUNT(object) * 4; i++)
    for (unsigned j = 0; j <= i; j++) {
      unsigned n[2] = {i, j}, flags[2];
      struct hd_op o[2];
      for (int k = 0; k < 2; k++) {
        o[k] = op(n[k] / 4 / COUNT(object), (unsigned)k + 1, object[n[k] / 4 % COUNT(object)], 4);
        if (hd_op_payload(o[k].kind) == HD_PAYLOAD_WAIT) o[k].wait.mutex = M;
        o[k].section = n[k] & 1 ? HD_SECTION_ENTERS : HD_SECTION_NONE;
        flags[k] = n[k] & 2 ? HD_EV_FAILED : 0;
      }
      int dependent = hd_dependent(&o[0], flags[0], &o[1], flags[1]);
      if (dependent != hd_dependent(&o[1], flags[1], &o[0], flags[0]))
        fail_msg("%s, %s: not symmetric", hd_op_text(o[0].kind), hd_op_text(o[1].kind));
      if (dependent && hd_keys_apart(hd_dependence_key(&o[0], flags[0]), hd_dependence_key(&o[1], flags[1])))
        fail_msg("%s, %s: dependent, with different keys", hd_op_text(o[0].kind), hd_op_text(o[1].kind));
    }
}

/* ---- who holds what ---- */

static void holders(void **state) {
  (void)state;
  struct hd_hold room[3];
  struct hd_holders h = {.hold = room, .cap = COUNT(room)};
  size_t at = 0;
  struct hd_op o = op(HD_OP_TRYLOCK, 1, M, 0);
  assert_int_equal(hd_holders_event(&h, &o, HD_EV_FAILED, 1), 0);
  assert_int_equal(hd_holders_event(&h, &o, 0, 2), 1);
  o = op(HD_OP_RDLOCK, 1, M + 64, 0);
  assert_int_equal(hd_holders_event(&h, &o, 0, 3), 1);
  o.thread = 2;
  assert_int_equal(hd_holders_event(&h, &o, 0, 4), 1);
  assert_int_equal(hd_holders_event(&h, &o, 0, 5), -1); /* no room */
  assert_int_equal(h.n, 3);
  const struct hd_hold *hold = hd_holders_of_object(&h, M + 64, &at);
  assert_true(hold->thread == 1 && hold->event == 3 && hold->shared && hold->kind == HD_OBJ_RWLOCK);
  assert_int_equal(hd_holders_of_object(&h, M + 64, &at)->thread, 2);
  assert_null(hd_holders_of_object(&h, M + 64, &at));
  o = op(HD_OP_WAIT, 1, 0x9000, 0);
  o.wait.mutex = M;
  assert_true(hd_held_object(&o, 0) == M);
  assert_int_equal(hd_holders_event(&h, &o, 0, 6), 1);
  o = op(HD_OP_WAKE, 1, M, 0); /* its time was over: it has the mutex all the same */
  assert_int_equal(hd_holders_event(&h, &o, HD_EV_FAILED, 7), 1);
  o = op(HD_OP_RDUNLOCK, 3, M + 64, 0); /* who has none gives none back */
  assert_int_equal(hd_holders_event(&h, &o, 0, 8), 0);
  o.thread = 1;
  assert_int_equal(hd_holders_event(&h, &o, 0, 9), 1);
  at = 0;
  assert_true(hd_holders_of_thread(&h, 1, &at)->object == M);
  assert_null(hd_holders_of_thread(&h, 1, &at));
  o = op(HD_OP_RWDESTROY, 1, M + 64, 0);
  assert_int_equal(hd_holders_event(&h, &o, 0, 10), 1);
  assert_int_equal(h.n, 1);
}

/* ---- what a read may see ---- */

/* Places get the same numbers in whatever order they are met again; two tables agree on order and names. */
static void numbers_stand_for_places(void **state) {
  (void)state;
  struct hd_numbers a = {{0}}, b = {{0}};
  const uint16_t first = hd_place(0, 1), second = hd_place(0, 2);
  assert_int_equal(hd_numbers_get(&a, first), 1);
  assert_int_equal(hd_numbers_get(&a, second), 2);
  assert_true(hd_numbers_plain(&a));
  assert_int_equal(hd_numbers_get(&a, hd_place(1, 1)), 3);
  assert_int_equal(hd_numbers_get(&a, hd_place(2, 1)), 4);
  assert_int_equal(hd_numbers_get(&a, hd_place(1, 1)), 3);
  assert_false(hd_numbers_plain(&a));
  assert_int_equal(hd_numbers_get(&b, second), 1);
  assert_int_equal(hd_numbers_get(&b, hd_place(1, 1)), 2);
  assert_int_equal(hd_numbers_get(&b, first), 3);
  assert_int_equal(hd_numbers_get(&b, hd_place(3, 1)), 4);
  static const unsigned in_b[] = {0, 3, 1, 4, 2}, sorted[] = {0, 1, 3, 2, 4};
  for (unsigned i = 0; i < 5; i++) {
    assert_true(hd_numbers_name(&a, i) == hd_numbers_name(&b, in_b[i]));
    for (unsigned k = 0; k < 5; k++) {
      assert_int_equal(hd_numbers_before(&a, sorted[i], sorted[k]), i < k);
      assert_int_equal(hd_numbers_before(&b, in_b[sorted[i]], in_b[sorted[k]]), i < k);
    }
  }
  b.place[2] = 0; /* a schedule has only the places that it uses */
  assert_int_equal(hd_numbers_get(&b, hd_place(3, 1)), 4);
  assert_int_equal(hd_numbers_get(&b, hd_place(1, 1)), 2);
  for (unsigned i = 5; i < HD_NUMBERED; i++) assert_int_equal(hd_numbers_get(&a, hd_place(4, i)), i);
  assert_int_equal(hd_numbers_get(&a, hd_place(3, 1)), 0); /* full */
  assert_int_equal(hd_place(HD_NUMBERED, 1), 0);
  assert_int_equal(hd_place(1, 256), 0);
}

static void *resize(void *arg, void *old, size_t size) {
  ++*(int *)arg;
  if (size) return realloc(old, size);
  free(old);
  return NULL;
}

static uint32_t seen(const struct hd_memory *m, uint64_t at, uint32_t size) {
  struct hd_op o = op(HD_OP_READ, 1, at, size);
  uint32_t event = 99;
  assert_int_equal(hd_memory_candidates(m, &o, &event, 1), 1); /* sequential consistency: there is one */
  return event;
}

static void wrote(struct hd_memory *m, uint64_t at, uint32_t size, uint32_t event) {
  struct hd_op o = op(HD_OP_WRITE, 1, at, size);
  hd_memory_write(m, &o, event);
}

static void reads_see_the_latest_write(void **state) {
  (void)state;
  struct hd_memory m;
  int calls = 0;
  hd_memory_init(&m, resize, &calls);
  assert_int_equal(seen(&m, M, 4), 0);
  wrote(&m, M, 4, 1);
  wrote(&m, M + 2, 1, 2);
  assert_int_equal(seen(&m, M, 2), 1);
  assert_int_equal(seen(&m, M, 4), 2);
  assert_int_equal(seen(&m, M + 4, 4), 0);
  wrote(&m, 0x10000, 3 * 4096 + 5, 3); /* whole pages, and a bit */
  assert_int_equal(seen(&m, 0x10000 + 4096, 8), 3);
  assert_int_equal(seen(&m, 0x10000 + 3 * 4096 + 4, 1), 3);
  assert_int_equal(seen(&m, 0x10000 + 3 * 4096 + 5, 1), 0);
  wrote(&m, 0x10008, 8, 4);
  assert_int_equal(seen(&m, 0x10000, 8), 3);
  assert_int_equal(seen(&m, 0x10000, 16), 4);
  for (uint32_t i = 0; i < 1000; i++) wrote(&m, 0x100000 + 16 * i, 8, 100 + i);
  for (uint32_t i = 0; i < 1000; i++) assert_int_equal(seen(&m, 0x100000 + 16 * i, 8), 100 + i);
  wrote(&m, UINT64_MAX - 3, 8, 5); /* ends where addresses do */
  assert_int_equal(seen(&m, UINT64_MAX - 2, 2), 5);
  hd_memory_fini(&m);
  assert_true(calls > 2);
}

/* ---- the order of events ---- */

static int second_page(uint64_t granule) { return granule - M >= 4096 && granule - M < 8192; }

/* Thread 0 writes a block of 1 MiB, thread 1 reads 4 bytes of it: how many races there are. */
static uint32_t races_in_block(struct hd_order *t, uint64_t at) {
  const struct hd_op block = op(HD_OP_WRITE, 0, M, 1 << 20), word = op(HD_OP_READ, 1, at, 4);
  hd_order_begin(t);
  hd_order_event(t, &block, 0, 0, 0);
  hd_order_event(t, &word, 0, 0, 0);
  return t->nraces;
}

/* Of a large block only the contended granules have entries in the table of objects. */
static void large_blocks_are_cheap(void **state) {
  (void)state;
  void *memory =
      mmap(NULL, HD_ORDER_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  struct hd_order t = {.contended = second_page};
  assert_true(memory != MAP_FAILED);
  hd_order_init(&t, memory);
  assert_int_equal(races_in_block(&t, M + 4096), 1);
  assert_int_equal(races_in_block(&t, M + 8188), 1);
  assert_in_range(t.table_used, 512, 1024);
  assert_int_equal(races_in_block(&t, M + 8192), 0);
  t.contended = NULL;
  assert_int_equal(races_in_block(&t, M + 8192), 1);
  assert_in_range(t.table_used, 1 << 17, 1 << 18);
  munmap(memory, HD_ORDER_MEMORY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tables_are_consistent),    cmocka_unit_test(matrix_is_symmetric),
      cmocka_unit_test(payloads_are_compared),    cmocka_unit_test(payloads_are_stripped),
      cmocka_unit_test(some_dependences),         cmocka_unit_test(payloads_decide),
      cmocka_unit_test(keys_are_sound),           cmocka_unit_test(holders),
      cmocka_unit_test(numbers_stand_for_places), cmocka_unit_test(reads_see_the_latest_write),
      cmocka_unit_test(large_blocks_are_cheap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
