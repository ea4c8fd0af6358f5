/* test_unit.c: a search is a value: several of them run in one process, one is written down and continued elsewhere.
 *
 * The programs are simulated (sim.h). A world is a search with memory of its own, whose program has its objects at
 * addresses of its own: all of them are shifted.
 *  1. A search that is saved after any number of executions, and continued in another world with other addresses, runs as
 *     many executions and reaches the same classes as one that was not: every complete strategy, also within a bound,
 *     also when several workers had parts of it.
 *  2. What was cut off, or damaged, is refused; what is damaged and has a right checksum does no harm.
 *  3. Two searches in one process do not see each other.
 *  4. A program that does not do the same again is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "model/unit.h"
#include "sim_random.h"

/* ---- worlds ---- */

#define MEMORY (1ull << 30)
#define CLASSES (1ull << 26)
#define OBJECTS 0x1000ull /* addresses that the simulation uses */
#define OBJECTS_END 0x8000ull

struct world {
  const struct hd_strategy *strategy;
  struct hd_search search;
  struct hd_known known; /* nothing: every step is picked */
  struct hd_config config;
  struct hd_status status;
  struct hd_range range;
  struct hd_layout layout;
  uint64_t shift;
  unsigned spoil;               /* number of the event, from 1, that is another one from now on; 0: none */
  unsigned events;              /* of the execution under way */
  struct hd_op op[SIM_THREADS]; /* pending, at the world's addresses */
  const struct hd_op *pending[SIM_THREADS];
  uint64_t executions, blocked;
  int over;
};

static void *map(uint64_t size, int how) {
  void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_NORESERVE | how, -1, 0);
  assert_true(p != MAP_FAILED);
  return p;
}

static struct world *new_world(const char *strategy, uint64_t shift, unsigned bound_kind) {
  struct world *w = calloc(1, sizeof *w);
  w->strategy = hd_strategy_find(strategy);
  assert_non_null(w->strategy);
  w->config.seed = 1;
  w->config.depth = 3;
  w->config.classes = 1;
  w->config.bound_kind = bound_kind;
  w->config.bound = 2;
  w->shift = shift;
  w->range = (struct hd_range){OBJECTS + shift, OBJECTS_END + shift, hd_range_name(HD_RANGE_MODULE, 3), 0};
  hd_layout_init(&w->layout, &w->range, 1);
  w->search = (struct hd_search){.config = &w->config,
                                 .status = &w->status,
                                 .shared = map(sizeof(struct hd_shared), MAP_SHARED),
                                 .workers = 1,
                                 .memory = map(MEMORY, MAP_SHARED),
                                 .memory_size = MEMORY,
                                 .classes = map(CLASSES, MAP_SHARED),
                                 .classes_size = CLASSES,
                                 .layout = &w->layout,
                                 .known = &w->known,
                                 .scratch = map(HD_SCRATCH_SIZE, MAP_PRIVATE)};
  return w;
}

static void free_world(struct world *w) {
  munmap(w->search.shared, sizeof(struct hd_shared));
  munmap(w->search.memory, MEMORY);
  munmap(w->search.classes, CLASSES);
  munmap(w->search.scratch, HD_SCRATCH_SIZE);
  free(w);
}

static struct hd_op moved(const struct world *w, const struct hd_op *op) {
  struct hd_op m = *op;
  if (m.object >= OBJECTS && m.object < OBJECTS_END) m.object += w->shift;
  if (hd_op_payload(m.kind) == HD_PAYLOAD_WAIT && m.wait.mutex) m.wait.mutex += w->shift;
  return m;
}

static struct hd_point here(struct world *w, const struct sim *s) {
  struct hd_point p = s->point;
  for (unsigned i = 0; i < SIM_THREADS; i++) {
    w->op[i] = moved(w, s->op[i]);
    w->pending[i] = &w->op[i];
  }
  p.op = w->pending;
  return p;
}

static int on_choose(void *ctx, unsigned n) {
  struct world *w = ctx;
  int k = w->strategy->choose(&w->search, n);
  return k < (int)n ? k : -1;
}

static void on_event(void *ctx, const struct hd_op *op, unsigned flags, unsigned choice, unsigned nchoices) {
  struct world *w = ctx;
  struct hd_op m = moved(w, op);
  if (++w->events == w->spoil) m.object ^= 8;
  w->strategy->event(&w->search, &m, flags, choice, nchoices);
}

enum { NOTHING_LEFT = 100, LATER };

/* One execution, with its end. Returns how it ended; -1: it diverged. */
static int execute(struct world *w, const struct sim_program *p) {
  struct sim s;
  unsigned current = 0;
  struct hd_point at;
  w->search.execution++;
  w->search.ntally = 0;
  w->events = 0;
  int begun = w->strategy->begin(&w->search), how = HD_HOW_EXIT;
  if (begun <= 0) {
    w->over = begun == 0;
    return begun ? LATER : NOTHING_LEFT;
  }
  sim_begin(&s, p);
  while (!s.over) {
    if (!sim_look(&s, current)) {
      how = HD_HOW_STUCK;
      break;
    }
    at = here(w, &s);
    int next = w->strategy->pick(&w->search, &at);
    if (next == HD_PICK_GIVE_UP) {
      how = HD_HOW_BLOCKED;
      break;
    }
    if (next < 0 || !hd_set_has(&s.enabled, (unsigned)next)) return -1;
    current = (unsigned)next;
    if (!sim_step(&s, current, on_choose, on_event, w)) return -1;
  }
  if (w->search.diverged) return -1;
  if (how == HD_HOW_EXIT) sim_here(&s, current);
  at = here(w, &s);
  w->over = !w->strategy->end(&w->search, &at, (enum hd_how)how);
  if (how == HD_HOW_BLOCKED)
    w->blocked++;
  else
    w->executions++;
  return how;
}

/* Up to n executions more. Returns 0 when there is something left. */
static int run(struct world *w, const struct sim_program *p, uint64_t n) {
  while (n-- && !w->over) assert_true(execute(w, p) >= 0);
  return w->over;
}

struct totals {
  uint64_t executions, blocked, classes, class_sum;
};

static void add_totals(struct totals *t, const struct world *w) {
  t->executions += w->executions;
  t->blocked += w->blocked;
  t->classes += w->status.classes;
  t->class_sum += w->status.class_sum;
}

/* ---- bytes ---- */

static int grow(struct hd_writer *w, size_t n) {
  while (w->cap - w->n < n) w->cap = w->cap ? w->cap * 2 : 4096;
  w->data = realloc(w->data, w->cap);
  return w->data != NULL;
}

static const uint64_t visible[] = {0x1008, 0x4000, 1ull << 62 | 0x2010, 0x999999};
#define NVISIBLE (sizeof visible / sizeof *visible)

static struct hd_writer save(struct world *w) {
  struct hd_writer out = {.layout = &w->layout, .grow = grow};
  uint64_t v[NVISIBLE];
  for (unsigned i = 0; i < NVISIBLE; i++) v[i] = visible[i] + (i < 3 ? w->shift : 0);
  assert_true(hd_search_save(&w->search, w->strategy, v, NVISIBLE, &out));
  return out;
}

static int load(struct world *w, const uint8_t *data, size_t n) {
  uint64_t v[8], nv = 0;
  struct hd_reader r = {.data = data, .n = n, .layout = &w->layout};
  if (!hd_search_load(&w->search, w->strategy, v, &nv, 8, &r)) return 0;
  assert_int_equal(nv, NVISIBLE);
  for (unsigned i = 0; i < NVISIBLE; i++) assert_true(v[i] == visible[i] + (i < 3 ? w->shift : 0));
  return 1;
}

/* ---- 1 ---- */

static const struct {
  const char *strategy;
  unsigned bound;
} searches[] = {{"dfs", 0},     {"rdfs", 0}, {"dpor", 0},
                {"optimal", 0}, {"dfs", 1},  {"bounded", HD_BOUND_PREEMPTIONS},
                {"bounded", 2}, {"auto", 0}};
#define NSEARCHES (sizeof searches / sizeof *searches)
#define LIMIT 400

/* The whole search of p in one world; 0: it is too large, or too small to be divided. */
static int search_whole(unsigned k, const struct sim_program *p, struct totals *t) {
  struct world *w = new_world(searches[k].strategy, 0, searches[k].bound);
  int over = run(w, p, LIMIT);
  *t = (struct totals){0};
  add_totals(t, w);
  free_world(w);
  return over && t->executions + t->blocked > 2;
}

static void continue_elsewhere(unsigned k, const struct sim_program *p, const struct totals *whole,
                               uint64_t part) {
  struct totals t = {0};
  struct world *w = new_world(searches[k].strategy, 0x10000, searches[k].bound);
  for (unsigned parts = 1; !run(w, p, part); parts++) {
    struct hd_writer bytes = save(w);
    struct world *next = new_world(searches[k].strategy, 0x100000 * parts, searches[k].bound);
    assert_true(load(next, bytes.data, bytes.n));
    next->search.execution = w->search.execution;
    *next->search.shared = (struct hd_shared){.bound_cut = w->search.shared->bound_cut};
    add_totals(&t, w);
    free(bytes.data);
    free_world(w);
    w = next;
  }
  add_totals(&t, w);
  assert_int_equal(t.executions, whole->executions);
  assert_int_equal(t.blocked, whole->blocked);
  assert_int_equal(t.classes, whole->classes);
  assert_true(t.class_sum == whole->class_sum);
  free_world(w);
}

static void a_search_continues_at_other_addresses(void **unused) {
  (void)unused;
  unsigned done = 0;
  for (unsigned long i = 0; i < 60; i++) {
    struct sim_program p;
    hd_rng_seed(&rng, 31, i);
    random_program(&p, SIM_EXACT);
    for (unsigned k = 0; k < NSEARCHES; k++) {
      struct totals whole;
      if (!search_whole(k, &p, &whole)) continue;
      uint64_t n = whole.executions + whole.blocked;
      continue_elsewhere(k, &p, &whole, 1 + n / (2 + i % 4));
      if (n < 20) continue_elsewhere(k, &p, &whole, 1);
      done++;
    }
  }
  assert_true(done > 100);
}

/* A sampler that learns does the same in one world and in several, one after the other. */
static void samplers_continue_at_other_addresses(void **unused) {
  (void)unused;
  static const char *const samplers[] = {"pct", "sites", "surw", "rff", "uniform", "mined"};
  for (unsigned long i = 0; i < 40; i++) {
    struct sim_program p;
    hd_rng_seed(&rng, 33, i);
    random_program(&p, SIM_EXACT);
    for (unsigned k = 0; k < sizeof samplers / sizeof *samplers; k++) {
      struct totals whole = {0}, t = {0};
      struct world *w = new_world(samplers[k], 0, 0);
      run(w, &p, 60);
      add_totals(&whole, w);
      free_world(w);
      w = new_world(samplers[k], 0x10000, 0);
      for (unsigned parts = 1; parts <= 4; parts++) {
        run(w, &p, 15);
        struct hd_writer bytes = save(w);
        struct world *next = new_world(samplers[k], 0x100000 * parts, 0);
        assert_true(load(next, bytes.data, bytes.n));
        next->search.execution = w->search.execution;
        next->search.shared->estimate = w->search.shared->estimate;
        add_totals(&t, w);
        free(bytes.data);
        free_world(w);
        w = next;
      }
      free_world(w);
      assert_int_equal(t.executions, whole.executions);
      if (t.classes != whole.classes || t.class_sum != whole.class_sum)
        print_message("%s, program %lu\n", samplers[k], i);
      assert_int_equal(t.classes, whole.classes);
      assert_true(t.class_sum == whole.class_sum);
    }
  }
}

/* Several workers have parts of it when it is saved; one worker, or two, continue. */
static void several_units_continue(void **unused) {
  (void)unused;
  unsigned done = 0;
  for (unsigned long i = 0; i < 60; i++) {
    struct sim_program p;
    hd_rng_seed(&rng, 32, i);
    random_program(&p, SIM_EXACT);
    for (unsigned k = 0; k < NSEARCHES - 1; k++) {
      struct totals whole, t = {0};
      struct hd_rng turns;
      if (!search_whole(k, &p, &whole) || whole.executions < 8) continue;
      struct world *w = new_world(searches[k].strategy, 0x20000, searches[k].bound);
      hd_rng_seed(&turns, 3, i);
      w->search.workers = 4;
      for (uint64_t n = 0; n < whole.executions && !w->over; n++) {
        w->search.worker = hd_rng_below(&turns, 4);
        assert_true(execute(w, &p) >= 0);
      }
      if (!w->over) {
        struct hd_writer bytes = save(w);
        struct world *next = new_world(searches[k].strategy, 0x300000, searches[k].bound);
        next->search.workers = 1 + (unsigned)(i % 2);
        assert_true(load(next, bytes.data, bytes.n));
        next->search.execution = w->search.execution;
        add_totals(&t, w);
        free(bytes.data);
        free_world(w);
        w = next;
        for (uint64_t n = 0; n < 100 * LIMIT && !w->over; n++) {
          w->search.worker = hd_rng_below(&turns, w->search.workers);
          assert_true(execute(w, &p) >= 0);
        }
        assert_true(w->over);
        done++;
      }
      add_totals(&t, w);
      free_world(w);
      assert_int_equal(t.classes, whole.classes);
      assert_true(t.class_sum == whole.class_sum);
      if (k < 2 || k == 3) assert_int_equal(t.executions, whole.executions); /* dfs, rdfs, optimal */
    }
  }
  assert_true(done > 40);
}

/* ---- 2 ---- */

static struct sim_program some_program(void) {
  struct sim_program p = {.nthreads = 4};
  for (unsigned t = 1; t < 4; t++) {
    p.code[0][p.n[0]++] = (struct sim_instr){.what = I_CREATE, .a = (uint8_t)t};
    p.code[t][p.n[t]++] = (struct sim_instr){.what = I_LOCK};
    p.code[t][p.n[t]++] = (struct sim_instr){.what = I_MEM, .a = HD_OP_ARMW, .size = 4, .v = (uint8_t)t};
    p.code[t][p.n[t]++] = (struct sim_instr){.what = I_UNLOCK};
    p.code[t][p.n[t]++] = (struct sim_instr){.what = I_CHOOSE, .v = 2};
  }
  for (unsigned t = 1; t < 4; t++) p.code[0][p.n[0]++] = (struct sim_instr){.what = I_JOIN, .a = (uint8_t)t};
  return p;
}

static void damaged_bytes_are_refused(void **unused) {
  (void)unused;
  struct sim_program p = some_program();
  for (unsigned k = 2; k < NSEARCHES; k++) {
    struct world *w = new_world(searches[k].strategy, 0, searches[k].bound);
    run(w, &p, 7);
    assert_false(w->over);
    struct hd_writer bytes = save(w);
    struct world *other = new_world(searches[k].strategy, 0x5000, searches[k].bound);
    for (size_t n = 0; n < bytes.n; n += n < 64 ? 1 : bytes.n / 97 + 1) {
      uint8_t *copy =
          malloc(n ? n : 1); /* as large as it is said to be: a reader that goes further is noticed */
      memcpy(copy, bytes.data, n);
      assert_false(load(other, copy, n));
      free(copy);
    }
    for (size_t at = 0; at < bytes.n; at += at < 64 ? 1 : bytes.n / 97 + 1) {
      bytes.data[at] ^= 0x20;
      assert_false(load(other, bytes.data, bytes.n));
      bytes.data[at] ^= 0x20;
    }
    assert_true(load(other, bytes.data, bytes.n));
    free(bytes.data);
    free_world(w);
    free_world(other);
  }
}

/* The block around the search, without the search. */
#define HEAD_SIZE 24

static void hostile_bytes_do_no_harm(void **unused) {
  (void)unused;
  struct sim_program p = some_program();
  struct hd_rng r;
  unsigned refused = 0, tries = 0;
  hd_rng_seed(&r, 5, 5);
  for (unsigned k = 2; k < NSEARCHES; k++) {
    struct world *w = new_world(searches[k].strategy, 0, searches[k].bound);
    w->search.workers = 3;
    for (unsigned i = 0; i < 9 && !w->over; i++) {
      w->search.worker = i % 3;
      assert_true(execute(w, &p) >= 0);
    }
    struct hd_writer bytes = save(w);
    struct world *other = new_world(searches[k].strategy, 0x5000, searches[k].bound);
    for (unsigned i = 0; i < 2000; i++, tries++) {
      struct hd_writer bad = {.grow = grow};
      uint32_t magic;
      memcpy(&magic, bytes.data, sizeof magic);
      hd_put_block(&bad, magic);
      hd_put_bytes(&bad, bytes.data + HEAD_SIZE, bytes.n - HEAD_SIZE);
      for (unsigned m = 1 + hd_rng_below(&r, 3); m > 0; m--)
        bad.data[HEAD_SIZE + hd_rng_below(&r, (uint32_t)(bad.n - HEAD_SIZE))] = (uint8_t)hd_rng_next(&r);
      if (i % 3 == 0) bad.n = HEAD_SIZE + hd_rng_below(&r, (uint32_t)(bad.n - HEAD_SIZE));
      hd_put_block_end(&bad);
      uint64_t v[8], nv;
      struct hd_reader in = {.data = bad.data, .n = bad.n, .layout = &other->layout};
      refused += !hd_search_load(&other->search, other->strategy, v, &nv, 8, &in);
      free(bad.data);
    }
    free(bytes.data);
    free_world(w);
    free_world(other);
  }
  assert_true(refused > tries / 3);
}

/* ---- 3 ---- */

static void two_searches_in_one_process(void **unused) {
  (void)unused;
  struct sim_program p = some_program(), q = some_program();
  q.code[1][1].v = 7;
  q.n[2] = 3;
  for (unsigned k = 0; k < NSEARCHES; k++) {
    struct totals alone[2];
    unsigned other = (k + 3) % NSEARCHES;
    struct world *a = new_world(searches[k].strategy, 0, searches[k].bound);
    struct world *b = new_world(searches[other].strategy, 0x7000, searches[other].bound);
    for (unsigned i = 0; i < 2; i++) {
      struct world *w = new_world(searches[i ? other : k].strategy, 0, searches[i ? other : k].bound);
      run(w, i ? &q : &p, 300);
      alone[i] = (struct totals){0};
      add_totals(&alone[i], w);
      free_world(w);
    }
    for (unsigned n = 0; n < 300; n++) {
      run(a, &p, 1);
      run(b, &q, 1);
    }
    struct totals ta = {0}, tb = {0};
    add_totals(&ta, a);
    add_totals(&tb, b);
    assert_memory_equal(&ta, &alone[0], sizeof ta);
    assert_memory_equal(&tb, &alone[1], sizeof tb);
    free_world(a);
    free_world(b);
  }
}

/* ---- 4 ---- */

static void other_operations_are_a_divergence(void **unused) {
  (void)unused;
  struct sim_program p = some_program();
  for (unsigned k = 0; k < NSEARCHES - 1; k++) {
    struct world *w = new_world(searches[k].strategy, 0, searches[k].bound);
    run(w, &p, 5);
    w->spoil = 2; /* all executions begin with the creation of threads */
    assert_int_equal(execute(w, &p), -1);
    assert_true(w->search.diverged);
    w->spoil = 0;
    assert_true(execute(w, &p) >= 0); /* the search goes on, and does not claim to be complete */
    assert_true(hd_inexact_sum(w->status.inexact, HD_CLASS_ANY) > 0);
    free_world(w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_search_continues_at_other_addresses),
      cmocka_unit_test(samplers_continue_at_other_addresses),
      cmocka_unit_test(several_units_continue),
      cmocka_unit_test(damaged_bytes_are_refused),
      cmocka_unit_test(hostile_bytes_do_no_harm),
      cmocka_unit_test(two_searches_in_one_process),
      cmocka_unit_test(other_operations_are_a_divergence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
