/* net_mpi.c: the net of a cluster over MPI: any implementation of MPI 3, one thread. A module that `heddle cluster` loads.
 *
 * A send is an MPI_Isend of a copy; copies are freed when it is complete. So nobody blocks, and two ranks that send large
 * messages to each other cannot deadlock. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster/net.h"

#define TAG 7

struct outgoing {
  struct outgoing *next;
  MPI_Request request;
  char data[];
};

struct state {
  struct outgoing *first;
  char *buffer;
  size_t cap;
};

/* Frees the copies of what was sent. */
static void sweep(struct state *s) {
  for (struct outgoing **p = &s->first, *o; (o = *p);) {
    int done = 0;
    MPI_Test(&o->request, &done, MPI_STATUS_IGNORE);
    if (done) {
      *p = o->next;
      free(o);
    } else {
      p = &o->next;
    }
  }
}

static void send_message(struct hd_net *net, int to, const void *data, size_t n) {
  struct state *s = net->ctx;
  struct outgoing *o = malloc(sizeof *o + n);
  if (!o) MPI_Abort(MPI_COMM_WORLD, 3);
  memcpy(o->data, data, n);
  MPI_Isend(o->data, (int)n, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &o->request);
  o->next = s->first;
  s->first = o;
}

static bool receive_message(struct hd_net *net, int *from, const char **data, size_t *n) {
  struct state *s = net->ctx;
  MPI_Status status;
  int there = 0, count = 0;
  sweep(s);
  MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &status);
  if (!there) return false;
  MPI_Get_count(&status, MPI_BYTE, &count);
  if ((size_t)count > s->cap) {
    s->cap = (size_t)count * 2;
    s->buffer = realloc(s->buffer, s->cap);
    if (!s->buffer) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Recv(s->buffer, count, MPI_BYTE, status.MPI_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  *from = status.MPI_SOURCE;
  *data = s->buffer;
  *n = (size_t)count;
  return true;
}

/* A large message is sent only while its receiver receives: so all do until nobody has anything left to send. */
static void close_net(struct hd_net *net) {
  struct state *s = net->ctx;
  MPI_Request everybody = MPI_REQUEST_NULL;
  int asked = 0, done = 0;
  while (!done) {
    const char *data;
    size_t n;
    int from;
    while (receive_message(net, &from, &data, &n)) continue;
    if (!s->first && !asked) {
      MPI_Ibarrier(MPI_COMM_WORLD, &everybody);
      asked = 1;
    }
    if (asked) MPI_Test(&everybody, &done, MPI_STATUS_IGNORE);
    if (!done) nanosleep(&(struct timespec){0, 100000}, NULL);
  }
  MPI_Finalize();
  free(s->buffer);
  free(s);
}

const char *hd_net_mpi(struct hd_net *net);

const char *hd_net_mpi(struct hd_net *net) {
  static struct hd_net opened;
  if (MPI_Init(NULL, NULL) != MPI_SUCCESS) return "MPI_Init failed";
  opened = (struct hd_net){.ctx = calloc(1, sizeof(struct state)),
                           .send = send_message,
                           .receive = receive_message,
                           .close = close_net};
  MPI_Comm_rank(MPI_COMM_WORLD, &opened.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &opened.size);
  *net = opened;
  return NULL;
}
