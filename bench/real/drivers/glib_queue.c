// GLib's queue between threads (glib/gasyncqueue.c) and its thread pool, on its own locks and conditions
// (glib/gthread-posix.c, futex), with its own threads.
//
// Right uses: "pop", two threads that take what main gives; "push", two that give; "order", one that gives both; "timeout", one that waits with a
// limit; "ref", the last of the two who hold the queue frees it; "lock", a pair taken and put under the queue's lock;
// "pool", a thread pool that is given jobs and then freed. Mistakes: "length", whoever sees an element takes it for
// granted; "unlocked", a push without the queue's lock; "unref", the only reference goes while a thread still pops.
#include <glib.h>
#include <stdlib.h>
#include <string.h>

// Before GLib's own constructor: no allocator of its own between malloc and the lists, so that freed elements are seen.
__attribute__((constructor(101))) static void environment(void) { setenv("G_SLICE", "always-malloc", 1); }

static GAsyncQueue *queue;
static int items[2], taken[2], jobs[2];

static GThread *start(GThreadFunc run, gpointer argument) { return g_thread_new("thread", run, argument); }

static void take(int *item) { taken[item - items]++; }

static gpointer popper(gpointer unused) {
  (void)unused;
  return g_async_queue_pop(queue);
}

static gpointer pusher(gpointer item) {
  g_async_queue_push(queue, item);
  return NULL;
}

static gpointer both(gpointer unused) {
  (void)unused;
  g_async_queue_push(queue, &items[0]);
  g_async_queue_push(queue, &items[1]);
  return NULL;
}

static gpointer impatient(gpointer unused) {
  (void)unused;
  return g_async_queue_timeout_pop(queue, 1000);
}

static gpointer holder(gpointer own) {
  int *item = g_async_queue_pop(own);
  g_async_queue_unref(own);
  return item;
}

// Both elements or none: main puts them under one lock.
static gpointer pair(gpointer unused) {
  (void)unused;
  g_async_queue_lock(queue);
  int *first = g_async_queue_pop_unlocked(queue), *second = g_async_queue_try_pop_unlocked(queue);
  g_async_queue_unlock(queue);
  g_assert(first == &items[0] && second == &items[1]);
  return NULL;
}

static gpointer looker(gpointer unused) {
  (void)unused;
  return g_async_queue_length(queue) > 0 ? g_async_queue_pop(queue) : NULL;
}

static gpointer careless(gpointer item) {
  g_async_queue_push_unlocked(queue, item);
  return NULL;
}

static void job(gpointer done, gpointer unused) {
  (void)unused;
  ++*(int *)done;
}

static void pool(void) {
  GThreadPool *threads = g_thread_pool_new(job, NULL, 2, TRUE, NULL);
  g_assert(threads);
  for (int i = 0; i < 2; i++) {
    g_assert(g_thread_pool_push(threads, &jobs[i], NULL));
  }
  g_thread_pool_free(threads, FALSE, TRUE); // After all jobs.
  g_assert(jobs[0] == 1 && jobs[1] == 1);
}

static void two(GThreadFunc run) {
  GThread *a = start(run, &items[0]), *b = start(run, &items[1]);
  if (run == pusher || run == careless) {
    take(g_async_queue_pop(queue));
    take(g_async_queue_pop(queue));
    g_thread_join(a);
    g_thread_join(b);
  } else {
    g_async_queue_push(queue, &items[0]);
    if (run == popper) {
      g_async_queue_push(queue, &items[1]);
    }
    int *of[] = {g_thread_join(a), g_thread_join(b)};
    for (int i = 0; i < 2; i++) {
      if (of[i]) {
        take(of[i]);
      }
    }
  }
}

static void order(void) {
  GThread *a = start(both, NULL);
  g_assert(g_async_queue_pop(queue) == &items[0]);
  g_assert(g_async_queue_pop(queue) == &items[1]);
  g_thread_join(a);
}

static void one(GThreadFunc run) {
  GThread *a = start(run, run == holder ? g_async_queue_ref(queue) : queue);
  if (run == pair) {
    g_async_queue_lock(queue);
    g_async_queue_push_unlocked(queue, &items[0]);
    g_async_queue_push_unlocked(queue, &items[1]);
    g_async_queue_unlock(queue);
  } else {
    g_async_queue_push(queue, &items[0]);
  }
  if (run == holder || run == popper) {
    g_async_queue_unref(queue);
  }
  int *item = g_thread_join(a);
  if (run == impatient && !item) { // It gave up, and left what came later.
    item = g_async_queue_try_pop(queue);
  }
  g_assert(run == pair || item == &items[0]);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "pop";
  queue = g_async_queue_new();
  if (!strcmp(what, "pop") || !strcmp(what, "push") || !strcmp(what, "unlocked")) {
    two(what[0] == 'u' ? careless : what[1] == 'o' ? popper : pusher);
    g_assert(taken[0] == 1 && taken[1] == 1 && g_async_queue_length(queue) == 0);
  } else if (!strcmp(what, "length")) {
    two(looker);
    g_assert(taken[0] <= 1);
  } else if (!strcmp(what, "order")) {
    order();
  } else if (!strcmp(what, "pool")) {
    pool();
  } else {
    one(what[0] == 't' ? impatient : what[0] == 'l' ? pair : what[0] == 'r' ? holder : popper);
  }
  if (what[0] != 'r' && strcmp(what, "unref")) {
    g_async_queue_unref(queue);
  }
  return 0;
}
