/* net.h: how the ranks of a cluster send messages to each other. Runs in the supervisor of each rank.
 *
 * One small interface with two implementations: MPI (mpi/net_mpi.c, a module of its own, so that heddle does not depend
 * on libmpi) and a simulated network (simulate.c). Messages between two ranks arrive in the order in which they were
 * sent, those of different ranks in any order. */
#ifndef HD_CLUSTER_NET_H
#define HD_CLUSTER_NET_H

#include <stdbool.h>
#include <stddef.h>

struct hd_net {
  void *ctx;
  int rank, size;
  /* Copies the message; never blocks. */
  void (*send)(struct hd_net *net, int to, const void *data, size_t n);
  /* The next message, if one has arrived: its bytes are the net's, until the next call. */
  bool (*receive)(struct hd_net *net, int *from, const char **data, size_t *n);
  /* After the last message: waits until everything was sent. */
  void (*close)(struct hd_net *net);
};

/* The entry of the module with MPI. Returns NULL, or why there is no net. */
#define HD_NET_MPI_ENTRY "hd_net_mpi"
typedef const char *hd_net_open(struct hd_net *net);

#endif
