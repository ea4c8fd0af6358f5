/* block.c: names parts of heap blocks: `s->calls` where the line of the allocation is `s = new Server`, `node#2.lock` for the
 * second block of several that were allocated there. Runs in the supervisor.
 *
 * A block has no type in the debug information. Its type, and the variable it is first stored in, are read from the source
 * line of the allocation; the type counts when the debug information has one of that name and its size fits. */
#include "report/report_int.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 80

/* Where blocks of one size were allocated. What the library allocates for the same line has another size. */
struct site {
  uint64_t pc, size; /* innermost in the user's source; 0: none */
  char *path, *type; /* type: of which the library allocates some; NULL: not known */
  int line;
  size_t n; /* blocks */
};

struct block {
  struct hd_block_rec rec;
  size_t site;   /* plus 1; 0: not looked at */
  size_t number; /* of those of the site, from 1 on */
};

struct hd_blocks {
  HD_VEC(struct block) block; /* by address */
  HD_VEC(struct site) site;
  bool numbered;
};

/* ---- the line of an allocation ---- */

struct allocation {
  char variable[MAX_NAME], type[MAX_NAME]; /* empty: not known */
  bool header;                             /* something of the library precedes the object */
  bool container;                          /* the variable is no pointer, but has elements */
};

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

static void put(char *out, const char *from, const char *to) {
  while (from < to && isspace((unsigned char)*from)) from++;
  while (to > from && isspace((unsigned char)to[-1])) to--;
  size_t n = (size_t)(to - from);
  if (n == 0 || n >= MAX_NAME) return;
  memcpy(out, from, n);
  out[n] = '\0';
}

/* A word of the line, not a part of a longer one; NULL if there is none. */
static const char *find_word(const char *line, const char *word) {
  size_t n = strlen(word);
  for (const char *at = line; (at = strstr(at, word)); at += n)
    if ((at == line || !in_name(at[-1])) && !in_name(at[n])) return at;
  return NULL;
}

/* The end of what begins with an opening bracket, or NULL. */
static const char *closing(const char *open, char up, char down) {
  int depth = 0;
  for (; *open; open++) {
    if (*open == up) depth++;
    if (*open == down && --depth == 0) return open;
  }
  return NULL;
}

/* "Server", "ns::Node<int>" */
static const char *end_of_type(const char *at) {
  while (in_name(*at) || (at[0] == ':' && at[1] == ':')) at += *at == ':' ? 2 : 1;
  const char *end = *at == '<' ? closing(at, '<', '>') : NULL;
  return end ? end + 1 : at;
}

/* "struct node" without its keyword; what a variable points to that is declared in the line. */
static void put_type(char *out, const char *line, const char *from, const char *to) {
  while (from < to && (isspace((unsigned char)*from) || *from == '(')) from++;
  while (to > from && (isspace((unsigned char)to[-1]) || to[-1] == ')')) to--;
  if (strncmp(from, "struct ", 7) == 0) from += 7;
  if (from < to && *from == '*') { /* sizeof *n */
    const char *end = strstr(line, "*");
    while (end > line && isspace((unsigned char)end[-1])) end--;
    to = from = end;
    while (from > line && in_name(from[-1])) from--;
  }
  put(out, from, to);
}

/* The container of `vector<T> v(n)`, or of `v.resize(n)`. */
static void read_container(const char *line, struct allocation *a) {
  static const char *const grow[] = {"resize", "reserve", "push_back", "emplace_back", "assign", "insert"};
  const char *at = strstr(line, "vector<"), *end = NULL;
  if (at && (end = closing(at + 6, '<', '>'))) {
    at = end += 1 + strspn(end + 1, " \t");
    while (in_name(*end)) end++;
    if (at < end && strchr("({;=", end[strspn(end, " \t")])) put(a->variable, at, end);
  }
  for (size_t i = 0; i < sizeof grow / sizeof *grow && !*a->variable; i++) {
    const char *dot = find_word(line, grow[i]);
    if (!dot || dot == line || dot[-1] != '.') continue;
    for (at = --dot; at > line && in_name(at[-1]);) at--;
    put(a->variable, at, dot);
  }
}

static void read_allocation(const char *line, struct allocation *a) {
  const char *from = NULL, *at, *end;
  *a = (struct allocation){0};
  static const char *const make[] = {"make_shared", "make_unique"};
  for (int i = 0; i < 2 && !from; i++) {
    if (!(at = find_word(line, make[i])) || at[strlen(make[i])] != '<') continue;
    from = at;
    at += strlen(make[i]);
    if ((end = closing(at, '<', '>'))) put(a->type, at + 1, end);
    a->header = i == 0;
  }
  if (!from && (at = find_word(line, "new"))) {
    from = at;
    at += 3 + strspn(at + 3, " \t");
    if (*at == '(' && (end = closing(at, '(', ')'))) at = end + 1 + strspn(end + 1, " \t");
    put(a->type, at, end_of_type(at));
  }
  static const char *const call[] = {"malloc", "calloc", "realloc", "aligned_alloc"};
  for (int i = 0; i < 4 && !from; i++) from = find_word(line, call[i]);
  if (from && !*a->type && (at = find_word(from, "sizeof"))) {
    at += 6 + strspn(at + 6, " \t");
    end = *at == '(' ? closing(at, '(', ')') : at + strcspn(at, ");,");
    if (end) put_type(a->type, line, at, end);
  }
  if (!from) return;
  const char *equals = from;
  while (equals > line && *equals != '=') equals--;
  if (equals == line || strchr("=!<>+-", equals[-1])) return;
  for (end = equals; end > line && isspace((unsigned char)end[-1]);) end--;
  for (at = end; at > line && (in_name(at[-1]) || strchr(".->", at[-1]));) at--;
  put(a->variable, at, end);
}

/* ---- blocks and their sites ---- */

static int by_address(const void *a, const void *b) {
  const struct block *x = a, *y = b;
  return (x->rec.base > y->rec.base) - (x->rec.base < y->rec.base);
}

struct hd_blocks *hd__blocks_new(const struct hd_block_recs *recs) {
  struct hd_blocks *b = hd_alloc(sizeof *b);
  for (uint64_t i = 0; i < recs->n && i < HD_BLOCKS_CAP; i++)
    hd_vec_push(&b->block, ((struct block){.rec = recs->v[i]}));
  if (b->block.n) qsort(b->block.v, b->block.n, sizeof *b->block.v, by_address);
  return b;
}

void hd__blocks_free(struct hd_blocks *b) {
  if (!b) return;
  for (size_t i = 0; i < b->site.n; i++) free(b->site.v[i].path), free(b->site.v[i].type);
  hd_vec_free(&b->site);
  hd_vec_free(&b->block);
  free(b);
}

/* What the library keeps for a thread is not the program's. */
static bool is_of_thread(const struct hd_frame *f) {
  static const char *const header[] = {"/bits/std_thread.h", "/__thread/thread.h", "/thread"};
  size_t len = f->path ? strlen(f->path) : 0;
  for (size_t i = 0; i < sizeof header / sizeof *header && hd__is_plumbing(f); i++) {
    size_t n = strlen(header[i]);
    if (len > n && strcmp(f->path + len - n, header[i]) == 0) return true;
  }
  return false;
}

/* Whether it is a function of the library that allocates, like std::allocator<T>::allocate. *type: T, NULL if that is the
 * library's own. An allocator among the arguments of another template, as of std::map<...>, is none. */
static bool allocates(const char *function, char **type) {
  size_t name = function ? strcspn(function, "<") : 0;
  bool allocator = name >= 9 && strncmp(function + name - 9, "allocator", 9) == 0;
  bool vector = name >= 11 && strncmp(function + name - 11, "std::vector", 11) == 0;
  *type = NULL;
  if (!function || !function[name] || (!allocator && !vector)) return false;
  const char *at = function + name + 1, *end;
  int depth = 0;
  for (end = at; *end && (depth > 0 || !strchr(",>", *end)); end++) depth += (*end == '<') - (*end == '>');
  bool own = strncmp(at, "std::", 5) == 0 || strncmp(at, "__", 2) == 0;
  if (!own && end > at && end - at < MAX_NAME) *type = hd_sprintf("%.*s", (int)(end - at), at);
  return true;
}

/* The site of an allocation by its innermost call in the user's source. */
static struct site find_site(struct hd_symbolizer *s, const struct hd_block_rec *rec) {
  struct site site = {0};
  char *type = NULL;
  bool over = false, known = false;
  for (size_t i = 0; i < HD_BLOCK_PCS && rec->pc[i] && !over; i++) {
    struct hd_frames frames = {0};
    hd_symbolize_pc(s, rec->pc[i], false, &frames);
    for (size_t k = 0; k < frames.n && !over; k++) {
      const struct hd_frame *f = &frames.v[k];
      if (!known && hd__is_plumbing(f)) known = allocates(f->function, &type);
      over = is_of_thread(f) || (!hd__is_plumbing(f) && f->line);
      if (over && !is_of_thread(f))
        site = (struct site){rec->pc[i], rec->size, hd_strdup(f->path), NULL, f->line, 0};
    }
    hd_frames_free(&frames);
  }
  site.type = type;
  return site;
}

static size_t add_site(struct hd_blocks *b, struct site site) {
  for (size_t i = 0; i < b->site.n; i++) {
    const struct site *known = &b->site.v[i];
    bool same = known->pc && site.pc && known->size == site.size && known->line == site.line &&
                strcmp(known->path, site.path) == 0;
    if (!same && (known->pc || site.pc)) continue;
    free(site.path);
    free(site.type);
    return i + 1;
  }
  hd_vec_push(&b->site, site);
  return b->site.n;
}

/* Finds the sites of all blocks. Blocks with the same calls have the same site. */
static void number_blocks(struct hd_blocks *b, struct hd_symbolizer *s) {
  for (size_t i = 0; i < b->block.n; i++) {
    struct block *one = &b->block.v[i];
    for (size_t k = i; k-- > 0 && i - k < 64 && !one->site;)
      if (b->block.v[k].rec.size == one->rec.size &&
          memcmp(b->block.v[k].rec.pc, one->rec.pc, sizeof one->rec.pc) == 0)
        one->site = b->block.v[k].site;
    if (!one->site) one->site = add_site(b, find_site(s, &one->rec));
    one->number = ++b->site.v[one->site - 1].n;
  }
  b->numbered = true;
}

static const struct block *find_block(const struct hd_blocks *b, uint64_t addr) {
  size_t low = 0, high = b->block.n;
  while (low < high) {
    size_t mid = (low + high) / 2;
    if (b->block.v[mid].rec.base <= addr)
      low = mid + 1;
    else
      high = mid;
  }
  const struct block *found = low ? &b->block.v[low - 1] : NULL;
  return found && addr - found->rec.base < found->rec.size ? found : NULL;
}

/* ---- names ---- */

/* A variable that points to the block: "s->calls", "*s", "table[4]"; one of several blocks: "node#2.lock". */
static void add_name(struct hd_str *out, const struct allocation *a, const struct block *b, bool single,
                     const char *part) {
  if (!single)
    hd_str_addf(out, "%s#%zu%s", a->type, b->number, part);
  else if (!*a->variable)
    hd_str_addf(out, "%s%s", a->type, part);
  else if (a->container)
    hd_str_addf(out, "%s%s%s", a->variable, part[0] == '[' || !part[0] ? "" : "[0]", part);
  else if (part[0] == '.')
    hd_str_addf(out, "%s->%s", a->variable, part + 1);
  else if (part[0])
    hd_str_addf(out, "%s%s", a->variable, part);
  else
    hd_str_addf(out, "*%s", a->variable);
}

/* The part at `offset` of a block of the site; false if its type is not known. */
static bool add_type(struct hd_str *part, struct hd_symbolizer *s, const struct site *site,
                     const struct allocation *a, uint64_t offset) {
  uint64_t at;
  void *cu = hd__unit_at(s, site->pc, &at);
  if (!cu) return false;
  if (*a->type && hd__typed_part(part, cu, a->type, site->size, offset, a->header)) return true;
  return *a->variable && !a->container && hd__pointee_part(part, cu, at, a->variable, site->size, offset);
}

char *hd__block_name(struct hd_blocks *blocks, struct hd_symbolizer *s, uint64_t addr, bool whole) {
  const struct block *b = find_block(blocks, addr);
  if (!b) return NULL;
  if (!blocks->numbered) number_blocks(blocks, s);
  const struct site *site = &blocks->site.v[b->site - 1];
  const char *line = site->pc ? hd__source_line(site->path, site->line) : NULL;
  if (!line) return NULL;
  struct allocation a;
  struct hd_str part, out;
  hd_str_init(&part);
  hd_str_init(&out);
  read_allocation(line, &a);
  a.container = !*a.type && site->type;
  if (a.container) {
    read_container(line, &a);
    put(a.type, site->type, site->type + strlen(site->type));
  }
  uint64_t offset = addr - b->rec.base;
  bool typed = add_type(&part, s, site, &a, offset);
  if (!typed && offset) hd_str_addf(&part, "+%llu", (unsigned long long)offset);
  if (whole) hd_str_clear(&part);
  bool single = site->n == 1;
  if (typed ? single || *a.type : single && *a.variable) add_name(&out, &a, b, single, part.s ? part.s : "");
  hd_str_fini(&part);
  char *name = out.n ? hd_str_take(&out) : NULL;
  if (!name) hd_str_fini(&out);
  return name;
}
