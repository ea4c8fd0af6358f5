/* sequential.c: a program of two threads as a sequential one, for testers of sequential programs (mutate.h). Runs in the
 * supervisor.
 *
 * After Razavi, 2014, chapter 5 (bounded-interference sequentialization). The interfering thread runs first, alone. What it
 * does is logged; the other thread then sees values of the log, at most K of them. Differences:
 *  - The thesis chooses which reads see which writes, and asks a solver at each read whether an order exists. Here the choice
 *    is how much of the log has happened before each operation that depends on it. So every choice is an order, and no
 *    solver is needed: an order that cannot be ends the execution.
 *  - Reads and writes are counted as they are executed, so that loops and calls stay as they are: each entry of a loop has at
 *    most U rounds.
 *
 * Names of shared variables (integers, and arrays of them, of static storage) become accesses to cells. This is done token by
 * token; what a token is comes from libclang. What cannot be done is an error with its line. */
#include "mutate/mutate_int.h"
#include "mutate/sequential.h"

#include <stdlib.h>
#include <string.h>

struct shared {
  const struct hd__decl *decl;
  char *name, *type; /* of an element */
  bool atomic, array;
  uint32_t cell, n;
};

/* Where several edits are at one offset: ends of what came before first, the innermost one first. */
enum order { CLOSES, OPENS, REPLACES };
struct change {
  uint32_t begin, end, number;
  enum order order;
  char *text;
};

struct transform {
  struct hd__source *s;
  struct hd_err *err;
  int rc;
  HD_VEC(struct shared) shared;
  HD_VEC(struct change) change;
  uint32_t cells, loops;
};

static int fail(struct transform *t, uint32_t offset, const char *what) {
  if (t->rc == HD_OK)
    t->rc = hd_fail(t->err, HD_EUSAGE, "%s:%u: %s", t->s->path, hd__line(t->s, offset), what);
  return t->rc;
}

static void change(struct transform *t, uint32_t begin, uint32_t end, enum order order, char *text) {
  hd_vec_push(&t->change, ((struct change){begin, end, (uint32_t)t->change.n, order, text}));
}

static bool token_is(const struct transform *t, uint32_t i, const char *text) {
  return i < t->s->token.n && hd__is(t->s, t->s->token.v[i].at, text);
}

/* ---- shared variables ---- */

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* "volatile _Atomic(int)[4]": atomic, int, 4. Returns whether it is an integer or an array of them. */
static bool read_type(const char *type, struct shared *v) {
  static const char *const integer[] = {"int",           "unsigned int", "long",
                                        "unsigned long", "short",        "unsigned short",
                                        "char",          "signed char",  "unsigned char",
                                        "long long",     "_Bool",        "bool",
                                        "enum ",         NULL,           "unsigned long long"};
  char *copy = hd_strdup(type), *p = copy, *bracket = strchr(copy, '[');
  v->n = 1;
  if (bracket) {
    v->array = true;
    v->n = (uint32_t)strtoul(bracket + 1, NULL, 10);
    *bracket = 0;
    if (strchr(bracket + 1, '[')) v->n = 0;
  }
  while (begins(p, "volatile ") || begins(p, "static ")) p = strchr(p, ' ') + 1;
  if (begins(p, "_Atomic(")) {
    v->atomic = true;
    p += strlen("_Atomic(");
    p[strcspn(p, ")")] = 0;
  }
  while (begins(p, "volatile ")) p += strlen("volatile ");
  size_t n = strlen(p);
  while (n && p[n - 1] == ' ') p[--n] = 0;
  bool known = begins(p, "enum ") && !strchr(p, '*');
  for (size_t i = 0; i < sizeof integer / sizeof *integer; i++)
    known |= integer[i] && strcmp(p, integer[i]) == 0;
  v->type = hd_strdup(p);
  free(copy);
  return known && v->n;
}

static bool is_of_threads(const struct transform *t, const struct hd__decl *d) {
  char *text = hd__copy(t->s, d->at);
  bool is = strstr(text, "pthread_") != NULL;
  free(text);
  return is;
}

static void find_shared(struct transform *t) {
  for (size_t i = 0; i < t->s->decl.n; i++) {
    const struct hd__decl *d = &t->s->decl.v[i];
    if (d->local || begins(d->type, "const ") || is_of_threads(t, d)) continue;
    uint32_t at = hd__token_at(t->s, d->name);
    struct shared v = {.decl = d, .name = hd__copy(t->s, t->s->token.v[at].at)};
    if (!read_type(d->type, &v)) v.n = 0; /* an error where it is used */
    v.cell = t->cells;
    t->cells += v.n;
    hd_vec_push(&t->shared, v);
  }
}

static const struct shared *shared_at(const struct transform *t, uint32_t offset) {
  for (size_t i = 0; i < t->s->ref.n; i++) {
    const struct hd__ref *r = &t->s->ref.v[i];
    if (r->at != offset || r->base) continue;
    for (size_t k = 0; k < t->shared.n; k++)
      if (t->shared.v[k].decl->name == r->decl) return &t->shared.v[k];
  }
  return NULL;
}

/* ---- expressions ---- */

/* The token after the bracket that closes the one there. */
static uint32_t past(const struct transform *t, uint32_t i) {
  uint32_t depth = 0;
  for (; i < t->s->token.n; i++) {
    if (token_is(t, i, "(") || token_is(t, i, "[") || token_is(t, i, "{")) depth++;
    if ((token_is(t, i, ")") || token_is(t, i, "]") || token_is(t, i, "}")) && --depth == 0) return i + 1;
  }
  return i;
}

/* The token at which an operand of an assignment ends. */
static uint32_t operand_end(const struct transform *t, uint32_t i) {
  uint32_t open = 0;
  for (; i < t->s->token.n;) {
    if (token_is(t, i, "(") || token_is(t, i, "[") || token_is(t, i, "{")) {
      i = past(t, i);
      continue;
    }
    if (token_is(t, i, ";") || token_is(t, i, ",") || token_is(t, i, ")") || token_is(t, i, "]") ||
        token_is(t, i, "}"))
      break;
    if (token_is(t, i, "?")) open++;
    if (token_is(t, i, ":") && open-- == 0) break;
    i++;
  }
  return i;
}

/* Whether `&` there is the address of what follows. */
static bool is_address(const struct transform *t, uint32_t i) {
  if (!token_is(t, i, "&") || !i) return false;
  const struct hd__token *before = &t->s->token.v[i - 1];
  return before->kind == HD__KEYWORD ||
         (before->kind == HD__PUNCTUATION && !token_is(t, i - 1, ")") && !token_is(t, i - 1, "]"));
}

static const char *const atomic_call[] = {"atomic_load",      "atomic_store",     "atomic_fetch_add",
                                          "atomic_fetch_sub", "atomic_fetch_and", "atomic_fetch_or",
                                          "atomic_fetch_xor"};

/* `from` to `to`, tokens: the variable, perhaps with its index. What comes before and after that in the text of its cell. */
static void replace(struct transform *t, const struct shared *v, uint32_t from, uint32_t to,
                    const char *before, const char *after) {
  const struct hd__token *k = t->s->token.v;
  if (!v->array) {
    change(t, k[from].at.begin, k[from].at.end, REPLACES, hd_sprintf("%s%u%s", before, v->cell, after));
    return;
  }
  change(t, k[from].at.begin, k[from + 1].at.end, REPLACES,
         hd_sprintf("%shd_seq_element(%u, %u, ", before, v->cell, v->n));
  change(t, k[to - 1].at.begin, k[to - 1].at.end, REPLACES, hd_sprintf(")%s", after));
}

static void drop_token(struct transform *t, uint32_t i) {
  change(t, t->s->token.v[i].at.begin, t->s->token.v[i].at.end, REPLACES, hd_strdup(""));
}

static void step(struct transform *t, const struct shared *v, uint32_t from, uint32_t to, uint32_t sign,
                 bool post) {
  const char *macro = post        ? v->atomic ? "HD_SEQ_FETCH" : "HD_SEQ_POST"
                      : v->atomic ? "HD_SEQ_AFTER"
                                  : "HD_SEQ_UPDATE";
  char *before = hd_sprintf("%s(%s, ", macro, v->type),
       *after = hd_sprintf(", %c, 1)", token_is(t, sign, "++") ? '+' : '-');
  drop_token(t, sign);
  replace(t, v, from, to, before, after);
  free(before);
  free(after);
}

static void assign(struct transform *t, const struct shared *v, uint32_t from, uint32_t to) {
  const struct hd__token *k = t->s->token.v;
  char *op = hd__copy(t->s, k[to].at), *before, *after;
  bool plain = op[1] == 0;
  op[strlen(op) - 1] = 0;
  before = plain ? hd_sprintf("((%s)hd_seq_write(", v->type)
                 : hd_sprintf("%s(%s, ", v->atomic ? "HD_SEQ_AFTER" : "HD_SEQ_UPDATE", v->type);
  after = plain ? hd_sprintf(", (%s)(", v->type) : hd_sprintf(", %s, (", op);
  drop_token(t, to);
  replace(t, v, from, to, before, after);
  uint32_t end = operand_end(t, to + 1);
  change(t, k[end - 1].at.end, k[end - 1].at.end, CLOSES, hd_strdup(plain ? ")))" : "))"));
  free(op);
  free(before);
  free(after);
}

/* An argument of atomic_load and the like. */
static void atomic_argument(struct transform *t, const struct shared *v, uint32_t from, uint32_t to) {
  bool known = false;
  for (size_t i = 0; i < sizeof atomic_call / sizeof *atomic_call && from >= 3; i++)
    known |= token_is(t, from - 3, atomic_call[i]) && token_is(t, from - 2, "(");
  if (!known) {
    fail(t, t->s->token.v[from].at.begin,
         "the address of a shared variable is taken, which this cannot follow");
    return;
  }
  uint32_t name = t->s->token.v[from - 3].at.begin;
  change(t, name, name, OPENS, hd_strdup("hd_seq_"));
  char *before = hd_sprintf("%s, ", v->type);
  drop_token(t, from - 1);
  replace(t, v, from, to, before, "");
  free(before);
}

static void access(struct transform *t, const struct shared *v, uint32_t i) {
  static const char *const assigns[] = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
  uint32_t at = t->s->token.v[i].at.begin, to = i + 1;
  if (!v->n) {
    fail(t, at, "a shared variable that is neither an integer nor an array of integers");
    return;
  }
  if (v->array && !token_is(t, to, "[")) {
    fail(t, at, "an array of shared variables is used as a pointer");
    return;
  }
  if (v->array) to = past(t, to);
  if (i && is_address(t, i - 1)) return atomic_argument(t, v, i, to);
  if (token_is(t, to, "++") || token_is(t, to, "--")) return step(t, v, i, to, to, true);
  if (i && (token_is(t, i - 1, "++") || token_is(t, i - 1, "--"))) return step(t, v, i, to, i - 1, false);
  for (size_t k = 0; k < sizeof assigns / sizeof *assigns; k++)
    if (token_is(t, to, assigns[k])) return assign(t, v, i, to);
  char *before = hd_sprintf("((%s)hd_seq_read(", v->type);
  replace(t, v, i, to, before, "))");
  free(before);
}

/* ---- calls and loops ---- */

static const struct {
  const char *name, *by;
} call[] = {
    {"pthread_create", "hd_seq_create"},
    {"pthread_join", "hd_seq_join"},
    {"pthread_mutex_lock", "hd_seq_lock"},
    {"pthread_mutex_unlock", "hd_seq_unlock"},
    {"__VERIFIER_atomic_begin", "hd_seq_begin"},
    {"__VERIFIER_atomic_end", "hd_seq_end"},
    {"pthread_mutex_init", NULL},
    {"pthread_mutex_destroy", NULL},
};

static void visit_call(struct transform *t, uint32_t i) {
  struct hd__span at = t->s->token.v[i].at;
  if (!token_is(t, i + 1, "(") || !hd__function_at(t->s, at.begin)) return;
  for (size_t k = 0; k < sizeof call / sizeof *call; k++)
    if (hd__is(t->s, at, call[k].name)) {
      if (call[k].by) change(t, at.begin, at.end, REPLACES, hd_strdup(call[k].by));
      return;
    }
  char *name = hd__copy(t->s, at);
  if (begins(name, "pthread_") || begins(name, "sem_") || begins(name, "mtx_") || begins(name, "thrd_") ||
      begins(name, "atomic_compare") || begins(name, "atomic_exchange"))
    fail(t, at.begin, "only mutexes, creation and joining of threads, loads, stores and updates are known");
  free(name);
}

/* The token after a statement. */
static uint32_t statement_end(const struct transform *t, uint32_t i) {
  if (token_is(t, i, "{")) return past(t, i);
  if (token_is(t, i, "do"))
    i = statement_end(t, i + 1) + 1, i = past(t, i) + 1;
  else if (token_is(t, i, "if")) {
    i = statement_end(t, past(t, i + 1));
    if (token_is(t, i, "else")) i = statement_end(t, i + 1);
  } else if (token_is(t, i, "while") || token_is(t, i, "for") || token_is(t, i, "switch")) {
    i = statement_end(t, past(t, i + 1));
  } else {
    while (i < t->s->token.n && !token_is(t, i, ";"))
      i = token_is(t, i, "(") || token_is(t, i, "{") ? past(t, i) : i + 1;
    i++;
  }
  return i;
}

/* The while at the end of a do: what comes before it is a statement of that do. */
static bool ends_do(const struct transform *t, uint32_t i) {
  for (uint32_t k = i; k-- > 0;)
    if (token_is(t, k, "do") && statement_end(t, k + 1) == i) return true;
  return false;
}

static void visit_loop(struct transform *t, uint32_t i) {
  const struct hd__token *k = t->s->token.v;
  bool is_do = token_is(t, i, "do");
  if (!is_do && !token_is(t, i, "while") && !token_is(t, i, "for")) return;
  if (token_is(t, i, "while") && ends_do(t, i)) return;
  uint32_t body = is_do ? i + 1 : past(t, i + 1), end = statement_end(t, i),
           body_end = statement_end(t, body);
  if (end > t->s->token.n || body_end > t->s->token.n || end == 0) return;
  uint32_t n = t->loops++;
  change(t, k[i].at.begin, k[i].at.begin, OPENS, hd_sprintf("{ unsigned hd_round%u = 0; ", n));
  change(t, k[body].at.begin, k[body].at.begin, OPENS, hd_sprintf("{ hd_seq_round(++hd_round%u); ", n));
  change(t, k[body_end - 1].at.end, k[body_end - 1].at.end, CLOSES, hd_strdup(" }"));
  change(t, k[end - 1].at.end, k[end - 1].at.end, CLOSES, hd_strdup(" }"));
}

/* ---- the text ---- */

static void add_start(struct transform *t) {
  for (size_t f = 0; f < t->s->function.n; f++) {
    const struct hd__function *fn = &t->s->function.v[f];
    if (strcmp(fn->name, "main") != 0) continue;
    for (size_t b = 0; b < t->s->block.n; b++) {
      const struct hd__block *body = &t->s->block.v[b];
      if (!body->body || body->function != f + 1) continue;
      struct hd_str text;
      hd_str_init(&text);
      hd_str_addf(&text, " ");
      for (size_t i = 0; i < t->shared.n; i++) {
        const struct shared *v = &t->shared.v[i];
        for (uint32_t n = 0; n < v->n; n++)
          v->array ? hd_str_addf(&text, "hd_seq_cell[%u] = %s[%u]; ", v->cell + n, v->name, n)
                   : hd_str_addf(&text, "hd_seq_cell[%u] = %s; ", v->cell, v->name);
      }
      change(t, body->at.begin + 1, body->at.begin + 1, OPENS, hd_str_take(&text));
      return;
    }
  }
  if (t->rc == HD_OK) t->rc = hd_fail(t->err, HD_EUSAGE, "%s has no function main", t->s->path);
}

static int by_place(const void *a, const void *b) {
  const struct change *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  if (x->order != y->order) return x->order < y->order ? -1 : 1;
  return (x->number < y->number) == (x->order == CLOSES) ? 1 : -1;
}

static char *finish(struct transform *t, const struct hd_sequential_options *o) {
  struct hd_str out;
  uint32_t at = 0;
  hd_str_init(&out);
  hd_str_addf(
      &out,
      "/* %s as a sequential program: two threads, of which one sees at most HD_SEQ_K values that the other has written,\n"
      " * loops of at most HD_SEQ_U rounds. HD_SEQ_SWAP: it is the thread created first that sees them. By heddle "
      "sequentialize. */\n"
      "#ifndef HD_SEQ_K\n#define HD_SEQ_K %u\n#endif\n#ifndef HD_SEQ_U\n#define HD_SEQ_U %u\n#endif\n"
      "#ifndef HD_SEQ_SWAP\n#define HD_SEQ_SWAP %d\n#endif\n#define HD_SEQ_CELLS %u\n",
      hd_base_name(t->s->path), o->interferences, o->rounds, o->swap, t->cells ? t->cells : 1);
  for (const char *const *line = hd__sequential_text; *line; line++) hd_str_addf(&out, "%s\n", *line);
  hd_str_addf(&out, "#line 1 \"%s\"\n", t->s->path);
  qsort(t->change.v, t->change.n, sizeof *t->change.v, by_place);
  for (size_t i = 0; i < t->change.n; i++) {
    const struct change *c = &t->change.v[i];
    if (c->begin > at) hd_str_addf(&out, "%.*s", (int)(c->begin - at), t->s->text + at);
    hd_str_addf(&out, "%s", c->text);
    at = c->end > at ? c->end : at;
  }
  hd_str_addf(&out, "%s", t->s->text + at);
  return hd_str_take(&out);
}

int hd_sequentialize(const struct hd_mutate_file *f, const char *libdir,
                     const struct hd_sequential_options *o, char **text, struct hd_err *err) {
  struct hd__source s = {0};
  struct transform t = {.s = &s, .err = err};
  *text = NULL;
  t.rc = hd__parse(f, libdir, &s, err);
  if (t.rc == HD_OK) find_shared(&t);
  for (uint32_t i = 0; t.rc == HD_OK && i < s.token.n; i++) {
    visit_loop(&t, i);
    if (s.token.v[i].kind != HD__IDENTIFIER) continue;
    const struct shared *v = shared_at(&t, s.token.v[i].at.begin);
    if (v)
      access(&t, v, i);
    else
      visit_call(&t, i);
  }
  if (t.rc == HD_OK) add_start(&t);
  if (t.rc == HD_OK) *text = finish(&t, o);
  for (size_t i = 0; i < t.shared.n; i++) free(t.shared.v[i].name), free(t.shared.v[i].type);
  for (size_t i = 0; i < t.change.n; i++) free(t.change.v[i].text);
  hd_vec_free(&t.shared);
  hd_vec_free(&t.change);
  hd__source_fini(&s);
  return t.rc;
}
