/* atomics.c: the operators on atomic operations and variables: EAN, WAO, RAT. Runs in the supervisor.
 *
 * EAN and RAT write a statement expression, which gcc and clang have in both languages: the operation as a load, a decision
 * and a store. Those of EAN are atomic each, so what is lost is the atomicity of the whole and nothing else. RAT makes a
 * variable an ordinary one: its type, and every operation on it in the file, become plain. */
#include "mutate/mutate_int.h"

#include <stdlib.h>
#include <string.h>

static bool has(uint32_t operators, enum hd_mutation op) { return operators >> op & 1; }

/* How an operation is taken apart: texts that the caller frees. */
struct parts {
  char *pointer; /* to the variable */
  char *value;   /* the operand, or what is stored */
  char *expect;  /* of a compare-exchange */
};

static void parts_fini(struct parts *p) {
  free(p->pointer);
  free(p->value);
  free(p->expect);
}

static char *arg_text(const struct hd__source *s, const struct hd__call *c, size_t i) {
  return i < c->arg.n ? hd__copy(s, c->arg.v[i]) : hd_strdup("");
}

static struct parts take_apart(const struct hd__source *s, const struct hd__call *c) {
  const struct hd__known *k = c->known;
  bool method = k->style == HD__METHOD, cas = k->what >= HD__CAS && k->what <= HD__CAS_VALUE;
  size_t at = method ? 0 : 1;
  struct parts p = {0};
  if (method) {
    char *object = hd__copy(s, c->object);
    p.pointer = hd_sprintf(c->arrow ? "(%s)" : "&(%s)", object);
    free(object);
  } else {
    p.pointer = arg_text(s, c, 0);
  }
  p.expect = cas ? arg_text(s, c, at) : hd_strdup("");
  p.value = arg_text(s, c, at + cas);
  return p;
}

/* The load and the store of what hd_p points to. */
static const char *load_of(const struct hd__known *k, bool plain) {
  if (plain) return "*hd_p";
  switch (k->style) {
    case HD__METHOD: return "hd_p->load()";
    case HD__GNU: return "__atomic_load_n(hd_p, __ATOMIC_SEQ_CST)";
    case HD__SYNC: return "__atomic_load_n(hd_p, __ATOMIC_SEQ_CST)";
    default: return "atomic_load(hd_p)";
  }
}
static char *store_of(const struct hd__known *k, bool plain, const char *value) {
  if (plain) return hd_sprintf("*hd_p = %s;", value);
  switch (k->style) {
    case HD__METHOD: return hd_sprintf("hd_p->store(%s);", value);
    case HD__GNU:
    case HD__SYNC: return hd_sprintf("__atomic_store_n(hd_p, %s, __ATOMIC_SEQ_CST);", value);
    default: return hd_sprintf("atomic_store(hd_p, %s);", value);
  }
}

/* The operation as a load and a store. NULL: it is one of them, or cannot be taken apart. The caller frees. */
static char *in_steps(const struct hd__source *s, const struct hd__call *c, bool plain) {
  const struct hd__known *k = c->known;
  const char *any = s->cxx ? "auto" : "__auto_type", *load = load_of(k, plain);
  struct parts p = take_apart(s, c);
  struct hd_str out;
  char *next = NULL, *store = NULL;
  hd_str_init(&out);
  hd_str_addf(&out, "({ %s hd_p = %s; %s hd_old = %s; ", any, p.pointer, any, load);
  switch (k->what) {
    case HD__LOAD:
      hd_str_clear(&out);
      if (plain) hd_str_addf(&out, "(*(%s))", p.pointer);
      break;
    case HD__STORE:
      hd_str_clear(&out);
      if (plain) hd_str_addf(&out, "(*(%s) = (%s))", p.pointer, p.value);
      break;
    case HD__EXCHANGE:
      store = store_of(k, plain, p.value);
      hd_str_addf(&out, "%s hd_old; })", store);
      break;
    case HD__FETCH:
    case HD__NEW:
      next = hd_sprintf("hd_old %s (%s)", k->sign, p.value);
      store = store_of(k, plain, next);
      hd_str_addf(&out, "%s %s; })", store, k->what == HD__FETCH ? "hd_old" : next);
      break;
    case HD__CAS:
      next = hd_sprintf("(%s)", p.value);
      store = store_of(k, plain, next);
      hd_str_addf(
          &out, "%s hd_e = %s(%s); int hd_ok = hd_old == *hd_e; if (hd_ok) %s else *hd_e = hd_old; hd_ok; })",
          any, k->style == HD__METHOD ? "&" : "", p.expect, store);
      break;
    case HD__CAS_BOOL:
    case HD__CAS_VALUE:
      next = hd_sprintf("(%s)", p.value);
      store = store_of(k, plain, next);
      hd_str_addf(&out, "int hd_ok = hd_old == (%s); if (hd_ok) %s %s; })", p.expect, store,
                  k->what == HD__CAS_BOOL ? "hd_ok" : "hd_old");
      break;
    case HD__SET: /* a flag has no load */
    case HD__CLEAR: hd_str_clear(&out);
  }
  free(next);
  free(store);
  parts_fini(&p);
  if (out.n) return hd_str_take(&out);
  hd_str_fini(&out);
  return NULL;
}

/* ---- EAN ---- */

static void divide_call(struct hd_mutants *m, const struct hd__source *s, const struct hd__call *c) {
  char *steps = in_steps(s, c, false);
  if (!steps) return;
  hd__edit(hd__mutant(m, s, HD_MUTATION_EAN, c->at.begin, "%s as a load and a store", c->known->name),
           c->at.begin, c->at.end, "%s", steps);
  free(steps);
}

/* x++ as x = x + 1, of which each half is atomic. */
static void divide_update(struct hd_mutants *m, const struct hd__source *s, const struct hd__update *u) {
  char *x = hd__copy(s, u->operand), *text = hd__copy(s, u->at);
  bool prefix = u->operand.begin != u->at.begin;
  uint32_t op = prefix ? u->at.begin : u->operand.end;
  while (s->text[op] == ' ') op++;
  char sign = s->text[op];
  struct hd_mutant *n = hd__mutant(m, s, HD_MUTATION_EAN, u->at.begin, "%s as a load and a store", text);
  uint32_t by = op + 2;
  while (s->text[by] == ' ') by++;
  if (s->text[op + 1] == '=')
    hd__edit(n, u->at.begin, u->at.end, "(%s = %s %c (%.*s))", x, x, sign, (int)(u->at.end - by),
             s->text + by);
  else if (prefix)
    hd__edit(n, u->at.begin, u->at.end, "(%s = %s %c 1)", x, x, sign);
  else
    hd__edit(n, u->at.begin, u->at.end, "((%s = %s %c 1) %c 1)", x, x, sign, sign == '+' ? '-' : '+');
  free(x);
  free(text);
}

/* ---- WAO ---- */

static bool takes_order(const struct hd__known *k) { return k->what <= HD__CAS && k->what != HD__NEW; }

static void relax(struct hd_mutants *m, const struct hd__source *s, const struct hd__call *c) {
  const struct hd__known *k = c->known;
  const char *in = s->cxx ? "std::" : "";
  if (k->what == HD__CAS && k->sign[0] == 's') {
    char *name = hd__copy(s, c->name), *strong = strstr(name, "strong");
    char *weak = hd_sprintf("%.*sweak%s", (int)(strong - name), name, strong + strlen("strong"));
    hd__edit(hd__mutant(m, s, HD_MUTATION_WAO, c->at.begin, "%s instead of %s", weak, name), c->name.begin,
             c->name.end, "%s", weak);
    free(name);
    free(weak);
  }
  /* Without an order it is sequentially consistent. */
  size_t plain_args = k->what == HD__LOAD ? 0 : k->what == HD__CAS ? 2 : 1;
  if (takes_order(k) && c->arg.n && k->style == HD__C11) {
    uint32_t end = c->arg.v[c->arg.n - 1].end;
    struct hd_mutant *n = hd__mutant(m, s, HD_MUTATION_WAO, c->at.begin, "%s relaxed", k->name);
    hd__edit(n, c->name.end, c->name.end, "_explicit");
    hd__edit(n, end, end, ", %smemory_order_relaxed%s", in,
             k->what == HD__CAS ? (s->cxx ? ", std::memory_order_relaxed" : ", memory_order_relaxed") : "");
  } else if (takes_order(k) && k->style == HD__METHOD && c->arg.n == plain_args) {
    uint32_t end = c->at.end - 1;
    hd__edit(hd__mutant(m, s, HD_MUTATION_WAO, c->at.begin, "%s relaxed", k->name), end, end,
             "%sstd::memory_order_relaxed", plain_args ? ", " : "");
  }
}

/* Orders that are written down. */
static void relax_orders(struct hd_mutants *m, const struct hd__source *s, const struct hd__call *c) {
  static const char *const stronger[] = {"seq_cst", "acq_rel", "acquire", "release", "consume", NULL};
  static const char *const gnu[] = {"__ATOMIC_SEQ_CST", "__ATOMIC_ACQ_REL", "__ATOMIC_ACQUIRE",
                                    "__ATOMIC_RELEASE", "__ATOMIC_CONSUME", NULL};
  for (uint32_t t = c->token; t < s->token.n && s->token.v[t].at.end <= c->at.end; t++) {
    char *word = hd__copy(s, s->token.v[t].at);
    const char *relaxed = NULL;
    for (size_t i = 0; stronger[i]; i++) {
      if (strncmp(word, "memory_order_", 13) == 0 && strcmp(word + 13, stronger[i]) == 0)
        relaxed = "memory_order_relaxed";
      if (strcmp(word, gnu[i]) == 0) relaxed = "__ATOMIC_RELAXED";
    }
    if (relaxed)
      hd__edit(hd__mutant(m, s, HD_MUTATION_WAO, s->token.v[t].at.begin, "%s: relaxed instead of %s",
                          c->known->name, word),
               s->token.v[t].at.begin, s->token.v[t].at.end, "%s", relaxed);
    free(word);
  }
}

/* ---- RAT ---- */

/* The types of <stdatomic.h>, without atomic_. */
static const char *plain_type(const char *word) {
  static const char *const type[][2] = {
      {"atomic_bool", "_Bool"},        {"atomic_char", "char"},
      {"atomic_schar", "signed char"}, {"atomic_uchar", "unsigned char"},
      {"atomic_short", "short"},       {"atomic_ushort", "unsigned short"},
      {"atomic_int", "int"},           {"atomic_uint", "unsigned"},
      {"atomic_long", "long"},         {"atomic_ulong", "unsigned long"},
      {"atomic_llong", "long long"},   {"atomic_ullong", "unsigned long long"},
      {"atomic_size_t", "size_t"},     {"atomic_ptrdiff_t", "ptrdiff_t"},
      {"atomic_intptr_t", "intptr_t"}, {"atomic_uintptr_t", "uintptr_t"},
      {"atomic_intmax_t", "intmax_t"}, {"atomic_uintmax_t", "uintmax_t"}};
  for (size_t i = 0; i < sizeof type / sizeof *type; i++)
    if (strcmp(word, type[i][0]) == 0) return type[i][1];
  return NULL;
}

/* The tokens that make the declaration atomic, and the plain type; NULL: they are not found. The caller frees. */
static char *atomic_part(const struct hd__source *s, const struct hd__decl *d, struct hd__span *at) {
  for (uint32_t t = hd__token_at(s, d->at.begin); t < s->token.n && s->token.v[t].at.begin < d->name; t++) {
    char *word = hd__copy(s, s->token.v[t].at);
    const char *plain = plain_type(word);
    bool qualifier = strcmp(word, "_Atomic") == 0, template = strcmp(word, "atomic") == 0;
    free(word);
    *at = s->token.v[t].at;
    bool in_std = t >= 2 && hd__is(s, s->token.v[t - 1].at, "::");
    if (in_std) at->begin = s->token.v[t - 2].at.begin;
    if (plain) return hd_strdup(s->cxx && strcmp(plain, "_Bool") == 0 ? "bool" : plain);
    const char *open = qualifier ? "(" : "<", *close = qualifier ? ")" : ">";
    if (!qualifier && !template) continue;
    if (t + 1 >= s->token.n || !hd__is(s, s->token.v[t + 1].at, open))
      return qualifier ? hd_strdup(" ") : NULL;
    uint32_t end = t + 2;
    for (int depth = 1; end < s->token.n; end++) {
      depth += hd__is(s, s->token.v[end].at, open) - hd__is(s, s->token.v[end].at, close);
      if (!depth) break;
    }
    if (end >= s->token.n) return NULL;
    at->end = s->token.v[end].at.end;
    return hd__copy(s, (struct hd__span){s->token.v[t + 2].at.begin, s->token.v[end - 1].at.end});
  }
  return NULL;
}

/* Whether the expression names one of the variables that are declared with that type. */
static bool names(const struct hd__source *s, struct hd__span expression, struct hd__span type) {
  for (size_t i = 0; i < s->ref.n; i++) {
    const struct hd__ref *r = &s->ref.v[i];
    if (r->at < expression.begin || r->at >= expression.end || r->decl == HD_NOWHERE) continue;
    for (size_t k = 0; k < s->decl.n; k++)
      if (s->decl.v[k].name == r->decl && hd__inside(type, s->decl.v[k].at)) return true;
  }
  return false;
}

static void make_plain(struct hd_mutants *m, const struct hd__source *s, const struct hd__decl *d) {
  struct hd__span type;
  char *plain = atomic_part(s, d, &type);
  if (!plain) return;
  uint32_t t = hd__token_at(s, d->name);
  char *name = hd__copy(s, s->token.v[t].at);
  struct hd_mutant *n = hd__mutant(m, s, HD_MUTATION_RAT, d->name, "%s is not atomic", name);
  hd__edit(n, type.begin, type.end, "%s", plain);
  for (size_t i = 0; i < s->call.n; i++) {
    const struct hd__call *c = &s->call.v[i];
    if (c->known->role != HD__ATOMIC || (c->known->style != HD__METHOD && !c->arg.n)) continue;
    if (!names(s, c->known->style == HD__METHOD ? c->object : c->arg.v[0], type)) continue;
    char *steps = in_steps(s, c, true);
    if (steps) hd__edit(n, c->at.begin, c->at.end, "%s", steps);
    free(steps);
  }
  free(plain);
  free(name);
}

static bool is_atomic(const struct hd__decl *d) {
  return strstr(d->type, "_Atomic(") || strstr(d->type, "std::atomic<");
}

/* Whether an earlier variable is declared together with it. */
static bool shares_type(const struct hd__source *s, size_t i) {
  for (size_t k = 0; k < i; k++)
    if (is_atomic(&s->decl.v[k]) && s->decl.v[k].at.begin == s->decl.v[i].at.begin) return true;
  return false;
}

void hd__mutate_atomics(struct hd_mutants *m, const struct hd__source *s, uint32_t operators) {
  for (size_t i = 0; i < s->call.n; i++) {
    const struct hd__call *c = &s->call.v[i];
    if (c->known->role != HD__ATOMIC) continue;
    if (has(operators, HD_MUTATION_EAN)) divide_call(m, s, c);
    if (!has(operators, HD_MUTATION_WAO)) continue;
    relax(m, s, c);
    relax_orders(m, s, c);
  }
  for (size_t i = 0; i < s->update.n && has(operators, HD_MUTATION_EAN); i++)
    divide_update(m, s, &s->update.v[i]);
  for (size_t i = 0; i < s->decl.n && has(operators, HD_MUTATION_RAT); i++)
    if (is_atomic(&s->decl.v[i]) && !shares_type(s, i)) make_plain(m, s, &s->decl.v[i]);
}
