/* test_strategies.c: every strategy on thousands of small random programs, against plain depth-first search.
 *
 * The programs are simulated (sim.h), so that this tests the search alone. For each program depth-first search
 * gives the reference: the happens-before classes, the final states, and which state each class leads to.
 *  1. Every execution of one class ends in the same state: the dependency relation is not too coarse.
 *  2. `optimal` runs exactly one execution per class and gives up none.
 *  3. `dpor` and `rdfs` reach the same classes; `dpor` runs no more executions than depth-first search.
 *  4. Sampling strategies only reach classes that depth-first search knows.
 * A program that breaks one of these is shrunk and printed.
 *
 *   test_strategies [PROGRAMS [SEED [FEATURES]]]     more programs, others, or of certain kinds (sim.h) only */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "sim.h"

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
#define MAX_EXECUTIONS 20000

struct result {
  uint64_t executions, blocked, longest;
  int too_many, diverged, ambiguous;
  struct classes classes;
};

struct runner {
  const struct hd_strategy *strategy;
  struct hd_search search;
  struct hd_config config;
  struct hd_status status;
  struct hd_trace trace; /* our own, for the class of each execution */
  struct result result;
};

static struct runner *new_runner(const char *strategy) {
  static const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  struct runner *r = calloc(1, sizeof *r);
  r->strategy = hd_strategy_find(strategy);
  assert_non_null(r->strategy);
  r->search.config = &r->config;
  r->search.status = &r->status;
  r->search.memory = mmap(NULL, SEARCH_MEMORY, PROT_READ | PROT_WRITE, flags, -1, 0);
  r->search.memory_size = SEARCH_MEMORY;
  r->search.scratch = mmap(NULL, HD_SCRATCH_SIZE, PROT_READ | PROT_WRITE, flags, -1, 0);
  void *m = mmap(NULL, HD_TRACE_MEMORY, PROT_READ | PROT_WRITE, flags, -1, 0);
  assert_true(r->search.memory != MAP_FAILED && r->search.scratch != MAP_FAILED && m != MAP_FAILED);
  hd__trace_init(&r->trace, m);
  r->config.seed = 1;
  r->config.depth = 3;
  return r;
}

static int on_choose(void *ctx, unsigned n) {
  struct runner *r = ctx;
  int k = r->strategy->choose(&r->search, n);
  return k < (int)n ? k : HD_PICK_DIVERGED;
}

static void on_event(void *ctx, const struct hd_op *op, unsigned flags, unsigned choice, unsigned nchoices) {
  struct runner *r = ctx;
  if (r->strategy->event) r->strategy->event(&r->search, op, flags, choice, nchoices);
  hd__trace_event(&r->trace, op, flags, choice, nchoices);
}

/* One execution of at most `steps` steps. Returns how it ended, or -1 for a divergence. */
static int execute(struct runner *r, struct sim *s, const struct sim_program *p, uint64_t steps) {
  unsigned current = 0;
  if (!r->strategy->begin(&r->search)) return -1;
  hd__trace_begin(&r->trace);
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
  sim_look(s, current);
  return s->stopped ? HD_HOW_STOPPED : HD_HOW_EXIT;
}

static uint64_t final_state(const struct sim *s, int how) {
  uint64_t h = sim_hash(s->memory, sizeof s->memory, (uint64_t)how);
  h = sim_hash(s->owner, sizeof s->owner, h);
  for (unsigned i = 0; i < SIM_THREADS; i++) h = hd_mix64(h * 31 + s->t[i].seen + s->t[i].state);
  return h;
}

/* Searches p to the end, or for `limit` executions. Some executions are begun, left in the middle, and begun
 * again, as the runtime does when it runs out of thread identities. */
static struct result *search(struct runner *r, const struct sim_program *p, uint64_t limit) {
  struct sim s;
  struct result *res = &r->result;
  memset(res, 0, sizeof *res);
  if (r->strategy->forget)
    r->strategy->forget(&r->search);
  else
    memset(r->search.memory, 0, 4096);
  for (uint64_t n = 1;; n++) {
    r->search.execution = n;
    if (n % 16 == 3) execute(r, &s, p, n / 16 % 8);
    int how = execute(r, &s, p, 10000);
    if (how < 0) {
      res->diverged = 1;
      return res;
    }
    int more = r->strategy->end(&r->search, &s.point, (enum hd_how)how);
    if (how == HD_HOW_BLOCKED) {
      res->blocked++;
    } else {
      res->executions++;
      if (how == HD_HOW_STOPPED) hd__trace_stop(&r->trace);
      if (r->trace.n > res->longest) res->longest = r->trace.n;
      if (classes_add(&res->classes, hd__trace_class(&r->trace), final_state(&s, how)) < 0)
        res->ambiguous = 1;
    }
    if (!more) return res;
    if (n == limit) {
      res->too_many = 1;
      return res;
    }
  }
}

/* ---- comparing ---- */

static struct runner *dfs, *rdfs, *dpor, *optimal, *samplers[3];

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
  for (unsigned k = 0; k < 3; k++) {
    const struct result *res = search(samplers[k], p, 20);
    if (res->diverged) return "a sampling strategy diverged";
    for (size_t i = 0; i < sizeof res->classes.slot / sizeof *res->classes.slot; i++)
      if (res->classes.slot[i].class && !classes_has(&ref->classes, res->classes.slot[i].class))
        return "a sampling strategy reaches a class that dfs does not know";
  }
  return NULL;
}

static int skip_optimal; /* to see what the others do on a program that it fails */

/* What is wrong with the strategies on p, or NULL; *skipped when p is too large to tell. */
static const char *judge(const struct sim_program *p, int *skipped) {
  const struct result *ref = search(dfs, p, MAX_EXECUTIONS);
  const char *wrong = NULL;
  *skipped = ref->too_many;
  if (ref->diverged) return "dfs diverged";
  if (ref->ambiguous) return "two executions of one class end in different states";
  if (ref->too_many) return NULL;
  if (!skip_optimal) wrong = judge_optimal(p, ref);
  if (!wrong) wrong = judge_dpor(p, ref);
  if (!wrong) wrong = judge_rdfs(p, ref);
  return wrong ? wrong : judge_samplers(p, ref);
}

/* ---- random programs ---- */

static struct hd_rng rng;
static unsigned below(unsigned n) { return hd_rng_below(&rng, n); }

static struct sim_instr memory_instr(unsigned features) {
  static const uint8_t kinds[] = {HD_OP_READ,  HD_OP_WRITE,  HD_OP_READ,  HD_OP_WRITE,
                                  HD_OP_VREAD, HD_OP_VWRITE, HD_OP_ALOAD, HD_OP_ASTORE,
                                  HD_OP_FREE,  HD_OP_ARMW,   HD_OP_ACAS};
  static const uint8_t sizes[] = {1, 1, 2, 4, 8, 8, 3};
  static const uint8_t at[] = {0, 0, 0, 1, 4, 7, 8};
  struct sim_instr i = {
      .what = I_MEM, .a = kinds[below(features & SIM_CAS ? 11 : 9)], .v = (uint8_t)below(16)};
  i.size = sizes[below(7)];
  i.b = at[below(7)];
  if (i.a == HD_OP_ACAS) i.v = (uint8_t)below(4);
  return i;
}

static void emit(struct sim_program *p, unsigned t, struct sim_instr i) {
  if (p->n[t] < SIM_LENGTH) p->code[t][p->n[t]++] = i;
}

static void random_block(struct sim_program *p, unsigned t, unsigned features, unsigned depth) {
  uint8_t m = (uint8_t)below(SIM_LOCKS), c = (uint8_t)(below(4) == 0);
  for (;;) switch (below(14)) {
      case 0:
      case 1:
        if (!(features & SIM_LOCKED) || depth > 1) continue;
        emit(p, t, (struct sim_instr){.what = I_LOCK, .a = m});
        random_block(p, t, features, depth + 1);
        emit(p, t, (struct sim_instr){.what = I_UNLOCK, .a = m});
        return;
      case 2:
        if (!(features & SIM_TRY) || depth > 1) continue;
        emit(p, t, (struct sim_instr){.what = I_TRYLOCK, .a = m});
        if (below(2)) emit(p, t, (struct sim_instr){.what = I_SKIP, .b = 1, .v = (uint8_t)below(2)});
        random_block(p, t, features, depth + 1);
        emit(p, t, (struct sim_instr){.what = I_UNLOCK, .a = m});
        return;
      case 3:
        if (!(features & SIM_COND) || depth > 1) continue;
        emit(p, t, (struct sim_instr){.what = I_LOCK, .a = m});
        if (features & SIM_TIMED && below(2))
          emit(p, t, (struct sim_instr){.what = I_TIMEDWAIT, .a = c, .b = m, .v = (uint8_t)(1 + below(3))});
        else
          emit(p, t, (struct sim_instr){.what = I_WAIT, .a = c, .b = m});
        if (below(2)) random_block(p, t, features, depth + 1);
        emit(p, t, (struct sim_instr){.what = I_UNLOCK, .a = m});
        return;
      case 4:
        if (!(features & SIM_COND)) continue;
        emit(p, t, (struct sim_instr){.what = below(3) ? I_SIGNAL : I_BROADCAST, .a = c});
        return;
      case 5:
        if (!(features & SIM_CHOICE)) continue;
        emit(p, t, (struct sim_instr){.what = I_CHOOSE, .v = (uint8_t)(2 + below(2))});
        return;
      case 6:
        if (!(features & SIM_ONCE) || depth > 1) continue;
        emit(p, t, (struct sim_instr){.what = I_ONCE});
        if (below(2)) random_block(p, t, features & ~(unsigned)SIM_ONCE, depth + 1);
        emit(p, t, (struct sim_instr){.what = I_ONCE_DONE});
        return;
      case 7:
        if (!(features & SIM_TIMED)) continue;
        if (below(2)) {
          emit(p, t, (struct sim_instr){.what = I_SLEEP, .v = (uint8_t)(1 + below(3))});
          return;
        }
        emit(p, t, (struct sim_instr){.what = I_TIMEDLOCK, .a = m, .v = (uint8_t)(1 + below(3))});
        random_block(p, t, features, depth + 1);
        emit(p, t, (struct sim_instr){.what = I_UNLOCK, .a = m});
        return;
      case 8:
        emit(p, t, (struct sim_instr){.what = I_SKIP, .b = (uint8_t)(1 + below(2)), .v = (uint8_t)below(2)});
        return;
      case 9:
        if (!(features & SIM_FAIL)) continue;
        emit(p, t, (struct sim_instr){.what = I_FAIL, .v = (uint8_t)(1 + below(3))});
        return;
      case 10:
        if (!(features & SIM_DESTROY) || below(3)) continue;
        emit(p, t, (struct sim_instr){.what = I_MDESTROY, .a = m});
        return;
      default: emit(p, t, memory_instr(features)); return;
    }
}

static void random_program(struct sim_program *p, unsigned features) {
  memset(p, 0, sizeof *p);
  features &= (unsigned)hd_rng_next(&rng) | (unsigned)hd_rng_next(&rng);
  p->nthreads = 2 + (below(3) > 0) + (below(6) == 0);
  p->starts = features & SIM_STARTS ? 1 : 0;
  if (below(3) == 0) random_block(p, 0, features, 0);
  for (unsigned t = 1; t < p->nthreads; t++) {
    emit(p, 0, (struct sim_instr){.what = I_CREATE, .a = (uint8_t)t});
    unsigned blocks = 1 + below(p->nthreads == 2 ? 3 : 2);
    while (blocks--) random_block(p, t, features, 0);
  }
  while (below(2)) random_block(p, 0, features, 0);
  for (unsigned t = 1; t < p->nthreads; t++)
    if (!(features & SIM_ENDS) || below(3) == 0)
      emit(p, 0, (struct sim_instr){.what = I_JOIN, .a = (uint8_t)t});
  if (below(3) == 0) random_block(p, 0, features, 0);
}

static void print_program(const struct sim_program *p) {
  static const char *const names[] = {"-",         "mem",      "lock",      "trylock",   "timedlock",
                                      "unlock",    "mdestroy", "wait",      "timedwait", "signal",
                                      "broadcast", "once",     "once-done", "choose",    "sleep",
                                      "skip",      "fail",     "create",    "join"};
  printf("program: %u threads%s\n", p->nthreads, p->starts ? ", with START" : "");
  for (unsigned t = 0; t < p->nthreads; t++) {
    printf("  T%u:", t);
    for (unsigned k = 0; k < p->n[t]; k++) {
      const struct sim_instr *i = &p->code[t][k];
      if (i->what == I_MEM)
        printf(" %s@%u/%u=%u;", hd_op_text[i->a], i->b, i->size, i->v);
      else
        printf(" %s(a%u b%u v%u);", names[i->what], i->a, i->b, i->v);
    }
    printf("\n");
  }
}

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

static unsigned long programs = 2000, seed = 1, features = SIM_ALL, keep_going;

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
    if (!complaint && !skipped) {
      execs += dfs->result.executions;
      classes += dfs->result.classes.n;
      dpors += dpor->result.executions;
      blocked += dpor->result.blocked;
    }
    if (!complaint) continue;
    printf("program %lu of seed %lu: %s\n", i, seed, complaint);
    shrink(&p, complaint);
    print_program(&p);
    judge(&p, &skipped);
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
  assert_int_equal(bad, 0);
  assert_true(skips < programs / 2);
}

static int setup(void **unused) {
  (void)unused;
  dfs = new_runner("dfs");
  rdfs = new_runner("rdfs");
  dpor = new_runner("dpor");
  optimal = new_runner("optimal");
  samplers[0] = new_runner("random");
  samplers[1] = new_runner("pct");
  samplers[2] = new_runner("pos");
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1) programs = strtoul(argv[1], NULL, 0);
  if (argc > 2) seed = strtoul(argv[2], NULL, 0);
  if (argc > 3) features = strtoul(argv[3], NULL, 0);
  if (argc > 4) keep_going = strtoul(argv[4], NULL, 0);
  if (argc > 5) skip_optimal = strcmp(argv[5], "optimal") != 0;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_strategy_agrees_with_dfs),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
