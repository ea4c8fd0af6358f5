// One object at two addresses: accesses, locks and waits at either are those of the same memory.
// native: no
// expect: kind=assertion
// argv: lost
// expect: kind=data-race
// argv: plain
// expect: kind=assertion
// argv: shm
// expect: kind=assertion
// argv: part
// expect: kind=assertion
// argv: ring
// expect: kind=assertion
// argv: again
// expect: kind=assertion
// argv: write
// expect: kind=assertion
// argv: read
// expect: kind=assertion
// argv: truncate
// expect: exact executions=4
// argv: counted
// expect: exact executions=2
// argv: mutex
// expect: exact executions=2
// argv: publish
// expect: exact executions=2
// argv: spin
// expect: exact executions=2
// argv: cond
// expect: exact executions=1
// argv: apart
// expect: exact executions=1
// argv: bytes
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "litmus.h"

#define PAGE 4096

struct page {
  int x, flag, data;
  pthread_mutex_t lock;
  pthread_cond_t cond;
};

static struct page *a, *b;
static int fd;
static const char *how;

static int is(const char *s) { return strcmp(how, s) == 0; }

static void *map_at(void *at, size_t n, off_t from)
{
  void *p = mmap(at, n, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd, from);
  assert(p != MAP_FAILED);
  return p;
}

static void set_up(void)
{
  fd = memfd_create("object", 0);
  if (ftruncate(fd, 4 * PAGE)) abort();
  if (is("shm")) {
    int id = shmget(IPC_PRIVATE, PAGE, 0600 | IPC_CREAT);
    a = shmat(id, NULL, 0);
    b = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
  } else if (is("part")) {
    a = map_at(NULL, 3 * PAGE, 0);
    b = map_at(NULL, 2 * PAGE, 2 * PAGE);
    a = (struct page *)((char *)a + 2 * PAGE);
  } else if (is("ring")) {
    char *room = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    a = map_at(room, PAGE, 0);
    b = map_at(room + PAGE, PAGE, 0);
  } else if (is("again")) {
    a = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    b = mremap(a, 0, PAGE, MREMAP_MAYMOVE);
    assert(b != MAP_FAILED);
  } else if (is("apart")) {
    a = map_at(NULL, PAGE, 0);
    b = map_at(NULL, PAGE, PAGE);
  } else {
    a = map_at(NULL, PAGE, 0);
    b = map_at(NULL, PAGE, 0);
  }
}

static void add(struct page *p)
{
  poke(&p->x, peek(&p->x) + 1);
}
static void *add_a(void *arg) { return add(a), arg; }
static void *add_b(void *arg) { return add(b), arg; }
static void *set_a(void *arg) { return a->data = 1, arg; }
static void *set_b(void *arg) { return b->data = 2, arg; }
static void *locked_a(void *arg)
{
  pthread_mutex_lock(&a->lock);
  a->data++;
  pthread_mutex_unlock(&b->lock);
  return arg;
}
static void *locked_b(void *arg)
{
  pthread_mutex_lock(&b->lock);
  b->data++;
  pthread_mutex_unlock(&a->lock);
  return arg;
}
static void *publish(void *arg)
{
  a->data = 1;
  __atomic_store_n(&a->flag, 1, __ATOMIC_RELEASE);
  return arg;
}
static void *look(void *arg)
{
  if (__atomic_load_n(&b->flag, __ATOMIC_ACQUIRE)) assert(b->data == 1);
  return arg;
}
static void *wait_for(void *arg)
{
  while (!__atomic_load_n(&b->flag, __ATOMIC_ACQUIRE)) {
  }
  assert(b->data == 1);
  return arg;
}
static void *signal_a(void *arg)
{
  pthread_mutex_lock(&a->lock);
  a->flag = 1;
  pthread_cond_signal(&a->cond);
  pthread_mutex_unlock(&a->lock);
  return arg;
}
static void *wait_b(void *arg)
{
  pthread_mutex_lock(&b->lock);
  while (!b->flag) pthread_cond_wait(&b->cond, &b->lock);
  pthread_mutex_unlock(&b->lock);
  return arg;
}
static void *write_it(void *arg)
{
  int one = 1;
  if (pwrite(fd, &one, sizeof one, 0) != sizeof one) abort();
  return arg;
}
static void *cut_it(void *arg)
{
  if (ftruncate(fd, 0) || ftruncate(fd, PAGE)) abort();
  return arg;
}
static void *unset(void *arg)
{
  assert(peek(&a->x) == (is("truncate") ? 1 : 0));
  return arg;
}
static void *store(void *arg) { return poke(&a->x, 1), arg; }
static void *read_it(void *arg)
{
  int v = 0;
  if (pread(fd, &v, sizeof v, 0) != sizeof v) abort();
  assert(v == 0);
  return arg;
}
static void *neighbour(void *arg) { return b->data = 1, arg; }
static void *other(void *arg) { return a->flag = 1, arg; }

int main(int argc, char **argv)
{
  how = argv[argc - 1];
  set_up();
  pthread_mutex_init(&a->lock, NULL);
  pthread_cond_init(&a->cond, NULL);
  if (is("plain")) return both(set_a, set_b), 0;
  if (is("mutex")) return both(locked_a, locked_b), assert(a->data == 2), 0;
  if (is("publish")) return both(publish, look), 0;
  if (is("spin")) return both(publish, wait_for), 0;
  if (is("cond")) return both(signal_a, wait_b), 0;
  if (is("write")) return both(write_it, unset), 0;
  if (is("read")) return both(store, read_it), 0;
  if (is("bytes")) return both(neighbour, other), 0;
  if (is("truncate")) return poke(&a->x, 1), both(cut_it, unset), 0;
  both(add_a, add_b);
  if (is("counted"))
    assert(a->x == 1 || a->x == 2);
  else if (is("apart"))
    assert(a->x == 1 && b->x == 1);
  else
    assert(a->x == 2 && b->x == 2);
  return 0;
}
