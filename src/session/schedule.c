/* schedule.c: the file `schedule` of a finding, as text. Runs in the supervisor.
 *
 * Writing and reading are exact inverses (tests/unit/test_store.c). Reading is strict: the first thing
 * that is not as it would have been written is refused with file, line and what was expected, since a
 * schedule that is nearly right replays something else. docs/formats.md tells the formats. */
#include "session/names.h"
#include "session/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEDULE_HEAD "heddle-schedule 1"
#define WRAP 100
#define PLAIN_MAX (1u << 21) /* accesses recorded before it is known which memory is shared */

/* ---- schedule: writing ---- */

static const char *restart_name(uint32_t restart) { return restart == HD_RESTART_FORK ? "fork" : "memory"; }

static void add_kinds(struct hd_str *out, uint64_t bits) {
  const char *sep = "";
  for (int k = 1; k < HD_KIND_COUNT; k++) {
    if (!(bits >> k & 1)) continue;
    hd_str_addf(out, "%s%s", sep, hd_kind_name[k]);
    sep = ",";
  }
  if (!*sep) hd_str_add(out, "none");
}

static void add_visible(struct hd_str *out, const struct hd_schedule *s) {
  hd_str_addf(out, "visible %zu\n", s->nvisible);
  for (size_t i = 0; i < s->nvisible;) {
    size_t k = i + 1;
    while (k < s->nvisible && s->visible[k] == s->visible[k - 1] + 8) k++;
    hd_str_addf(out, "visible %llx-%llx\n", (unsigned long long)s->visible[i],
                (unsigned long long)s->visible[k - 1] + 8);
    i = k;
  }
}

/* The places of the threads, if they differ from those of a program whose first thread creates all others. */
static void add_numbers(struct hd_str *out, const struct hd_numbers *n) {
  unsigned last = HD_NUMBERED - 1;
  if (hd_numbers_plain(n)) return;
  while (!n->place[last]) last--;
  hd_str_add(out, "threads");
  for (unsigned i = 1; i <= last; i++)
    if (n->place[i])
      hd_str_addf(out, " %u.%u", hd_place_parent(n->place[i]), hd_place_nth(n->place[i]));
    else
      hd_str_add(out, " -");
  hd_str_addc(out, '\n');
}

/* The lines to reach, as offsets in the program or a library with the number of their line; none if there are none. */
static void add_aims(struct hd_str *out, const struct hd_aims *a) {
  if (!a->n) return;
  hd_str_addf(out, "aims %d", (int)a->silent);
  for (uint32_t i = 0; i < a->nplaces; i++) {
    uint64_t module = HD_AIM_MODULE(a->place[i].code), offset = HD_AIM_OFFSET(a->place[i].code);
    hd_str_addc(out, ' ');
    if (module) hd_str_addf(out, "%s+", a->library[module - 1]);
    hd_str_addf(out, "%llx.%llu", (unsigned long long)offset, (unsigned long long)a->place[i].aim);
  }
  hd_str_addc(out, '\n');
}

/* Whether the units at `at` are those of the decision at `first`, which takes n. */
static bool same_units(const struct hd_schedule *s, size_t first, size_t at, unsigned n) {
  return at + n <= s->nsteps && memcmp(s->step + first, s->step + at, n * sizeof *s->step) == 0;
}

static void add_steps(struct hd_str *out, const struct hd_schedule *s) {
  struct hd_decision d;
  size_t column = 0, count = 0;
  unsigned units;
  for (size_t i = 0; i < s->nsteps; i += units, count++) {
    units = hd_decision_get(s->step + i, s->nsteps - i, &d);
    HD_BUG_ON(!units);
  }
  hd_str_addf(out, "steps %zu\n", count);
  for (size_t i = 0; i < s->nsteps;) {
    char word[HD_DECISION_TEXT + 24];
    size_t times = 1;
    units = hd_decision_get(s->step + i, s->nsteps - i, &d);
    while (same_units(s, i, i + times * units, units)) times++;
    size_t n = hd_decision_format(word, d);
    if (times > 1) n += (size_t)snprintf(word + n, sizeof word - n, "*%zu", times);
    if (column && column + 1 + n > WRAP) {
      hd_str_addc(out, '\n');
      column = 0;
    }
    if (column) {
      hd_str_addc(out, ' ');
      column++;
    }
    hd_str_addn(out, word, n);
    column += n;
    i += times * units;
  }
  if (column) hd_str_addc(out, '\n');
  hd_str_add(out, "end\n");
}

void hd_schedule_format(struct hd_str *out, const struct hd_schedule *s) {
  hd_str_addf(out, "%s\nheddle %s\nstrategy %s\nseed %llu\nexecution %llu\n", SCHEDULE_HEAD, HD_VERSION,
              s->strategy, (unsigned long long)s->seed, (unsigned long long)s->execution);
  hd_str_addf(out,
              "restart %s\nmax-length %llu\nspurious %d\ntimeouts-any %d\nleaks %d\nthread-leaks %d\n"
              "exit-status %llu\nignore ",
              restart_name(s->restart), (unsigned long long)s->max_length, s->spurious, s->timeouts_any,
              s->leaks, s->thread_leaks, (unsigned long long)s->exit_status);
  add_kinds(out, s->ignore);
  hd_str_addf(out, "\nkind %s\nkey %016llx\npartial %d\n", hd_kind_name[s->kind], (unsigned long long)s->key,
              s->partial);
  if (s->closed) hd_str_add(out, "closed 1\n");
  add_visible(out, s);
  add_numbers(out, &s->numbers);
  add_aims(out, &s->aims);
  if (s->symbolic) hd_str_addf(out, "symbolic %u\n", s->symbolic);
  hd_inputs_format(out, &s->inputs);
  add_steps(out, s);
}

/* ---- reading, line by line ---- */

struct reader {
  const char *name;
  char *next; /* rest of the text, NULL at the end */
  int line;
  struct hd_err *err;
};

static int refuse(struct reader *r, const char *what) {
  return hd_fail(r->err, HD_EUSAGE, "%s:%d: damaged: expected %s", r->name, r->line, what);
}

/* The next line; NULL at the end of the text. A last line without newline is not one of ours. */
static char *next_line(struct reader *r) {
  r->line++;
  if (!r->next || !*r->next) return NULL;
  char *line = r->next, *nl = strchr(line, '\n');
  if (!nl) return NULL;
  *nl = '\0';
  r->next = nl + 1;
  return line;
}

/* A line "key value": the value, or NULL with the error set. */
static char *field(struct reader *r, const char *key) {
  char *line = next_line(r);
  size_t len = strlen(key);
  if (line && strncmp(line, key, len) == 0 && line[len] == ' ' && line[len + 1]) return line + len + 1;
  char what[64];
  snprintf(what, sizeof what, "\"%s VALUE\"", key);
  refuse(r, what);
  return NULL;
}

static int number_field(struct reader *r, const char *key, int base, uint64_t max, uint64_t *out) {
  char *v = field(r, key);
  if (!v) return HD_EUSAGE;
  if (hd_parse_u64(v, base, max, out)) return HD_OK;
  char what[96];
  snprintf(what, sizeof what, "a number up to %llu after \"%s\"", (unsigned long long)max, key);
  return refuse(r, what);
}

static int flag_field(struct reader *r, const char *key, bool *out) {
  uint64_t v = 0;
  int rc = number_field(r, key, 10, 1, &v);
  *out = v != 0;
  return rc;
}

static int text_problem(struct reader *r, const char *text, size_t len) {
  if (strlen(text) == len) return HD_OK;
  return hd_fail(r->err, HD_EUSAGE, "%s: damaged: contains a NUL byte", r->name);
}

static int head_line(struct reader *r, const char *head) {
  char *line = next_line(r);
  if (line && strcmp(line, head) == 0) return HD_OK;
  size_t word = strcspn(head, " ") + 1;
  if (line && strncmp(line, head, word) == 0)
    return hd_fail(r->err, HD_EUSAGE,
                   "%s:%d: written by another version of heddle (\"%s\", this one reads \"%s\")", r->name,
                   r->line, line, head);
  char what[64];
  snprintf(what, sizeof what, "\"%s\"", head);
  return refuse(r, what);
}

static int last_line(struct reader *r) {
  char *line = next_line(r);
  if (!line || strcmp(line, "end") != 0) return refuse(r, "\"end\"");
  if (*r->next) {
    r->line++;
    return refuse(r, "nothing after \"end\"");
  }
  return HD_OK;
}

static int read_header(struct hd_schedule *s, struct reader *r) {
  char *v = field(r, "heddle");
  if (!v || !(v = field(r, "strategy"))) return HD_EUSAGE;
  if (strlen(v) >= sizeof s->strategy) return refuse(r, "the name of a strategy");
  strcpy(s->strategy, v);
  if (number_field(r, "seed", 10, UINT64_MAX, &s->seed)) return HD_EUSAGE;
  if (number_field(r, "execution", 10, UINT64_MAX, &s->execution)) return HD_EUSAGE;
  if (!(v = field(r, "restart"))) return HD_EUSAGE;
  s->restart = strcmp(v, "fork") == 0 ? HD_RESTART_FORK : HD_RESTART_MEMORY;
  if (strcmp(v, restart_name(s->restart)) != 0) return refuse(r, "\"restart memory\" or \"restart fork\"");
  if (number_field(r, "max-length", 10, UINT64_MAX, &s->max_length)) return HD_EUSAGE;
  if (flag_field(r, "spurious", &s->spurious)) return HD_EUSAGE;
  if (flag_field(r, "timeouts-any", &s->timeouts_any)) return HD_EUSAGE;
  if (flag_field(r, "leaks", &s->leaks)) return HD_EUSAGE;
  if (flag_field(r, "thread-leaks", &s->thread_leaks)) return HD_EUSAGE;
  if (number_field(r, "exit-status", 10, 255, &s->exit_status)) return HD_EUSAGE;
  if (!(v = field(r, "ignore"))) return HD_EUSAGE;
  struct hd_err ignored;
  if (strcmp(v, "none") != 0 && hd_kinds_parse(v, &s->ignore, &ignored))
    return refuse(r, "kinds of findings");
  if (!(v = field(r, "kind"))) return HD_EUSAGE;
  if (!hd_kind_by_name(v, strlen(v), &s->kind)) return refuse(r, "a kind of finding");
  if (number_field(r, "key", 16, UINT64_MAX, &s->key)) return HD_EUSAGE;
  if (flag_field(r, "partial", &s->partial)) return HD_EUSAGE;
  if (!r->next || strncmp(r->next, "closed ", 7) != 0)
    return HD_OK; /* the line is there only with --closed */
  if (flag_field(r, "closed", &s->closed)) return HD_EUSAGE;
  return s->closed ? HD_OK : refuse(r, "\"closed 1\", or no such line");
}

static int read_visible(struct hd_schedule *s, struct reader *r) {
  uint64_t want;
  if (number_field(r, "visible", 10, HD_VISIBLE_CAP, &want)) return HD_EUSAGE;
  HD_VEC(uint64_t) all = {0};
  int rc = HD_OK;
  while (rc == HD_OK && all.n < want) {
    char *v = field(r, "visible");
    char *dash = v ? strchr(v, '-') : NULL;
    uint64_t from, to;
    if (dash) *dash = '\0';
    if (!dash || !hd_parse_u64(v, 16, UINT64_MAX, &from) || !hd_parse_u64(dash + 1, 16, UINT64_MAX, &to) ||
        to <= from || (to - from) % 8 != 0 || (to - from) / 8 > want - all.n)
      rc = refuse(r, "\"visible START-END\" within the count above");
    else
      for (uint64_t a = from; a < to; a += 8) hd_vec_push(&all, a);
  }
  s->visible = all.v;
  s->nvisible = all.n;
  return rc;
}

static bool read_place(char *word, unsigned number, uint16_t *place) {
  char *dot = strchr(word, '.');
  uint64_t parent, nth;
  if (strcmp(word, "-") == 0) return true;
  if (!dot) return false;
  *dot = '\0';
  if (!hd_parse_u64(word, 10, HD_NUMBERED - 1, &parent) || !hd_parse_u64(dot + 1, 10, 255, &nth))
    return false;
  *place = hd_place((unsigned)parent, (unsigned)nth);
  return hd_place_valid(*place, number);
}

/* The line is there only when it has something to say. */
static int read_numbers(struct hd_schedule *s, struct reader *r) {
  if (!r->next || strncmp(r->next, "threads ", 8) != 0) return HD_OK;
  char *line = field(r, "threads");
  unsigned n = 0;
  if (!line) return HD_EUSAGE;
  for (char *word; (word = strsep(&line, " "));)
    if (++n == HD_NUMBERED || !read_place(word, n, &s->numbers.place[n]))
      return refuse(r, "places of threads such as 0.1 or -");
  if (!s->numbers.place[n] || hd_numbers_plain(&s->numbers))
    return refuse(r, "\"steps\", since these places say nothing");
  return HD_OK;
}

/* The number of a module of that name, which is added if it is new; -1: there are too many, or it is none. */
static int module_named(struct hd_aims *a, const char *name) {
  uint32_t k = 0;
  while (k < a->nlibraries && strcmp(a->library[k], name) != 0) k++;
  if (k == HD_MAX_AIM_LIBRARIES || !*name || strlen(name) >= HD_AIM_LIBRARY_NAME) return -1;
  if (k == a->nlibraries) strcpy(a->library[a->nlibraries++], name);
  return (int)k + 1;
}

/* "1a2b" or "libx.so+1a2b". */
static bool read_code(struct hd_aims *a, char *word, uint64_t *code) {
  char *plus = strrchr(word, '+');
  if (plus) *plus = '\0';
  int module = plus ? module_named(a, word) : 0;
  uint64_t offset;
  if (module < 0 || !hd_parse_u64(plus ? plus + 1 : word, 16, HD_AIM_OFFSET(UINT64_MAX), &offset))
    return false;
  *code = HD_AIM_CODE(module, offset);
  return true;
}

/* As for read_numbers. Lines are numbered without gaps, in order. */
static int read_aims(struct hd_schedule *s, struct reader *r) {
  static const char what[] = "places such as 1a2b.0 after \"aims 0\" or \"aims 1\"";
  struct hd_aims *a = &s->aims;
  if (!r->next || strncmp(r->next, "aims ", 5) != 0) return HD_OK;
  char *line = field(r, "aims"), *word = line ? strsep(&line, " ") : NULL;
  if (!word) return HD_EUSAGE;
  uint64_t silent;
  if (!hd_parse_u64(word, 10, 1, &silent)) return refuse(r, what);
  a->silent = (uint32_t)silent;
  while ((word = strsep(&line, " "))) {
    char *dot = strrchr(word, '.');
    if (dot) *dot = '\0';
    uint64_t code, aim;
    if (!dot || a->nplaces == HD_MAX_AIM_PLACES || !read_code(a, word, &code) ||
        !hd_parse_u64(dot + 1, 10, HD_MAX_AIMS - 1, &aim) || aim > a->n || aim + 1 < a->n)
      return refuse(r, what);
    a->place[a->nplaces].code = code;
    a->place[a->nplaces++].aim = aim;
    if (aim == a->n) a->n++;
  }
  return a->n ? HD_OK : refuse(r, what);
}

/* What was followed: code that follows inputs has other addresses than the same code that does not. */
static int read_symbolic(struct hd_schedule *s, struct reader *r) {
  uint64_t mode;
  if (!r->next || strncmp(r->next, "symbolic ", 9) != 0) return HD_OK;
  if (number_field(r, "symbolic", 10, HD_SYMBOLIC_FOLLOWED, &mode)) return HD_EUSAGE;
  if (!mode || mode & ~(uint64_t)HD_SYMBOLIC_FOLLOWED) return refuse(r, "\"symbolic 2\" or \"symbolic 10\"");
  s->symbolic = (uint32_t)mode;
  return HD_OK;
}

static int read_inputs(struct hd_schedule *s, struct reader *r) {
  while (r->next && strncmp(r->next, "input ", 6) == 0) {
    char *line = field(r, "input");
    if (!line) return HD_EUSAGE;
    if (!hd_inputs_parse(&s->inputs, line)) return refuse(r, "\"input THREAD INDEX FLAGS LO HI BYTES NAME\"");
  }
  return HD_OK;
}

/* One word of the steps: a decision, or one and how often it is repeated: T*N. */
static bool read_step(char *word, size_t room, struct hd_decision *d, size_t *times) {
  char *star = strchr(word, '*');
  uint64_t n = 1;
  if (star) *star = '\0';
  if (star && (!hd_parse_u64(star + 1, 10, room, &n) || n < 2)) return false;
  *times = n;
  return n <= room && hd_decision_parse(word, d);
}

static int read_steps(struct hd_schedule *s, struct reader *r) {
  uint64_t want, count = 0;
  if (number_field(r, "steps", 10, HD_PATH_CAP, &want)) return HD_EUSAGE;
  HD_VEC(hd_step) all = {0};
  int rc = HD_OK;
  while (rc == HD_OK && count < want) {
    char *line = next_line(r);
    if (!line || !*line) {
      rc = refuse(r, "more steps");
      break;
    }
    for (char *word; rc == HD_OK && (word = strsep(&line, " "));) {
      struct hd_decision d;
      size_t times;
      if (!read_step(word, want - count, &d, &times)) {
        rc = refuse(r, "steps such as 0, 1*3 or c2, no more than the count above");
        break;
      }
      hd_step unit[HD_STEPS_MAX];
      unsigned units = hd_decision_put(unit, d);
      if (times > (HD_PATH_CAP - all.n) / units) {
        rc = refuse(r, "fewer steps");
        break;
      }
      for (count += times; times--;)
        for (unsigned i = 0; i < units; i++) hd_vec_push(&all, unit[i]);
    }
  }
  s->step = all.v;
  s->nsteps = all.n;
  return rc;
}

int hd_schedule_parse(struct hd_schedule *s, char *text, size_t len, const char *name, struct hd_err *err) {
  *s = (struct hd_schedule){0};
  struct reader r = {.name = name, .next = text, .err = err};
  int rc = text_problem(&r, text, len);
  if (rc == HD_OK) rc = head_line(&r, SCHEDULE_HEAD);
  if (rc == HD_OK) rc = read_header(s, &r);
  if (rc == HD_OK) rc = read_visible(s, &r);
  if (rc == HD_OK) rc = read_numbers(s, &r);
  if (rc == HD_OK) rc = read_aims(s, &r);
  if (rc == HD_OK) rc = read_symbolic(s, &r);
  if (rc == HD_OK) rc = read_inputs(s, &r);
  if (rc == HD_OK) rc = read_steps(s, &r);
  if (rc == HD_OK) rc = last_line(&r);
  if (rc != HD_OK) hd_schedule_fini(s);
  return rc;
}

void hd_schedule_fini(struct hd_schedule *s) {
  free(s->step);
  free(s->visible);
  hd_inputs_fini(&s->inputs);
  *s = (struct hd_schedule){0};
}

bool hd_schedule_has_key(const struct hd_schedule *s) {
  return !s->partial && s->kind != HD_KIND_HANG && s->kind != HD_KIND_LEAK;
}

void hd_schedule_config(const struct hd_schedule *s, struct hd_config *c) {
  *c = (struct hd_config){
      .mode = HD_MODE_REPLAY,
      .restart = s->restart,
      .seed = s->seed,
      .max_executions = 1,
      .workers = 1,
      .max_length = s->max_length,
      .ignore = s->ignore,
      /* With a key, that finding alone ends the replay; without one, nothing on the way may end it. */
      .all = !hd_schedule_has_key(s),
      .target_key = hd_schedule_has_key(s) ? s->key : 0,
      .detail = 1,
      .spurious = s->spurious,
      .timeouts_any = s->timeouts_any,
      .closed = s->closed,
      .leaks = s->leaks,
      .thread_leaks = s->thread_leaks,
      .exit_status = (uint32_t)s->exit_status,
      .replay_len = s->nsteps,
      .visible = s->nvisible,
      .numbers = s->numbers,
      .aims = s->aims,
      .symbolic = s->symbolic | (s->inputs.n || s->symbolic ? HD_SYMBOLIC_INPUTS : 0),
      .callers = s->callers,
      .plain = PLAIN_MAX,
  };
  memcpy(c->strategy, s->strategy, sizeof c->strategy);
}
