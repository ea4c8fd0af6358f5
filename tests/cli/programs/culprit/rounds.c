#include <assert.h>
#include <pthread.h>

/* Rounds of a game; one round is scored without the lock, a long time before it is noticed. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int score, bonus, rounds;

static void play(int n) {
  for (int i = 0; i < n; i++) {
    pthread_mutex_lock(&lock);
    rounds = rounds + 1;
    score = score + 2; /* @score */
    pthread_mutex_unlock(&lock);
    bonus++;
  }
}

static void *player(void *a) {
  play(3);
  int old = score; /* @read */
  bonus += 5;
  score = old + 2; /* @stale */
  play(2);
  return a;
}

static void *other(void *a) {
  play(4);
  return a;
}

int main(void) {
  pthread_t t[2];
  pthread_create(&t[0], 0, player, 0);
  pthread_create(&t[1], 0, other, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  assert(score == 2 * rounds + 2);
  return 0;
}
