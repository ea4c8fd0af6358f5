/* cluster_int.h: what the files of the cluster share: the state of a rank. Runs in the supervisor of each rank. */
#ifndef HD_CLUSTER_INT_H
#define HD_CLUSTER_INT_H

#include "cluster/balance.h"
#include "cluster/cluster.h"
#include "explore/explore.h"
#include "session/units.h"

/* The kinds of messages, besides those about units. */
enum {
  MSG_START = HD_MSG_OTHER, /* struct start */
  MSG_GENERATION,           /* knowledge, for everybody */
  MSG_KNOW,                 /* knowledge, for rank 0 */
  MSG_STATUS,               /* struct report */
  MSG_FINDING,              /* a capture */
  MSG_LOST,                 /* a text: the rank cannot go on */
  MSG_STOP,
  MSG_STATES,  /* struct sample */
  MSG_FINAL,   /* struct hd_part, struct report */
  MSG_FREEZE,  /* the serial is the round */
  MSG_FROZEN,  /* struct frozen */
  MSG_COLLECT, /* for everybody: send your part of the search */
  MSG_PART,
  MSG_THAW,
  MSG_MORE,  /* struct more, for rank 0 */
  MSG_SPAN,  /* struct hd_span: numbers of executions; empty: there are no more */
  MSG_STAGE, /* for everybody: the program and its libraries (stage.c) */
  MSG_DONE,  /* all of them are executed */
};

struct start {
  uint64_t identity;      /* of the program and its arguments: the same on all ranks ... */
  struct hd_config given; /* ... and so are its settings */
  uint32_t restart, ngrown;
  uint64_t grown[HD_MAX_GROWN];
};

struct report {
  uint64_t executions, events, units, messages, bytes;
  double idle, seconds;
};

/* States that a rank has explored: 2^shift for each. */
#define MAX_SAMPLE (1u << 22) /* of all ranks, ... */
#define MIN_SAMPLE (1u << 10) /* ... but of each at least so many */
struct sample {
  uint64_t shift, n;
  uint64_t key[];
};

/* Knowledge of another rank, in the generation in which that rank had it. */
struct known {
  int from;
  uint32_t generation;
  struct hd_str data;
};

/* How many messages about units a rank has sent and received, when its workers wait. */
struct frozen {
  uint64_t round, sent, received;
};

/* Of a sampling strategy: a rank that wants numbers of executions, or is done with those it had. */
struct more {
  uint64_t wanted;
};
struct asking {
  int rank;
  uint64_t wanted;
};

struct hd_cluster {
  struct hd_net net;
  struct hd_net team; /* the ranks that share a search: of `auto` the first ones, the others sample */
  void *module;
  bool opened, configured;
  struct hd_balance *balance;
  struct hd_session *session; /* while it runs */
  bool shares;                /* units are exchanged: the strategy explores a tree */
  bool started, stopping;
  char gone[400];  /* rank 0: which rank cannot go on, and why; "": none */
  double share_at; /* no unit is given before */
  double began, reported_at;
  uint32_t generation;
  uint32_t unfit;             /* rank 0: units that did not fit */
  uint64_t epoch;             /* of our search, in that generation */
  bool waits;                 /* for the next generation */
  bool tells;                 /* rank 0 does not know yet why */
  HD_VEC(struct known) known; /* rank 0: what others have learned, and its search does not know yet */
  bool has_next;              /* it has arrived */
  uint32_t next;              /* its number */
  struct hd_str knowledge;
  struct hd_config given; /* of this rank */
  struct start start;
  bool has_start;
  bool all;              /* findings do not end the search */
  uint64_t most;         /* executions of all ranks together, if they share a tree; 0: any number */
  struct report *report; /* rank 0: of every rank */
  bool *final;           /* rank 0: its counters have arrived */
  int nfinal;
  /* Of a sampling strategy that all ranks share (samples.c). */
  bool samples;
  HD_VEC(struct asking) asking; /* rank 0: who wants numbers */
  HD_VEC(struct hd_span) span;  /* the other ranks: numbers that our search does not know of yet; */
  bool asked, last, done;       /* we have asked for more; there are no more; and all of ours are done */
  double joined;                /* when this rank has */
  int ndone;                    /* rank 0: ranks that are done */
  struct hd_str staged;         /* the program and its libraries, while they are sent */
  bool has_staged;
  /* Saving. */
  const char *save;
  double saved_at, save_every;
  uint64_t sent, received; /* messages about units, besides those that the balancing has sent */
  uint32_t round;          /* that rank 0 asks for; 0: nobody is frozen */
  bool paused, collect;
  struct frozen told;    /* what rank 0 knows of us */
  struct frozen *frozen; /* rank 0: of every rank */
  struct hd_str *part;   /* rank 0: of every rank */
  HD_VEC(uint64_t) key;  /* rank 0: of states, of all ranks */
  unsigned shift;        /* of them (struct sample) */
};

/* ---- cluster.c ---- */

void hd__cluster_post(struct hd_cluster *c, int to, uint32_t kind, uint32_t generation, const void *data,
                      size_t n);
/* To the children of this rank in the tree of ranks. */
void hd__cluster_spread(struct hd_cluster *c, uint32_t kind, uint32_t generation, const void *data, size_t n);
/* Handles the messages that have arrived; the second gives others the processor, too. */
void hd__cluster_receive(struct hd_cluster *c);
void hd__cluster_wait(struct hd_cluster *c);
/* Rank 0: lets the others join. */
void hd__cluster_start(struct hd_cluster *c, struct hd_session *s);

/* ---- saving.c ---- */

/* Rank 0 saves the search of all ranks. Returns whether it did. */
bool hd__cluster_save(struct hd_cluster *c, struct hd_session *s);
/* The other ranks: until rank 0 lets us go on. */
void hd__cluster_stay_frozen(struct hd_cluster *c, struct hd_session *s);

/* ---- samples.c ---- */

/* Does what there is to do now. */
void hd__samples_tick(struct hd_cluster *c, struct hd_session *s);
/* A message of one of its kinds. */
void hd__samples_message(struct hd_cluster *c, int from, uint32_t kind, const char *data, size_t n);
/* Another rank, before it starts: asks for the first numbers, and waits for them. Returns whether there are any. */
bool hd__samples_join(struct hd_cluster *c, struct hd_span *first);

#endif
