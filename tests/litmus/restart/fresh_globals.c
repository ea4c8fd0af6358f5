// In every execution all memory of the program is as at the start of main.
// opt: -O0 -O2
// restart: memory fork
// expect: clean executions=300
#include "litmus.h"
#include <ctype.h>
#include <locale.h>

static int zero, one = 1, big[100000];
static char text[64] = "unchanged";
static _Thread_local int tls = 3;
static void *block;
static struct node {
  struct node *next;
} *list;
MUTEX(lock);
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int once_calls;

static void init(void) { once_calls++; }

static void *worker(void *arg)
{
  assert(tls == 3);
  tls = 4;
  pthread_mutex_lock(&lock);
  zero++;
  big[(long)arg * 50000] = 1;
  big[99999]++;
  struct node *n = malloc(sizeof *n);
  n->next = list;
  list = n;
  pthread_once(&once, init);
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void)
{
  assert(zero == 0 && one == 1 && tls == 3 && !block && !list && once_calls == 0);
  assert(strcmp(text, "unchanged") == 0);
  for (int i = 0; i < 100000; i += 1000) assert(big[i] == 0);
  assert(big[99999] == 0);
  assert(rand() == 1804289383); /* what an unseeded rand gives first */
  errno = 0;
  tls = one = 2;
  block = malloc(100);
  strcpy(text, "changed a b c");
  strtok(text, " ");
  setlocale(LC_ALL, "C");
  pthread_t a = spawn(worker, (void *)0L), b = spawn(worker, (void *)1L);
  join(a);
  join(b);
  assert(zero == 2 && big[99999] == 2 && list && list->next && !list->next->next && once_calls == 1);
  pthread_mutex_lock(&lock); /* left locked on purpose */
  return 0;
}
