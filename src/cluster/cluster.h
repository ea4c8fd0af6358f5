/* cluster.h: a search that many machines share, one supervisor (rank) each. See docs/cluster.md.
 *
 * Rank 0 begins the search, presents it, and knows when it is over. The others join it, and work on units that they get
 * from any rank (balance.h). What is learned about the program (visible operations, numbers of threads) is collected by
 * rank 0, which starts a new generation of the search then: everybody starts over with the same knowledge. */
#ifndef HD_CLUSTER_H
#define HD_CLUSTER_H

#include "session/session.h"

struct hd_cluster;

/* Joins the other processes that mpirun has started. The caller closes, also after an error. */
int hd_cluster_open(struct hd_cluster **out, struct hd_err *err);
void hd_cluster_close(struct hd_cluster *c);
int hd_cluster_rank(const struct hd_cluster *c);
int hd_cluster_size(const struct hd_cluster *c);

/* Copies the program and its libraries from rank 0 to a folder below `dir` on every machine. *staged: what to run; the caller
 * frees. */
int hd_cluster_stage(struct hd_cluster *c, const char *program, const char *dir, char **staged,
                     struct hd_err *err);

/* Prepares the configuration of the search, which is the same on every rank; refuses what a cluster cannot do. */
int hd_cluster_configure(struct hd_cluster *c, struct hd_session_config *config, struct hd_err *err);
/* Rank 0: the callbacks that its session needs. */
void hd_cluster_listen(struct hd_cluster *c, struct hd_session_events *events);
/* The other ranks: works until rank 0 says that it is over. */
int hd_cluster_serve(struct hd_cluster *c, const struct hd_session_config *config, struct hd_err *err);

/* The same, when it cannot work: rank 0 ends the search, and says why. Returns the exit status. */
int hd_cluster_give_up(struct hd_cluster *c, const struct hd_err *err);

/* ---- what rank 0 shows ---- */

struct hd_cluster_counts {
  struct hd_ranks ranks;
  uint64_t executions, events; /* of the other ranks, as last heard */
};
void hd_cluster_counts(const struct hd_cluster *c, struct hd_cluster_counts *out);

#endif
