/* nbody.c: bodies that attract each other; four threads, each moves a quarter of the bodies and reads all of
 * them. The steps are kept apart by a barrier made of a mutex and a condition variable.
 *   nbody BODIES STEPS */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4

struct body {
  double x, y, z, vx, vy, vz, m;
};

static struct body *body;
static long bodies, steps;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER;
static int here, round_no;

static void barrier(void) {
  pthread_mutex_lock(&lock);
  int mine = round_no;
  if (++here == THREADS) {
    here = 0;
    round_no++;
    pthread_cond_broadcast(&all_here);
  }
  while (round_no == mine) pthread_cond_wait(&all_here, &lock);
  pthread_mutex_unlock(&lock);
}

static void push(struct body *p) {
  double ax = 0, ay = 0, az = 0;
  for (long j = 0; j < bodies; j++) {
    const struct body *q = &body[j];
    double dx = q->x - p->x, dy = q->y - p->y, dz = q->z - p->z;
    double d2 = dx * dx + dy * dy + dz * dz + 0.01;
    double f = q->m / (d2 * sqrt(d2));
    ax += dx * f;
    ay += dy * f;
    az += dz * f;
  }
  p->vx += ax * 1e-3;
  p->vy += ay * 1e-3;
  p->vz += az * 1e-3;
}

static void *worker(void *arg) {
  long first = (long)arg * bodies / THREADS, last = ((long)arg + 1) * bodies / THREADS;
  for (long s = 0; s < steps; s++) {
    for (long i = first; i < last; i++) push(&body[i]);
    barrier();
    for (long i = first; i < last; i++) {
      body[i].x += body[i].vx * 1e-3;
      body[i].y += body[i].vy * 1e-3;
      body[i].z += body[i].vz * 1e-3;
    }
    barrier();
  }
  return 0;
}

int main(int argc, char **argv) {
  bodies = argc > 1 ? atol(argv[1]) : 512;
  steps = argc > 2 ? atol(argv[2]) : 4;
  body = calloc((size_t)bodies, sizeof *body);
  unsigned long r = 7;
  for (long i = 0; i < bodies; i++) {
    double v[4];
    for (int k = 0; k < 4; k++) {
      r = r * 6364136223846793005u + 1442695040888963407u;
      v[k] = (double)(r >> 33) / (double)(1u << 31);
    }
    body[i] = (struct body){.x = v[0], .y = v[1], .z = v[2], .m = v[3]};
  }
  pthread_t t[THREADS];
  for (long i = 0; i < THREADS; i++) pthread_create(&t[i], 0, worker, (void *)i);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
  double sum = 0;
  for (long i = 0; i < bodies; i++) sum += body[i].x + body[i].y + body[i].z;
  printf("nbody %.12f\n", sum);
  return 0;
}
