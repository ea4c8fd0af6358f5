"""heddle run: one run, to the program's own end, with its effects once."""
import os

LONG = """
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long n;
static void *count(void *p) {
  for (int i = 0; i < 60000; i++) { pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); }
  return p;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, count, 0); pthread_create(&b, 0, count, 0);
  pthread_join(a, 0); pthread_join(b, 0);
  printf("%ld\\n", n);
  return 0;
}
"""
# More threads than there are identities at first, of two stack sizes, with effects outside.
MANY = """
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static __thread int mine;
static void *work(void *p) { mine++; errno = 0; return (void *)(long)mine; }
int main(void) {
  pthread_t t[80];
  pthread_attr_t a;
  void *r;
  int sum = 0, fd = open("effects", O_CREAT | O_WRONLY | O_APPEND, 0600);
  pthread_attr_init(&a);
  pthread_attr_setstacksize(&a, 1 << 20);
  if (write(fd, "x", 1) != 1 || write(1, "begin\\n", 6) != 6) return 1;
  for (int i = 0; i < 80; i++) pthread_create(&t[i], i % 2 ? &a : 0, work, 0);
  for (int i = 0; i < 80; i++) { pthread_join(t[i], &r); sum += (int)(long)r; }
  printf("%d\\n", sum);
  return 0;
}
"""


def test_own_end(s):
    program = s.build_text(LONG)
    done = s.run([s.heddle, "run", "--", program])
    s.check(done.stdout == "120000\n" and not done.stderr, "printed %r, %r" % (done.stdout, done.stderr))
    cut = s.run([s.heddle, "run", "--max-length", "1000", "--", program], want=5)
    s.check("longer than --max-length 1000 steps" in cut.stderr, cut.stderr)


def test_effects_once(s):
    done = s.run([s.heddle, "run", "--", s.build_text(MANY)])
    s.check(done.stdout == "begin\n80\n", "printed %r, %r" % (done.stdout, done.stderr))
    s.check(os.path.getsize(s.path("effects")) == 1, "the program began more than once")


def test_cut_is_not_clean(s):
    """A search in which every execution was cut has found nothing out."""
    s.search("check", s.build_text(LONG), "--strategy", "random", "--max-length", "100", "--max-executions", "3", want=5)
