/* source.c: calls and critical sections of a source file. Runs in the supervisor.
 *
 * A critical section begins with a statement that locks and ends with a later statement of the same block that unlocks what
 * is written the same way. Unlocks of it in statements between are those of early exits. A std::lock_guard and its kin reach to
 * the end of their block. Locks that are taken in one function and released in another are no sections. */
#include "mutate/mutate_int.h"

#include <stdlib.h>
#include <string.h>

/* ---- known calls ---- */

enum { NO_FAMILY, MUTEX, SPIN, RWLOCK, C11_MUTEX, OWN, OWN_SHARED };

#define TAKES(call, fam) \
  { .name = call, .role = HD__LOCK, .family = fam, .replaced = "0" }
#define GIVES(call, fam) \
  { .name = call, .role = HD__UNLOCK, .family = fam, .replaced = "0" }
#define THREAD(call) \
  { .name = call, .role = HD__THREAD, .replaced = "0" }
#define OBJECT(call) \
  { .name = call, .role = HD__OBJECT, .replaced = "0" }
#define METHOD(call, r, type, fam) \
  { .name = call, .role = r, .of = type, .family = fam, .style = HD__METHOD, .replaced = "0" }
#define COUNTS(call, n) \
  { .name = call, .role = HD__COUNT, .arg = n }
#define ATOMIC(name, kind, s, sign) \
  { name, HD__ATOMIC, 0, NULL, 0, NULL, kind, s, sign }
#define ATOMICS(name, kind, sign)                                         \
  ATOMIC("atomic_" name, kind, HD__C11, sign),                            \
      ATOMIC("atomic_" name "_explicit", kind, HD__C11_EXPLICIT, sign), { \
    name, HD__ATOMIC, 0, "atomic", 0, NULL, kind, HD__METHOD, sign        \
  }
#define ARITHMETIC(word, sign)                                                                       \
  ATOMICS("fetch_" word, HD__FETCH, sign), ATOMIC("__atomic_fetch_" word, HD__FETCH, HD__GNU, sign), \
      ATOMIC("__atomic_" word "_fetch", HD__NEW, HD__GNU, sign),                                     \
      ATOMIC("__sync_fetch_and_" word, HD__FETCH, HD__SYNC, sign),                                   \
      ATOMIC("__sync_" word "_and_fetch", HD__NEW, HD__SYNC, sign)

static const struct hd__known known[] = {
    TAKES("pthread_mutex_lock", MUTEX),
    GIVES("pthread_mutex_unlock", MUTEX),
    TAKES("pthread_spin_lock", SPIN),
    GIVES("pthread_spin_unlock", SPIN),
    TAKES("pthread_rwlock_rdlock", RWLOCK),
    TAKES("pthread_rwlock_wrlock", RWLOCK),
    GIVES("pthread_rwlock_unlock", RWLOCK),
    TAKES("mtx_lock", C11_MUTEX),
    GIVES("mtx_unlock", C11_MUTEX),
    METHOD("lock", HD__LOCK, "mutex", OWN),
    METHOD("unlock", HD__UNLOCK, "mutex", OWN),
    METHOD("lock_shared", HD__LOCK, "mutex", OWN_SHARED),
    METHOD("unlock_shared", HD__UNLOCK, "mutex", OWN_SHARED),
    METHOD("unlock", HD__OBJECT, "_lock<", NO_FAMILY),
    METHOD("lock", HD__OBJECT, "_lock<", NO_FAMILY),
    METHOD("acquire", HD__OBJECT, "semaphore", NO_FAMILY),
    METHOD("release", HD__OBJECT, "semaphore", NO_FAMILY),
    METHOD("arrive_and_wait", HD__OBJECT, "", NO_FAMILY),
    METHOD("count_down", HD__OBJECT, "latch", NO_FAMILY),
    METHOD("wait", HD__OBJECT, "latch", NO_FAMILY),
    METHOD("join", HD__THREAD, "thread", NO_FAMILY),
    METHOD("wait", HD__THREAD, "condition_variable", NO_FAMILY),
    METHOD("wait_for", HD__THREAD, "condition_variable", NO_FAMILY),
    METHOD("wait_until", HD__THREAD, "condition_variable", NO_FAMILY),
    METHOD("notify_one", HD__THREAD, "condition_variable", NO_FAMILY),
    METHOD("notify_all", HD__THREAD, "condition_variable", NO_FAMILY),
    THREAD("pthread_join"),
    THREAD("pthread_cond_wait"),
    THREAD("pthread_cond_timedwait"),
    THREAD("pthread_cond_signal"),
    THREAD("pthread_cond_broadcast"),
    THREAD("thrd_join"),
    THREAD("thrd_yield"),
    THREAD("thrd_sleep"),
    THREAD("cnd_wait"),
    THREAD("cnd_timedwait"),
    THREAD("cnd_signal"),
    THREAD("cnd_broadcast"),
    THREAD("sched_yield"),
    THREAD("pthread_yield"),
    THREAD("usleep"),
    THREAD("nanosleep"),
    OBJECT("sem_wait"),
    OBJECT("sem_timedwait"),
    OBJECT("sem_post"),
    OBJECT("pthread_barrier_wait"),
    COUNTS("sem_init", 2),
    COUNTS("pthread_barrier_init", 2),
    ATOMICS("load", HD__LOAD, ""),
    ATOMICS("store", HD__STORE, ""),
    ATOMICS("exchange", HD__EXCHANGE, ""),
    ATOMICS("compare_exchange_strong", HD__CAS, "strong"),
    ATOMICS("compare_exchange_weak", HD__CAS, "weak"),
    ATOMIC("atomic_flag_test_and_set", HD__SET, HD__C11, ""),
    ATOMIC("atomic_flag_clear", HD__CLEAR, HD__C11, ""),
    ATOMIC("__atomic_load_n", HD__LOAD, HD__GNU, ""),
    ATOMIC("__atomic_store_n", HD__STORE, HD__GNU, ""),
    ATOMIC("__atomic_exchange_n", HD__EXCHANGE, HD__GNU, ""),
    ATOMIC("__atomic_compare_exchange_n", HD__CAS, HD__GNU, ""),
    ATOMIC("__sync_bool_compare_and_swap", HD__CAS_BOOL, HD__SYNC, ""),
    ATOMIC("__sync_val_compare_and_swap", HD__CAS_VALUE, HD__SYNC, ""),
    ARITHMETIC("add", "+"),
    ARITHMETIC("sub", "-"),
    ARITHMETIC("and", "&"),
    ARITHMETIC("or", "|"),
    ARITHMETIC("xor", "^"),
};
#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* ---- text ---- */

bool hd__is(const struct hd__source *s, struct hd__span at, const char *text) {
  size_t n = strlen(text);
  return at.end - at.begin == n && memcmp(s->text + at.begin, text, n) == 0;
}

/* Whether they are written the same way, white space aside. */
bool hd__same(const struct hd__source *s, struct hd__span a, struct hd__span b) {
  const char *white = " \t\r\n";
  for (;;) {
    while (a.begin < a.end && strchr(white, s->text[a.begin])) a.begin++;
    while (b.begin < b.end && strchr(white, s->text[b.begin])) b.begin++;
    if (a.begin == a.end || b.begin == b.end) return a.begin == a.end && b.begin == b.end;
    if (s->text[a.begin++] != s->text[b.begin++]) return false;
  }
}

bool hd__inside(struct hd__span inner, struct hd__span outer) {
  return inner.begin >= outer.begin && inner.end <= outer.end;
}

char *hd__copy(const struct hd__source *s, struct hd__span at) {
  return hd_strndup(s->text + at.begin, at.end - at.begin);
}

uint32_t hd__token_at(const struct hd__source *s, uint32_t offset) {
  size_t low = 0, high = s->token.n;
  while (low < high) {
    size_t mid = (low + high) / 2;
    if (s->token.v[mid].at.begin < offset)
      low = mid + 1;
    else
      high = mid;
  }
  return (uint32_t)low;
}

unsigned hd__line(const struct hd__source *s, uint32_t offset) {
  unsigned line = 1;
  for (uint32_t i = 0; i < offset; i++) line += s->text[i] == '\n';
  return line;
}

const char *hd__function_at(const struct hd__source *s, uint32_t offset) {
  const struct hd__function *best = NULL;
  for (size_t i = 0; i < s->function.n; i++) {
    const struct hd__function *f = &s->function.v[i];
    bool named = *f->name && f->name[0] != '(';
    if (named && offset >= f->at.begin && offset < f->at.end && (!best || hd__inside(f->at, best->at)))
      best = f;
  }
  return best ? best->name : NULL;
}

/* ---- calls ---- */

static bool token_is(const struct hd__source *s, uint32_t t, const char *text) {
  return t < s->token.n && hd__is(s, s->token.v[t].at, text);
}

/* The token that closes the bracket at `t`, or opens it (`step` -1); HD_NOWHERE: none. */
static uint32_t partner(const struct hd__source *s, uint32_t t, int step) {
  int depth = 0;
  for (; t < s->token.n; t += (uint32_t)step) {
    const char c = s->text[s->token.v[t].at.begin];
    if (s->token.v[t].kind != HD__PUNCTUATION) continue;
    if (strchr("([{", c)) depth += step;
    if (strchr(")]}", c)) depth -= step;
    if (depth == 0) return t;
  }
  return HD_NOWHERE;
}

/* The first token of the expression that ends with `t`: of what a method is called on. */
static uint32_t object_begin(const struct hd__source *s, uint32_t t) {
  for (;;) {
    if (token_is(s, t, ")") || token_is(s, t, "]")) {
      uint32_t open = partner(s, t, -1);
      if (open == HD_NOWHERE || open == 0) return t;
      bool postfix = s->token.v[open - 1].kind == HD__IDENTIFIER || token_is(s, open - 1, ")") ||
                     token_is(s, open - 1, "]");
      if (!postfix) return open;
      t = open - 1;
      continue;
    }
    if (t < 2 || !(token_is(s, t - 1, ".") || token_is(s, t - 1, "->") || token_is(s, t - 1, "::"))) return t;
    t -= 2;
  }
}

static const struct hd__ref *ref_at(const struct hd__source *s, uint32_t offset) {
  for (size_t i = 0; i < s->ref.n; i++)
    if (s->ref.v[i].at == offset) return &s->ref.v[i];
  return NULL;
}

/* The known call of that name, as a function or as a method. */
static const struct hd__known *find_known(const struct hd__source *s, uint32_t t, bool method) {
  struct hd__span at = s->token.v[t].at;
  for (size_t i = 0; i < COUNT(known); i++) {
    if ((known[i].style == HD__METHOD) != method || !hd__is(s, at, known[i].name)) continue;
    if (!method) return &known[i];
    const struct hd__ref *r = ref_at(s, at.begin);
    if (r && r->base && strstr(r->base, known[i].of)) return &known[i];
  }
  return NULL;
}

static void read_arguments(const struct hd__source *s, struct hd__call *c, uint32_t open, uint32_t close) {
  uint32_t begin = open + 1;
  for (uint32_t t = begin; t <= close; t++) {
    if (t < close && s->token.v[t].kind == HD__PUNCTUATION &&
        strchr("([{", s->text[s->token.v[t].at.begin])) {
      t = partner(s, t, 1);
      if (t == HD_NOWHERE) return;
      continue;
    }
    if (t < close && !token_is(s, t, ",")) continue;
    if (t > begin)
      hd_vec_push(&c->arg, ((struct hd__span){s->token.v[begin].at.begin, s->token.v[t - 1].at.end}));
    begin = t + 1;
  }
}

static bool is_statement(const struct hd__source *s, struct hd__span at) {
  for (size_t b = 0; b < s->block.n; b++)
    for (size_t i = 0; i < s->block.v[b].stmt.n; i++) {
      struct hd__span stmt = s->block.v[b].stmt.v[i].at;
      if (stmt.begin == at.begin && stmt.end > at.end && s->text[stmt.end - 1] == ';' &&
          hd__token_at(s, at.end) == hd__token_at(s, stmt.end - 1))
        return true;
    }
  return false;
}

static void add_call(struct hd__source *s, uint32_t t) {
  bool method = t && (token_is(s, t - 1, ".") || token_is(s, t - 1, "->"));
  const struct hd__known *k = find_known(s, t, method);
  uint32_t close = k ? partner(s, t + 1, 1) : HD_NOWHERE, begin = t;
  if (close == HD_NOWHERE) return;
  struct hd__call c = {.known = k, .token = t, .name = s->token.v[t].at};
  if (method) {
    begin = object_begin(s, t - 2);
    c.object = (struct hd__span){s->token.v[begin].at.begin, s->token.v[t - 2].at.end};
    c.arrow = token_is(s, t - 1, "->");
  } else if (t >= 2 && token_is(s, t - 1, "::")) {
    begin = t - 2;
  }
  c.at = (struct hd__span){s->token.v[begin].at.begin, s->token.v[close].at.end};
  read_arguments(s, &c, t + 1, close);
  c.alone = is_statement(s, c.at);
  hd_vec_push(&s->call, c);
}

/* Whether it is the name of a function that is declared or defined there. */
static bool in_function(const struct hd__source *s, uint32_t offset) {
  for (size_t b = 0; b < s->block.n; b++)
    if (offset >= s->block.v[b].at.begin && offset < s->block.v[b].at.end) return true;
  return false;
}

/* ---- critical sections ---- */

/* What a call locks or unlocks. */
static struct hd__span object_of(const struct hd__call *c) {
  return c->known->style == HD__METHOD ? c->object : c->arg.n ? c->arg.v[0] : (struct hd__span){0, 0};
}

static const struct hd__call *call_of(const struct hd__source *s, struct hd__span stmt, enum hd__role role) {
  for (size_t i = 0; i < s->call.n; i++) {
    const struct hd__call *c = &s->call.v[i];
    if (c->alone && c->known->role == role && c->at.begin == stmt.begin) return c;
  }
  return NULL;
}

static bool unlocks(const struct hd__source *s, const struct hd__call *c, const struct hd__region *r) {
  return c->known->role == HD__UNLOCK && c->known->family == r->family && hd__same(s, object_of(c), r->arg);
}

/* The rest of a section whose first statement is known. */
static void find_end(const struct hd__source *s, struct hd__region *r) {
  const struct hd__block *b = &s->block.v[r->block];
  size_t end = b->stmt.n;
  for (size_t i = r->first + 1; i < b->stmt.n && r->last == HD_NOWHERE; i++) {
    const struct hd__call *c = call_of(s, b->stmt.v[i].at, HD__UNLOCK);
    if (!c || !unlocks(s, c, r)) continue;
    r->last = (uint32_t)i;
    r->unlock = c;
    end = i;
  }
  if (end == r->first + 1) return;
  struct hd__span between = {b->stmt.v[r->first].at.end, b->stmt.v[end - 1].at.end};
  for (size_t i = 0; i < s->call.n; i++)
    if (hd__inside(s->call.v[i].at, between) && unlocks(s, &s->call.v[i], r))
      hd_vec_push(&r->early, &s->call.v[i]);
}

/* Whether only declarations come before it, and after it nothing but a return. */
static bool is_whole(const struct hd__source *s, const struct hd__region *r) {
  const struct hd__block *b = &s->block.v[r->block];
  if (!b->body) return false;
  for (uint32_t i = 0; i < r->first; i++)
    if (b->stmt.v[i].kind != HD__STMT_DECL) return false;
  for (size_t i = r->last == HD_NOWHERE ? b->stmt.n : r->last + 1u; i < b->stmt.n; i++)
    if (b->stmt.v[i].kind != HD__STMT_LEAVES) return false;
  return true;
}

/* std::lock_guard<std::mutex> g(m); what it locks. */
static bool guarded(const struct hd__source *s, struct hd__span stmt, struct hd__span *arg) {
  static const char *const guards[] = {"std::lock_guard<", "std::unique_lock<", "std::scoped_lock<"};
  for (size_t i = 0; i < s->decl.n; i++) {
    const struct hd__decl *d = &s->decl.v[i];
    bool guard = false;
    for (size_t k = 0; k < COUNT(guards); k++) guard |= strncmp(d->type, guards[k], strlen(guards[k])) == 0;
    if (!guard || !hd__inside(d->at, stmt)) continue;
    uint32_t open = hd__token_at(s, d->name) + 1, close;
    if (!token_is(s, open, "(") && !token_is(s, open, "{")) continue;
    close = partner(s, open, 1);
    struct hd__call c = {0};
    if (close != HD_NOWHERE) read_arguments(s, &c, open, close);
    if (c.arg.n == 1) *arg = c.arg.v[0];
    bool one = c.arg.n == 1;
    hd_vec_free(&c.arg);
    return one;
  }
  return false;
}

static void find_regions(struct hd__source *s) {
  for (size_t b = 0; b < s->block.n; b++)
    for (size_t i = 0; i < s->block.v[b].stmt.n; i++) {
      struct hd__span stmt = s->block.v[b].stmt.v[i].at;
      struct hd__region r = {.block = (uint32_t)b, .first = (uint32_t)i, .last = HD_NOWHERE};
      r.lock = call_of(s, stmt, HD__LOCK);
      r.guard = !r.lock && s->cxx && guarded(s, stmt, &r.arg);
      if (!r.lock && !r.guard) continue;
      if (r.lock) {
        r.arg = object_of(r.lock);
        r.family = r.lock->known->family;
        find_end(s, &r);
        if (!r.unlock && !r.early.n) continue;
      }
      r.whole = is_whole(s, &r);
      hd_vec_push(&s->region, r);
    }
}

void hd__source_index(struct hd__source *s) {
  for (uint32_t t = 0; t + 1 < s->token.n; t++)
    if (s->token.v[t].kind == HD__IDENTIFIER && token_is(s, t + 1, "(") &&
        in_function(s, s->token.v[t].at.begin))
      add_call(s, t);
  find_regions(s);
}

void hd__source_fini(struct hd__source *s) {
  for (size_t i = 0; i < s->block.n; i++) hd_vec_free(&s->block.v[i].stmt);
  for (size_t i = 0; i < s->function.n; i++) free(s->function.v[i].name);
  for (size_t i = 0; i < s->decl.n; i++) free(s->decl.v[i].type);
  for (size_t i = 0; i < s->ref.n; i++) free(s->ref.v[i].base);
  for (size_t i = 0; i < s->call.n; i++) hd_vec_free(&s->call.v[i].arg);
  for (size_t i = 0; i < s->region.n; i++) hd_vec_free(&s->region.v[i].early);
  hd_vec_free(&s->token);
  hd_vec_free(&s->block);
  hd_vec_free(&s->function);
  hd_vec_free(&s->decl);
  hd_vec_free(&s->ref);
  hd_vec_free(&s->update);
  hd_vec_free(&s->call);
  hd_vec_free(&s->region);
  free(s->text);
}
