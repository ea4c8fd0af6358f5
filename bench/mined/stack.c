/* stack.c: a bounded stack with one lock. Two threads push, two pop. */
#include <assert.h>
#include <pthread.h>

enum { SIZE = 4, EACH = 2 };
struct stack {
  pthread_mutex_t lock;
  int top, item[SIZE];
};
static struct stack s = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int pushed[2], popped[2];

static int push(struct stack *q, int v) {
  int done = 0;
  pthread_mutex_lock(&q->lock);
  if (q->top < SIZE) {
    q->item[q->top] = v;
    q->top++;
    done = 1;
  }
  pthread_mutex_unlock(&q->lock);
  return done;
}

static int pop(struct stack *q) {
  int v = 0;
  pthread_mutex_lock(&q->lock);
  if (q->top > 0) {
    q->top--;
    v = q->item[q->top];
    q->item[q->top] = 0;
  }
  pthread_mutex_unlock(&q->lock);
  return v;
}

static void *producer(void *p) {
  int me = (int)(long)p;
  for (int i = 1; i <= EACH; i++)
    if (push(&s, 10 * (me + 1) + i)) pushed[me] += 10 * (me + 1) + i;
  return 0;
}

static void *consumer(void *p) {
  int me = (int)(long)p;
  for (int i = 0; i < EACH; i++) popped[me] += pop(&s);
  return 0;
}

int main(void) {
  pthread_t t[4];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, producer, (void *)i);
  for (long i = 0; i < 2; i++) pthread_create(&t[2 + i], 0, consumer, (void *)i);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  int left = 0;
  for (int i = 0; i < s.top; i++) left += s.item[i];
  assert(pushed[0] + pushed[1] == popped[0] + popped[1] + left);
}
