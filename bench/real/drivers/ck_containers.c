// Containers and locks of Concurrency Kit: "ring" (one producer, one consumer), "ring-mpmc" (two producers),
// "fifo" (ck_fifo_spsc), "stack" (ck_stack_push_upmc), "ticket", "mcs", "rwlock", "sequence".
#include <assert.h>
#include <ck_fifo.h>
#include <ck_ring.h>
#include <ck_rwlock.h>
#include <ck_sequence.h>
#include <ck_spinlock.h>
#include <ck_stack.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static ck_ring_t ring;
static ck_ring_buffer_t ring_slots[4];
static ck_fifo_spsc_t fifo;
static ck_fifo_spsc_entry_t fifo_entries[3];
static ck_stack_t stack;
static ck_stack_entry_t stack_entries[2];
static ck_spinlock_ticket_t ticket;
static ck_spinlock_mcs_t mcs;
static ck_rwlock_t rwlock;
static ck_sequence_t sequence;
static struct { int a, b; } guarded;

static int value[2] = {1, 2};

static void *ring_put(void *p) {
  assert(ck_ring_enqueue_spsc(&ring, ring_slots, p));
  return NULL;
}

static void *ring_put_mpmc(void *p) {
  assert(ck_ring_enqueue_mpmc(&ring, ring_slots, p));
  return NULL;
}

static void *fifo_put(void *p) {
  ck_fifo_spsc_enqueue(&fifo, &fifo_entries[1], p);
  return NULL;
}

static void *stack_put(void *p) {
  ck_stack_push_upmc(&stack, &stack_entries[(int *)p - value]);
  return NULL;
}

static void *with_ticket(void *p) {
  (void)p;
  ck_spinlock_ticket_lock(&ticket);
  guarded.a++;
  ck_spinlock_ticket_unlock(&ticket);
  return NULL;
}

static void *with_mcs(void *p) {
  ck_spinlock_mcs_context_t me;
  (void)p;
  ck_spinlock_mcs_lock(&mcs, &me);
  guarded.a++;
  ck_spinlock_mcs_unlock(&mcs, &me);
  return NULL;
}

static void *with_write_lock(void *p) {
  (void)p;
  ck_rwlock_write_lock(&rwlock);
  guarded.a++;
  guarded.b++;
  ck_rwlock_write_unlock(&rwlock);
  return NULL;
}

static void *with_sequence(void *p) {
  (void)p;
  ck_sequence_write_begin(&sequence);
  ck_pr_store_int(&guarded.a, 1);
  ck_pr_store_int(&guarded.b, 1);
  ck_sequence_write_end(&sequence);
  return NULL;
}

// Takes what is there while the producers are at it, and the rest after them.
static int drain(const char *what, int sum) {
  void *got = NULL;
  ck_stack_entry_t *e;
  if (!strcmp(what, "ring")) {
    return sum + (ck_ring_dequeue_spsc(&ring, ring_slots, &got) ? *(int *)got : 0);
  }
  if (!strcmp(what, "ring-mpmc")) {
    return sum + (ck_ring_dequeue_mpmc(&ring, ring_slots, &got) ? *(int *)got : 0);
  }
  if (!strcmp(what, "fifo")) {
    return sum + (ck_fifo_spsc_dequeue(&fifo, &got) ? *(int *)got : 0);
  }
  e = ck_stack_pop_upmc(&stack);
  return sum + (e ? value[e - stack_entries] : 0);
}

static void containers(const char *what, void *(*put)(void *), int producers) {
  pthread_t t[2];
  int sum = 0;
  for (int i = 0; i < producers; i++) {
    pthread_create(&t[i], NULL, put, &value[i]);
  }
  sum = drain(what, sum);
  for (int i = 0; i < producers; i++) {
    pthread_join(t[i], NULL);
  }
  for (int i = 0; i < producers; i++) {
    sum = drain(what, sum);
  }
  assert(sum == (producers == 1 ? 1 : 3));
}

static void counted(void *(*body)(void *)) {
  pthread_t t;
  pthread_create(&t, NULL, body, NULL);
  body(NULL);
  pthread_join(t, NULL);
  assert(guarded.a == 2);
}

static void consistent(const char *what, void *(*body)(void *)) {
  pthread_t t;
  int a, b;
  unsigned int version;
  pthread_create(&t, NULL, body, NULL);
  if (!strcmp(what, "sequence")) {
    do {
      version = ck_sequence_read_begin(&sequence);
      a = ck_pr_load_int(&guarded.a);
      b = ck_pr_load_int(&guarded.b);
    } while (ck_sequence_read_retry(&sequence, version));
  } else {
    ck_rwlock_read_lock(&rwlock);
    a = guarded.a;
    b = guarded.b;
    ck_rwlock_read_unlock(&rwlock);
  }
  assert(a == b);
  pthread_join(t, NULL);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "ring";
  ck_ring_init(&ring, 4);
  ck_fifo_spsc_init(&fifo, &fifo_entries[0]);
  ck_stack_init(&stack);
  ck_spinlock_ticket_init(&ticket);
  ck_spinlock_mcs_init(&mcs);
  ck_rwlock_init(&rwlock);
  ck_sequence_init(&sequence);
  if (!strcmp(what, "ring")) {
    containers(what, ring_put, 1);
  } else if (!strcmp(what, "ring-mpmc")) {
    containers(what, ring_put_mpmc, 2);
  } else if (!strcmp(what, "fifo")) {
    containers(what, fifo_put, 1);
  } else if (!strcmp(what, "stack")) {
    containers(what, stack_put, 2);
  } else if (!strcmp(what, "ticket")) {
    counted(with_ticket);
  } else if (!strcmp(what, "mcs")) {
    counted(with_mcs);
  } else if (!strcmp(what, "rwlock")) {
    consistent(what, with_write_lock);
  } else if (!strcmp(what, "sequence")) {
    consistent(what, with_sequence);
  } else {
    fprintf(stderr, "unknown container: %s\n", what);
    return 2;
  }
  return 0;
}
