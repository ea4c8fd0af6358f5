/* operators.c: the operators on critical sections and on calls of threads, locks, semaphores and barriers. Runs in the
 * supervisor.
 *
 * Each operator adds all its mutants of a file. Whether one compiles is found out later; what is written here only avoids
 * mutants that are known not to, or that another operator makes, too. */
#include "mutate/mutate_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has(uint32_t operators, enum hd_mutation op) { return operators >> op & 1; }

/* Removes a statement, or a call whose value is used. */
static void remove_call(struct hd_mutant *m, const struct hd__call *c) {
  hd__edit(m, c->at.begin, c->at.end, "%s", c->alone || !c->known->replaced ? "(void)0" : c->known->replaced);
}

/* Inserts the text as a line of its own before the statement, or after it. */
static void insert(const struct hd__source *s, struct hd_mutant *m, struct hd__span stmt, bool after,
                   const char *text) {
  uint32_t line = stmt.begin;
  while (line && (s->text[line - 1] == ' ' || s->text[line - 1] == '\t')) line--;
  int indent = (int)(stmt.begin - line);
  if (after)
    hd__edit(m, stmt.end, stmt.end, "\n%.*s%s", indent, s->text + line, text);
  else
    hd__edit(m, stmt.begin, stmt.begin, "%s\n%.*s", text, indent, s->text + line);
}

/* Moves a statement to before or after another one. */
static void move(const struct hd__source *s, struct hd_mutant *m, struct hd__span stmt, struct hd__span to,
                 bool after) {
  char *text = hd__copy(s, stmt);
  hd__edit(m, stmt.begin, stmt.end, ";");
  insert(s, m, to, after, text);
  free(text);
}

static struct hd__span stmt_at(const struct hd__source *s, const struct hd__region *r, size_t i) {
  return s->block.v[r->block].stmt.v[i].at;
}
static enum hd__stmt_kind kind_at(const struct hd__source *s, const struct hd__region *r, size_t i) {
  return s->block.v[r->block].stmt.v[i].kind;
}
static size_t stmts(const struct hd__source *s, const struct hd__region *r) {
  return s->block.v[r->block].stmt.n;
}
/* The statement after the last one inside. */
static size_t region_end(const struct hd__source *s, const struct hd__region *r) {
  return r->last == HD_NOWHERE ? stmts(s, r) : r->last;
}

/* The texts that lock and unlock. The caller frees. */
static char *lock_text(const struct hd__source *s, const struct hd__region *r, bool lock) {
  if (!r->guard) {
    char *call = hd__copy(s, lock ? r->lock->at : r->unlock ? r->unlock->at : r->early.v[0]->at);
    char *text = hd_sprintf("%s;", call);
    free(call);
    return text;
  }
  char *arg = hd__copy(s, r->arg), *text = hd_sprintf("(%s).%s();", arg, lock ? "lock" : "unlock");
  free(arg);
  return text;
}

/* ---- what is locked: MSP, ESP ---- */

static struct hd__span arg_of(const struct hd__call *c) {
  return c->known->style == HD__METHOD ? c->object : c->arg.v[0];
}

/* Locks and unlocks what is written there instead. */
static void relock(const struct hd__source *s, struct hd_mutant *m, const struct hd__region *r,
                   struct hd__span other) {
  char *text = hd__copy(s, other);
  if (r->guard) hd__edit(m, r->arg.begin, r->arg.end, "%s", text);
  if (r->lock) hd__edit(m, arg_of(r->lock).begin, arg_of(r->lock).end, "%s", text);
  if (r->unlock) hd__edit(m, arg_of(r->unlock).begin, arg_of(r->unlock).end, "%s", text);
  for (size_t i = 0; i < r->early.n; i++)
    hd__edit(m, arg_of(r->early.v[i]).begin, arg_of(r->early.v[i]).end, "%s", text);
  free(text);
}

static bool same_kind(const struct hd__region *a, const struct hd__region *b) {
  return a->guard == b->guard && a->family == b->family &&
         (!a->lock || (a->lock->known->style == HD__METHOD ? a->lock->arrow == b->lock->arrow : true));
}

static uint32_t function_of(const struct hd__source *s, const struct hd__region *r) {
  return s->block.v[r->block].function;
}

/* MSP: another lock of the same function, or of any, where the compiler will say whether it is known here. */
static void other_locks(struct hd_mutants *m, const struct hd__source *s, const struct hd__region *r) {
  for (size_t i = 0; i < s->region.n; i++) {
    const struct hd__region *o = &s->region.v[i];
    bool met = !same_kind(r, o) || hd__same(s, r->arg, o->arg);
    for (size_t k = 0; k < i && !met; k++)
      met = same_kind(r, &s->region.v[k]) && hd__same(s, s->region.v[k].arg, o->arg);
    if (met) continue;
    char *a = hd__copy(s, r->arg), *b = hd__copy(s, o->arg);
    relock(s,
           hd__mutant(m, s, HD_MUTATION_MSP, stmt_at(s, r, r->first).begin, "locks %s instead of %s", b, a),
           r, o->arg);
    free(a);
    free(b);
  }
}

/* ESP: with each later section of the function. */
static void exchange_locks(struct hd_mutants *m, const struct hd__source *s, size_t first) {
  const struct hd__region *r = &s->region.v[first];
  for (size_t i = first + 1; i < s->region.n; i++) {
    const struct hd__region *o = &s->region.v[i];
    if (function_of(s, o) != function_of(s, r) || !same_kind(r, o) || hd__same(s, r->arg, o->arg)) continue;
    char *a = hd__copy(s, r->arg), *b = hd__copy(s, o->arg);
    struct hd_mutant *n = hd__mutant(m, s, HD_MUTATION_ESP, stmt_at(s, r, r->first).begin,
                                     "exchanges the locks %s and %s (line %u)", a, b,
                                     hd__line(s, stmt_at(s, o, o->first).begin));
    relock(s, n, r, o->arg);
    relock(s, n, o, r->arg);
    free(a);
    free(b);
  }
}

/* ---- how far it reaches ---- */

/* RSK, RSB */
static void remove_region(struct hd_mutants *m, const struct hd__source *s, const struct hd__region *r,
                          uint32_t operators) {
  enum hd_mutation op = r->whole ? HD_MUTATION_RSK : HD_MUTATION_RSB;
  if (!has(operators, op)) return;
  struct hd__span first = stmt_at(s, r, r->first);
  char *arg = hd__copy(s, r->arg);
  struct hd_mutant *n = hd__mutant(m, s, op, first.begin, "does not lock %s", arg);
  free(arg);
  if (r->guard) hd__edit(n, first.begin, first.end, ";");
  if (r->lock) remove_call(n, r->lock);
  if (r->unlock) remove_call(n, r->unlock);
  for (size_t i = 0; i < r->early.n; i++) remove_call(n, r->early.v[i]);
}

/* RFU. A guard becomes a lock and an unlock at the end of its block, which early exits do not reach. */
static void keep_locked(struct hd_mutants *m, const struct hd__source *s, const struct hd__region *r) {
  char *arg = hd__copy(s, r->arg);
  for (size_t i = 0; i < r->early.n; i++)
    remove_call(
        hd__mutant(m, s, HD_MUTATION_RFU, r->early.v[i]->at.begin, "leaves without unlocking %s", arg),
        r->early.v[i]);
  size_t n = stmts(s, r);
  if (r->guard && n > r->first + 1u) {
    struct hd__span first = stmt_at(s, r, r->first), inside = {first.end, stmt_at(s, r, n - 1).begin};
    bool early = false;
    for (uint32_t t = hd__token_at(s, inside.begin); t < s->token.n && s->token.v[t].at.begin < inside.end;
         t++)
      early |= hd__is(s, s->token.v[t].at, "return") || hd__is(s, s->token.v[t].at, "throw");
    if (early) {
      char *lock = lock_text(s, r, true), *unlock = lock_text(s, r, false);
      struct hd_mutant *x = hd__mutant(m, s, HD_MUTATION_RFU, first.begin,
                                       "unlocks %s at the end only, not on early exits", arg);
      hd__edit(x, first.begin, first.end, "%s", lock);
      insert(s, x, stmt_at(s, r, n - 1), kind_at(s, r, n - 1) != HD__STMT_LEAVES, unlock);
      free(lock);
      free(unlock);
    }
  }
  free(arg);
}

static unsigned line_at(const struct hd__source *s, const struct hd__region *r, size_t i) {
  return hd__line(s, stmt_at(s, r, i).begin);
}

/* SKCR */
static void shrink(struct hd_mutants *m, const struct hd__source *s, const struct hd__region *r) {
  size_t end = region_end(s, r);
  struct hd__span first = stmt_at(s, r, r->first);
  if (end < r->first + 3u) return; /* nothing would be left inside */
  char *arg = hd__copy(s, r->arg);
  move(s,
       hd__mutant(m, s, HD_MUTATION_SKCR, first.begin, "locks %s only after line %u", arg,
                  line_at(s, r, r->first + 1u)),
       first, stmt_at(s, r, r->first + 1u), true);
  if (r->unlock)
    move(s,
         hd__mutant(m, s, HD_MUTATION_SKCR, r->unlock->at.begin, "unlocks %s before line %u", arg,
                    line_at(s, r, end - 1)),
         stmt_at(s, r, end), stmt_at(s, r, end - 1), false);
  free(arg);
}

static bool is_locking(const struct hd__source *s, const struct hd__region *r, size_t i) {
  for (size_t k = 0; k < s->call.n; k++)
    if (hd__inside(s->call.v[k].at, stmt_at(s, r, i)) && s->call.v[k].known->role <= HD__UNLOCK) return true;
  return false;
}

/* EXCR */
static void expand(struct hd_mutants *m, const struct hd__source *s, const struct hd__region *r) {
  struct hd__span first = stmt_at(s, r, r->first);
  char *arg = hd__copy(s, r->arg);
  if (r->first && !is_locking(s, r, r->first - 1u))
    move(s,
         hd__mutant(m, s, HD_MUTATION_EXCR, first.begin, "locks %s before line %u", arg,
                    line_at(s, r, r->first - 1u)),
         first, stmt_at(s, r, r->first - 1u), false);
  size_t next = r->unlock ? r->last + 1u : stmts(s, r);
  if (next < stmts(s, r) && kind_at(s, r, next) != HD__STMT_LEAVES && !is_locking(s, r, next))
    move(s,
         hd__mutant(m, s, HD_MUTATION_EXCR, r->unlock->at.begin, "unlocks %s only after line %u", arg,
                    line_at(s, r, next)),
         stmt_at(s, r, r->last), stmt_at(s, r, next), true);
  free(arg);
}

/* Whether a block is inside of the section, and none of its early exits is in it. */
static bool is_within(const struct hd__source *s, const struct hd__region *r, const struct hd__block *b) {
  size_t end = region_end(s, r);
  if (end == r->first + 1u || b->body || b->function != function_of(s, r)) return false;
  struct hd__span inside = {stmt_at(s, r, r->first).end, stmt_at(s, r, end - 1).end};
  for (size_t i = 0; i < r->early.n; i++)
    if (hd__inside(r->early.v[i]->at, b->at)) return false;
  return hd__inside(b->at, inside);
}

/* SPCR: between any two statements, also of blocks inside. */
static void split(struct hd_mutants *m, const struct hd__source *s, const struct hd__region *r) {
  char *arg = hd__copy(s, r->arg), *lock = lock_text(s, r, true), *unlock = lock_text(s, r, false);
  char *both = hd_sprintf("%s %s", unlock, lock);
  for (size_t b = 0; b < s->block.n; b++) {
    const struct hd__block *in = &s->block.v[b];
    bool own = b == r->block;
    if (!own && !is_within(s, r, in)) continue;
    size_t end = own ? region_end(s, r) : in->stmt.n;
    for (size_t i = own ? r->first + 1u : 0; i + 1 < end; i++) {
      const struct hd__stmt *at = &in->stmt.v[i];
      if (at->kind == HD__STMT_LEAVES) continue;
      insert(s,
             hd__mutant(m, s, HD_MUTATION_SPCR, at->at.begin, "unlocks %s and locks it again after line %u",
                        arg, hd__line(s, at->at.end)),
             at->at, true, both);
    }
  }
  free(both);
  free(lock);
  free(unlock);
  free(arg);
}

/* MVSB: the first and the last statement are SKCR's. */
static void move_out(struct hd_mutants *m, const struct hd__source *s, const struct hd__region *r) {
  char *arg = hd__copy(s, r->arg);
  for (size_t i = r->first + 1u; i < region_end(s, r); i++) {
    if (kind_at(s, r, i) != HD__STMT || is_locking(s, r, i)) continue;
    if (i > r->first + 1u)
      move(s,
           hd__mutant(m, s, HD_MUTATION_MVSB, stmt_at(s, r, i).begin,
                      "executes the statement before locking %s", arg),
           stmt_at(s, r, i), stmt_at(s, r, r->first), false);
    if (r->unlock && i + 1 < r->last)
      move(s,
           hd__mutant(m, s, HD_MUTATION_MVSB, stmt_at(s, r, i).begin,
                      "executes the statement after unlocking %s", arg),
           stmt_at(s, r, i), stmt_at(s, r, r->last), true);
  }
  free(arg);
}

void hd__mutate_regions(struct hd_mutants *m, const struct hd__source *s, uint32_t operators) {
  for (size_t i = 0; i < s->region.n; i++) {
    const struct hd__region *r = &s->region.v[i];
    if (has(operators, HD_MUTATION_MSP)) other_locks(m, s, r);
    if (has(operators, HD_MUTATION_ESP)) exchange_locks(m, s, i);
    remove_region(m, s, r, operators);
    if (has(operators, HD_MUTATION_RFU)) keep_locked(m, s, r);
    if (has(operators, HD_MUTATION_SKCR)) shrink(m, s, r);
    if (has(operators, HD_MUTATION_EXCR)) expand(m, s, r);
    if (has(operators, HD_MUTATION_SPCR)) split(m, s, r);
    if (has(operators, HD_MUTATION_MVSB)) move_out(m, s, r);
  }
}

/* ---- calls: RTXC, RCXC, MXC; RVK ---- */

static void change_count(struct hd_mutants *m, const struct hd__source *s, const struct hd__call *c) {
  if (c->arg.n <= c->known->arg) return;
  struct hd__span at = c->arg.v[c->known->arg];
  char *count = hd__copy(s, at), *end;
  long value = strtol(count, &end, 0);
  bool literal = *count && !*end;
  bool semaphore = strcmp(c->known->name, "sem_init") == 0; /* a barrier of none is no barrier */
  for (int by = -1; by <= 1; by += 2) {
    if (literal && value + by < !semaphore) continue;
    char *other =
        literal ? hd_sprintf("%ld", value + by) : hd_sprintf("(%s) %s 1", count, by < 0 ? "-" : "+");
    hd__edit(
        hd__mutant(m, s, HD_MUTATION_MXC, c->at.begin, "%s: %s instead of %s", c->known->name, other, count),
        at.begin, at.end, "%s", other);
    free(other);
  }
  free(count);
}

static void remove_volatile(struct hd_mutants *m, const struct hd__source *s) {
  for (uint32_t t = 0; t < s->token.n; t++) {
    struct hd__span at = s->token.v[t].at;
    bool declares = false;
    if (!hd__is(s, at, "volatile")) continue;
    for (size_t i = 0; i < s->decl.n && !declares; i++) declares = hd__inside(at, s->decl.v[i].at);
    if (declares)
      hd__edit(hd__mutant(m, s, HD_MUTATION_RVK, at.begin, "not volatile"), at.begin, at.end, " ");
  }
}

void hd__mutate_calls(struct hd_mutants *m, const struct hd__source *s, uint32_t operators) {
  for (size_t i = 0; i < s->call.n; i++) {
    const struct hd__call *c = &s->call.v[i];
    enum hd__role role = c->known->role;
    bool object = role == HD__LOCK || role == HD__UNLOCK || role == HD__OBJECT;
    enum hd_mutation op = object ? HD_MUTATION_RCXC : HD_MUTATION_RTXC;
    if (role == HD__COUNT && has(operators, HD_MUTATION_MXC)) change_count(m, s, c);
    if ((!object && role != HD__THREAD) || !has(operators, op)) continue;
    char *text = hd__copy(s, c->at);
    remove_call(hd__mutant(m, s, op, c->at.begin, "no %s", text), c);
    free(text);
  }
  if (has(operators, HD_MUTATION_RVK)) remove_volatile(m, s);
}
