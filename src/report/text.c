/* text.c: findings and summaries as text. Runs in the supervisor.
 *
 * Plain text for 80 columns, or the width of the terminal; colour never carries meaning. Each place is quoted with its source line when the file can
 * be read. */
#include "analysis/analysis.h"
#include "report/report_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WHAT_WIDTH 24   /* room for "T1 write" before the location */
#define NAME_WIDTH 16   /* room for a function name */
#define NAME_LONG 48    /* longer names are shown without template arguments */
#define STACK_LINES 8   /* callers shown of one place */
#define QUOTE_INDENT 14 /* of a source line */

#define BOLD "\033[1m"
#define RED "\033[1;31m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

static bool no_colour;

void hd_text_no_colour(void) { no_colour = true; }

bool hd_text_colour(int fd) {
  const char *no = getenv("NO_COLOR");
  return isatty(fd) && !(no && *no) && !no_colour;
}

static void paint(struct hd_str *out, bool colour, const char *how) {
  if (colour) hd_str_add(out, how);
}

/* ---- places ---- */

/* The length of a template argument that nobody writes, at ", std::allocator<int> >"; 0: it is another one. */
static size_t default_argument(const char *p) {
  static const char *const names[] = {", std::allocator<", ", std::less<",           ", std::hash<",
                                      ", std::equal_to<",  ", std::default_delete<", ", std::char_traits<"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    size_t n = strlen(names[i]);
    if (strncmp(p, names[i], n) != 0) continue;
    unsigned depth = 1;
    for (; p[n] && depth; n++) depth += (p[n] == '<') - (p[n] == '>');
    return depth ? 0 : n + (p[n] == ' ' && p[n + 1] == '>');
  }
  return 0;
}

/* The length of the name of a lambda's function at "::{lambda(int)#1}::operator()" (gcc) or "::$_3::operator()" (clang). */
static size_t lambda(const char *p) {
  size_t n = 0;
  if (strncmp(p, "::{lambda(", 10) == 0) {
    const char *end = strchr(p, '}');
    n = end ? (size_t)(end + 1 - p) : 0;
  } else if (strncmp(p, "::$_", 4) == 0) {
    n = 4 + strspn(p + 4, "0123456789");
  }
  if (n && strncmp(p + n, "::operator()", 12) == 0) n += 12;
  return n;
}

/* "std::__cxx11::list<std::pair<...>, ...>::begin[abi:cxx11]" is "std::list<..>::begin" to people. */
void hd__text_function(struct hd_str *out, const char *name) {
  static const char *const noise[] = {"__cxx11::", "[abi:cxx11]"};
  struct hd_str plain;
  hd_str_init(&plain);
  for (const char *p = name; *p; p++) {
    size_t n = default_argument(p);
    for (size_t i = 0; i < sizeof noise / sizeof noise[0] && !n; i++)
      if (strncmp(p, noise[i], strlen(noise[i])) == 0) n = strlen(noise[i]);
    if (!n && (n = lambda(p))) {
      if (plain.n > 2 && strcmp(plain.s + plain.n - 2, "()") == 0) plain.s[plain.n -= 2] = '\0';
      hd_str_add(&plain, "::lambda");
    }
    if (n)
      p += n - 1;
    else
      hd_str_addc(&plain, *p);
  }
  if (!plain.n) return hd_str_fini(&plain);
  name = plain.s;
  bool is_long = strlen(name) > NAME_LONG;
  unsigned depth = 0;
  for (const char *p = name; *p; p++) {
    bool is_operator = (p - name >= 8 && strncmp(p - 8, "operator", 8) == 0) ||
                       (p - name >= 9 && strncmp(p - 9, "operator<", 9) == 0);
    bool arrow = *p == '>' && p > name && p[-1] == '-';
    if (is_long && *p == '<' && !is_operator && depth++ == 0) hd_str_add(out, "<..");
    if (is_long && *p == '>' && depth && !arrow) depth--;
    if (depth == 0) hd_str_addc(out, *p);
  }
  hd_str_fini(&plain);
}

static void add_location(struct hd_str *out, const struct hd_frame *f) {
  struct hd_str name;
  hd_str_init(&name);
  hd__text_function(&name, f->function ? f->function : "(unknown)");
  hd_str_addf(out, "%-*s", NAME_WIDTH, name.s);
  hd_str_fini(&name);
  if (f->file && f->line)
    hd_str_addf(out, " %s:%d", f->file, f->line);
  else
    hd_str_addf(out, " %#llx (no debug information)", (unsigned long long)f->pc);
}

struct hd_style hd_style_of(int fd, bool full) {
  struct hd_style style = {.colour = hd_text_colour(fd), .full = full, .width = 80};
  struct winsize size;
  if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
    style.width = size.ws_col < HD_WIDTH_MIN   ? HD_WIDTH_MIN
                  : size.ws_col > HD_WIDTH_MAX ? HD_WIDTH_MAX
                                               : size.ws_col;
  return style;
}

/* Bytes of the line until its `width`-th column is passed, escapes for colours not counted; all of it if it is not that long.
 * `space`: the last one on the way, 0: none. */
static size_t fits(const char *line, size_t n, size_t width, size_t *space) {
  size_t column = 0, indent = strspn(line, " ");
  *space = 0;
  for (size_t i = 0; i < n; i++) {
    if (line[i] == '\033') {
      while (i < n && line[i] != 'm') i++;
      continue;
    }
    if (line[i] == ' ' && i >= indent) *space = i;
    if (((unsigned char)line[i] & 0xc0) != 0x80 && ++column > width) return i;
  }
  return n;
}

/* One line, in as many as it needs; those after the first are indented by 2 more. */
static void fold_line(struct hd_str *out, const char *line, size_t n, size_t width) {
  size_t indent = strspn(line, " "), space, taken;
  bool whole = strncmp(line + indent, "replay:", 7) == 0; /* to be copied */
  for (size_t room = width; !whole && (taken = fits(line, n, room, &space)) < n && space;) {
    hd_str_addf(out, "%.*s\n%*s", (int)space, line, (int)indent + 2, "");
    n -= space + 1;
    line += space + 1;
    room = width - indent - 2;
  }
  hd_str_addn(out, line, n);
}

void hd_text_fold(struct hd_str *text, unsigned width) {
  struct hd_str out;
  hd_str_init(&out);
  for (const char *p = text->s, *end; p && *p; p = end) {
    size_t n = strcspn(p, "\n");
    end = p + n + (p[n] == '\n');
    fold_line(&out, p, n, width);
    hd_str_addn(&out, p + n, (size_t)(end - p) - n);
  }
  hd_str_fini(text);
  *text = out;
}

static void add_quote(struct hd_str *out, const struct hd_frame *f, const struct hd_style *style) {
  bool colour = style->colour;
  const char *line = hd__source_line(f->path, f->line);
  if (!line) return;
  line += strspn(line, " \t");
  paint(out, colour, DIM);
  int width = (int)strnlen(line, style->width - QUOTE_INDENT);
  while (width > 0 && line[width - 1] == ' ') width--;
  hd_str_addf(out, "      %5d | %.*s", f->line, width, line);
  paint(out, colour, PLAIN);
  hd_str_addc(out, '\n');
}

bool hd__is_plumbing(const struct hd_frame *f) {
  return f->system || !f->path || strncmp(f->path, "/usr/", 5) == 0;
}

static void add_callers(struct hd_str *out, const struct hd_frames *stack) {
  size_t n = stack->n, shown = 0;
  while (n > 1 && hd__is_plumbing(&stack->v[n - 1])) n--;
  for (size_t i = 1; i < n; i++) {
    if (hd__is_plumbing(&stack->v[i])) continue;
    if (++shown > STACK_LINES) {
      hd_str_addf(out, "        and %zu more calls\n", n - i);
      return;
    }
    hd_str_addf(out, "        %-14s", stack->v[i - 1].inlined ? "inlined into" : "called from");
    add_location(out, &stack->v[i]);
    hd_str_addc(out, '\n');
  }
}

void hd_text_stack(struct hd_str *out, const struct hd_frames *stack, bool colour) {
  if (stack->n == 0) return;
  hd_str_add(out, "  ");
  add_location(out, &stack->v[0]);
  hd_str_addc(out, '\n');
  add_quote(out, &stack->v[0], &(struct hd_style){.colour = colour, .width = 80});
  add_callers(out, stack);
}

static void add_name(struct hd_str *out, const struct hd_place *p) {
  if (p->object)
    hd_str_addf(out, "`%s`", p->object);
  else
    hd_str_addf(out, "%#llx", (unsigned long long)p->object_addr);
}

/* `size` holds the descriptor, the upper byte of the object its type. */
static void add_io_wait(struct hd_str *out, const struct hd_place *p) {
  static const char *const kind[] = {"", "file", "pipe", "socket", "eventfd", "timerfd", "epoll"};
  const char *to = p->op == HD_OP_IOREAD                               ? "read from"
                   : p->op == HD_OP_IOWRITE                            ? "write to"
                   : p->op == HD_OP_ACCEPT                             ? "accept a connection at"
                   : p->op == HD_OP_CONNECT                            ? "connect"
                   : p->op == HD_OP_FLOCK || p->op == HD_OP_RECORDLOCK ? "lock"
                                                                       : "poll";
  unsigned k = (unsigned)(p->object_addr >> 56);
  if (p->op == HD_OP_WAITCHILD) {
    hd_str_add(out, "waits for a child process");
    return;
  }
  hd_str_addf(out, "waits to %s descriptor %d", to, (int)p->size);
  if (k && k < sizeof kind / sizeof *kind) hd_str_addf(out, " (%s)", kind[k]);
}

void hd__text_wait(struct hd_str *out, const struct hd_place *p) {
  if (hd_op_effect(p->op, 0) == HD_EFF_AWAIT) {
    hd_str_add(out, "spins on ");
    add_name(out, p);
    return;
  }
  switch (hd_op_object(p->op)) {
    case HD_OBJ_THREAD:
      if (p->op == HD_OP_SIGWAIT) {
        hd_str_add(out, "waits for a signal");
        return;
      }
      hd_str_addf(out, "waits for %s to end", p->object ? p->object : "a thread");
      return;
    case HD_OBJ_COND: hd_str_add(out, "waits on the condition "); break;
    case HD_OBJ_RWLOCK:
      hd_str_addf(out, "waits to %s ", hd_op_effect(p->op, 0) == HD_EFF_SHARE ? "read" : "write");
      break;
    case HD_OBJ_FUTEX: hd_str_add(out, "waits on the futex "); break;
    case HD_OBJ_SEM: hd_str_add(out, "waits for the semaphore "); break;
    case HD_OBJ_BARRIER: hd_str_add(out, "waits at the barrier "); break;
    case HD_OBJ_IO: add_io_wait(out, p); return;
    case HD_OBJ_NONE: hd_str_add(out, "waits"); return;
    default: hd_str_add(out, "waits for "); break;
  }
  add_name(out, p);
  if (p->peer) hd_str_addf(out, ", held by %s", p->peer);
  /* For a condition the size counts signals that came while no thread was waiting. */
  if ((hd_op_object(p->op) == HD_OBJ_COND || hd_op_object(p->op) == HD_OBJ_FUTEX) && p->size)
    hd_str_addf(out, " (signalled %u time%s while no thread was waiting)", p->size, p->size == 1 ? "" : "s");
  /* For a barrier: how many have arrived, and how many are needed. */
  if (hd_op_object(p->op) == HD_OBJ_BARRIER && p->size)
    hd_str_addf(out, " (%u of %u have arrived)", p->size >> 16, p->size & 0xffff);
}

void hd__text_place(struct hd_str *out, const struct hd_place *p) {
  switch (p->role) {
    case HD_ROLE_AT:
    case HD_ROLE_PREVIOUS:
      hd_str_addf(out, "%s %s", p->who, p->op == HD_OP_NONE ? "at" : hd_op_text(p->op));
      break;
    case HD_ROLE_WAITS:
      hd_str_addf(out, "%s ", p->who);
      hd__text_wait(out, p);
      break;
    case HD_ROLE_HOLDS:
      hd_str_addf(out, "%s took ", p->who);
      add_name(out, p);
      break;
    case HD_ROLE_ALLOC:
      if (p->size)
        hd_str_addf(out, "%s allocated %u bytes", p->who, p->size);
      else
        hd_str_addf(out, "%s allocated it", p->who);
      break;
    case HD_ROLE_FREE: hd_str_addf(out, "%s freed it", p->who); break;
    case HD_ROLE_CREATE: hd_str_addf(out, "%s was created", p->who); break;
    case HD_ROLE_THROWN: hd_str_addf(out, "%s threw it", p->who); break;
  }
}

static void add_place(struct hd_str *out, const struct hd_place *p, const struct hd_style *style) {
  bool colour = style->colour;
  struct hd_str what;
  hd_str_init(&what);
  hd__text_place(&what, p);
  paint(out, colour, BOLD);
  hd_str_addf(out, "  %-*s", WHAT_WIDTH, what.s);
  paint(out, colour, PLAIN);
  if (p->stack.n > 0) {
    if (what.n > WHAT_WIDTH) hd_str_addf(out, "\n  %-*s", WHAT_WIDTH, "");
    hd_str_addc(out, ' ');
    add_location(out, &p->stack.v[0]);
  }
  while (out->n && out->s[out->n - 1] == ' ') out->s[--out->n] = '\0';
  if (p->role == HD_ROLE_PREVIOUS) hd_str_add(out, "  (previous access)");
  hd_str_addc(out, '\n');
  if (p->stack.n > 0) {
    add_quote(out, &p->stack.v[0], style);
    add_callers(out, &p->stack);
  }
  hd_str_fini(&what);
}

/* Several threads may wait for one lock: the place of its acquisition is shown once. */
static bool repeats_earlier(const struct hd_finding *f, size_t i) {
  const struct hd_place *p = &f->place[i];
  for (size_t k = 0; k < i && p->role == HD_ROLE_HOLDS; k++) {
    const struct hd_place *q = &f->place[k];
    if (q->role == HD_ROLE_HOLDS && q->thread_no == p->thread_no && q->object_addr == p->object_addr)
      return true;
  }
  return false;
}

/* Waits and holders are rows of the story. */
static bool is_in_story(const struct hd_finding *f, const struct hd_place *p) {
  if (!f->story || p->role == HD_ROLE_HOLDS) return f->story;
  if (p->role != HD_ROLE_WAITS) return false;
  for (size_t i = 0; i < f->story->row.n; i++)
    if (f->story->row.v[i].mark == HD_ROW_WAITS && f->story->row.v[i].thread == p->thread_no) return true;
  return false;
}

bool hd__text_redundant(const struct hd_finding *f, size_t i) {
  return repeats_earlier(f, i) || is_in_story(f, &f->place[i]);
}

/* ---- the cycle of a deadlock ---- */

static const struct hd_place *wait_of(const struct hd_finding *f, const char *thread) {
  for (size_t i = 0; i < f->nplaces; i++)
    if (f->place[i].role == HD_ROLE_WAITS && strcmp(f->place[i].thread, thread) == 0) return &f->place[i];
  return NULL;
}

static const char *blocker(const struct hd_place *p) {
  return p->peer ? p->peer : hd_op_object(p->op) == HD_OBJ_THREAD ? p->object : NULL;
}

/* "T1 -> `b` -> T2 -> `a` -> T1", if the waits lead from a thread back to it. */
static void add_cycle(struct hd_str *out, const struct hd_finding *f) {
  for (size_t i = 0; i < f->nplaces; i++) {
    if (f->place[i].role != HD_ROLE_WAITS) continue;
    const struct hd_place *p = &f->place[i];
    struct hd_str line;
    hd_str_init(&line);
    hd_str_add(&line, p->thread);
    bool closed = false;
    for (size_t hops = 0; p && hops < f->nplaces && !closed; hops++) {
      const char *next = blocker(p);
      if (!next) break;
      hd_str_add(&line, " -> ");
      if (hd_op_object(p->op) != HD_OBJ_THREAD) {
        add_name(&line, p);
        hd_str_add(&line, " -> ");
      }
      hd_str_add(&line, next);
      closed = strcmp(next, f->place[i].thread) == 0;
      p = wait_of(f, next);
    }
    if (closed) hd_str_addf(out, "  cycle: %s\n", line.s);
    hd_str_fini(&line);
    if (closed) return;
  }
}

/* ---- a finding ---- */

static void add_number(struct hd_str *out, uint32_t n, const char *what) {
  hd_str_addf(out, "%u %s%s", n, what, n == 1 ? "" : strcmp(what, "switch") == 0 ? "es" : "s");
}

/* "schedule: 1 preemption (the minimum), 4 switches; found with 7 and 19" */
static void add_minimised(struct hd_str *out, const struct hd_finding *f) {
  const struct hd_cost *a = &f->minimised.after, *b = &f->minimised.before;
  hd_str_add(out, "  schedule: ");
  add_number(out, a->preemptions, "preemption");
  if (f->minimised.fewest && a->preemptions) hd_str_add(out, " (the minimum)");
  hd_str_add(out, ", ");
  add_number(out, a->switches, "switch");
  if (a->preemptions != b->preemptions || a->switches != b->switches)
    hd_str_addf(out, "; found with %u and %u", b->preemptions, b->switches);
  hd_str_addc(out, '\n');
}

static size_t line_length(const char *s) { return strcspn(s, "\n"); }

static int longest_line(const char *s) {
  size_t longest = 0;
  for (; *s; s += line_length(s) + (s[line_length(s)] == '\n'))
    if (line_length(s) > longest) longest = line_length(s);
  return (int)longest;
}

static void add_list(struct hd_str *out, const char *head, const char *lines) {
  hd_str_addf(out, "    %s\n", head);
  for (; *lines; lines += line_length(lines) + (lines[line_length(lines)] == '\n'))
    hd_str_addf(out, "      %.*s\n", (int)line_length(lines), lines);
}

/* Two lists of lines, side by side where they fit. */
static void add_orders(struct hd_str *out, const char *left, const char *right, unsigned columns) {
  static const char head[] = "observed";
  int width = longest_line(left);
  if (width < (int)sizeof head - 1) width = sizeof head - 1;
  if (4 + width + 3 + longest_line(right) > (int)columns) {
    add_list(out, head, left);
    add_list(out, "predicted", right);
    return;
  }
  hd_str_addf(out, "    %-*s   predicted\n", width, head);
  while (*left || *right) {
    size_t n = line_length(left), m = line_length(right);
    hd_str_addf(out, "    %-*.*s   %.*s\n", width, (int)n, left, (int)m, right);
    left += n + (left[n] == '\n');
    right += m + (right[m] == '\n');
  }
}

static void add_replay(struct hd_str *out, const struct hd_finding *f, unsigned columns) {
  if (strcmp(f->strategy, HD_WANTED_NAME) == 0)
    hd_str_add(out, "  Predicted from an execution without it, and then executed.\n");
  if (f->predicted) add_orders(out, f->observed, f->predicted, columns);
  if (f->no_replay) hd_str_addf(out, "  It did not replay: %s\n", f->no_replay);
  if (f->untried)
    hd_str_add(out,
               "  Seen in this run, and not run again: a replay starts from what the run has left behind.\n");
  if (!f->folder) return;
  hd_str_add(out, "  replay: heddle replay ");
  hd_str_add_quoted(out, f->folder);
  hd_str_addc(out, '\n');
}

/* A title that lists threads is wrapped, after a semicolon if it has one. A title that quotes the program stays on one
 * line. */
static void add_title(struct hd_str *out, const struct hd_finding *f, size_t columns) {
  struct hd_str title;
  hd_str_init(&title);
  hd_str_addf(&title, "heddle: %s", f->title);
  bool wraps = f->kind == HD_KIND_DEADLOCK || f->kind == HD_KIND_LOST_WAKEUP;
  const char *rest = title.s;
  for (size_t width = columns; wraps && strlen(rest) > width; width = columns - 2) {
    size_t len = width;
    while (len > 0 && !(rest[len] == ' ' && rest[len - 1] == ';')) len--;
    if (len == 0)
      for (len = width; len > 0 && rest[len] != ' ';) len--;
    if (len == 0) break;
    hd_str_addn(out, rest, len);
    hd_str_add(out, "\n  ");
    rest += len + 1;
  }
  hd_str_add(out, rest);
  hd_str_fini(&title);
}

/* Separated by commas, in lines of limited width. */
static void add_inputs(struct hd_str *out, const struct hd_finding *f, size_t width) {
  size_t start = out->n;
  hd_str_add(out, "  inputs:");
  for (size_t i = 0; i < f->ninputs; i++) {
    const struct hd_input_shown *in = &f->input[i];
    char *word =
        hd_sprintf(" %s = %s (%s)%s", in->name, in->value, in->thread, i + 1 < f->ninputs ? "," : "");
    if (out->n - start + strlen(word) > width) {
      hd_str_add(out, "\n         ");
      start = out->n - 9;
    }
    hd_str_add(out, word);
    free(word);
  }
  hd_str_addc(out, '\n');
}

static void add_said(struct hd_str *out, const char *said, size_t width) {
  hd_str_add(out, "  The program's last output:\n");
  for (const char *line = said; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    size_t len = strcspn(line, "\n");
    if (len) hd_str_addf(out, "    %.*s\n", (int)(len < width - 4 ? len : width - 4), line);
  }
}

/* Whether there are places, and none of them has a line. */
static bool has_no_lines(const struct hd_finding *f) {
  size_t n = 0;
  for (size_t i = 0; i < f->nplaces; i++)
    for (size_t k = 0; k < f->place[i].stack.n; k++, n++)
      if (f->place[i].stack.v[k].line) return false;
  return n > 0;
}

void hd_text_finding(struct hd_str *out, const struct hd_finding *f, const struct hd_style *style) {
  bool colour = style->colour;
  paint(out, colour, RED);
  add_title(out, f, style->width);
  paint(out, colour, PLAIN);
  hd_str_addc(out, '\n');
  if (f->detail && f->kind != HD_KIND_ASSERTION) {
    struct hd_str line;
    hd_str_init(&line);
    hd_str_add(&line, f->detail);
    while (line.n && line.s[line.n - 1] == '\n') line.s[--line.n] = '\0';
    if (line.n) hd_str_addf(out, "  %s\n", line.s);
    hd_str_fini(&line);
  }
  if (f->kind == HD_KIND_DEADLOCK) add_cycle(out, f);
  for (size_t i = 0; i < f->nplaces; i++)
    if (!hd__text_redundant(f, i)) add_place(out, &f->place[i], style);
  if (f->said) add_said(out, f->said, style->width);
  if (f->ninputs) add_inputs(out, f, style->width);
  if (f->story) hd__text_story(out, f->story, style);
  for (size_t i = 0; i < f->nnotes; i++)
    hd_str_addf(out, "  %s noted at event %llu: %s\n", f->note[i].thread,
                (unsigned long long)f->note[i].event, f->note[i].text);
  if (has_no_lines(f))
    hd_str_add(out, "  hint: the program has no debug information: build with -g, and do not strip it\n");
  if (f->minimised.there) add_minimised(out, f);
  if (f->partial) hd_str_add(out, "  The process died before it could record the location.\n");
  add_replay(out, f, style->width);
}

void hd_text_brief(struct hd_str *out, const struct hd_finding *f, const char *target) {
  const struct hd_place *place = hd_finding_place(f);
  const struct hd_frame *at = place ? hd_place_frame(place) : NULL;
  hd_str_addf(out, "%s: %s", target, f->title);
  if (at) hd_str_addf(out, ", %s:%d", at->file, at->line);
  hd_str_addc(out, '\n');
  add_replay(out, f, HD_WIDTH_MAX);
}

/* ---- a summary ---- */

void hd_text_count(char out[16], double n) {
  if (n < 9999.5)
    snprintf(out, 16, "%.0f", n);
  else if (n < 999.5e3)
    snprintf(out, 16, "%.1fk", n / 1e3);
  else if (n < 999.5e6)
    snprintf(out, 16, "%.1fM", n / 1e6);
  else if (n < 999.5e9)
    snprintf(out, 16, "%.1fG", n / 1e9);
  else
    snprintf(out, 16, "%.1e", n);
}

/* " with at most 2 preemptions", or nothing. */
static void add_bound(struct hd_str *out, const struct hd_summary *s) {
  const char *what = s->bound_kind == HD_BOUND_DELAYS ? "delay" : "preemption";
  if (s->bound_kind && s->bound)
    hd_str_addf(out, " with at most %u %s%s", s->bound, what, s->bound == 1 ? "" : "s");
  else if (s->bound_kind)
    hd_str_addf(out, " without %ss", what);
}

/* The coverage of a search that was stopped. */
static void add_covered(struct hd_str *out, const struct hd_summary *s) {
  hd_str_add(out, s->bound_done ? ", complete for all schedules" : ", not every schedule");
  add_bound(out, s);
  hd_str_addc(out, '\n');
}

static void add_verdict(struct hd_str *out, const struct hd_summary *s, bool colour) {
  unsigned long long n = (unsigned long long)s->executions;
  paint(out, colour, BOLD);
  if (s->nfindings > 0)
    hd_str_addf(out, "heddle: %zu finding%s", s->nfindings, s->nfindings == 1 ? "" : "s");
  else if (s->before > 0)
    hd_str_add(out, "heddle: no further finding");
  else
    hd_str_add(out, "heddle: nothing found");
  paint(out, colour, PLAIN);
  switch (s->stop) {
    case HD_STOP_FINISHED:
      if (s->once)
        hd_str_add(out, " in this run, one schedule of many\n");
      else if (s->complete)
        hd_str_addf(out, "; complete: every schedule%s was covered\n",
                    s->input_classes ? " of every input" : "");
      else if (hd_summary_property(s))
        hd_str_addf(
            out,
            "; complete for data races: no %sschedule has one; other failures were not looked for in all "
            "schedules\n",
            s->nfindings ? "other " : "");
      else if (s->preload && s->nreasons == 1)
        hd_str_add(out, "; bounded: every schedule of synchronisation, input and output was covered\n");
      else if (s->bound_done) {
        hd_str_add(out, "; bounded: complete for all schedules");
        add_bound(out, s);
        hd_str_addc(out, '\n');
      } else if (s->systematic) {
        hd_str_add(out, "; bounded: the search");
        add_bound(out, s);
        hd_str_add(out, " ended, but it is not complete\n");
      } else
        hd_str_addf(out, "; bounded: %llu execution%s of the %s strategy, not every schedule\n", n,
                    n == 1 ? "" : "s", s->strategy);
      break;
    case HD_STOP_FOUND: hd_str_add(out, "; stopped at the first (--all continues)\n"); break;
    case HD_STOP_TIME:
      if (!s->systematic) {
        hd_str_addf(out, "; bounded: %.1f s of the %s strategy, not every schedule\n", s->seconds,
                    s->strategy);
        break;
      }
      hd_str_addf(out, "; bounded: stopped %safter %.1f s", s->time_default ? "" : "by --time ", s->seconds);
      add_covered(out, s);
      break;
    case HD_STOP_EXECUTIONS:
      hd_str_addf(out, "; bounded: stopped by --max-executions after %llu", (unsigned long long)s->asked);
      add_covered(out, s);
      break;
    case HD_STOP_INTERRUPTED:
      hd_str_add(out, "; stopped: interrupted");
      add_covered(out, s);
      break;
    case HD_STOP_CRASH_LOOP:
      hd_str_add(out, "; stopped: the program kept killing its process before an execution could finish\n");
      break;
    case HD_STOP_ERROR: hd_str_add(out, "; stopped by an error\n"); break;
  }
}

static void add_input_classes(struct hd_str *out, const struct hd_summary *s) {
  if (!s->input_classes) return;
  char count[16];
  hd_text_count(count, (double)s->input_classes);
  hd_str_addf(out, "  %s class%s of inputs with the same schedules\n", count,
              s->input_classes == 1 ? "" : "es");
}

/* The executions and findings of each strategy; nothing when there was only one. */
static void add_phases(struct hd_str *out, const struct hd_summary *s) {
  int used = 0;
  for (int i = 1; i < HD_MAX_PHASES && s->phase[i].strategy; i++) used |= s->phase[i].executions > 0;
  for (int i = 0, n = 0; used && i < HD_MAX_PHASES && s->phase[i].strategy; i++) {
    if (!s->phase[i].executions) continue;
    hd_str_addf(out, "%s%s %llu", n++ ? ", " : "  by strategy: ", s->phase[i].strategy,
                (unsigned long long)s->phase[i].executions);
    if (s->phase[i].findings)
      hd_str_addf(out, " (%llu finding%s)", (unsigned long long)s->phase[i].findings,
                  s->phase[i].findings == 1 ? "" : "s");
  }
  if (used) hd_str_addc(out, '\n');
}

/* Which threads have which role. */
static void add_roles(struct hd_str *out, const struct hd_roles *r) {
  hd_str_addf(out, "  %u role%s of threads: ", r->k, r->k == 1 ? "" : "s");
  for (unsigned k = 1; k <= r->k; k++) {
    int n = 0;
    if (k > 1) hd_str_add(out, " | ");
    for (size_t i = 0; i < r->thread.n; i++)
      if (r->thread.v[i].role == k)
        hd_str_addf(out, "%s%s", n++ ? " " : "", r->thread.v[i].name ? r->thread.v[i].name : "?");
  }
  hd_str_addc(out, '\n');
}

#define ROUGH 0.5   /* an estimate with a larger error is an order of magnitude ... */
#define NOTHING 9.0 /* ... or none */

bool hd_text_size(char out[64], const struct hd_size *size) {
  char n[16];
  if (!size->samples || size->error > NOTHING) return false;
  hd_text_count(n, size->executions);
  if (size->error <= ROUGH)
    snprintf(out, 64, "about %s", n);
  else
    snprintf(out, 64, "of the order of 10^%.0f", log10(size->executions));
  return true;
}

/* What is known of a search that did not finish: its size, and when it last did something new. */
static void add_rest(struct hd_str *out, const struct hd_summary *s) {
  char all[64];
  if (s->stop == HD_STOP_FOUND) return; /* the finding is what matters */
  if (hd_text_size(all, &s->estimate)) {
    hd_str_addf(out, "  a complete search has %s executions (", all);
    if (s->estimate.error <= ROUGH) hd_str_addf(out, "within %.0f%%, ", ceil(s->estimate.error * 100));
    hd_str_addf(out, "estimated from %llu samples)\n", (unsigned long long)s->estimate.samples);
  } else if (s->at_least > (double)s->executions) {
    hd_text_count(all, s->at_least);
    hd_str_addf(out, "  a complete search has at least %s executions, and may have many times more\n", all);
  }
  if (s->last_class > 0) hd_str_addf(out, "  last new class after %.1f s", s->last_class);
  if (s->last_pair > 0)
    hd_str_addf(out, "%s new pair of conflicting lines after %.1f s", s->last_class > 0 ? ", last" : "  last",
                s->last_pair);
  if (s->last_class > 0 || s->last_pair > 0) hd_str_addc(out, '\n');
}

const char *const hd_uncaptured_name[HD_UNCAPTURED_COUNT] = {
    [HD_UNCAPTURED_SYSCALL] = "system-call", [HD_UNCAPTURED_OPERATION] = "operation",
    [HD_UNCAPTURED_STACK] = "stack",         [HD_UNCAPTURED_LIBRARY] = "library",
    [HD_UNCAPTURED_FORK] = "fork",
};
const char *const hd_uncaptured_text[HD_UNCAPTURED_COUNT] = {
    [HD_UNCAPTURED_SYSCALL] = "system calls whose effects are kept by the kernel",
    [HD_UNCAPTURED_OPERATION] = "descriptors, signals, cancellation, fibers or the like",
    [HD_UNCAPTURED_STACK] = "stacks of the program's own",
    [HD_UNCAPTURED_LIBRARY] =
        "library functions whose state is kept elsewhere (strtok, sem_open, set_terminate)",
    [HD_UNCAPTURED_FORK] = "executions in processes of their own (fork)",
};

static void add_states(struct hd_str *out, const struct hd_summary *s) {
  const struct hd_state_counts *c = &s->state_counts;
  hd_str_addf(out, "  %llu states", (unsigned long long)c->states);
  if (s->ranks.n > 1)
    hd_str_addf(out, " (%s%llu repeated by another rank)", s->ranks.sampled ? "about " : "",
                (unsigned long long)s->ranks.repeated);
  hd_str_addf(out, ", %llu executions given up at one that was known, %.0f bytes for each%s\n",
              (unsigned long long)c->matches, c->states ? (double)c->bytes / (double)c->states : 0,
              c->full ? "; no room for more (--state-memory)" : "");
  for (int i = 1; i < HD_UNCAPTURED_COUNT; i++)
    if (c->uncaptured[i])
      hd_str_addf(out, "  %llu states not compared: %s\n", (unsigned long long)c->uncaptured[i],
                  hd_uncaptured_text[i]);
}

/* As T1, T3-T8. */
static void add_threads(struct hd_str *out, const struct hd_set *threads) {
  const char *comma = "";
  for (unsigned i = 0, last; i < HD_MAX_THREADS; i = last + 1, comma = ", ") {
    i = last = hd_set_next(threads, HD_SET_WORDS, i);
    if (i == HD_MAX_THREADS) return;
    while (last + 1 < HD_MAX_THREADS && hd_set_has(threads, last + 1)) last++;
    hd_str_addf(out, last > i ? "%sT%u-T%u" : "%sT%u", comma, i, last);
  }
}

static void add_symmetry(struct hd_str *out, const struct hd_summary *s) {
  hd_str_add(out, "  up to symmetry of ");
  add_threads(out, &s->alike);
  hd_str_addf(out, ": %llu branch%s left out that would only exchange them (--no-symmetry)\n",
              (unsigned long long)s->symmetric, s->symmetric == 1 ? "" : "es");
}

static void add_ranks(struct hd_str *out, const struct hd_ranks *r) {
  hd_str_addf(out, "  %u rank%s", r->n, r->n == 1 ? "" : "s");
  if (r->sampling) hd_str_addf(out, " (%u of them sampling)", r->sampling);
  hd_str_addf(out, ", %llu unit%s of work exchanged, %.0f%% of their time idle\n",
              (unsigned long long)r->units, r->units == 1 ? "" : "s", 100 * r->idle);
}

/* What ranks have explored twice under a bound: each has a table of its own. */
static void add_repeated(struct hd_str *out, const struct hd_ranks *r) {
  const char *about = r->sampled ? "about " : "";
  hd_str_addf(out, "  %s%llu states explored within the bound, %s%llu of them by another rank already\n",
              about, (unsigned long long)r->explored, about, (unsigned long long)r->repeated);
}

void hd_text_summary(struct hd_str *out, const struct hd_summary *s, const struct hd_style *style) {
  char rate[16], events[16];
  hd_text_count(rate, s->seconds > 0 ? (double)s->executions / s->seconds : 0);
  hd_text_count(events, (double)s->events);
  add_verdict(out, s, style->colour);
  hd_str_addf(out, "  %llu execution%s in %.2f s (%s per second), %s events, up to %u thread%s",
              (unsigned long long)s->executions, s->executions == 1 ? "" : "s", s->seconds, rate, events,
              s->threads, s->threads == 1 ? "" : "s");
  if (s->blocked) hd_str_addf(out, ", %llu redundant", (unsigned long long)s->blocked);
  hd_str_addc(out, '\n');
  add_input_classes(out, s);
  if (s->ranks.n) add_ranks(out, &s->ranks);
  if (s->ranks.n > 1 && s->ranks.explored && !s->compares_states) add_repeated(out, &s->ranks);
  add_phases(out, s);
  if (s->roles) add_roles(out, s->roles);
  if (s->rests_on_states) add_states(out, s);
  if (s->symmetric) add_symmetry(out, s);
  if (!s->once || hd_summary_cut(s)) hd_text_reasons(out, s, style->width);
  for (size_t i = 0; i < s->ntargets; i++)
    hd_str_addf(out, "  target `%s`: reached in %llu execution%s\n", s->targets[i].label,
                (unsigned long long)s->targets[i].executions, s->targets[i].executions == 1 ? "" : "s");
  if (s->before)
    hd_str_addf(out, "  %llu finding%s reported before the search was resumed\n",
                (unsigned long long)s->before, s->before == 1 ? " was" : "s were");
  if (!s->complete && s->stop != HD_STOP_FINISHED) add_rest(out, s);
  if (s->infeasible)
    hd_str_addf(out, "  %llu infeasible: an assumption did not hold%s\n", (unsigned long long)s->infeasible,
                s->executions ? "" : "; no execution was left to check");
  if (s->suppressed > s->again)
    hd_str_addf(out, "  %llu suppressed\n", (unsigned long long)(s->suppressed - s->again));
  if (s->known)
    hd_str_addf(out, "  baseline: %llu known, %llu found again, %llu not%s\n", (unsigned long long)s->known,
                (unsigned long long)s->again, (unsigned long long)(s->known - s->again),
                s->complete && s->known > s->again ? " (fixed: every schedule was covered)" : "");
  hd_text_lock_orders(out, &s->lock_orders, s->complete);
  if (s->unkept)
    hd_str_addf(out, "  each execution repeats the set-up of the program, which %s\n",
                hd_unkept_text(s->unkept));
  if (s->unshared)
    hd_str_addf(
        out, "  executions repeat what they have in common after the program %s, which a fork would share\n",
        hd_unkept_text(s->unshared));
  if (s->threads == 1 && s->left)
    hd_str_add(
        out, "  the program went on in a child process, which is not searched: keep it in the foreground\n");
  else if (s->threads == 1 && s->executions > 0)
    hd_str_add(out, "  the program never started a thread: there is only one schedule to try\n");
  if (s->stop == HD_STOP_TIME && s->time_default)
    hd_str_addf(out,
                "  %.0f s is the default: --time 10m searches longer, --strategy optimal runs to the end\n",
                s->time_limit);
}
