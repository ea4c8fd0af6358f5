/* mutate.c: the list of mutants, the order in which they are taken, and their text. Runs in the supervisor. */
#include "mutate/mutate_int.h"

#include <stdlib.h>
#include <string.h>

const char *const hd_mutation_name[HD_MUTATIONS] = {
#define HD_MUTATION(id, what) #id,
#include "mutate/operators.def"
#undef HD_MUTATION
};
const char *const hd_mutation_what[HD_MUTATIONS] = {
#define HD_MUTATION(id, what) what,
#include "mutate/operators.def"
#undef HD_MUTATION
};

int hd_mutations_parse(const char *list, uint32_t *bits, struct hd_err *err) {
  *bits = 0;
  for (const char *p = list;;) {
    size_t len = strcspn(p, ","), i = 0;
    while (i < HD_MUTATIONS &&
           (strlen(hd_mutation_name[i]) != len || memcmp(hd_mutation_name[i], p, len) != 0))
      i++;
    if (i == HD_MUTATIONS) {
      struct hd_str known;
      hd_str_init(&known);
      for (i = 0; i < HD_MUTATIONS; i++) hd_str_addf(&known, "%s%s", i ? ", " : "", hd_mutation_name[i]);
      hd_fail(err, HD_EUSAGE, "unknown operator '%.*s'; known are: %s", (int)len, p, known.s);
      hd_str_fini(&known);
      return err->code;
    }
    *bits |= 1u << i;
    if (!p[len]) return HD_OK;
    p += len + 1;
  }
}

bool hd_mutate_is_cxx(const char *path) {
  static const char *const ends[] = {".cc", ".cpp", ".cxx", ".c++", ".C", ".cp", NULL};
  const char *dot = strrchr(path, '.');
  for (const char *const *e = ends; dot && *e; e++)
    if (strcmp(dot, *e) == 0) return true;
  return false;
}

struct hd_mutants *hd_mutants_new(const char *libdir) {
  struct hd_mutants *m = hd_alloc(sizeof *m);
  m->libdir = hd_strdup(libdir ? libdir : ".");
  return m;
}

static void drop(struct hd_mutant *x) {
  for (size_t i = 0; i < x->edit.n; i++) free(x->edit.v[i].text);
  hd_vec_free(&x->edit);
  free(x->what);
}

void hd_mutants_free(struct hd_mutants *m) {
  if (!m) return;
  for (size_t i = 0; i < m->mutant.n; i++) drop(&m->mutant.v[i]);
  for (size_t i = 0; i < m->file.n; i++) {
    hd__source_fini(m->file.v[i]);
    free(m->file.v[i]);
  }
  hd_vec_free(&m->mutant);
  hd_vec_free(&m->file);
  hd_vec_free(&m->order);
  free(m->libdir);
  free(m);
}

/* ---- for the operators ---- */

struct hd_mutant *hd__mutant(struct hd_mutants *m, const struct hd__source *s, enum hd_mutation op,
                             uint32_t offset, const char *fmt, ...) {
  struct hd_mutant x = {.op = op, .file = s->number, .line = hd__line(s, offset)};
  struct hd_str text;
  va_list ap;
  hd_str_init(&text);
  const char *function = hd__function_at(s, offset);
  if (function) hd_str_addf(&text, "%s: ", function);
  va_start(ap, fmt);
  hd_str_vaddf(&text, fmt, ap);
  va_end(ap);
  /* One line, whatever the source looks like. */
  size_t n = 0;
  for (size_t i = 0; i < text.n; i++) {
    bool white = strchr(" \t\r\n", text.s[i]) != NULL;
    if (!white || (n && text.s[n - 1] != ' ')) text.s[n++] = white ? ' ' : text.s[i];
  }
  text.s[n] = '\0';
  x.what = hd_str_take(&text);
  hd_vec_push(&m->mutant, x);
  return &m->mutant.v[m->mutant.n - 1];
}

void hd__edit(struct hd_mutant *mutant, uint32_t begin, uint32_t end, const char *fmt, ...) {
  struct hd_str text;
  va_list ap;
  hd_str_init(&text);
  va_start(ap, fmt);
  hd_str_vaddf(&text, fmt, ap);
  va_end(ap);
  hd_vec_push(&mutant->edit, ((struct hd_edit){begin, end, hd_str_take(&text)}));
}

/* ---- the list ---- */

static int by_position(const void *a, const void *b) {
  const struct hd_edit *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Sorts its edits. Returns whether they do not overlap: nested atomic operations do. */
static bool is_sound(struct hd_mutant *x) {
  if (!x->edit.n) return false;
  qsort(x->edit.v, x->edit.n, sizeof *x->edit.v, by_position);
  for (size_t i = 1; i < x->edit.n; i++)
    if (x->edit.v[i].begin < x->edit.v[i - 1].end) return false;
  return true;
}

static uint64_t hash_of(const char *text, size_t n) {
  uint64_t h = 14695981039346656037ull;
  for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)text[i]) * 1099511628211ull;
  return h;
}

/* Drops mutants that are not sound, or equal to an earlier one or to the original, white space and empty statements
 * aside. */
static void drop_same(struct hd_mutants *m, size_t from, const struct hd__source *s) {
  HD_VEC(uint64_t) seen = {0};
  size_t n = from;
  hd_vec_push(&seen, hash_of(s->text, s->len));
  for (size_t i = from; i < m->mutant.n; i++) {
    struct hd_mutant *x = &m->mutant.v[i];
    bool keep = is_sound(x);
    if (keep) {
      size_t len, squeezed = 0;
      char *text = hd_mutant_text(m, x, &len);
      for (size_t k = 0; k < len; k++) {
        bool empty = text[k] == ';' && squeezed && strchr(";{}", text[squeezed - 1]);
        if (!strchr(" \t\r\n", text[k]) && !empty) text[squeezed++] = text[k];
      }
      uint64_t h = hash_of(text, squeezed);
      for (size_t k = 0; k < seen.n; k++) keep &= seen.v[k] != h;
      hd_vec_push(&seen, h);
      free(text);
    }
    if (keep)
      m->mutant.v[n++] = *x;
    else
      drop(x);
  }
  m->mutant.n = n;
  hd_vec_free(&seen);
}

int hd_mutants_add(struct hd_mutants *m, const struct hd_mutate_file *file, uint32_t operators,
                   struct hd_err *err) {
  struct hd__source *s = hd_alloc(sizeof *s);
  size_t from = m->mutant.n;
  s->number = (unsigned)m->file.n;
  hd_vec_push(&m->file, s);
  int rc = hd__parse(file, m->libdir, s, err);
  if (rc != HD_OK) return rc;
  hd__source_index(s);
  hd__mutate_regions(m, s, operators);
  hd__mutate_calls(m, s, operators);
  hd__mutate_atomics(m, s, operators);
  drop_same(m, from, s);
  return HD_OK;
}

size_t hd_mutants_count(const struct hd_mutants *m) { return m->mutant.n; }

static uint64_t next_random(uint64_t *state) { /* splitmix64 */
  uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

void hd_mutants_shuffle(struct hd_mutants *m, uint64_t seed) {
  HD_VEC(uint32_t) of[HD_MUTATIONS] = {0};
  uint64_t state = seed;
  for (size_t i = 0; i < m->mutant.n; i++) hd_vec_push(&of[m->mutant.v[i].op], (uint32_t)i);
  for (unsigned op = 0; op < HD_MUTATIONS; op++)
    for (size_t i = of[op].n; i > 1; i--) {
      size_t k = next_random(&state) % i;
      uint32_t swap = of[op].v[i - 1];
      of[op].v[i - 1] = of[op].v[k];
      of[op].v[k] = swap;
    }
  m->order.n = 0;
  for (size_t turn = 0; m->order.n < m->mutant.n; turn++)
    for (unsigned op = 0; op < HD_MUTATIONS; op++)
      if (turn < of[op].n) hd_vec_push(&m->order, of[op].v[turn]);
  for (unsigned op = 0; op < HD_MUTATIONS; op++) hd_vec_free(&of[op]);
}

const struct hd_mutant *hd_mutants_get(const struct hd_mutants *m, size_t i) {
  return &m->mutant.v[m->order.n ? m->order.v[i] : i];
}

char *hd_mutant_text(const struct hd_mutants *m, const struct hd_mutant *mutant, size_t *len) {
  const struct hd__source *s = m->file.v[mutant->file];
  struct hd_str out;
  uint32_t at = 0;
  hd_str_init(&out);
  for (size_t i = 0; i < mutant->edit.n; i++) {
    const struct hd_edit *e = &mutant->edit.v[i];
    hd_str_addn(&out, s->text + at, e->begin - at);
    hd_str_add(&out, e->text);
    at = e->end;
  }
  hd_str_addn(&out, s->text + at, s->len - at);
  *len = out.n;
  return hd_str_take(&out);
}
