/* finding.h: findings, the call stacks in them, and errors that end the search (finding.c). */
#ifndef HD_RUNTIME_FINDING_H
#define HD_RUNTIME_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/core/util.h"
#include "abi/abi.h"

struct hd_obj;
struct hd_thread;

/* ---- sites: a place with its callers, kept for reports; 0 is no site ---- */

/* Without hot.detail a site is just its program counter. */
uint64_t hd__site_here(uint64_t pc);
HD_EACH void hd__sites_reset(void);
uint64_t hd__site_pc(uint64_t site);
/* Writes the site's program counter and its callers; returns how many, at most `max`. */
unsigned hd__site_walk(uint64_t site, uint64_t *out, unsigned max);
/* Writes the program counters of the thread's calls, innermost first, after `pc` unless that is 0. Returns how
 * many, at most `max`. */
unsigned hd__walk(const struct hd_thread *t, uint64_t pc, uint64_t *out, unsigned max);
/* Where the running thread made its last system call, for calls that come from code without hooks. */
uint64_t hd__innermost(void);

/* ---- findings ---- */

/* Begins a finding. Returns NULL when its kind is ignored, or it is known already, or another one is searched for.
 * The caller adds sites and calls hd__finding_done. */
struct hd_finding_rec *hd__finding(unsigned kind, uint64_t pc1, uint64_t pc2);
/* Whether hd__finding would return NULL since that is ignored, or known. */
bool hd__finding_known(unsigned kind, uint64_t pc);
/* The search is not complete, for a reason that arose at pc (0: unknown). */
void hd__inexact(enum hd_inexact why, uint64_t pc);
struct hd_site *hd__finding_site(struct hd_finding_rec *f, unsigned role, unsigned thread, unsigned op);
void hd__site_stack(struct hd_site *s, struct hd_thread *t, uint64_t pc);
/* The stack of the running thread at a fault, from the registers in the signal frame. */
void hd__site_fault(struct hd_site *s, uint64_t pc, uint64_t sp);
void hd__site_stored(struct hd_site *s, uint64_t site);
/* Adds one site for each thread that holds the object, where it took it. */
void hd__site_holders(struct hd_finding_rec *f, const struct hd_obj *o);
/* Adds where the heap block around addr was allocated and freed. */
void hd__site_block(struct hd_finding_rec *f, uint64_t addr);
/* Stores the finding with the schedule so far. Ends the execution; under --all it only stops the thread, and that
 * only if the finding is fatal. */
void hd__finding_done(struct hd_finding_rec *f, bool fatal);
/* The current thread creates another, which may use its local variables: under detail, remembers its frames, since the
 * functions may have returned when a finding occurs. */
void hd__finding_creates(void);
/* Records the heap blocks, which name what is in them. pre: hot.detail */
void hd__finding_blocks(void);

void hd__report_simple(unsigned kind, uint64_t object, uint64_t pc, const char *text, bool fatal);
/* Begins a finding of the running thread at its current place, whose site is unwound through all callers. Returns
 * NULL as hd__finding does. */
struct hd_finding_rec *hd__finding_unwound(unsigned kind, unsigned op);
_Noreturn void hd__report_assertion(const char *text);
void hd__report_deadlock(void);
void hd__report_unanswered(void);
void hd__report_livelock(void);
void hd__report_overflow(uint64_t pc);

/* ---- errors ---- */

/* Records why the search cannot continue (HD_RTE_*) and ends the process. */
_Noreturn void hd__fail(unsigned error, uint64_t pc, const char *text);
_Noreturn void hd__unsupported(const char *function, uint64_t pc);

#endif
