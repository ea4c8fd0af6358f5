/* control.c: the shared memory of one tested process, and findings copied out of it. Runs in the supervisor.
 *
 * The tested process may do anything, wild writes over the shared memory included: every count read from it is clamped
 * to its area before it is used. */
#include "session/control.h"

#include "model/unkept.h"
#include "session/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static void fill_header(struct hd_control *c) {
  c->ctl->magic = HD_CTL_MAGIC;
  c->ctl->abi = HD_ABI_VERSION;
  c->ctl->size = sizeof(struct hd_ctl);
  c->ctl->config = c->config;
}

/* At the address the runtime uses; a second one (of a rerun) lands elsewhere, which is fine since the supervisor
 * follows no pointers. */
static void *map_file(int fd, uint64_t size, uint64_t address) {
  void *p = mmap((void *)address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  return p == MAP_FAILED ? NULL : p;
}

/* Creates and maps a memory file. */
static int make_file(const char *name, uint64_t size, uint64_t address, int *fd, void **at,
                     struct hd_err *err) {
  *fd = memfd_create(name, MFD_CLOEXEC);
  if (*fd < 0 || ftruncate(*fd, (off_t)size))
    return hd_fail(err, HD_EENV, "cannot create shared memory: %s", strerror(errno));
  *at = map_file(*fd, size, address);
  if (!*at)
    return hd_fail(err, HD_EENV, "cannot map %llu GiB of shared memory: %s; see ulimit -v",
                   (unsigned long long)size >> 30, strerror(errno));
  return HD_OK;
}

int hd_control_init(struct hd_control *c, const struct hd_config *config, const struct hd_control *with,
                    struct hd_err *err) {
  void *ctl = NULL, *shared = NULL;
  *c = (struct hd_control){.fd = -1, .search_fd = -1, .borrowed = with != NULL, .config = *config};
  int rc = make_file("heddle", HD_SHM_SIZE, HD_SHM_BASE, &c->fd, &ctl, err);
  c->ctl = ctl;
  if (with) {
    c->search_fd = with->search_fd;
    c->shared = with->shared;
  } else if (rc == HD_OK) {
    rc = make_file("heddle-search", HD_SEARCH_SIZE, HD_SEARCH_BASE, &c->search_fd, &shared, err);
    c->shared = shared;
  }
  if (rc != HD_OK) {
    hd_control_fini(c);
    return rc;
  }
  c->shared->magic = HD_CTL_MAGIC;
  fill_header(c);
  return HD_OK;
}

bool hd_control_sane(const struct hd_control *c) {
  const struct hd_ctl *ctl = c->ctl;
  const struct hd_status *st = &ctl->status;
  return ctl->magic == HD_CTL_MAGIC && ctl->abi == HD_ABI_VERSION && ctl->size == sizeof *ctl &&
         memcmp(&ctl->config, &c->config, sizeof c->config) == 0 && st->state <= HD_ST_ERROR &&
         st->restart <= HD_RESTART_FORK && st->unkept < HD_UNKEPT_COUNT && st->unshared < HD_UNKEPT_COUNT &&
         st->nfindings <= HD_MAX_FINDINGS && st->nmodules <= HD_MAX_MODULES &&
         st->max_threads <= HD_MAX_THREADS && st->path_len <= HD_PATH_CAP &&
         st->visible_count <= HD_VISIBLE_CAP && st->nevents <= HD_EVENT_CAP &&
         c->shared->magic == HD_CTL_MAGIC && c->shared->visible_count <= HD_VISIBLE_CAP;
}

void hd_control_save(struct hd_control *c) {
  c->good = c->ctl->status;
  for (int i = 0; i < HD_MAX_PHASES; i++) /* names are read as strings */
    c->good.phase[i].strategy[sizeof c->good.phase[i].strategy - 1] = '\0';
}

static int empty(int fd, uint64_t size, struct hd_err *err) {
  if (ftruncate(fd, 0) || ftruncate(fd, (off_t)size))
    return hd_fail(err, HD_EENV, "cannot empty shared memory: %s", strerror(errno));
  return HD_OK;
}

int hd_control_repair(struct hd_control *c, uint64_t last, struct hd_err *err) {
  uint64_t epoch = c->good.epoch;
  int rc = empty(c->fd, HD_SHM_SIZE, err);
  if (rc != HD_OK) return rc;
  fill_header(c);
  hd_inexact_note(c->good.inexact, HD_INEXACT_OVERWRITTEN,
                  0); /* reasons noted since the last save are lost */
  c->ctl->status = c->good;
  /* The entries that these count are lost. */
  c->ctl->status.nfindings = c->ctl->status.nmodules = 0;
  c->ctl->status.visible_count = c->ctl->status.visible_at_start = c->ctl->status.path_len = 0;
  c->ctl->status.shared_seen = 0;
  if (c->shared->magic == HD_CTL_MAGIC && c->shared->visible_count <= HD_VISIBLE_CAP) return HD_OK;
  rc = empty(c->search_fd, HD_SEARCH_SIZE, err);
  c->shared->magic = HD_CTL_MAGIC;
  c->shared->next_execution = last;
  c->shared->epoch = epoch;
  return rc;
}

int hd_control_again(struct hd_control *c, struct hd_err *err) {
  if (fallocate(c->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, HD_SHM_SYMBOLIC))
    return hd_fail(err, HD_EENV, "cannot empty shared memory: %s", strerror(errno));
  int rc = empty(c->search_fd, HD_SEARCH_SIZE, err);
  if (rc != HD_OK) return rc;
  c->shared->magic = HD_CTL_MAGIC;
  fill_header(c);
  c->good = c->ctl->status;
  return HD_OK;
}

int hd_control_inherit(struct hd_control *c, struct hd_err *err) {
  *c = (struct hd_control){.fd = HD_CTL_FD, .search_fd = HD_SEARCH_FD};
  c->ctl = map_file(c->fd, HD_SHM_SIZE, HD_SHM_BASE);
  c->shared = map_file(c->search_fd, HD_SEARCH_SIZE, HD_SEARCH_BASE);
  if (!c->ctl || !c->shared || c->ctl->magic != HD_CTL_MAGIC || c->ctl->size != sizeof *c->ctl)
    return hd_fail(err, HD_EENV, "the shared memory of `heddle replay --gdb` is gone; start it again");
  c->config = c->ctl->config;
  hd_restore_files(c);
  int rc = empty(c->fd, HD_SHM_SIZE, err);
  if (rc == HD_OK) rc = empty(c->search_fd, HD_SEARCH_SIZE, err);
  if (rc != HD_OK) return rc;
  c->shared->magic = HD_CTL_MAGIC;
  fill_header(c);
  return HD_OK;
}

/* Makes the writes to the worker's own memory that it had committed when it died. */
static void finish_counters(struct hd_control *c) {
  const struct hd_redo *r = &c->shared->redo[c->config.worker];
  uint32_t n = r->n <= HD_REDO_CAP ? r->n : 0;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t offset = r->write[i].at - HD_SHM_BASE, size = r->write[i].size;
    if (size <= sizeof r->write[i].value && offset < HD_SHM_SIZE - size)
      memcpy((char *)c->ctl + offset, &r->write[i].value, size);
  }
}

void hd_control_died(struct hd_control *c) {
  struct hd_shared *sh = c->shared;
  finish_counters(c);
  hd_crew_add(&sh->died, c->config.worker);
  hd_crew_del(&sh->ending, c->config.worker);
  uint32_t held = c->config.worker + 1;
  __atomic_compare_exchange_n(&sh->lock, &held, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

void hd_control_fini(struct hd_control *c) {
  if (c->ctl) munmap(c->ctl, HD_SHM_SIZE);
  if (c->shared && !c->borrowed) munmap(c->shared, HD_SEARCH_SIZE);
  if (c->fd >= 0) close(c->fd);
  if (c->search_fd >= 0 && !c->borrowed) close(c->search_fd);
  c->ctl = NULL;
  c->fd = -1;
}

void *hd_control_area(const struct hd_control *c, uint64_t offset) { return (char *)c->ctl + offset; }

static size_t clamp(uint64_t n, uint64_t max) { return (size_t)(n < max ? n : max); }

static void *copy(const void *p, size_t n, size_t item) {
  void *out = hd_alloc(n * item);
  memcpy(out, p, n * item);
  return out;
}

static void copy_paths(struct hd_capture *out, const struct hd_control *c, const hd_step *step) {
  out->nsteps = out->rec->path_len;
  out->step = copy(step, out->nsteps, sizeof *step);
  for (unsigned i = 1; i < HD_NUMBERED; i++)
    if (hd_place_valid(out->rec->numbers.place[i], i)) out->numbers.place[i] = out->rec->numbers.place[i];
  out->nvisible = out->rec->visible_count;
  out->visible = copy(hd_control_area(c, HD_SHM_VISIBLE), out->nvisible, sizeof(uint64_t));
}

void hd_capture_finding(struct hd_capture *out, const struct hd_control *c, size_t index) {
  HD_BUG_ON(index >= HD_MAX_FINDINGS);
  struct hd_finding_rec *r = copy(&c->ctl->finding[index], 1, sizeof *r);
  if (r->kind == HD_KIND_NONE || r->kind >= HD_KIND_COUNT) r->kind = HD_KIND_CRASH, r->partial = 1;
  r->nsites = (uint32_t)clamp(r->nsites, HD_MAX_SITES);
  r->nthreads = (uint32_t)clamp(r->nthreads, HD_MAX_THREAD_RECS);
  r->path_off = clamp(r->path_off, HD_FPATH_CAP);
  r->path_len = clamp(r->path_len, HD_FPATH_CAP - r->path_off);
  r->visible_count = clamp(r->visible_count, HD_VISIBLE_CAP);
  r->text[sizeof r->text - 1] = '\0';
  for (uint32_t i = 0; i < r->nsites; i++) {
    struct hd_site *s = &r->site[i];
    s->npc = (uint16_t)clamp(s->npc, HD_MAX_STACK);
    if (s->op >= HD_OP_COUNT) s->op = HD_OP_NONE;
  }
  *out = (struct hd_capture){.rec = r, .max_length = c->config.max_length};
  copy_paths(out, c, (hd_step *)hd_control_area(c, HD_SHM_FPATH) + r->path_off);
}

void hd_capture_death(struct hd_capture *out, const struct hd_control *c, enum hd_kind kind, int signal,
                      int status) {
  bool sane = hd_control_sane(c);
  const struct hd_status *st = sane ? &c->ctl->status : &c->good;
  struct hd_finding_rec *r = hd_alloc(sizeof *r);
  r->kind = kind;
  r->signal = sane ? signal : 0;
  r->status = status;
  r->partial = 1;
  r->execution = st->execution;
  r->phase = st->phase_now;
  r->seed = c->config.seed;
  if (sane) {
    r->path_len = st->path_len;
    r->numbers = st->numbers;
    r->visible_count = clamp(st->visible_at_start, st->visible_count);
  } else {
    snprintf(r->text, sizeof r->text, "the program overwrote the shared memory of Heddle's runtime");
  }
  int32_t identity[3] = {(int32_t)kind, r->signal, sane ? status : 0};
  r->key = XXH64(identity, sizeof identity, 0);
  *out = (struct hd_capture){.rec = r, .max_length = c->config.max_length};
  copy_paths(out, c, hd_control_area(c, HD_SHM_PATH));
}

void hd_capture_fini(struct hd_capture *c) {
  free(c->rec);
  free(c->step);
  free(c->visible);
  *c = (struct hd_capture){0};
}
