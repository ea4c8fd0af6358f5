/* control.h: the shared memory of one tested process, and findings copied out of it. Runs in the supervisor. */
#ifndef HD_SESSION_CONTROL_H
#define HD_SESSION_CONTROL_H

#include "abi/abi.h"
#include "base/base.h"

struct hd_schedule;

struct hd_control {
  int fd, search_fd;
  bool borrowed; /* the search memory belongs to another control */
  struct hd_ctl *ctl;
  struct hd_shared *shared; /* head of the search memory */
  struct hd_config config;  /* a copy of the process's configuration, out of its reach */
  struct hd_status good;    /* the last sane status */
};

/* `with`: another control whose search memory is shared, or NULL for a new one. */
int hd_control_init(struct hd_control *c, const struct hd_config *config, const struct hd_control *with,
                    struct hd_err *err);
/* Uses shared memory created by another process: restores files that a tested process changed, then clears everything
 * except the configuration. pre: the descriptors are those of HD_CTL_FD and HD_SEARCH_FD. */
int hd_control_inherit(struct hd_control *c, struct hd_err *err);
void hd_control_fini(struct hd_control *c);
void *hd_control_area(const struct hd_control *c, uint64_t offset);

/* Writes the schedule where the runtime reads it. pre: the control's configuration is that of the schedule. */
void hd_control_schedule(const struct hd_control *c, const struct hd_schedule *s);

/* Whether the shared memory can be trusted: a wild write of the program may have hit it. */
bool hd_control_sane(const struct hd_control *c);
/* Saves the counters. pre: sane. */
void hd_control_save(struct hd_control *c);
/* Clears the shared memory and restores the configuration and the counters last saved. `last`: the number of the last
 * execution, in case the search memory is lost too. */
int hd_control_repair(struct hd_control *c, uint64_t last, struct hd_err *err);
/* Clears everything but the configuration and what concerns inputs, so that another search can begin. pre: no process uses
 * it. */
int hd_control_again(struct hd_control *c, struct hd_err *err);
/* Releases the locks that the dead process held. */
void hd_control_died(struct hd_control *c);

/* ---- captures: findings copied out of the shared memory, with their schedules ---- */

struct hd_capture {
  struct hd_finding_rec *rec; /* owned */
  hd_step *step;              /* owned */
  size_t nsteps;
  uint64_t *visible; /* owned */
  size_t nvisible;
  struct hd_numbers numbers;
  uint64_t max_length; /* of the search that found it: how long loops are followed depends on it */
};
void hd_capture_finding(struct hd_capture *out, const struct hd_control *c, size_t index);
/* The supervisor's own finding: the process died during an execution. Its schedule is empty if the shared memory is
 * not sane. */
void hd_capture_death(struct hd_capture *out, const struct hd_control *c, enum hd_kind kind, int signal,
                      int status);
void hd_capture_fini(struct hd_capture *c);

#endif
