/* aim.h: `heddle aim`: searches for an execution that reaches given lines. Runs in the supervisor. */
#ifndef HD_SESSION_AIM_H
#define HD_SESSION_AIM_H

#include "report/places.h"
#include "session/command.h"
#include "session/session.h"

/* One line to reach. */
struct hd_aim_line {
  char *given;      /* as the user wrote it */
  const char *path; /* of the file, as the debug information has it; borrowed from the places */
  int line;
  bool allocates; /* the access is the allocation of a block: so is one to the block */
};

/* What a search looks for: lines to reach one after the other. */
struct hd_goal {
  struct hd_aim_line line[HD_MAX_AIMS];
  size_t n;
  bool failure;      /* a failure at the last line; else it is enough to reach it */
  enum hd_kind kind; /* of that failure; HD_KIND_NONE: any */
  bool any_order;    /* the failure has all of the lines, in whatever order */
};
/* Parses FILE:LINE[,FILE:LINE...]. The caller frees, also after an error. */
int hd_goal_parse(struct hd_goal *g, struct hd_places *places, const char *text, struct hd_err *err);
/* Adds a line. */
int hd_goal_add(struct hd_goal *g, struct hd_places *places, const char *file, int line, struct hd_err *err);
void hd_goal_fini(struct hd_goal *g);

struct hd_aim_config {
  struct hd_session_config session; /* `time` is that of the whole goal */
  enum hd_aim_heuristic heuristic;
  enum hd_aim_search search;
  bool no_refine, no_meta, fsm;
  bool complete; /* try to show that the lines cannot be reached */
  bool
      symbolic; /* inputs are searched, too: first by the driver of `session`, then by the rounds of `rounds` */
  struct hd_session_config rounds;
  const struct hd_program *program;
  char *const *library; /* those of its libraries that may have lines and facts */
  size_t nlibraries;
  bool no_facts; /* do not use those of the program */
};

enum hd_aim_result { HD_AIM_REACHED, HD_AIM_UNREACHABLE, HD_AIM_NOT_REACHED };

struct hd_aim_outcome {
  enum hd_aim_result result;
  unsigned finding; /* its number in the folder of findings; 0: none */
  size_t reached;   /* lines that were reached, one after the other */
  uint64_t executions, events;
  uint64_t refinements, backtracks;
  bool facts;        /* there were some */
  uint32_t distance; /* of the nearest point; HD_AIM_FAR: not known */
  char *nearest;     /* "file:line", or NULL */
  char *why;         /* not reached: what ended the search; owned */
  double seconds;
  json_t *summary; /* of the last search; owned */
};
void hd_aim_outcome_fini(struct hd_aim_outcome *o);

/* Searches. `program`: its path. */
int hd_aim(const struct hd_aim_config *c, const struct hd_goal *g, struct hd_places *places,
           const struct hd_session_events *events, struct hd_aim_outcome *out, struct hd_err *err);

#endif
