/* balance.h: who works on what in a cluster. The same code runs over MPI and in the simulator; it depends on nothing but
 * the net and the host below, and is deterministic given these. */
#ifndef HD_CLUSTER_BALANCE_H
#define HD_CLUSTER_BALANCE_H

#include "base/base.h"
#include "cluster/net.h"

/* What the balancing asks of the search of its rank. Results as in session/units.h: 1 done, 0 refused, -1 later. */
enum hd_news { HD_NEWS_INSERT, HD_NEWS_CONCLUDED };
typedef void hd_balance_told(void *ctx, enum hd_news what, uint32_t rank, uint32_t serial, const char *data,
                             size_t n);
struct hd_host {
  void *arg;
  double (*now)(void *arg); /* seconds */
  bool (*idle)(void *arg);
  int (*give)(void *arg, struct hd_str *out);
  int (*accept)(void *arg, uint32_t serial, const char *data, size_t n);
  int (*news)(void *arg, hd_balance_told *told, void *ctx);
  int (*told)(void *arg, enum hd_news what, const char *data, size_t n);
};

struct hd_balance_counts {
  uint64_t steals, failed, given, accepted, inserted, concluded, messages, bytes;
  double idle; /* seconds */
};

/* The kinds of messages; those from HD_MSG_OTHER on are the caller's. */
enum hd_msg {
  HD_MSG_STEAL,
  HD_MSG_NONE,
  HD_MSG_UNIT,
  HD_MSG_INSERT,
  HD_MSG_ACK,
  HD_MSG_CONCLUDED,
  HD_MSG_OTHER
};
struct hd_msg_head {
  uint32_t kind;       /* enum hd_msg */
  uint32_t generation; /* of the search: a message of another one says nothing */
  uint32_t serial;
  uint32_t unused;
};

struct hd_balance;
struct hd_balance *hd_balance_new(struct hd_net *net, const struct hd_host *host, uint64_t seed);
void hd_balance_free(struct hd_balance *b);
/* The search has restarted: what is outstanding is void. */
void hd_balance_restart(struct hd_balance *b, uint32_t generation);
/* A message of a kind below HD_MSG_OTHER has arrived. */
void hd_balance_message(struct hd_balance *b, int from, const char *data, size_t n);
/* Does what there is to do now. */
void hd_balance_tick(struct hd_balance *b);
/* While it is frozen nothing is given or asked for; what is on its way is still dealt with. */
void hd_balance_freeze(struct hd_balance *b, bool on);
void hd_balance_drain(struct hd_balance *b);
/* Nothing is left of what has arrived, and no answer is expected. */
bool hd_balance_settled(const struct hd_balance *b);
/* There was nothing to do at the last tick. */
bool hd_balance_idle(const struct hd_balance *b);
/* A unit, or news, did not fit: the ranks do not know the same. */
bool hd_balance_refused(const struct hd_balance *b);
const struct hd_balance_counts *hd_balance_counts(const struct hd_balance *b);
/* Sends a message of this generation, and counts it. */
void hd_balance_send(struct hd_balance *b, int to, uint32_t kind, uint32_t serial, const void *data,
                     size_t n);

#endif
