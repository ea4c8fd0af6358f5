/* listing.c: three data races, one of which needs an input and an order in which both threads write their result. */
#include <heddle.h>
#include <pthread.h>

static volatile int x;
static int y;
static const char *volatile result = "";

static void *other(void *unused) {
  x = 2;
  int read = x;
  if (y * y + 5 < read * read)
    result = "b";
  return unused;
}

int main(void) {
  pthread_t t;
  y = (int)hd_input_range(0, 10, "y");
  pthread_create(&t, NULL, other, NULL);
  x = 6;
  if (y < 4)
    result = "a";
  pthread_join(t, NULL);
  return 0;
}
