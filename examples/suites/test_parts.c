/* test_parts.c: cmocka. Each test runs under every schedule of its threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <heddle_cmocka.h>
#include <stdatomic.h>

#include "parts.h"

/* Runs both at the same time, and waits for them. */
static void together(void *(*f)(void *), void *(*g)(void *), void *arg) {
  pthread_t a, b;
  pthread_create(&a, NULL, f, arg);
  pthread_create(&b, NULL, g, arg);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
}

/* ---- counter ---- */

static void *add_one(void *c) {
  counter_add(c, 1);
  return NULL;
}
static void *add_two(void *c) {
  counter_add(c, 2);
  return NULL;
}
static void *back_and_forth(void *c) {
  counter_add(c, 5);
  counter_add(c, -5);
  return NULL;
}
static void *grows(void *c) {
  int n = counter_units(c);
  assert_true(n <= counter_units(c));
  return NULL;
}

static atomic_int taken;
static void *take_one(void *c) {
  taken += counter_take(c);
  return NULL;
}

static int counter_setup(void **state) {
  static struct counter c;
  taken = 0;
  counter_init(&c, 0);
  *state = &c;
  return 0;
}

static void two_add(void *c) {
  together(add_one, add_two, c);
  assert_int_equal(counter_units(c), 3);
}
static void counter_adds_from_two_threads(void **c) { heddle_assert_clean(two_add, *c, NULL); }

static void three_add(void *c) {
  pthread_t t;
  pthread_create(&t, NULL, add_one, c);
  together(add_one, add_two, c);
  pthread_join(t, NULL);
  assert_int_equal(counter_units(c), 4);
}
static void counter_adds_from_three_threads(void **c) { heddle_assert_clean(three_add, *c, NULL); }

static void there_and_back(void *c) {
  together(back_and_forth, back_and_forth, c);
  assert_int_equal(counter_units(c), 0);
}
static void counter_ends_where_it_began(void **c) { heddle_assert_clean(there_and_back, *c, NULL); }

static void read_while_adding(void *c) { together(add_one, grows, c); }
static void counter_grows_while_it_is_read(void **c) { heddle_assert_clean(read_while_adding, *c, NULL); }

static void two_take(void *c) {
  together(take_one, take_one, c);
  assert_int_equal(taken, 1);
  assert_int_equal(counter_units(c), 0);
}
static void counter_takes_each_unit_once(void **c) {
  counter_add(*c, 1); /* every execution begins with it */
  heddle_assert_clean(two_take, *c, NULL);
}

static void add_and_take(void *c) {
  together(add_one, take_one, c);
  assert_int_equal(counter_units(c) + taken, 1);
}
static void counter_takes_what_is_added_meanwhile(void **c) { heddle_assert_clean(add_and_take, *c, NULL); }

/* ---- queue ---- */

static atomic_int sum;

static int queue_setup(void **state) {
  sum = 0;
  *state = test_malloc(sizeof(struct queue));
  queue_init(*state);
  return 0;
}

static int queue_teardown(void **state) {
  queue_fini(*state);
  test_free(*state);
  return 0;
}

static int take(struct queue *q) {
  int item = -1;
  return queue_take(q, &item) ? item : -1;
}

static void *put_one(void *q) {
  queue_put(q, 1);
  return NULL;
}
static void *put_two(void *q) {
  queue_put(q, 2);
  return NULL;
}
static void *put_both(void *q) {
  put_one(q);
  return put_two(q);
}
static void *put_and_close(void *q) {
  queue_put(q, 1);
  queue_close(q);
  return NULL;
}
static void *close_it(void *q) {
  queue_close(q);
  return NULL;
}
static void *try_two(void *q) {
  sum += queue_try_put(q, 2);
  return NULL;
}
static void *add_taken(void *q) {
  sum += take(q);
  return NULL;
}
static void *take_1(void *q) {
  assert_int_equal(take(q), 1);
  return NULL;
}
static void *take_1_2(void *q) {
  take_1(q);
  assert_int_equal(take(q), 2);
  return NULL;
}
static void *take_1_end(void *q) {
  take_1(q);
  assert_int_equal(take(q), -1);
  return NULL;
}
static void *take_end(void *q) {
  assert_int_equal(take(q), -1);
  return NULL;
}
static void *refused(void *q) {
  assert_false(queue_put(q, 1));
  return NULL;
}

static void one_item(void *q) { together(put_one, take_1, q); }
static void queue_gives_what_was_put(void **q) { heddle_assert_clean(one_item, *q, NULL); }

static void two_items(void *q) { together(put_both, take_1_2, q); }
static void queue_keeps_the_order(void **q) { heddle_assert_clean(two_items, *q, NULL); }

static void put_when_full(void *q) {
  together(put_two, take_1, q);
  for (int i = 0; i < QUEUE_ROOM; i++) assert_int_equal(take(q), i == QUEUE_ROOM - 1 ? 2 : 1);
}
static void queue_waits_for_room(void **q) {
  for (int i = 0; i < QUEUE_ROOM; i++) put_one(*q);
  heddle_assert_clean(put_when_full, *q, NULL);
}

static void two_put(void *q) {
  together(put_one, put_two, q);
  assert_int_equal(take(q) + take(q), 3);
}
static void queue_takes_from_two_threads(void **q) { heddle_assert_clean(two_put, *q, NULL); }

static void two_get(void *q) {
  together(add_taken, add_taken, q);
  assert_int_equal(sum, 3);
}
static void queue_gives_to_two_threads(void **q) {
  put_both(*q);
  heddle_assert_clean(two_get, *q, NULL);
}

static void two_try(void *q) {
  together(try_two, try_two, q);
  assert_int_equal(sum, QUEUE_ROOM - 1);
}
static void queue_tries_without_waiting(void **q) {
  put_one(*q);
  heddle_assert_clean(two_try, *q, NULL);
}

static void close_for_one(void *q) { together(close_it, take_end, q); }
static void queue_closes_for_one_who_takes(void **q) { heddle_assert_clean(close_for_one, *q, NULL); }

static void close_for_two(void *q) {
  pthread_t t;
  pthread_create(&t, NULL, take_end, q);
  together(close_it, take_end, q);
  pthread_join(t, NULL);
}
static void queue_closes_for_all_who_take(void **q) { heddle_assert_clean(close_for_two, *q, NULL); }

static void close_when_full(void *q) { together(close_it, refused, q); }
static void queue_closes_for_one_who_puts(void **q) {
  for (int i = 0; i < QUEUE_ROOM; i++) put_one(*q);
  heddle_assert_clean(close_when_full, *q, NULL);
}

static void close_after_one(void *q) { together(put_and_close, take_1_end, q); }
static void queue_gives_what_was_put_before_it_closed(void **q) {
  heddle_assert_clean(close_after_one, *q, NULL);
}

/* ---- cache ---- */

static atomic_int made;
static int square(int key) {
  made++;
  return key * key;
}

static int cache_setup(void **state) {
  static struct cache c;
  cache_init(&c, square);
  made = 0;
  *state = &c;
  return 0;
}

static void *get_2(void *c) {
  assert_int_equal(cache_get(c, 2), 4);
  return NULL;
}
static void *get_3(void *c) {
  assert_int_equal(cache_get(c, 3), 9);
  return NULL;
}
static void *forget(void *c) {
  cache_forget(c);
  return NULL;
}

static void same_twice(void *c) { together(get_3, get_3, c); }
static void cache_gives_the_same_to_all(void **c) { heddle_assert_clean(same_twice, *c, NULL); }

static void made_once(void *c) {
  together(get_3, get_3, c);
  assert_int_equal(made, 1);
}
static void cache_makes_each_value_once(void **c) { heddle_assert_clean(made_once, *c, NULL); }

static void two_values(void *c) {
  together(get_2, get_3, c);
  assert_int_equal(made, 2);
}
static void cache_keeps_two_values_apart(void **c) { heddle_assert_clean(two_values, *c, NULL); }

static void forget_and_get(void *c) {
  together(forget, get_3, c);
  assert_true(made <= 2);
}
static void cache_forgets_while_it_is_used(void **c) {
  cache_get(*c, 3);
  heddle_assert_clean(forget_and_get, *c, NULL);
}

#define COUNTER(f) cmocka_unit_test_setup(counter_##f, counter_setup)
#define QUEUE(f) cmocka_unit_test_setup_teardown(queue_##f, queue_setup, queue_teardown)
#define CACHE(f) cmocka_unit_test_setup(cache_##f, cache_setup)

int main(void) {
  const struct CMUnitTest tests[] = {
      COUNTER(adds_from_two_threads),  COUNTER(adds_from_three_threads),
      COUNTER(ends_where_it_began),    COUNTER(grows_while_it_is_read),
      COUNTER(takes_each_unit_once),   COUNTER(takes_what_is_added_meanwhile),
      QUEUE(gives_what_was_put),       QUEUE(keeps_the_order),
      QUEUE(waits_for_room),           QUEUE(takes_from_two_threads),
      QUEUE(gives_to_two_threads),     QUEUE(tries_without_waiting),
      QUEUE(closes_for_one_who_takes), QUEUE(closes_for_all_who_take),
      QUEUE(closes_for_one_who_puts),  QUEUE(gives_what_was_put_before_it_closed),
      CACHE(gives_the_same_to_all),    CACHE(makes_each_value_once),
      CACHE(keeps_two_values_apart),   CACHE(forgets_while_it_is_used),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
