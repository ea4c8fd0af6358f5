// What functions of libc allocate for the program comes from its own malloc, since it goes to its own free; operator new, too.
// expect: clean
// argv: right
// expect: kind=data-race
// argv: wrong
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <memory>
#include <pthread.h>
#include <string>
#include <vector>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char room[1 << 20];
static size_t used;
static bool wrong;
static const size_t mark = 0x1234567;

extern "C" void *malloc(size_t n) {
  if (!wrong) pthread_mutex_lock(&lock);
  size_t *at = (size_t *)(room + used);
  used += (n + 31) & ~(size_t)15;
  if (!wrong) pthread_mutex_unlock(&lock);
  at[0] = n;
  at[1] = mark;
  return at + 2;
}
extern "C" void free(void *p) {
  if (!p) return;
  if (((size_t *)p)[-1] != mark) abort(); /* not one of its blocks */
  ((size_t *)p)[-1] = 0;
}
extern "C" void *calloc(size_t a, size_t b) { return memset(malloc(a * b), 0, a * b); }
extern "C" void *realloc(void *p, size_t n) {
  void *q = malloc(n);
  size_t old = p ? ((size_t *)p)[-2] : 0;
  if (p) memcpy(q, p, old < n ? old : n);
  free(p);
  return q;
}

static void *work(void *arg) {
  char *text = strdup("text"), *part = strndup(text, 2);
  wchar_t *wide = wcsdup(L"wide");
  int *numbers = new int[5];
  assert(!strcmp(part, "te") && !wcscmp(wide, L"wide"));
  std::string s(100, 'x');
  auto v = std::make_shared<std::vector<int>>(10);
  free(text);
  free(part);
  free(wide);
  delete[] numbers;
  return arg;
}

int main(int argc, char **argv) {
  pthread_t a, b;
  wrong = argc > 1 && !strcmp(argv[1], "wrong");
  pthread_create(&a, nullptr, work, nullptr);
  pthread_create(&b, nullptr, work, nullptr);
  pthread_join(a, nullptr);
  pthread_join(b, nullptr);
  return 0;
}
