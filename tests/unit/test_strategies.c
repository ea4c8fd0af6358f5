/* test_strategies.c: every strategy on thousands of small random programs, against plain depth-first search.
 *
 * The programs are simulated (sim.h), so that this tests the search alone. For each program depth-first search
 * gives the reference: the happens-before classes, the final states, and which state each class leads to.
 *  1. Every execution of one class ends in the same state: the dependency relation is not too coarse.
 *  2. `optimal` runs exactly one execution per class and gives up none.
 *  2b. So does `optimal` with several workers, except that it may give up some (tree_share.c, invariant 4).
 *  2c. Several machines, whose messages take any time, run the executions of one, whatever the complete strategy.
 *  3. `dpor` and `rdfs` reach the same classes; `dpor` runs no more executions than depth-first search.
 *  4. Sampling strategies only reach classes that depth-first search knows.
 *  5. Within a bound, `bounded` reaches the classes that depth-first search within the same bound reaches, in no more
 *     executions; bounds one after the other lead to all classes.
 * For a program that is too large for depth-first search, `dpor` stands in for it.
 * A program that breaks one of these is shrunk and printed. That this can fail is tested too: a strategy that is
 * told of wrong operations must be caught.
 *
 *   test_strategies [PROGRAMS [SEED [FEATURES [GO_ON [STRATEGY]]]]]
 * runs more and larger programs, others, or only with certain FEATURES (sum of SIM_*, sim.h), goes on after GO_ON
 * bad ones, and with a STRATEGY other than optimal does not judge that one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim_random.h"

/* ---- sets of classes, with the state each leads to ---- */

struct classes {
  uint64_t n;
  uint64_t sum; /* of the members, in any order */
  struct {
    uint64_t class, state;
  } slot[1 << 15];
};

/* Returns -1 when the class was seen with another state, 1 when it is new. */
static int classes_add(struct classes *c, uint64_t class, uint64_t state) {
  const uint64_t mask = sizeof c->slot / sizeof *c->slot - 1;
  class |= 1;
  uint64_t at = hd_mix64(class) & mask;
  while (c->slot[at].class && c->slot[at].class != class) at = (at + 1) & mask;
  if (c->slot[at].class) return c->slot[at].state == state ? 0 : -1;
  c->slot[at].class = class;
  c->slot[at].state = state;
  c->n++;
  c->sum += hd_mix64(class);
  return 1;
}

static int classes_has(const struct classes *c, uint64_t class) {
  const uint64_t mask = sizeof c->slot / sizeof *c->slot - 1;
  class |= 1;
  uint64_t at = hd_mix64(class) & mask;
  while (c->slot[at].class && c->slot[at].class != class) at = (at + 1) & mask;
  return c->slot[at].class != 0;
}

/* ---- running a program under a strategy ---- */

#define SEARCH_MEMORY (1ull << 30)

struct result {
  uint64_t executions, blocked;
  uint64_t stopped; /* executions in which a thread failed */
  uint64_t longest; /* steps */
  uint64_t order;   /* differs when the classes come in another order */
  int too_many, diverged, ambiguous;
  struct classes classes;
};

struct runner {
  const struct hd_strategy *strategy;
  struct hd_search search;
  struct hd_known known; /* nothing: every step is picked */
  struct hd_config config;
  struct hd_status status;
  struct hd_order trace;   /* our own, for the class of each execution */
  struct hd_order resumed; /* of the same events, while its memory is there */
  struct result result;
};

static struct runner *new_runner(const char *strategy) {
  static const int flags = MAP_ANONYMOUS | MAP_NORESERVE;
  struct runner *r = calloc(1, sizeof *r);
  r->strategy = hd_strategy_find(strategy);
  assert_non_null(r->strategy);
  r->search.config = &r->config;
  r->search.known = &r->known;
  r->search.status = &r->status;
  r->search.memory = mmap(NULL, SEARCH_MEMORY, PROT_READ | PROT_WRITE, flags | MAP_SHARED, -1, 0);
  r->search.memory_size = SEARCH_MEMORY;
  r->search.shared = mmap(NULL, sizeof(struct hd_shared), PROT_READ | PROT_WRITE, flags | MAP_SHARED, -1, 0);
  assert_true(r->search.shared != MAP_FAILED);
  r->search.workers = 1;
  r->search.scratch = mmap(NULL, HD_SCRATCH_SIZE, PROT_READ | PROT_WRITE, flags | MAP_PRIVATE, -1, 0);
  void *m = mmap(NULL, HD_ORDER_MEMORY, PROT_READ | PROT_WRITE, flags | MAP_PRIVATE, -1, 0);
  assert_true(r->search.memory != MAP_FAILED && r->search.scratch != MAP_FAILED && m != MAP_FAILED);
  hd_order_init(&r->trace, m);
  r->search.guard = r->trace.guard = sim_guard;
  r->config.seed = 1;
  r->config.depth = 3;
  return r;
}

static int on_choose(void *ctx, unsigned n) {
  struct runner *r = ctx;
  int k = r->strategy->choose(&r->search, n);
  return k < (int)n ? k : HD_PICK_DIVERGED;
}

/* Ways to tell a strategy something wrong. */
enum mutation {
  MUTATE_NOTHING,
  MUTATE_WRITES,  /* writes are told as reads */
  MUTATE_SIZES,   /* every access is one byte */
  MUTATE_LOCKS,   /* locks are never taken */
  MUTATE_TRYLOCK, /* failing to lock is not told */
  MUTATE_SIGNALS, /* signals are nothing */
  MUTATE_CHOICES, /* choices are not told */
  MUTATE_ENDS,    /* the end of the process is nothing */
  MUTATE_WRITERS, /* a read-write lock is never taken for writing */
  MUTATE_POSTS,   /* semaphores are never posted */
  MUTATE_SECTION, /* entering a section is nothing */
  MUTATIONS,
};
static enum mutation mutation;

static struct hd_op mutated(const struct hd_op *op, unsigned *flags, unsigned *nchoices) {
  struct hd_op m = *op;
  int memory = hd_op_object(op->kind) == HD_OBJ_MEMORY;
  int hidden = (mutation == MUTATE_LOCKS && op->kind == HD_OP_LOCK) ||
               (mutation == MUTATE_TRYLOCK && op->kind == HD_OP_TRYLOCK && *flags) ||
               (mutation == MUTATE_SIGNALS && (op->kind == HD_OP_SIGNAL || op->kind == HD_OP_BROADCAST)) ||
               (mutation == MUTATE_ENDS && op->kind == HD_OP_END) ||
               (mutation == MUTATE_WRITERS && hd_op_object(op->kind) == HD_OBJ_RWLOCK &&
                op->kind != HD_OP_RDLOCK && op->kind != HD_OP_RDUNLOCK) ||
               (mutation == MUTATE_POSTS && op->kind == HD_OP_SEMPOST) ||
               (mutation == MUTATE_SECTION && op->kind == HD_OP_SECTION);
  if (hidden) m.kind = HD_OP_YIELD;
  if (mutation == MUTATE_SECTION) m.section = HD_SECTION_NONE;
  if (mutation == MUTATE_WRITES && memory) m.kind = HD_OP_READ;
  if (mutation == MUTATE_SIZES && memory) m.size = 1;
  if (mutation == MUTATE_CHOICES) *nchoices = 0;
  return m;
}

static void on_event(void *ctx, const struct hd_op *op, unsigned flags, unsigned choice, unsigned nchoices) {
  struct runner *r = ctx;
  unsigned told_flags = flags, told_choices = nchoices;
  struct hd_op told = mutated(op, &told_flags, &told_choices);
  if (r->strategy->event) r->strategy->event(&r->search, &told, told_flags, choice, told_choices);
  hd_order_event(&r->trace, op, flags, choice, nchoices);
  if (r->resumed.ev) hd_order_event(&r->resumed, op, flags, choice, nchoices);
}

enum { NOTHING_LEFT = 100, LATER };

/* One execution of at most `steps` steps. Returns how it ended, or -1 for a divergence. */
static int execute(struct runner *r, struct sim *s, const struct sim_program *p, uint64_t steps) {
  unsigned current = 0;
  int begun = r->strategy->begin(&r->search);
  if (begun <= 0) return begun ? LATER : NOTHING_LEFT;
  hd_order_begin(&r->trace);
  if (r->resumed.ev) hd_order_resume(&r->resumed);
  sim_begin(s, p);
  while (!s->over && steps--) {
    if (!sim_look(s, current)) return HD_HOW_STUCK;
    int next;
    if (s->point.nenabled == 1 && r->strategy->skip_forced)
      next = (int)hd_set_nth(&s->enabled, 0);
    else
      next = r->strategy->pick(&r->search, &s->point);
    if (next == HD_PICK_GIVE_UP) return HD_HOW_BLOCKED;
    if (next < 0 || next >= SIM_THREADS || !hd_set_has(&s->enabled, (unsigned)next)) return -1;
    current = (unsigned)next;
    if (!sim_step(s, current, on_choose, on_event, r)) return -1;
  }
  sim_here(s, current);
  return HD_HOW_EXIT;
}

static uint64_t final_state(const struct sim *s, int how) {
  uint64_t h = sim_hash(s->memory, sizeof s->memory, (uint64_t)how);
  h = sim_hash(s->owner, sizeof s->owner, h);
  h = hd_mix64(h * 31 + (uint64_t)s->writer * 64 + s->readers + s->tokens * 4096ull);
  for (unsigned i = 0; i < SIM_THREADS; i++) h = hd_mix64(h * 31 + s->t[i].seen + s->t[i].state);
  return h;
}

/* A trace that goes on from what is known of the last one says the same as one that was begun anew. */
static void compare_resumed(struct runner *r, const struct hd_point *p) {
  struct hd_order *a = &r->trace, *b = &r->resumed;
  hd_order_end(a, p);
  hd_order_end(b, p);
  assert_int_equal(b->n, a->n);
  assert_int_equal(b->nthreads, a->nthreads);
  for (uint32_t i = 0; i < a->n; i++)
    for (uint32_t t = 0; t < a->nthreads; t++) {
      assert_int_equal(b->ev[i].clock[t], a->ev[i].clock[t]);
      assert_int_equal(b->ev[i].pred[t], a->ev[i].pred[t]);
    }
  for (uint32_t i = 0; i < a->n; i++) /* keys tell nothing apart that is dependent */
    for (uint32_t k = 0; k < i; k++)
      if (hd_keys_apart(a->key[i], a->key[k]) && a->ev[i].op.thread != a->ev[k].op.thread)
        assert_false(hd_dependent(&a->ev[k].op, a->ev[k].flags, &a->ev[i].op, a->ev[i].flags));
  assert_int_equal(b->nraces, a->nraces);
  for (uint32_t i = 0; i < a->nraces; i++) {
    const struct hd_race *q = &a->race[i], *s = &b->race[i];
    assert_true(s->e == q->e && s->f == q->f && s->thread == q->thread && s->nalso == q->nalso);
    for (uint32_t k = 0; k < q->nalso; k++) assert_int_equal(s->also[k], q->also[k]);
  }
}

/* Searches p to the end, or for `limit` executions. Some executions are begun, left in the middle, and begun
 * again, as the runtime does when it runs out of thread identities. */
static struct result *search(struct runner *r, const struct sim_program *p, uint64_t limit) {
  struct sim s;
  struct result *res = &r->result;
  memset(res, 0, sizeof *res);
  hd_bound_restart(&r->search);
  r->search.shared->over = 0;
  if (r->strategy->forget)
    r->strategy->forget(&r->search);
  else
    assert_int_equal(madvise(r->search.memory, SEARCH_MEMORY, MADV_REMOVE), 0);
  for (uint64_t n = 1;; n++) {
    r->search.execution = n;
    r->search.ntally = 0;
    if (n % 16 == 3) execute(r, &s, p, n / 16 % 8);
    int how = execute(r, &s, p, 10000);
    if (how < 0 || how >= NOTHING_LEFT) {
      res->diverged = 1;
      return res;
    }
    int more = r->strategy->end(&r->search, &s.point, (enum hd_how)how);
    if (r->resumed.ev) compare_resumed(r, &s.point);
    if (how == HD_HOW_BLOCKED) {
      res->blocked++;
    } else {
      res->executions++;
      res->stopped += s.stopped > 0;
      uint64_t class = hd_order_class(&r->trace);
      res->order += hd_mix64(class + n);
      if (r->trace.n > res->longest) res->longest = r->trace.n;
      if (classes_add(&res->classes, class, final_state(&s, how)) < 0) res->ambiguous = 1;
    }
    r->search.shared->over = !more;
    if (!more && !hd_bound_over(&r->search, r->strategy)) return res;
    if (n == limit) {
      res->too_many = 1;
      return res;
    }
  }
}

/* The same by several workers that take turns at random, an execution at a time. */
#define WORKERS 3

static struct result *search_together(struct runner *r, const struct sim_program *p, uint64_t limit) {
  struct sim s;
  struct result *res = &r->result;
  struct hd_search alone = r->search;
  struct hd_status status[WORKERS] = {0};
  struct hd_rng turns;
  hd_rng_seed(&turns, r->config.seed, limit);
  memset(res, 0, sizeof *res);
  r->search.workers = WORKERS;
  hd_bound_restart(&r->search);
  r->search.shared->over = 0;
  r->strategy->forget(&r->search);
  int over = 0;
  for (uint64_t n = 1; !over; n++) {
    r->search.worker = hd_rng_below(&turns, WORKERS);
    r->search.status = &status[r->search.worker];
    r->search.execution = n;
    r->search.ntally = 0;
    int how = execute(r, &s, p, 10000);
    if (how == LATER) continue;
    if (how == NOTHING_LEFT || how < 0 || n == limit) {
      res->diverged = how < 0;
      res->too_many = n == limit;
      break;
    }
    over = !r->strategy->end(&r->search, &s.point, (enum hd_how)how);
    r->search.shared->over = (uint32_t)over;
    if (over) over = !hd_bound_over(&r->search, r->strategy);
    res->blocked += how == HD_HOW_BLOCKED;
    res->executions += how != HD_HOW_BLOCKED;
    if (how != HD_HOW_BLOCKED) classes_add(&res->classes, hd_order_class(&r->trace), final_state(&s, how));
  }
  alone.own = r->search.own;
  r->search = alone;
  r->search.shared->hungry = (struct hd_crew_set){{0}};
  return res;
}

/* ---- comparing ---- */

static unsigned long max_executions = 2000; /* of dfs; larger programs are passed over */

static struct runner *dfs, *rdfs, *dpor, *optimal, *samplers[6];
static struct runner *bounded_dfs, *bounded;

static int same_classes(const struct result *a, const struct result *b) {
  return a->classes.n == b->classes.n && a->classes.sum == b->classes.sum;
}

static const char *judge_optimal(const struct sim_program *p, const struct result *ref) {
  const struct result *res = search(optimal, p, ref->executions * 2 + 10);
  if (res->diverged) return "optimal diverged";
  if (!same_classes(res, ref))
    return res->classes.n < ref->classes.n ? "optimal misses classes" : "optimal finds other classes";
  if (res->blocked) return "optimal gave up an execution";
  return res->executions == ref->classes.n ? NULL : "optimal runs a class twice";
}

static const char *judge_together(const struct sim_program *p, const struct result *ref) {
  const struct result *res = search_together(optimal, p, ref->executions * 20 + 100);
  if (res->diverged) return "workers: optimal diverged";
  if (!same_classes(res, ref)) return "workers: optimal reaches other classes";
  if (res->executions != ref->classes.n) return "workers: optimal runs a class twice";
  res = search_together(rdfs, p, ref->executions * 20 + 100);
  if (res->diverged) return "workers: rdfs diverged";
  if (!same_classes(res, ref)) return "workers: rdfs reaches other classes";
  if (res->executions != ref->executions) return "workers: rdfs runs another number of executions";
  res = search_together(dpor, p, ref->executions * 20 + 100);
  if (res->diverged) return "workers: dpor diverged";
  return same_classes(res, ref) ? NULL : "workers: dpor reaches other classes";
}

static const char *judge_dpor(const struct sim_program *p, const struct result *ref) {
  const struct result *res = search(dpor, p, ref->executions * 2 + 10);
  if (res->diverged) return "dpor diverged";
  if (!same_classes(res, ref))
    return res->classes.n < ref->classes.n ? "dpor misses classes" : "dpor finds other classes";
  return res->executions + res->blocked <= ref->executions ? NULL : "dpor runs more than dfs";
}

static const char *judge_rdfs(const struct sim_program *p, const struct result *ref) {
  const struct result *res = search(rdfs, p, ref->executions * 2 + 10);
  if (res->diverged) return "rdfs diverged";
  if (!same_classes(res, ref)) return "rdfs reaches other classes";
  return res->executions == ref->executions ? NULL : "rdfs runs another number of executions";
}

static const char *judge_samplers(const struct sim_program *p, const struct result *ref) {
  for (unsigned k = 0; k < sizeof samplers / sizeof *samplers; k++) {
    const struct result *res = search(samplers[k], p, 20);
    if (res->diverged) return "a sampling strategy diverged";
    for (size_t i = 0; i < sizeof res->classes.slot / sizeof *res->classes.slot; i++)
      if (res->classes.slot[i].class && !classes_has(&ref->classes, res->classes.slot[i].class))
        return "a sampling strategy reaches a class that the reference does not know";
  }
  return NULL;
}

#include "sim_cluster.h"

/* Too large for dfs: `dpor` is the reference, unless it is too large for that one too. */
static const char *judge_large(const struct sim_program *p, int *skipped) {
  const struct result *ref = search(dpor, p, max_executions);
  if (ref->diverged) return "dpor diverged";
  *skipped = ref->too_many;
  if (ref->too_many) return NULL;
  const char *wrong = judge_optimal(p, ref);
  if (!wrong) wrong = judge_machines(team[0], p, ref, ref->classes.n, 9);
  return wrong ? wrong : judge_samplers(p, ref);
}

#include "sim_bounds.h"

static int skip_optimal; /* to see what the others do on a program that it fails */

/* What is wrong with the strategies on p, or NULL; *skipped when p is too large to tell. */
static const char *judge(const struct sim_program *p, int *skipped) {
  const struct result *ref = search(dfs, p, max_executions);
  const char *wrong = NULL;
  *skipped = 0;
  if (ref->diverged) return "dfs diverged";
  if (ref->ambiguous) return "two executions of one class end in different states";
  if (ref->too_many) return judge_large(p, skipped);
  wrong = judge_bounds(p, ref);
  if (!skip_optimal && !wrong) wrong = judge_optimal(p, ref);
  if (!wrong) wrong = judge_together(p, ref);
  if (!wrong) wrong = judge_cluster(p, ref);
  if (!wrong) wrong = judge_dpor(p, ref);
  if (!wrong) wrong = judge_rdfs(p, ref);
  return wrong ? wrong : judge_samplers(p, ref);
}

/* ---- thousands of random programs ---- */

/* Removes what is not needed for the same complaint. */
static void shrink(struct sim_program *p, const char *complaint) {
  int again = 1, skipped;
  while (again) {
    again = 0;
    struct sim_program q = *p;
    q.starts = 0;
    if (p->starts && judge(&q, &skipped) == complaint) {
      *p = q;
      again = 1;
    }
    for (unsigned t = 0; t < p->nthreads; t++)
      for (unsigned k = 0; k < p->n[t]; k++) {
        if (p->code[t][k].what == I_JOIN) continue; /* without it there are more classes, not fewer */
        q = *p;
        q.n[t]--;
        memmove(&q.code[t][k], &q.code[t][k + 1], (q.n[t] - k) * sizeof q.code[t][0]);
        const char *c = judge(&q, &skipped);
        if (c == complaint) {
          *p = q;
          again = 1;
          k--;
        }
      }
  }
}

static unsigned long programs = 1500, seed = 1, features = SIM_EXACT, keep_going;

static void every_strategy_agrees_with_dfs(void **unused) {
  (void)unused;
  unsigned long bad = 0, skips = 0;
  uint64_t execs = 0, classes = 0, dpors = 0, blocked = 0;
  for (unsigned long i = 0; i < programs; i++) {
    struct sim_program p;
    int skipped = 0;
    hd_rng_seed(&rng, seed, i);
    random_program(&p, (unsigned)features);
    const char *complaint = judge(&p, &skipped);
    skips += (unsigned long)skipped;
    if (!complaint && !skipped && !dfs->result.too_many) {
      execs += dfs->result.executions;
      classes += dfs->result.classes.n;
      dpors += dpor->result.executions;
      blocked += dpor->result.blocked;
    }
    if (!complaint) continue;
    printf("program %lu of seed %lu: %s\n", i, seed, complaint);
    shrink(&p, complaint);
    print_program(&p);
    search(dfs, &p, max_executions);
    search(optimal, &p, max_executions);
    search(dpor, &p, max_executions);
    printf(
        "  dfs %lu executions, %lu classes; optimal %lu, %lu blocked, %lu classes; dpor %lu, %lu blocked, %lu "
        "classes\n",
        dfs->result.executions, dfs->result.classes.n, optimal->result.executions, optimal->result.blocked,
        optimal->result.classes.n, dpor->result.executions, dpor->result.blocked, dpor->result.classes.n);
    if (++bad > keep_going) break;
  }
  print_message(
      "%lu programs, %lu too large; dfs %lu executions, %lu classes; dpor %lu executions, %lu blocked\n",
      programs, skips, execs, classes, dpors, blocked);
  print_message("machines: %lu units and %lu branches were sent, %lu executions given up\n", machine_units,
                machine_inserted, machine_redundant);
  assert_int_equal(bad, 0);
  assert_true(skips < programs / 2);
}

/* ---- the comparison itself ---- */

static void wrong_information_is_noticed(void **unused) {
  (void)unused;
  for (mutation = MUTATE_NOTHING; mutation < MUTATIONS; mutation++) {
    const char *complaint = NULL;
    for (unsigned long i = 0; i < 800 && !complaint; i++) {
      struct sim_program p;
      int skipped;
      hd_rng_seed(&rng, 77, i);
      random_program(&p, SIM_EXACT);
      complaint = judge(&p, &skipped);
    }
    if ((mutation == MUTATE_NOTHING) == !complaint) continue;
    print_message("mutation %d: %s\n", (int)mutation, complaint ? complaint : "not noticed");
    mutation = MUTATE_NOTHING;
    fail();
  }
  mutation = MUTATE_NOTHING;
}

/* ---- programs whose numbers are known ---- */

static void reductions_take(const struct sim_program *p, uint64_t executions) {
  struct runner *const reductions[] = {optimal, dpor};
  for (unsigned i = 0; i < 2; i++) {
    const struct result *r = search(reductions[i], p, 100000);
    assert_false(r->diverged || r->too_many || r->ambiguous);
    assert_int_equal(r->executions, executions);
    assert_int_equal(r->classes.n, executions);
    assert_int_equal(r->blocked, 0);
  }
}

static void numbers_of_executions(void **unused) {
  (void)unused;
  static const uint64_t factorial[] = {1, 1, 2, 6, 24, 120};
  for (unsigned n = 1; n <= 5; n++) {
    struct sim_program locks = workers(n), readers = workers(n), apart = workers(n);
    for (unsigned t = 1; t <= n; t++) {
      emit(&locks, t, lock0);
      emit(&locks, t, access_to(HD_OP_ARMW, 0, 4, t));
      emit(&locks, t, unlock0);
      emit(&readers, t, access_to(t == 1 ? HD_OP_WRITE : HD_OP_READ, 0, 4, 1));
      emit(&apart, t, access_to(HD_OP_WRITE, t, 1, 1));
    }
    reductions_take(&locks, factorial[n]);
    reductions_take(&readers, 1u << (n - 1));
    reductions_take(&apart, 1);
  }
}

/* A choice inside an atomic section, and one outside: eight classes, whatever is reversed first. */
static void choices_in_sections(void **unused) {
  (void)unused;
  int skipped;
  struct sim_program p = workers(2);
  memmove(&p.code[0][3], &p.code[0][2], 2 * sizeof p.code[0][0]);
  p.code[0][2] = access_to(HD_OP_WRITE, 0, 1, 1);
  p.n[0]++;
  emit(&p, 1, (struct sim_instr){.what = I_BEGIN});
  emit(&p, 1, (struct sim_instr){.what = I_CHOOSE, .v = 2});
  emit(&p, 2, (struct sim_instr){.what = I_CHOOSE, .v = 2});
  const char *complaint = judge(&p, &skipped);
  if (complaint) print_message("%s\n", complaint);
  assert_null(complaint);
  assert_int_equal(dfs->result.classes.n, 8);
}

/* A thread woken by one of two, and a third one that tries to have the lock which the woken one wants back. */
static void woken_by_one_of_two(void **unused) {
  (void)unused;
  int skipped;
  struct sim_program p = workers(4);
  emit(&p, 1, lock0);
  emit(&p, 1, (struct sim_instr){.what = I_WAIT});
  emit(&p, 1, unlock0);
  emit(&p, 2, (struct sim_instr){.what = I_SIGNAL});
  emit(&p, 3, (struct sim_instr){.what = I_TRYLOCK});
  emit(&p, 4, (struct sim_instr){.what = I_BROADCAST});
  const char *complaint = judge(&p, &skipped);
  if (complaint) print_message("%s\n", complaint);
  assert_null(complaint);
  assert_false(skipped);
}

/* A lock that is given back and taken again in one section was never free for the others. */
static void taken_again_in_a_section(void **unused) {
  (void)unused;
  int skipped;
  struct sim_program p = workers(1);
  struct sim_instr take = {.what = I_LOCK}, give = {.what = I_UNLOCK}, try = {.what = I_TRYLOCK};
  p.barrier = 2;
  p.n[0] = 1; /* nobody is joined */
  emit(&p, 0, take);
  emit(&p, 1, (struct sim_instr){.what = I_BEGIN});
  emit(&p, 1, take);
  emit(&p, 1, give);
  emit(&p, 1, try);
  emit(&p, 1, (struct sim_instr){.what = I_BARRIER});
  const char *complaint = judge(&p, &skipped);
  if (complaint) print_message("%s\n", complaint);
  assert_null(complaint);
  assert_int_equal(dfs->result.classes.n, 3);
}

/* ---- a new process for every execution ---- */

static void searches_survive_their_process(void **unused) {
  (void)unused;
  static const char *const names[] = {"dfs", "rdfs", "dpor", "optimal", "bounded",
                                      "pct", "surw", "rff",  "mined"};
  struct sim_program p = workers(2);
  for (unsigned t = 1; t <= 2; t++) {
    emit(&p, t, lock0);
    emit(&p, t, access_to(HD_OP_ARMW, 0, 4, t));
    emit(&p, t, unlock0);
  }
  emit(&p, 1, (struct sim_instr){.what = I_CHOOSE, .v = 3});
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
    struct runner *together = new_runner(names[i]), *apart = new_runner(names[i]);
    if (together->strategy == &hd_strategy_bounded) {
      together->config.bound_kind = apart->config.bound_kind = HD_BOUND_PREEMPTIONS;
      together->config.bound = apart->config.bound = 2;
    }
    uint64_t limit = together->strategy->systematic ? 5000 : 30, n = 0;
    const struct result *want = search(together, &p, limit);
    struct {
      uint64_t sum, more;
    } *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    if (apart->strategy->forget) apart->strategy->forget(&apart->search);
    shared->more = 1;
    while (shared->more && n < limit) {
      apart->search.execution = ++n;
      pid_t child = fork();
      assert_true(child >= 0);
      if (!child) {
        struct sim s;
        int how = execute(apart, &s, &p, 10000);
        if (how < 0) _exit(1);
        shared->more = (uint64_t)apart->strategy->end(&apart->search, &s.point, (enum hd_how)how);
        if (how != HD_HOW_BLOCKED) shared->sum += hd_mix64(hd_order_class(&apart->trace) + n);
        _exit(0);
      }
      int status;
      assert_int_equal(waitpid(child, &status, 0), child);
      assert_int_equal(status, 0);
    }
    assert_int_equal(n, want->executions + want->blocked);
    assert_true(shared->sum == want->order);
  }
}

/* ---- traces ---- */

static void resumed_traces_are_like_new_ones(void **unused) {
  (void)unused;
  const int flags = MAP_NORESERVE | MAP_ANONYMOUS | MAP_PRIVATE;
  struct runner *const runners[] = {samplers[0], rdfs, optimal};
  for (unsigned i = 0; i < sizeof runners / sizeof *runners; i++) {
    struct runner *r = runners[i];
    void *m = mmap(NULL, HD_ORDER_MEMORY, PROT_READ | PROT_WRITE, flags, -1, 0);
    assert_true(m != MAP_FAILED);
    hd_order_init(&r->resumed, m);
    r->resumed.guard = sim_guard;
    for (unsigned long k = 0; k < 400; k++) {
      struct sim_program p;
      hd_rng_seed(&rng, 5, k);
      random_program(&p, SIM_ALL);
      search(r, &p, 40);
    }
    r->resumed.ev = NULL;
    munmap(m, HD_ORDER_MEMORY);
  }
}

/* ---- sampling ---- */

/* Executions of n in which a thread failed. */
static uint64_t stops(struct runner *r, const struct sim_program *p, uint64_t n) {
  search(r, p, n);
  return r->result.stopped;
}

/* T1 writes 1 and then 0; T2 must read in between: a bug of depth 2. */
static struct sim_program between(unsigned before) {
  struct sim_program p = workers(2);
  while (before--) emit(&p, 1, access_to(HD_OP_WRITE, 8, 1, 1));
  emit(&p, 1, access_to(HD_OP_WRITE, 0, 1, 1));
  emit(&p, 1, access_to(HD_OP_WRITE, 0, 1, 0));
  emit(&p, 2, access_to(HD_OP_READ, 0, 1, 0));
  emit(&p, 2, (struct sim_instr){.what = I_FAIL, .v = 1});
  return p;
}

static void pct_keeps_its_guarantee(void **unused) {
  (void)unused;
  struct runner *pct = samplers[1];
  for (unsigned before = 0; before < 8; before++) {
    struct sim_program p = between(before);
    const uint64_t n = 20000;
    pct->config.depth = 2;
    uint64_t hits = stops(pct, &p, n), k = pct->result.longest;
    assert_true(hits >= n / (3 * k));
    pct->config.depth = 1; /* no change of priorities: T1 is never interrupted */
    assert_int_equal(stops(pct, &p, 1000), 0);
  }
  pct->config.depth = 3;
}

/* T2 reads what T1 writes after many steps that concern nobody else: a walk that tosses a coin at every step
 * nearly never lets T1 get there first, one that orders operations does so once in as many times as it has steps. */
static void pos_is_not_misled_by_unrelated_steps(void **unused) {
  (void)unused;
  struct sim_program p = workers(2);
  for (unsigned i = 0; i < 10; i++) emit(&p, 1, access_to(HD_OP_WRITE, 8, 1, 1));
  emit(&p, 1, access_to(HD_OP_WRITE, 0, 1, 1));
  emit(&p, 2, access_to(HD_OP_READ, 0, 1, 0));
  emit(&p, 2, (struct sim_instr){.what = I_FAIL, .v = 1});
  uint64_t walk = stops(samplers[0], &p, 4000), ordered = stops(samplers[2], &p, 4000);
  assert_true(walk < 40);
  assert_true(ordered > 200);
}

/* Everybody but the last writes one place and then another; the last must see the first of them without the second,
 * so all must be stopped at the same place of their code: the more there are, the rarer, but not for `sites`. */
static void sites_are_few_however_many_threads(void **unused) {
  (void)unused;
  uint64_t walk[2], held[2];
  for (unsigned i = 0; i < 2; i++) {
    unsigned last = i ? SIM_THREADS - 1 : 2;
    struct sim_program p = workers(last);
    for (unsigned t = 1; t < last; t++) {
      emit(&p, t, access_to(HD_OP_WRITE, 0, 1, 1));
      emit(&p, t, access_to(HD_OP_WRITE, 8, 1, 1));
    }
    emit(&p, last, access_to(HD_OP_READ, 0, 1, 0));
    emit(&p, last, (struct sim_instr){.what = I_SKIP, .v = 0, .b = 2});
    emit(&p, last, access_to(HD_OP_READ, 8, 1, 0));
    emit(&p, last, (struct sim_instr){.what = I_FAIL, .v = 0});
    walk[i] = stops(samplers[0], &p, 4000);
    held[i] = stops(samplers[3], &p, 4000);
  }
  assert_true(walk[1] * 10 < walk[0]);
  assert_true(held[1] * 4 > held[0]);
}

/* How far n executions, after a few to learn from, are from being of each of so many classes equally often: the sum of
 * squares over what is expected (chi-square). */
static double unevenness(struct runner *r, const struct sim_program *p, unsigned classes, unsigned n) {
  struct {
    uint64_t class, n;
  } seen[64] = {{0}};
  unsigned nseen = 0, learning = 40;
  double sum = 0, expected = (double)n / classes;
  assert_int_equal(madvise(r->search.memory, SEARCH_MEMORY, MADV_REMOVE), 0);
  for (unsigned i = 1; i <= n + learning; i++) {
    struct sim s;
    r->search.execution = i;
    int how = execute(r, &s, p, 10000);
    assert_int_equal(how, HD_HOW_EXIT);
    r->strategy->end(&r->search, &s.point, (enum hd_how)how);
    if (i <= learning) continue;
    uint64_t class = hd_order_class(&r->trace);
    unsigned k = 0;
    while (k < nseen && seen[k].class != class) k++;
    assert_true(k < classes);
    if (k == nseen) seen[nseen++].class = class;
    seen[k].n++;
  }
  for (unsigned k = 0; k < classes; k++) {
    double d = (double)seen[k].n - expected;
    sum += d * d / expected;
  }
  return sum;
}

/* Threads that only write to one place, some after many steps that concern nobody else: surw takes each order of the writes
 * with the same probability. The limit is exceeded once in a thousand times with as many degrees of freedom. */
static void surw_is_uniform(void **unused) {
  (void)unused;
  static const struct {
    unsigned writes[3], apart[3], classes;
    double limit;
  } cases[] = {{{1, 4, 0}, {0, 0, 0}, 5, 18.5},
               {{3, 3, 0}, {0, 0, 0}, 20, 43.9},
               {{2, 3, 0}, {8, 0, 0}, 10, 27.9},
               {{1, 1, 2}, {0, 5, 1}, 12, 31.3}};
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sim_program p = workers(3);
    p.one_place = 1;
    for (unsigned t = 0; t < 3; t++) {
      for (unsigned k = 0; k < cases[i].apart[t]; k++)
        emit(&p, t + 1, access_to(HD_OP_WRITE, (uint8_t)(8 + 8 * t), 1, 1));
      for (unsigned k = 0; k < cases[i].writes[t]; k++)
        emit(&p, t + 1, access_to(HD_OP_WRITE, 0, 1, (uint8_t)k));
    }
    double even = unevenness(samplers[4], &p, cases[i].classes, 6000);
    double walk = unevenness(samplers[0], &p, cases[i].classes, 6000);
    if (even >= cases[i].limit || walk < 10 * cases[i].limit)
      print_message("case %u: %f, %f\n", i, even, walk);
    assert_true(even < cases[i].limit);
    assert_true(walk > 10 * cases[i].limit);
  }
}

/* A thread must see the third of five writes, and then another one the fifth of five: pairs that rff remembers. */
static void rff_gets_from_one_rare_pair_to_the_next(void **unused) {
  (void)unused;
  struct sim_program p = workers(3);
  for (unsigned k = 1; k <= 5; k++) emit(&p, 1, access_to(HD_OP_WRITE, 0, 1, k == 3));
  for (unsigned k = 0; k < 4; k++) emit(&p, 2, access_to(HD_OP_WRITE, 16, 1, 1));
  emit(&p, 2, access_to(HD_OP_READ, 0, 1, 0));
  emit(&p, 2, (struct sim_instr){.what = I_SKIP, .v = 0, .b = 1});
  emit(&p, 2, access_to(HD_OP_WRITE, 8, 1, 1));
  emit(&p, 3, access_to(HD_OP_READ, 8, 1, 0));
  emit(&p, 3, (struct sim_instr){.what = I_FAIL, .v = 1});
  uint64_t ordered = stops(samplers[2], &p, 4000), steered = stops(samplers[5], &p, 4000);
  assert_true(steered > 2 * ordered);
}

/* The executions that auto begins with are those of pos, of which the optimal search has the first. */
static void auto_begins_like_pos(void **unused) {
  (void)unused;
  struct runner *pos = samplers[2], *all = new_runner("auto");
  hd_rng_seed(&rng, 8, 8);
  for (unsigned long i = 0; i < 30; i++) {
    struct sim_program p = workers(3);
    for (unsigned t = 1; t <= 3; t++)
      for (unsigned k = 0; k < 4; k++)
        emit(&p, t, access_to(below(2) ? HD_OP_WRITE : HD_OP_READ, 8 * below(2), 1, k));
    assert_int_equal(madvise(all->search.memory, SEARCH_MEMORY, MADV_REMOVE), 0);
    all->config.seed = pos->config.seed = i;
    assert_true(search(all, &p, 8)->order == search(pos, &p, 8)->order);
  }
  pos->config.seed = 1;
}

static void seeds_decide(void **unused) {
  (void)unused;
  struct runner *const seeded[] = {rdfs,        samplers[0], samplers[1], samplers[2],
                                   samplers[3], samplers[4], samplers[5]};
  struct sim_program p = between(2);
  for (unsigned i = 0; i < sizeof seeded / sizeof *seeded; i++) {
    struct runner *r = seeded[i];
    uint64_t first = search(r, &p, 50)->order;
    assert_true(search(r, &p, 50)->order == first);
    r->config.seed = 2;
    assert_true(search(r, &p, 50)->order != first);
    r->config.seed = 1;
  }
}

static int setup(void **unused) {
  (void)unused;
  dfs = new_runner("dfs");
  rdfs = new_runner("rdfs");
  dpor = new_runner("dpor");
  optimal = new_runner("optimal");
  bounded = new_runner("bounded");
  bounded_dfs = new_runner("dfs");
  open_machines();
  samplers[0] = new_runner("random");
  samplers[1] = new_runner("pct");
  samplers[2] = new_runner("pos");
  samplers[3] = new_runner("sites");
  samplers[4] = new_runner("surw");
  samplers[5] = new_runner("rff");
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1) programs = strtoul(argv[1], NULL, 0), max_executions = 20000;
  if (argc > 2) seed = strtoul(argv[2], NULL, 0);
  if (argc > 3) features = strtoul(argv[3], NULL, 0);
  if (argc > 4) keep_going = strtoul(argv[4], NULL, 0);
  if (argc > 5) skip_optimal = strcmp(argv[5], "optimal") != 0;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_of_executions),
      cmocka_unit_test(choices_in_sections),
      cmocka_unit_test(taken_again_in_a_section),
      cmocka_unit_test(woken_by_one_of_two),
      cmocka_unit_test(numbers_within_a_bound),
      cmocka_unit_test(costs_of_a_switch),
      cmocka_unit_test(having_to_wait_saves_a_preemption),
      cmocka_unit_test(no_room_for_states),
      cmocka_unit_test(a_bounded_search_outlives_a_death),
      cmocka_unit_test(searches_survive_their_process),
      cmocka_unit_test(resumed_traces_are_like_new_ones),
      cmocka_unit_test(pct_keeps_its_guarantee),
      cmocka_unit_test(pos_is_not_misled_by_unrelated_steps),
      cmocka_unit_test(sites_are_few_however_many_threads),
      cmocka_unit_test(surw_is_uniform),
      cmocka_unit_test(rff_gets_from_one_rare_pair_to_the_next),
      cmocka_unit_test(auto_begins_like_pos),
      cmocka_unit_test(seeds_decide),
      cmocka_unit_test(wrong_information_is_noticed),
      cmocka_unit_test(every_strategy_agrees_with_dfs),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
