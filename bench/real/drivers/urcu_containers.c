// Userspace RCU (flavour mb) and its containers: "rcu" (a reader and an updater that frees what it replaced),
// "rcu-early" (the same with our mistake: it frees without waiting for readers), "wfcqueue", "lfstack", "wfstack" (two producers and a consumer), "rculfqueue" (two producers).
#define URCU_INLINE_SMALL_FUNCTIONS
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <urcu.h>
#include <urcu/lfstack.h>
#include <urcu/rculfqueue.h>
#include <urcu/wfcqueue.h>
#include <urcu/wfstack.h>

static struct cds_wfcq_head wfcq_head;
static struct cds_wfcq_tail wfcq_tail;
static struct cds_wfcq_node wfcq_node[2];
static struct cds_lfs_stack lfs;
static struct cds_lfs_node lfs_node[2];
static struct cds_wfs_stack wfs;
static struct cds_wfs_node wfs_node[2];
static struct cds_lfq_queue_rcu lfq;
static struct cds_lfq_node_rcu lfq_node[2];
static int *shared;
static int index_of[2] = {0, 1};

static void *put_wfcq(void *p) {
  cds_wfcq_enqueue(&wfcq_head, &wfcq_tail, &wfcq_node[*(int *)p]);
  return NULL;
}

static void *put_lfs(void *p) {
  cds_lfs_push(&lfs, &lfs_node[*(int *)p]);
  return NULL;
}

static void *put_wfs(void *p) {
  cds_wfs_push(&wfs, &wfs_node[*(int *)p]);
  return NULL;
}

static void *put_lfq(void *p) {
  rcu_register_thread();
  rcu_read_lock();
  cds_lfq_enqueue_rcu(&lfq, &lfq_node[*(int *)p]);
  rcu_read_unlock();
  rcu_unregister_thread();
  return NULL;
}

static void *read_shared(void *p) {
  (void)p;
  rcu_register_thread();
  rcu_read_lock();
  int *v = rcu_dereference(shared);
  assert(*v == 1 || *v == 2);
  rcu_read_unlock();
  rcu_unregister_thread();
  return NULL;
}

static int take(const char *what) {
  if (!strcmp(what, "wfcqueue")) {
    return cds_wfcq_dequeue_blocking(&wfcq_head, &wfcq_tail) != NULL;
  }
  if (!strcmp(what, "lfstack")) {
    return cds_lfs_pop_blocking(&lfs) != NULL;
  }
  if (!strcmp(what, "wfstack")) {
    return cds_wfs_pop_blocking(&wfs) != NULL;
  }
  rcu_read_lock();
  int got = cds_lfq_dequeue_rcu(&lfq) != NULL;
  rcu_read_unlock();
  return got;
}

static void containers(const char *what, void *(*put)(void *)) {
  pthread_t t[2];
  int got;
  for (int i = 0; i < 2; i++) {
    pthread_create(&t[i], NULL, put, &index_of[i]);
  }
  got = take(what);
  pthread_join(t[0], NULL);
  pthread_join(t[1], NULL);
  got += take(what);
  got += take(what);
  assert(got == 2);
}

static void replace(int wait) {
  pthread_t t;
  int *old = malloc(sizeof *old), *new = malloc(sizeof *new);
  *old = 1;
  *new = 2;
  shared = old;
  pthread_create(&t, NULL, read_shared, NULL);
  rcu_assign_pointer(shared, new);
  if (wait) {
    synchronize_rcu();
  }
  free(old);
  pthread_join(t, NULL);
  free(new);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "wfcqueue";
  cds_wfcq_init(&wfcq_head, &wfcq_tail);
  cds_lfs_init(&lfs);
  cds_wfs_init(&wfs);
  for (int i = 0; i < 2; i++) {
    cds_wfcq_node_init(&wfcq_node[i]);
    cds_lfs_node_init(&lfs_node[i]);
    cds_wfs_node_init(&wfs_node[i]);
    cds_lfq_node_init_rcu(&lfq_node[i]);
  }
  if (!strcmp(what, "wfcqueue")) {
    containers(what, put_wfcq);
  } else if (!strcmp(what, "lfstack")) {
    containers(what, put_lfs);
  } else if (!strcmp(what, "wfstack")) {
    containers(what, put_wfs);
  } else if (!strcmp(what, "rcu") || !strcmp(what, "rcu-early")) {
    replace(!strcmp(what, "rcu"));
  } else if (!strcmp(what, "rculfqueue")) {
    cds_lfq_init_rcu(&lfq, call_rcu);
    rcu_register_thread();
    containers(what, put_lfq);
    rcu_unregister_thread();
  } else {
    fprintf(stderr, "unknown container: %s\n", what);
    return 2;
  }
  return 0;
}
