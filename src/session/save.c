/* save.c: a search that is stopped and continued later. Runs in the supervisor.
 *
 * What is written is the search as a value (explore/save.c): it means the same to every process of the program, wherever
 * its memory is. While it is written the workers wait between two executions. The file appears under its name in one
 * step, so there is always a whole one. To continue, the bytes are laid into the inbox of the search memory; the first
 * tested process reads them, since only there the new addresses are known.
 *
 * Layout: struct head; then one zstd stream (with checksum) of: number of known findings, for each its key, length
 * and text of its identity; length and bytes of the search; what each worker has exercised, as its number plus 1 and
 * its table, then 0; how many spans of numbers are left (explore/spans.c), and these. Addresses in the tables are those of the
 * process: another layout drops them. */
#include "session/session_int.h"

#include "explore/explore.h"
#include "model/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#define EVERY 3.0    /* seconds between two savings */
#define PATIENCE 1.0 /* seconds to wait for an execution to end; if it does not, another time */
#define CHUNK (1u << 20)

static const char magic[8] = "HDSAVE3";

struct head {
  char magic[8];
  uint32_t abi, size;
  uint64_t check; /* of all that follows in the head */
  uint64_t program_hash, program_size;
  uint64_t command; /* hash of the arguments */
  uint64_t input;   /* hash of the standard input */
  struct hd_config config;
  struct hd_status total;
  double seconds;
  uint64_t deaths, suppressed, reported;
  /* Of struct hd_shared. */
  uint64_t next_execution, not_begun, epoch, bound_cut, layout;
  uint32_t over, bound, bounds_done, partial, crew, cover_dropped, waited, pad;
  double at_least;
  uint64_t phase_findings[HD_MAX_PHASES];
};

static uint64_t head_check(const struct head *h) {
  size_t from = offsetof(struct head, program_hash);
  return XXH64((const char *)h + from, sizeof *h - from, 0);
}

static uint64_t command_hash(const struct hd_session *s) {
  uint64_t h = 0;
  for (char **w = s->command.argv + 1; *w; w++) h = XXH64(*w, strlen(*w) + 1, h + 1);
  return h;
}

uint64_t hd_session_identity(const struct hd_session *s) {
  return command_hash(s) * 31 + s->command.program.hash + s->command.program.size;
}

static uint64_t input_hash(const struct hd_session *s) {
  uint64_t h = 0;
  char buf[4096];
  ssize_t n;
  for (off_t at = 0; s->input.fd >= 0 && (n = pread(s->input.fd, buf, sizeof buf, at)) > 0; at += n)
    h = XXH64(buf, (size_t)n, h + 1);
  return h;
}

/* ---- writing ---- */

struct writer {
  int fd;
  ZSTD_CStream *z;
  char *out;
  int failed; /* errno */
};

static void put(struct writer *w, const void *data, size_t len, ZSTD_EndDirective how) {
  ZSTD_inBuffer in = {data, len, 0};
  size_t left;
  do {
    ZSTD_outBuffer out = {w->out, CHUNK, 0};
    left = ZSTD_compressStream2(w->z, &out, &in, how);
    HD_BUG_ON(ZSTD_isError(left));
    if (!w->failed && hd_write_all(w->fd, w->out, out.pos)) w->failed = errno ? errno : EIO;
  } while (how == ZSTD_e_end ? left > 0 : in.pos < in.size);
}

static void put_number(struct writer *w, uint64_t n) { put(w, &n, sizeof n, ZSTD_e_continue); }

/* ---- the search as bytes ---- */

int hd__writer_grow(struct hd_writer *w, size_t n) {
  while (w->cap - w->n < n) w->cap = w->cap ? w->cap * 2 : CHUNK;
  w->data = hd_realloc(w->data, w->cap);
  return 1;
}

struct hd_layout hd__layout_of(const struct hd_control *c) {
  struct hd_layout layout;
  uint32_t n = c->ctl->nranges;
  hd_layout_init(&layout, c->ctl->range, n < HD_MAX_RANGES ? n : HD_MAX_RANGES);
  return layout;
}

/* The search, as a process of it would see it. Pointers in its memory are valid here: it is mapped where they point.
 * False when it is not, or has no strategy. */
static int none_is_captured(struct hd_search *s, uint64_t out[2]) {
  (void)s, (void)out;
  return 0;
}

bool hd__search_attach(const struct hd_session *s, struct hd_search *search, struct hd_status *status) {
  const struct hd_control *c = &s->worker[0].control;
  char *base = (char *)c->shared;
  void *scratch =
      mmap(NULL, HD_SCRATCH_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  search->scratch = NULL;
  if (scratch == MAP_FAILED) return false;
  *status = (struct hd_status){.epoch = c->shared->epoch};
  *search = (struct hd_search){.config = &c->config,
                               .status = status,
                               .shared = c->shared,
                               .workers = s->nworkers,
                               .memory = base + HD_SEARCH_MEMORY,
                               .memory_size = HD_SEARCH_CAP,
                               .classes = base + HD_SEARCH_CLASSES,
                               .classes_size = HD_SEARCH_MEMORY - HD_SEARCH_CLASSES,
                               .scratch = scratch};
  if (c->config.states == HD_REDUCE_YES) { /* so that the policy is that of the processes */
    search->fingerprint = none_is_captured;
    hd_accessed_init(search);
  }
  return base == (char *)HD_SEARCH_BASE;
}

void hd__search_detach(struct hd_search *search) {
  if (search->scratch) munmap(search->scratch, HD_SCRATCH_SIZE);
}

/* Returns 0 or an errno. */
static int put_search(const struct hd_session *s, struct hd_writer *out) {
  const struct hd_control *c = &s->worker[0].control;
  const struct hd_strategy *strategy = hd_strategy_for(&c->config);
  struct hd_layout layout = hd__layout_of(c);
  struct hd_search search;
  struct hd_status status;
  int failed = EADDRINUSE;
  *out = (struct hd_writer){.layout = &layout, .grow = hd__writer_grow};
  if (c->shared->inbox_full) { /* nobody has read it yet */
    hd_put_bytes(out, (char *)c->shared + HD_SEARCH_INBOX, c->shared->inbox);
    return 0;
  }
  search.scratch = NULL;
  if (strategy && hd__search_attach(s, &search, &status)) {
    hd_search_recover_all(&search);
    const uint64_t *visible = (const uint64_t *)((char *)c->shared + HD_SEARCH_VISIBLE);
    uint64_t n = c->shared->visible_count;
    failed =
        hd_search_save(&search, strategy, visible, n < HD_VISIBLE_CAP ? n : HD_VISIBLE_CAP, out) ? 0 : E2BIG;
  }
  hd__search_detach(&search);
  out->layout = NULL;
  return failed;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static void put_covers(struct writer *w, const struct hd_shared *sh) {
  for (uint32_t i = 0; i < sh->crew && i < HD_MAX_WORKERS; i++) {
    const struct hd_cover *c = (const void *)((char *)sh + HD_SEARCH_COVER + i * HD_COVER_SIZE);
    if (!c->begun) continue;
    put_number(w, i + 1);
    put(w, c, offsetof(struct hd_cover, place), ZSTD_e_continue);
    put(w, c->place, least(c->nplaces, HD_COVER_PLACES) * sizeof *c->place, ZSTD_e_continue);
    put(w, c->pair, least(c->npairs, HD_COVER_PAIRS) * sizeof *c->pair, ZSTD_e_continue);
  }
  put_number(w, 0);
}

static void fill_head(const struct hd_session *s, struct head *h) {
  const struct hd_control *c = &s->worker[0].control;
  const struct hd_shared *sh = c->shared;
  struct hd_layout layout = hd__layout_of(c);
  *h = (struct head){.abi = HD_ABI_VERSION,
                     .size = sizeof *h,
                     .program_hash = s->command.program.hash,
                     .program_size = s->command.program.size,
                     .command = command_hash(s),
                     .input = input_hash(s),
                     .config = s->worker[0].control.config,
                     .total = hd__session_total(s),
                     .seconds = hd_now() - s->started + s->carried_seconds,
                     .deaths = s->deaths,
                     .suppressed = s->suppressed,
                     .reported = s->finding.n + s->reported_before,
                     .next_execution = sh->next_execution,
                     .not_begun = sh->not_begun,
                     .epoch = sh->epoch,
                     .bound_cut = sh->bound_cut,
                     .layout = sh->inbox_full ? sh->inbox_layout : hd_layout_hash(&layout),
                     .over = sh->over,
                     .bound = sh->bound,
                     .bounds_done = sh->bounds_done,
                     .partial = sh->partial,
                     .crew = sh->crew,
                     .cover_dropped = sh->cover_dropped,
                     .waited = sh->waited};
  h->at_least = sh->at_least;
  if (!sh->inbox_full) {
    h->config.ngrown = c->good.ngrown < HD_MAX_GROWN ? (uint32_t)c->good.ngrown : HD_MAX_GROWN;
    memcpy(h->config.grown, c->good.grown, sizeof h->config.grown);
  }
  memcpy(h->magic, magic, sizeof magic);
  memcpy(h->phase_findings, s->phase_findings, sizeof h->phase_findings);
  h->check = head_check(h);
}

/* The parts of a cluster, or the numbers that its other machines have left; of a search of this machine, none. */
struct parts {
  const struct hd_saved_part *part;
  uint32_t ranks;
  const struct hd_span *span;
  uint64_t nspans;
};

static void put_spans(struct writer *w, const struct hd_shared *sh, const struct parts *parts) {
  uint64_t own = least(sh->nspans, HD_SPANS);
  put_number(w, own + parts->nspans);
  put(w, sh->span, own * sizeof *sh->span, ZSTD_e_continue);
  put(w, parts->span, parts->nspans * sizeof *parts->span, ZSTD_e_continue);
}

static int put_merged(struct hd_session *s, const struct parts *p, struct hd_writer *out) {
  struct hd_layout layout = hd__layout_of(&s->worker[0].control);
  *out = (struct hd_writer){.layout = &layout, .grow = hd__writer_grow};
  int good = hd__units_merge(s, p->part, p->ranks, out);
  out->layout = NULL;
  return good ? 0 : EPROTO;
}

static int write_save(struct hd_session *s, const struct parts *parts, int fd) {
  struct head h;
  struct hd_writer search;
  int failed = parts->ranks ? put_merged(s, parts, &search) : put_search(s, &search);
  fill_head(s, &h);
  struct writer w = {.fd = fd, .z = ZSTD_createCStream(), .out = hd_alloc(CHUNK)};
  HD_BUG_ON(!w.z);
  ZSTD_CCtx_setParameter(w.z, ZSTD_c_compressionLevel, 1);
  ZSTD_CCtx_setParameter(w.z, ZSTD_c_checksumFlag, 1);
  if (hd_write_all(fd, &h, sizeof h)) w.failed = errno ? errno : EIO;
  put_number(&w, s->identity.n);
  for (size_t i = 0; i < s->identity.n; i++) {
    put_number(&w, strlen(s->identity.v[i]));
    put(&w, s->identity.v[i], strlen(s->identity.v[i]), ZSTD_e_continue);
  }
  put_number(&w, s->key.n);
  put(&w, s->key.v, s->key.n * sizeof *s->key.v, ZSTD_e_continue);
  put_number(&w, search.n);
  put(&w, search.data, search.n, ZSTD_e_continue);
  put_covers(&w, s->worker[0].control.shared);
  put_spans(&w, s->worker[0].control.shared, parts);
  put(&w, NULL, 0, ZSTD_e_end);
  if (!w.failed && fsync(fd)) w.failed = errno;
  ZSTD_freeCStream(w.z);
  free(w.out);
  free(search.data);
  return failed ? failed : w.failed;
}

/* In a process of its own: the tested program may have written over what is followed here. Returns 0 or an errno. */
static int write_apart(struct hd_session *s, const struct parts *parts, int fd) {
  pid_t child = fork();
  if (child == 0) _exit(write_save(s, parts, fd));
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (child < 0) return errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EFAULT;
}

static int save_to(struct hd_session *s, const char *path, const struct parts *parts, struct hd_err *err) {
  char *tmp = hd_sprintf("%s.tmp-%d", path, (int)getpid());
  int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  int failed = fd < 0 ? errno : write_apart(s, parts, fd);
  if (fd >= 0 && close(fd) && !failed) failed = errno;
  if (!failed && rename(tmp, path)) failed = errno;
  if (failed) unlink(tmp);
  free(tmp);
  s->saved_at = hd_now();
  if (!failed) return HD_OK;
  return hd_fail(err, HD_EENV, "--save %s: %s", path, strerror(failed));
}

static int save_now(struct hd_session *s, struct hd_err *err) {
  return save_to(s, s->save, &(struct parts){0}, err);
}

int hd__save_merged(struct hd_session *s, const char *path, const struct hd_saved_part *part, uint32_t ranks,
                    struct hd_err *err) {
  return save_to(s, path, &(struct parts){.part = part, .ranks = ranks}, err);
}

int hd__save_spans(struct hd_session *s, const char *path, const struct hd_span *span, uint64_t n,
                   struct hd_err *err) {
  if (n + s->worker[0].control.shared->nspans > HD_SPANS)
    return hd_fail(err, HD_EENV, "--save %s: too many ranks have samples under way", path);
  return save_to(s, path, &(struct parts){.span = span, .nspans = n}, err);
}

int hd__save_tick(struct hd_session *s, struct hd_err *err) {
  if (!s->save || hd_now() - s->saved_at < EVERY) return HD_OK;
  int rc = HD_OK;
  if (hd_session_pause(s, PATIENCE)) {
    for (unsigned i = 0; i < s->nworkers; i++)
      if (s->worker[i].control.ctl) hd__session_harvest(s, &s->worker[i]);
    rc = save_now(s, err);
  } else {
    s->saved_at = hd_now() - EVERY / 2; /* soon */
  }
  hd_session_go_on(s);
  return rc;
}

int hd__save_end(struct hd_session *s, struct hd_err *err) { return s->save ? save_now(s, err) : HD_OK; }

/* ---- reading ---- */

struct reader {
  const char *path;
  char *data;
  ZSTD_DStream *z;
  ZSTD_inBuffer in;
  size_t left; /* 0: the stream has ended, and its checksum is right */
};

/* Exactly `len` bytes; false when the stream ends or is damaged. */
static bool get(struct reader *r, void *to, size_t len) {
  ZSTD_outBuffer out = {to, len, 0};
  while (out.pos < out.size) {
    size_t before = out.pos, had = r->in.pos;
    r->left = ZSTD_decompressStream(r->z, &out, &r->in);
    if (ZSTD_isError(r->left)) return false;
    if (out.pos == before && r->in.pos == had) return false;
  }
  return true;
}

static bool get_known(struct reader *r, struct hd_session *s) {
  uint64_t n, len;
  if (!get(r, &n, sizeof n) || n > HD_MAX_FINDINGS * 64ull) return false;
  for (uint64_t i = 0; i < n; i++) {
    if (!get(r, &len, sizeof len) || len > CHUNK) return false;
    char *text = hd_alloc(len + 1);
    if (!get(r, text, len)) {
      free(text);
      return false;
    }
    hd_vec_push(&s->identity, text);
  }
  if (!get(r, &n, sizeof n) || n > HD_MAX_FINDINGS * 64ull) return false;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t key;
    if (!get(r, &key, sizeof key)) return false;
    hd_vec_push(&s->key, key);
  }
  return true;
}

/* The search goes into the inbox, for the first process to read. */
static bool get_search(struct reader *r, const struct hd_control *c) {
  uint64_t n;
  if (!get(r, &n, sizeof n) || n > HD_SEARCH_SIZE - HD_SEARCH_INBOX) return false;
  if (!get(r, (char *)c->shared + HD_SEARCH_INBOX, n)) return false;
  c->shared->inbox = n;
  c->shared->inbox_full = 1;
  return true;
}

static bool get_covers(struct reader *r, const struct hd_control *c) {
  for (;;) {
    uint64_t i;
    if (!get(r, &i, sizeof i) || i > HD_MAX_WORKERS) return false;
    if (!i) break;
    struct hd_cover *t = (void *)((char *)c->shared + HD_SEARCH_COVER + (i - 1) * HD_COVER_SIZE);
    if (!get(r, t, offsetof(struct hd_cover, place)) || t->nplaces > HD_COVER_PLACES ||
        t->npairs > HD_COVER_PAIRS || !get(r, t->place, t->nplaces * sizeof *t->place) ||
        !get(r, t->pair, t->npairs * sizeof *t->pair))
      return false;
  }
  return true;
}

static bool get_spans(struct reader *r, const struct hd_control *c) {
  struct hd_shared *sh = c->shared;
  uint64_t n;
  if (!get(r, &n, sizeof n) || n > HD_SPANS || !get(r, sh->span, n * sizeof *sh->span)) return false;
  sh->nspans = n;
  for (uint64_t i = 0; i < n; i++)
    if (sh->span[i].next >= sh->span[i].end) return false;
  ZSTD_outBuffer none = {NULL, 0, 0};
  return r->left == 0 || ZSTD_decompressStream(r->z, &none, &r->in) == 0;
}

static int check_form(const char *path, const struct head *h, size_t len, struct hd_err *err) {
  if (len < sizeof h->magic || memcmp(h->magic, magic, sizeof magic) != 0)
    return hd_fail(err, HD_EUSAGE, "--resume %s: not a saved search", path);
  if (len >= offsetof(struct head, check) && (h->abi != HD_ABI_VERSION || h->size != sizeof *h))
    return hd_fail(err, HD_EUSAGE,
                   "--resume %s: saved by another version of heddle; search again from the start", path);
  if (len < sizeof *h || h->check != head_check(h))
    return hd_fail(err, HD_EUSAGE, "--resume %s: the file is damaged", path);
  return HD_OK;
}

static int check_program(const struct hd_session *s, const char *path, const struct head *h,
                         struct hd_err *err) {
  if (h->program_hash != s->command.program.hash || h->program_size != s->command.program.size)
    return hd_fail(
        err, HD_EUSAGE,
        "--resume %s: saved for another program, or %s was built again since; search from the start", path,
        s->command.argv[0]);
  if (h->command != command_hash(s))
    return hd_fail(err, HD_EUSAGE, "--resume %s: saved for other arguments of the program", path);
  if (h->input != input_hash(s))
    return hd_fail(err, HD_EUSAGE, "--resume %s: saved for another standard input", path);
  if (hd_settings_differ(&h->config, &s->config.search))
    return hd_fail(err, HD_EUSAGE, "--resume %s: saved with other settings", path);
  return HD_OK;
}

static int read_head(const char *path, struct head *h, struct hd_err *err) {
  *h = (struct head){0};
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, h, sizeof *h);
  int saved = errno;
  if (fd >= 0) close(fd);
  if (n < 0) return hd_fail(err, HD_EUSAGE, "--resume %s: %s", path, strerror(saved));
  return check_form(path, h, (size_t)n, err);
}

int hd_settings_read(const char *path, struct hd_config *out, struct hd_err *err) {
  struct head h;
  int rc = read_head(path, &h, err);
  if (rc == HD_OK) *out = h.config;
  return rc;
}

int hd_saved_findings(const char *path, uint64_t *n, struct hd_err *err) {
  struct head h;
  int rc = read_head(path, &h, err);
  if (rc == HD_OK) *n = h.reported;
  return rc;
}

/* The counters go on from where they were; what the workers count themselves is in the memory of each. */
static void carry(struct hd_session *s, const struct head *h) {
  struct hd_worker *w = &s->worker[0];
  struct hd_shared *sh = w->control.shared;
  sh->next_execution = h->next_execution;
  sh->not_begun = h->not_begun;
  sh->epoch = h->epoch;
  sh->bound_cut = h->bound_cut;
  sh->over = h->over;
  sh->bound = h->bound;
  sh->bounds_done = h->bounds_done;
  sh->partial = h->partial;
  sh->crew = h->crew;
  sh->cover_dropped = h->cover_dropped;
  sh->waited = h->waited;
  sh->inbox_layout = h->layout;
  sh->at_least = h->at_least;
  s->carried = h->total;
  s->carried.epoch = sh->epoch;
  memset(s->carried.inexact, 0, sizeof s->carried.inexact); /* the first worker has to know */
  s->carried_seconds = h->seconds;
  s->deaths = h->deaths;
  s->suppressed = h->suppressed;
  s->reported_before = h->reported;
  memcpy(s->phase_findings, h->phase_findings, sizeof s->phase_findings);
  sh->forgive = sh->next_execution;
  w->control.config.ngrown = h->config.ngrown;
  memcpy(w->control.config.grown, h->config.grown, sizeof h->config.grown);
  w->control.ctl->config = w->control.config;
  struct hd_status *st = &w->control.ctl->status;
  st->restart = h->total.restart;
  st->decided = 1;
  st->epoch = sh->epoch;
  memcpy(st->inexact, h->total.inexact, sizeof st->inexact);
}

int hd__resume(struct hd_session *s, const char *path, struct hd_err *err) {
  struct reader r = {.path = path};
  size_t len;
  int rc = hd_read_file(path, SIZE_MAX, &r.data, &len, err);
  if (rc != HD_OK) return rc;
  struct head h = {0};
  memcpy(&h, r.data, len < sizeof h ? len : sizeof h);
  rc = check_form(path, &h, len, err);
  if (rc == HD_OK) rc = check_program(s, path, &h, err);
  if (rc == HD_OK) {
    r.z = ZSTD_createDStream();
    HD_BUG_ON(!r.z);
    r.in = (ZSTD_inBuffer){r.data + sizeof h, len - sizeof h, 0};
    if (get_known(&r, s) && get_search(&r, &s->worker[0].control) && get_covers(&r, &s->worker[0].control) &&
        get_spans(&r, &s->worker[0].control))
      carry(s, &h);
    else
      rc = hd_fail(err, HD_EUSAGE, "--resume %s: the file is damaged", path);
    ZSTD_freeDStream(r.z);
  }
  free(r.data);
  return rc;
}
