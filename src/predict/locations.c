/* locations.c: the memory of a trace: which bytes are shared, what each access does to them, what each read saw. Runs in
 * the supervisor.
 *
 * The bytes of all accesses are cut at every address where one begins or ends. What lies between two cuts is touched as
 * a whole or not at all. Locations are the pieces that several threads access and one of them changes.
 *
 * Freeing a block is a write of an unknown value to all of it. */
#include "predict/predict_int.h"

#include <stdlib.h>
#include <string.h>

static unsigned kind_of(const struct hd_event *e) {
  /* Accesses of the kernel's count as atomic. */
  unsigned payload = hd_op_payload(e->op.kind);
  unsigned atomic =
      hd_op_is(e->op.kind, HD_TRAIT_ATOMIC) || (payload != HD_PAYLOAD_ACCESS && payload != HD_PAYLOAD_CAS)
          ? HD__ATOMIC
          : 0;
  switch (hd_op_effect(e->op.kind, e->flags)) {
    case HD_EFF_READ: return HD__READS | atomic;
    case HD_EFF_WRITE: return HD__WRITES | atomic;
    case HD_EFF_UPDATE: return HD__READS | HD__WRITES | atomic;
    case HD_EFF_FREE: return HD__WRITES | HD__FREES;
    case HD_EFF_AWAIT: return HD__READS | HD__AWAITS;
    default: return 0;
  }
}

unsigned hd__memory_places(const struct hd_event *e, unsigned *kind, uint64_t *addr, uint64_t *size) {
  *kind = kind_of(e);
  if (!*kind) return 0;
  if (hd_op_effect(e->op.kind, e->flags) == HD_EFF_AWAIT) {
    unsigned n = 0, bytes;
    for (; n < HD_AWAIT_PLACES; n++) {
      addr[n] = hd_await_place(&e->op, n, &bytes);
      size[n] = bytes;
      if (!bytes) break;
    }
    return n;
  }
  if (hd_op_object(e->op.kind) != HD_OBJ_MEMORY) {
    *kind = 0;
    return 0;
  }
  addr[0] = e->op.object;
  size[0] = e->op.size ? e->op.size : 1;
  if (addr[0] + size[0] < addr[0]) size[0] = 1; /* beyond the end of memory */
  return 1;
}

/* ---- values ---- */

static uint64_t part(uint64_t v, uint64_t from, const struct hd__location *l) {
  uint64_t shift = 8 * (l->addr - from);
  v = shift >= 64 ? 0 : v >> shift;
  return l->size >= 8 ? v : v & ((1ull << 8 * l->size) - 1);
}

static bool value_at(const struct hd__trace *tr, uint32_t e, uint32_t location, bool known, uint64_t value,
                     uint64_t *v) {
  const struct hd_op *op = &tr->event[e].op;
  if (!known || op->size > 8) return false;
  *v = part(value, op->object, &tr->location.v[location]);
  return true;
}

bool hd__value_read(const struct hd__trace *tr, uint32_t e, uint32_t location, uint64_t *v) {
  const struct hd_event *ev = &tr->event[e];
  unsigned kind = kind_of(ev);
  if (!(kind & HD__READS) || hd_op_object(ev->op.kind) != HD_OBJ_MEMORY) return false;
  bool access =
      hd_op_payload(ev->op.kind) == HD_PAYLOAD_ACCESS || hd_op_payload(ev->op.kind) == HD_PAYLOAD_CAS;
  if (kind & HD__WRITES)
    return value_at(tr, e, location, access && ev->op.access.known, ev->op.access.found, v);
  return value_at(tr, e, location, ev->flags & HD_EV_VALUE, ev->value, v);
}

bool hd__value_written(const struct hd__trace *tr, uint32_t e, uint32_t location, uint64_t *v) {
  const struct hd_event *ev = &tr->event[e];
  unsigned kind = kind_of(ev);
  if (!(kind & HD__WRITES) || (kind & HD__FREES)) return false;
  return value_at(tr, e, location, ev->flags & HD_EV_VALUE, ev->value, v);
}

const struct hd__access *hd__access_to(const struct hd__trace *tr, uint32_t e, uint32_t location) {
  for (uint32_t i = tr->access_at[e]; i < tr->access_at[e + 1]; i++)
    if (tr->access[i].location == location) return &tr->access[i];
  return NULL;
}

bool hd__same_value(const struct hd__trace *tr, uint32_t r, uint32_t w, const struct hd__access *a) {
  uint64_t read, written;
  if (w == a->from) return true;
  if (!hd__value_read(tr, r, a->location, &read)) return false;
  const struct hd__location *l = &tr->location.v[a->location];
  if (w == HD__NONE) return l->init_known && l->init == read;
  return hd__value_written(tr, w, a->location, &written) && written == read;
}

uint32_t hd__accessor_from(const struct hd__trace *tr, uint32_t location, uint32_t event) {
  const struct hd__location *l = &tr->location.v[location];
  uint32_t lo = l->first, hi = l->first + l->n;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (tr->accessor[mid] < event)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

uint32_t hd__last_write(const struct hd__trace *tr, uint32_t location, const uint32_t *ideal, uint32_t end) {
  for (uint32_t i = hd__accessor_from(tr, location, end); i-- > tr->location.v[location].first;) {
    uint32_t e = tr->accessor[i];
    if ((tr->access_kind[e] & HD__WRITES) && hd__in_ideal(tr, ideal, e)) return e;
  }
  return HD__NONE;
}

/* ---- pieces ---- */

struct piece {
  uint32_t thread;   /* that accessed it first, plus 1 */
  uint32_t location; /* plus 1; 0: not shared */
  uint32_t writer;   /* its last writer so far, plus 1 */
  bool several, changed;
};

struct span {
  uint64_t addr, size;
  uint32_t first, n; /* pieces */
};

struct memory {
  struct hd__trace *tr;
  struct hd__index span_of; /* address and size to entry of `span` plus 1 */
  HD_VEC(struct span) span;
  HD_VEC(uint64_t) cut;
  struct piece *piece; /* between cut[i] and cut[i + 1] */
};

static uint32_t span_at(struct memory *m, uint64_t addr, uint64_t size) {
  uint32_t *at = hd__index_at(&m->span_of, hd__hash(addr) * 31 + size + 1);
  if (!*at) {
    hd_vec_push(&m->span, ((struct span){addr, size, 0, 0}));
    *at = (uint32_t)m->span.n;
  }
  return *at - 1;
}

static uint32_t cut_at(const struct memory *m, uint64_t addr) {
  size_t lo = 0, hi = m->cut.n;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (m->cut.v[mid] < addr)
      lo = mid + 1;
    else
      hi = mid;
  }
  return (uint32_t)lo;
}

static void cut_memory(struct memory *m) {
  unsigned kind;
  uint64_t addr[HD_AWAIT_PLACES], size[HD_AWAIT_PLACES];
  for (uint32_t e = 0; e < m->tr->n; e++) {
    unsigned n = hd__memory_places(&m->tr->event[e], &kind, addr, size);
    for (unsigned i = 0; i < n; i++) span_at(m, addr[i], size[i]);
  }
  for (size_t i = 0; i < m->span.n; i++) {
    hd_vec_push(&m->cut, m->span.v[i].addr);
    hd_vec_push(&m->cut, m->span.v[i].addr + m->span.v[i].size);
  }
  if (m->cut.n) qsort(m->cut.v, m->cut.n, sizeof m->cut.v[0], hd_by_number);
  size_t kept = 0;
  for (size_t i = 0; i < m->cut.n; i++)
    if (!kept || m->cut.v[kept - 1] != m->cut.v[i]) m->cut.v[kept++] = m->cut.v[i];
  m->cut.n = kept;
  m->piece = hd_alloc((kept + 1) * sizeof *m->piece);
  for (size_t i = 0; i < m->span.n; i++) {
    struct span *s = &m->span.v[i];
    s->first = cut_at(m, s->addr);
    s->n = cut_at(m, s->addr + s->size) - s->first;
  }
}

static void find_shared(struct memory *m) {
  unsigned kind;
  uint64_t addr[HD_AWAIT_PLACES], size[HD_AWAIT_PLACES];
  for (uint32_t e = 0; e < m->tr->n; e++) {
    unsigned n = hd__memory_places(&m->tr->event[e], &kind, addr, size);
    uint32_t t = hd__thread(m->tr, e) + 1;
    for (unsigned i = 0; i < n; i++) {
      const struct span *s = &m->span.v[span_at(m, addr[i], size[i])];
      for (struct piece *p = m->piece + s->first; p < m->piece + s->first + s->n; p++) {
        if (!p->thread) p->thread = t;
        if (p->thread != t) p->several = true;
        if (kind & HD__WRITES) p->changed = true;
      }
    }
  }
  for (size_t i = 0; i + 1 < m->cut.n; i++) {
    struct piece *p = &m->piece[i];
    if (!p->several || !p->changed) continue;
    struct hd__location l = {.addr = m->cut.v[i], .size = (uint32_t)(m->cut.v[i + 1] - m->cut.v[i])};
    hd_vec_push(&m->tr->location, l);
    p->location = (uint32_t)m->tr->location.n;
  }
}

static int unexplained(struct hd__trace *tr, uint32_t e, struct hd__location *l, bool lenient,
                       struct hd_err *err) {
  l->pinned = true;
  if (!tr->unexplained++) tr->first_unexplained = e + 1;
  if (lenient) return HD_OK;
  struct hd_str s;
  hd_str_init(&s);
  if (tr->tables) hd_tr_describe(&s, tr->tables, &tr->event[e]);
  int rc =
      hd_fail(err, HD_EUSAGE, "the trace contradicts itself: event %u%s%s%s reads a value that nobody wrote",
              e + 1, s.n ? " (" : "", s.s, s.n ? ")" : "");
  hd_str_fini(&s);
  return rc;
}

/* What the read saw, and whether that is the value. */
static int read_at(struct memory *m, uint32_t e, struct piece *p, struct hd__access *a, bool lenient,
                   struct hd_err *err) {
  struct hd__trace *tr = m->tr;
  struct hd__location *l = &tr->location.v[p->location - 1];
  uint64_t read, written;
  bool known = hd__value_read(tr, e, p->location - 1, &read);
  if (p->writer) {
    a->from = p->writer - 1;
    if (known && hd__value_written(tr, a->from, p->location - 1, &written) && written != read)
      return unexplained(tr, e, l, lenient, err);
  } else if (known) {
    if (l->init_known && l->init != read) return unexplained(tr, e, l, lenient, err);
    l->init = read;
    l->init_known = true;
  }
  return HD_OK;
}

static int list_accesses(struct memory *m, bool lenient, struct hd_err *err) {
  struct hd__trace *tr = m->tr;
  unsigned kind;
  uint64_t addr[HD_AWAIT_PLACES], size[HD_AWAIT_PLACES];
  HD_VEC(struct hd__access) out = {0};
  int rc = HD_OK;
  for (uint32_t e = 0; e < tr->n; e++) {
    unsigned n = hd__memory_places(&tr->event[e], &kind, addr, size);
    tr->access_at[e] = (uint32_t)out.n;
    for (unsigned i = 0; i < n; i++) {
      const struct span *s = &m->span.v[span_at(m, addr[i], size[i])];
      for (struct piece *p = m->piece + s->first; p < m->piece + s->first + s->n; p++) {
        if (!p->location) continue;
        struct hd__access a = {p->location - 1, HD__NONE};
        if ((kind & HD__READS) && rc == HD_OK) rc = read_at(m, e, p, &a, lenient, err);
        if (kind & HD__WRITES) p->writer = e + 1;
        tr->location.v[a.location].n++;
        hd_vec_push(&out, a);
      }
    }
    if (out.n > tr->access_at[e]) tr->access_kind[e] = (uint8_t)kind;
  }
  tr->access_at[tr->n] = (uint32_t)out.n;
  tr->access = out.v;
  return rc;
}

static void list_accessors(struct hd__trace *tr) {
  uint32_t at = 0;
  for (size_t i = 0; i < tr->location.n; i++) {
    tr->location.v[i].first = at;
    at += tr->location.v[i].n;
    tr->location.v[i].n = 0;
  }
  tr->accessor = hd_alloc(((size_t)at + 1) * sizeof *tr->accessor);
  for (uint32_t e = 0; e < tr->n; e++)
    for (uint32_t i = tr->access_at[e]; i < tr->access_at[e + 1]; i++) {
      struct hd__location *l = &tr->location.v[tr->access[i].location];
      if (l->n && tr->accessor[l->first + l->n - 1] == e) continue; /* a loop that awaits one place twice */
      tr->accessor[l->first + l->n++] = e;
    }
}

/* Accesses to a pinned location keep their order. */
static void pin(struct hd__trace *tr, const struct hd__location *l, struct hd__edges *edges) {
  uint32_t *reader = hd_alloc(tr->nthreads * sizeof *reader); /* last access of each thread, plus 1 */
  uint32_t writer = HD__NONE;
  for (uint32_t i = l->first; i < l->first + l->n; i++) {
    uint32_t e = tr->accessor[i];
    unsigned t = hd__thread(tr, e);
    if (writer != HD__NONE && hd__thread(tr, writer) != t) hd__edge(edges, writer, e);
    if (tr->access_kind[e] & HD__WRITES) {
      for (unsigned u = 0; u < tr->nthreads; u++)
        if (u != t && reader[u]) hd__edge(edges, reader[u] - 1, e);
      memset(reader, 0, tr->nthreads * sizeof *reader);
      writer = e;
    } else {
      reader[t] = e + 1;
    }
  }
  free(reader);
}

int hd__trace_locations(struct hd__trace *tr, struct hd__edges *edges, bool lenient, struct hd_err *err) {
  struct memory m = {.tr = tr};
  tr->access_kind = hd_alloc((size_t)tr->n + 1);
  tr->access_at = hd_alloc(((size_t)tr->n + 1) * sizeof *tr->access_at);
  cut_memory(&m);
  find_shared(&m);
  int rc = list_accesses(&m, lenient, err);
  if (rc == HD_OK) {
    list_accessors(tr);
    for (size_t i = 0; i < tr->location.n; i++)
      if (tr->location.v[i].pinned) pin(tr, &tr->location.v[i], edges);
  }
  hd__index_fini(&m.span_of);
  hd_vec_free(&m.span);
  hd_vec_free(&m.cut);
  free(m.piece);
  return rc;
}
