/* sim_bounds.h: searches within a bound, against depth-first search within the same one. A part of
 * test_strategies.c, which includes it where the runners are known and says what is compared. */
#ifndef SIM_BOUNDS_H
#define SIM_BOUNDS_H

/* ---- on any program ---- */

static unsigned long bounds = 4;

/* The same classes by one worker and by several; one that says that the bound left nothing out has all classes. Whether
 * a reduction asks for something that the bound forbids depends on the order in which it explores. `all`: what there is
 * without a bound, or NULL. */
static const char *judge_bound(const struct sim_program *p, enum hd_bound kind, unsigned bound,
                               const struct result *all) {
  bounded->config.bound_kind = bounded_dfs->config.bound_kind = kind;
  bounded->config.bound = bounded_dfs->config.bound = bound;
  const struct result *ref = search(bounded_dfs, p, max_executions);
  if (ref->diverged) return "dfs within a bound diverged";
  if (ref->too_many) return NULL;
  const struct result *res = search(bounded, p, ref->executions * 2 + 10);
  if (res->diverged) return "bounded diverged";
  if (!same_classes(res, ref))
    return res->classes.n < ref->classes.n ? "bounded misses classes" : "bounded finds other classes";
  if (hd_bound_cut(&bounded->search) && !hd_bound_cut(&bounded_dfs->search))
    return "bounded cuts what dfs does not";
  if (res->executions + res->blocked > ref->executions) return "bounded runs more than dfs";
  if (all && !hd_bound_cut(&bounded->search) && !same_classes(res, all))
    return "bounded does not notice that it cuts";
  int dfs_cut = hd_bound_cut(&bounded_dfs->search);
  res = search_together(bounded, p, ref->executions * 20 + 100);
  if (res->diverged || res->too_many) return "workers: bounded does not come to an end";
  if (!same_classes(res, ref)) return "workers: bounded reaches other classes";
  if (hd_bound_cut(&bounded->search) && !dfs_cut) return "workers: bounded cuts what dfs does not";
  if (all && !hd_bound_cut(&bounded->search) && !same_classes(res, all))
    return "workers: bounded does not notice that it cuts";
  struct classes classes = ref->classes;
  uint64_t executions = ref->executions;
  res = search_together(bounded_dfs, p, executions * 20 + 100);
  if (res->diverged || res->too_many) return "workers: dfs within a bound does not come to an end";
  if (res->classes.n != classes.n || res->classes.sum != classes.sum || res->executions != executions)
    return "workers: dfs within a bound runs something else";
  return hd_bound_cut(&bounded_dfs->search) == dfs_cut ? NULL : "workers: dfs cuts something else";
}

static const char *judge_iterated(const struct sim_program *p, const struct result *ref) {
  bounded->config.bound_kind = HD_BOUND_PREEMPTIONS;
  bounded->config.bound_iterate = 1;
  const struct result *res = search(bounded, p, max_executions * 20);
  int cut = hd_bound_cut(&bounded->search);
  bounded->config.bound_iterate = 0;
  if (res->diverged) return "bounds one after the other diverged";
  if (cut || bounded->search.shared->bounds_done != bounded->search.shared->bound + 1)
    return "bounds one after the other do not come to an end";
  if (!same_classes(res, ref)) return "bounds one after the other miss classes";
  bounded->config.bound_iterate = 1;
  res = search_together(bounded, p, max_executions * 200);
  cut = hd_bound_cut(&bounded->search);
  bounded->config.bound_iterate = 0;
  if (res->diverged || res->too_many || cut)
    return "workers: bounds one after the other do not come to an end";
  return same_classes(res, ref) ? NULL : "workers: bounds one after the other miss classes";
}

static const char *judge_bounds(const struct sim_program *p, const struct result *all) {
  const char *wrong = judge_iterated(p, all);
  for (unsigned n = 0; !wrong && n < bounds; n++) wrong = judge_bound(p, HD_BOUND_PREEMPTIONS, n, all);
  for (unsigned n = 0; !wrong && n < bounds; n++) wrong = judge_bound(p, HD_BOUND_DELAYS, n, all);
  return wrong;
}

/* ---- on programs whose numbers are known ---- */

static uint64_t choose_of(unsigned n, unsigned k) {
  uint64_t c = 1;
  if (k > n) return 0;
  for (unsigned i = 1; i <= k; i++) c = c * (n - k + i) / i;
  return c;
}

/* Orders of p steps of one thread and q of another in a + b runs: in how many ways they can be split. */
static uint64_t orders(unsigned p, unsigned q, unsigned a, unsigned b) {
  return a && b ? choose_of(p - 1, a - 1) * choose_of(q - 1, b - 1) : 0;
}

/* T0 creates T1, makes k steps and joins; T1 makes k steps and exits. T0 is running after the creation. One of them
 * is left because it has nothing more to do, at all other switches it is preempted. So c preemptions make c + 2 runs
 * if T0 begins, and c + 1 if T1 does. A delay is the same here: there is only one other thread to take. */
static uint64_t within(unsigned k, unsigned bound) {
  uint64_t n = 0;
  for (unsigned c = 0; c <= bound; c++)
    n += orders(k, k + 1, (c + 3) / 2, (c + 2) / 2) + orders(k, k + 1, (c + 1) / 2, (c + 2) / 2);
  return n;
}

static void numbers_within_a_bound(void **unused) {
  (void)unused;
  for (unsigned k = 1; k <= 5; k++) {
    struct sim_program p = {.nthreads = 2};
    emit(&p, 0, (struct sim_instr){.what = I_CREATE, .a = 1});
    for (unsigned i = 0; i < k; i++) {
      emit(&p, 0, access_to(HD_OP_ARMW, 0, 4, 1));
      emit(&p, 1, access_to(HD_OP_ARMW, 0, 4, 2));
    }
    emit(&p, 0, (struct sim_instr){.what = I_JOIN, .a = 1});
    uint64_t all = choose_of(2 * k + 1, k);
    for (unsigned bound = 0; bound < 2 * k + 2; bound++)
      for (unsigned kind = HD_BOUND_PREEMPTIONS; kind <= HD_BOUND_DELAYS; kind++) {
        struct runner *const r[] = {bounded_dfs, bounded};
        for (unsigned i = 0; i < 2; i++) {
          r[i]->config.bound_kind = kind;
          r[i]->config.bound = bound;
          search(r[i], &p, 1000000);
        }
        assert_int_equal(bounded_dfs->result.executions, within(k, bound));
        assert_int_equal(hd_bound_cut(&bounded_dfs->search), within(k, bound) < all);
        assert_true(same_classes(&bounded->result, &bounded_dfs->result));
      }
  }
}

static void costs_of_a_switch(void **unused) {
  (void)unused;
  struct hd_set enabled = {{1u << 0 | 1u << 2 | 1u << 3 | 1u << 5}};
  struct hd_search s = {0};
  struct hd_bound_at at = {HD_BOUND_DELAYS, 2, 1};
  static const uint8_t threads[] = {2, 3, 5, 0}, after[] = {3, 5, 0, 2};
  for (unsigned i = 0; i < 4; i++) assert_int_equal(hd__bound_cost(&s, &at, &enabled, 1, threads[i]), i);
  assert_int_equal(hd__bound_turn(&s, &at, &enabled, 1), 2);
  at.stays = 0; /* it gives way: the last in the round */
  for (unsigned i = 0; i < 4; i++) assert_int_equal(hd__bound_cost(&s, &at, &enabled, 1, after[i]), i);
  assert_int_equal(hd__bound_turn(&s, &at, &enabled, 1), 3);
  at.current = 5; /* round */
  assert_int_equal(hd__bound_turn(&s, &at, &enabled, 1), 0);
  /* 2 and 5 are children of 1, which is the first thread's second; 3 is its first: 0, 3, 2, 5. */
  const struct hd_numbers numbers = {{[1] = 2, [2] = 1 << 8 | 1, [3] = 1, [5] = 1 << 8 | 2}};
  static const uint8_t in_tree[] = {2, 5, 0, 3};
  s.numbers = &numbers;
  at.current = 3;
  for (unsigned i = 0; i < 4; i++) assert_int_equal(hd__bound_cost(&s, &at, &enabled, 1, in_tree[i]), i);
  s.numbers = NULL;
  at.current = 5;
  at.kind = HD_BOUND_PREEMPTIONS;
  for (unsigned i = 0; i < 4; i++) assert_int_equal(hd__bound_cost(&s, &at, &enabled, 1, threads[i]), 0);
  at.stays = 1;
  for (unsigned i = 0; i < 4; i++)
    assert_int_equal(hd__bound_cost(&s, &at, &enabled, 1, threads[i]), threads[i] != 5);

  static const uint8_t free_ones[] = {HD_OP_YIELD, HD_OP_SLEEP, HD_OP_SPINWAIT},
                       others[] = {HD_OP_WRITE, HD_OP_LOCK};
  struct hd_op op = {.thread = 5};
  const struct hd_op *pending[6] = {&op, &op, &op, &op, &op, &op};
  struct hd_point p = {&enabled, 4, 1, 5, pending};
  bounded->config.bound_kind = HD_BOUND_PREEMPTIONS;
  for (unsigned i = 0; i < sizeof free_ones; i++) {
    op.kind = free_ones[i];
    assert_false(hd__bound_at(&bounded->search, &p).stays);
  }
  for (unsigned i = 0; i < sizeof others; i++) {
    op.kind = others[i];
    assert_true(hd__bound_at(&bounded->search, &p).stays);
  }
  hd_set_del(&enabled, 5);
  assert_false(hd__bound_at(&bounded->search, &p).stays);
}

/* T1 holds the lock after its first access; T2 must go between two accesses of T1, and T3 between T2 and the second
 * of them. With one preemption that is possible only while T2 has to wait for the lock. */
static void having_to_wait_saves_a_preemption(void **unused) {
  (void)unused;
  struct sim_program p = workers(3);
  emit(&p, 1, lock0);
  emit(&p, 1, access_to(HD_OP_READ, 0, 1, 0));
  emit(&p, 1, unlock0);
  emit(&p, 1, access_to(HD_OP_READ, 2, 1, 0));
  emit(&p, 2, access_to(HD_OP_WRITE, 0, 2, 1));
  emit(&p, 2, lock0);
  emit(&p, 2, unlock0);
  emit(&p, 3, access_to(HD_OP_WRITE, 1, 2, 1));
  unsigned long limit = max_executions;
  max_executions = 1000000;
  for (unsigned n = 0; n < 3; n++) assert_null(judge_bound(&p, HD_BOUND_PREEMPTIONS, n, NULL));
  max_executions = limit;
}

/* Three threads that take the lock and write twice each. */
static struct sim_program many_states(void) {
  struct sim_program p = workers(3);
  for (unsigned t = 1; t <= 3; t++)
    for (unsigned i = 0; i < 2; i++) {
      emit(&p, t, lock0);
      emit(&p, t, access_to(HD_OP_ARMW, 0, 4, t));
      emit(&p, t, unlock0);
      emit(&p, t, access_to(HD_OP_ARMW, 4, 4, t));
    }
  return p;
}

static void no_room_for_states(void **unused) {
  (void)unused;
  struct runner *small = new_runner("bounded");
  struct sim_program p = many_states();
  small->search.memory_size = 1 << 20;
  for (unsigned kind = HD_BOUND_PREEMPTIONS; kind <= HD_BOUND_DELAYS; kind++) {
    bounded->config.bound_kind = small->config.bound_kind = kind;
    bounded->config.bound = small->config.bound = 2;
    const struct result *much = search(bounded, &p, 1000000), *little = search(small, &p, 1000000);
    assert_false(much->too_many || much->diverged || little->too_many || little->diverged);
    assert_true(same_classes(much, little));
    assert_true(little->executions > much->executions); /* states were met again and not recognised */
  }
}

static void a_bounded_search_outlives_a_death(void **unused) {
  (void)unused;
  struct runner *r = new_runner("bounded");
  struct sim_program p = workers(3);
  struct sim s;
  for (unsigned t = 1; t <= 3; t++)
    for (unsigned i = 0; i < 3; i++) emit(&p, t, access_to(HD_OP_ARMW, 0, 4, t));
  r->config.bound_kind = HD_BOUND_PREEMPTIONS;
  r->config.bound = 2;
  uint64_t n = 0, died = 0;
  search(r, &p, 1000);
  uint64_t undisturbed = r->result.executions + r->result.blocked;
  r->strategy->forget(&r->search);
  for (int more = 1; more && n < 100000;) {
    r->search.execution = ++n;
    if (n % 5 == 4) { /* the process dies, and nobody hears how it ended */
      died++;
      execute(r, &s, &p, n % 23);
      continue;
    }
    int how = execute(r, &s, &p, 10000);
    if (how < 0) break; /* the last one died */
    more = r->strategy->end(&r->search, &s.point, (enum hd_how)how);
  }
  assert_true(died > 5 && n > died * 4 && n < undisturbed * 10);
  assert_true(r->status.inexact[HD_INEXACT_PROCESS_DIED].count > 0);
}

#endif
