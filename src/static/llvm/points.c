/* points.c: which objects each pointer of a whole program may point to, and which several threads may access, for pruning by
 * data races (Andersen 1994, without fields or contexts). With LLVM's C API; runs in the supervisor, as a part of the
 * module.
 *
 * An over-approximation, like all of races.c: a function of a library that is not listed may store whatever it is given
 * anywhere. */
#include "static/llvm/races_int.h"

#include <string.h>

#define MAX_BYTES (512ull << 20) /* of points-to sets */

static void put(struct program *p, uint64_t *set, uint32_t i) {
  if (has(set, i)) return;
  set[i / 64] |= 1ull << i % 64;
  p->changed = true;
}
static void merge(struct program *p, uint32_t from, uint32_t to) {
  const uint64_t *a = pts_of(p, from);
  uint64_t *b = pts_of(p, to);
  for (size_t i = 0; i < p->words; i++)
    if (a[i] & ~b[i]) b[i] |= a[i], p->changed = true;
}
static void add_object(struct program *p, LLVMValueRef v, uint32_t value) {
  p->object = hd__races_need(realloc(p->object, (p->nobjects + 1) * sizeof *p->object));
  p->object_of[value] = p->nobjects;
  p->object[p->nobjects++] = v;
}

static void find_objects(struct program *p) {
  p->object_of = hd__races_need(malloc((p->nvalues + 1) * sizeof *p->object_of));
  for (size_t i = 0; i < p->nvalues; i++) p->object_of[i] = NONE;
  p->object = hd__races_need(calloc(1, sizeof *p->object));
  p->nobjects = 1;
  for (LLVMValueRef g = LLVMGetFirstGlobal(p->module); g; g = LLVMGetNextGlobal(g))
    add_object(p, g, hd__races_id(p, g));
  for (LLVMValueRef f = LLVMGetFirstFunction(p->module); f; f = LLVMGetNextFunction(f))
    add_object(p, f, hd__races_id(p, f));
  for (size_t i = 0; i < p->nin; i++) {
    const struct instruction *x = &p->in[i];
    if (LLVMIsAAllocaInst(x->v) || (x->known && (x->known->how & FRESH))) add_object(p, x->v, x->id);
  }
  p->contents = (uint32_t)p->nvalues;
  p->nnodes = p->contents + p->nobjects;
  p->words = (p->nobjects + 63) / 64;
}

/* Pointers in the initial value of a variable. */
static void add_initial(struct program *p, uint32_t node, LLVMValueRef v, unsigned depth) {
  uint32_t id = hd__races_id(p, v);
  if (id != NONE) hd__races_pair(&p->copy, id, node);
  if (depth < 16 && (LLVMIsAConstantStruct(v) || LLVMIsAConstantArray(v) || LLVMIsAConstantVector(v)))
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(v); i++)
      add_initial(p, node, LLVMGetOperand(v, i), depth + 1);
}

/* Whether it is the address of a variable, or of a part of it. */
static bool is_object(LLVMValueRef v) {
  while (LLVMIsAGetElementPtrInst(v)) v = LLVMGetOperand(v, 0);
  return LLVMIsAGlobalVariable(v) || LLVMIsAAllocaInst(v);
}

static void constrain(struct program *p, const struct instruction *x) {
  LLVMValueRef v = x->v;
  unsigned n = (unsigned)LLVMGetNumOperands(v);
  if (LLVMIsALoadInst(v)) {
    hd__races_pair(&p->load, hd__races_pointer(p, LLVMGetOperand(v, 0)), x->id);
  } else if (LLVMIsAStoreInst(v)) {
    LLVMValueRef what = LLVMGetOperand(v, 0);
    bool several = LLVMIsAConstantStruct(what) || LLVMIsAConstantArray(what) || LLVMIsAConstantVector(what);
    if (several) add_initial(p, x->id, what, 0);
    hd__races_pair(&p->store, several ? x->id : hd__races_id(p, what),
                   hd__races_pointer(p, LLVMGetOperand(v, 1)));
  } else if (LLVMIsAAtomicRMWInst(v) || LLVMIsAAtomicCmpXchgInst(v)) {
    hd__races_pair(&p->load, hd__races_pointer(p, LLVMGetOperand(v, 0)), x->id);
    for (unsigned i = 1; i < n; i++)
      hd__races_pair(&p->store, hd__races_id(p, LLVMGetOperand(v, i)),
                     hd__races_pointer(p, LLVMGetOperand(v, 0)));
  } else if (LLVMIsAReturnInst(v)) {
    if (n) hd__races_pair(&p->copy, hd__races_id(p, LLVMGetOperand(v, 0)), p->returns[x->function]);
  } else if (is_call(v)) {
    LLVMValueRef f = hd__races_callee(v);
    uint32_t number = f ? hd__races_function(p, f) : NONE;
    unsigned args = LLVMGetNumArgOperands(v), how = x->known ? x->known->how : 0;
    if (number != NONE) {
      hd__races_connect(p, &p->copy, x, number, false);
      return;
    }
    if (!x->external) return; /* indirect: as it is found out what it may call */
    if (!x->known) {
      for (unsigned i = 0; i < args; i++)
        hd__races_pair(&p->copy, hd__races_id(p, LLVMGetOperand(v, i)), p->contents);
      hd__races_pair(&p->copy, p->contents, x->id);
      return;
    }
    if ((how & FIRST) && args) hd__races_pair(&p->copy, hd__races_id(p, LLVMGetOperand(v, 0)), x->id);
    if ((how & PURE))
      for (unsigned i = 0; i < args; i++)
        hd__races_pair(&p->copy, hd__races_id(p, LLVMGetOperand(v, i)), x->id);
    if ((how & COPIES) && !(how & FRESH) && args > 1) { /* through a value of its own: the call's */
      hd__races_pair(&p->load, hd__races_id(p, LLVMGetOperand(v, 1)), x->id);
      hd__races_pair(&p->store, x->id, hd__races_id(p, LLVMGetOperand(v, 0)));
    }
    if (how & ENDS) /* what pthread_exit is given comes out of a join */
      for (unsigned i = 0; i < args; i++)
        hd__races_pair(&p->copy, hd__races_id(p, LLVMGetOperand(v, i)), p->contents);
    if ((how & JOINS) && args > 1) {
      hd__races_pair(&p->copy, p->contents, x->id);
      for (uint32_t k = 0; k < p->nfunctions; k++)
        if (p->taken[k]) hd__races_pair(&p->copy, p->returns[k], x->id);
      hd__races_pair(&p->store, x->id, hd__races_id(p, LLVMGetOperand(v, 1)));
    }
  } else if (LLVMIsAGetElementPtrInst(v) && is_object(LLVMGetOperand(v, 0))) {
    add_initial(p, x->id, LLVMGetOperand(v, 0), 0); /* an index is no address */
  } else if (!LLVMIsATerminatorInst(v)) {
    for (unsigned i = 0; i < n; i++)
      if (!LLVMValueIsBasicBlock(LLVMGetOperand(v, i))) add_initial(p, x->id, LLVMGetOperand(v, i), 0);
  } else if (LLVMIsAResumeInst(v)) {
    hd__races_pair(&p->copy, hd__races_id(p, LLVMGetOperand(v, 0)), p->contents);
  }
}

/* Indirect calls, and functions that libraries and new threads are given. */
static void connect_found(struct program *p, size_t i) {
  const struct instruction *x = &p->in[i];
  bool creates = x->known && (x->known->how & CREATES), unknown = x->external && !x->known;
  if (!is_call(x->v) || (x->external && !creates && !unknown) || (!x->external && hd__races_callee(x->v)))
    return;
  uint64_t *done = p->called + i * p->words;
  unsigned args = LLVMGetNumArgOperands(x->v);
  uint32_t from = creates
                      ? hd__races_id(p, LLVMGetOperand(x->v, strcmp(x->known->name, "thrd_create") ? 2 : 1))
                  : unknown ? p->contents
                            : hd__races_id(p, LLVMGetCalledValue(x->v));
  if (from == NONE) return;
  const uint64_t *set = pts_of(p, from);
  for (uint32_t o = 1; o < p->nobjects; o++) {
    if (!has(set, o) || has(done, o)) continue;
    uint32_t f = LLVMIsAFunction(p->object[o]) ? hd__races_function(p, p->object[o]) : NONE;
    if (f == NONE) continue;
    done[o / 64] |= 1ull << o % 64;
    p->changed = true;
    if (creates)
      hd__races_pair(&p->copy, hd__races_id(p, LLVMGetOperand(x->v, args - 1)),
                     LLVMCountParams(p->function[f]) ? hd__races_id(p, LLVMGetParam(p->function[f], 0))
                                                     : NONE);
    else
      hd__races_connect(p, &p->copy, x, f, unknown);
  }
  if (!creates && !unknown && has(set, 0) && !has(done, 0)) {
    hd__races_pair(&p->copy, p->contents, x->id);
    for (unsigned a = 0; a < args; a++)
      hd__races_pair(&p->copy, hd__races_id(p, LLVMGetOperand(x->v, a)), p->contents);
    done[0] |= 1;
  }
}

static void point(struct program *p) {
  /* What is in any object: whatever got out of the program. */
  p->changed = true;
  put(p, pts_of(p, p->contents), 0);
  for (uint32_t v = 0; v < p->nvalues; v++)
    if (p->object_of[v] != NONE) put(p, pts_of(p, v), p->object_of[v]);
  for (uint32_t o = 1; o < p->nobjects; o++) {
    LLVMValueRef g = p->object[o];
    if (!LLVMIsAGlobalVariable(g)) continue;
    if (LLVMGetInitializer(g))
      add_initial(p, p->contents + o, LLVMGetInitializer(g), 0);
    else
      put(p, pts_of(p, p->contents + o), 0);
  }
  while (p->changed) {
    p->changed = false;
    for (size_t i = 0; i < p->copy.n; i++) merge(p, p->copy.v[i].from, p->copy.v[i].to);
    for (size_t i = 0; i < p->load.n; i++)
      for (uint32_t o = 0; o < p->nobjects; o++)
        if (has(pts_of(p, p->load.v[i].from), o)) merge(p, p->contents + o, p->load.v[i].to);
    for (size_t i = 0; i < p->store.n; i++)
      for (uint32_t o = 0; o < p->nobjects; o++)
        if (has(pts_of(p, p->store.v[i].to), o)) merge(p, p->store.v[i].from, p->contents + o);
    /* Code outside of the program may do anything with what it has got. */
    for (uint32_t o = 0; o < p->nobjects; o++)
      if (has(pts_of(p, p->contents), o)) {
        merge(p, p->contents + o, p->contents);
        merge(p, p->contents, p->contents + o);
      }
    size_t before = p->copy.n;
    for (size_t i = 0; i < p->nin; i++) connect_found(p, i);
    p->changed |= p->copy.n != before;
  }
}

/* What globals, new threads and code outside can get at. */
static void find_shared(struct program *p) {
  p->shared = hd__races_need(calloc(p->words, sizeof *p->shared));
  p->shared[0] |= 1;
  for (uint32_t o = 1; o < p->nobjects; o++)
    if (LLVMIsAGlobalVariable(p->object[o]) || has(pts_of(p, p->contents), o))
      p->shared[o / 64] |= 1ull << o % 64;
  for (size_t i = 0; i < p->nin; i++) {
    const struct instruction *x = &p->in[i];
    if (!x->known || !(x->known->how & CREATES)) continue;
    uint32_t arg = hd__races_id(p, LLVMGetOperand(x->v, LLVMGetNumArgOperands(x->v) - 1));
    for (size_t w = 0; arg != NONE && w < p->words; w++) p->shared[w] |= pts_of(p, arg)[w];
  }
  for (uint32_t k = 0; k < p->nfunctions; k++)
    for (size_t w = 0; p->taken[k] && w < p->words; w++) p->shared[w] |= pts_of(p, p->returns[k])[w];
  for (bool more = true; more;) {
    more = false;
    for (uint32_t o = 0; o < p->nobjects; o++)
      for (size_t w = 0; has(p->shared, o) && w < p->words; w++) {
        uint64_t new = pts_of(p, p->contents + o)[w] & ~p->shared[w];
        p->shared[w] |= new;
        more |= new != 0;
      }
  }
}

bool hd__races_points(struct program *p) {
  find_objects(p);
  if ((uint64_t)(p->nnodes + p->nin) * p->words * 8 > MAX_BYTES) return false;
  p->pts = hd__races_need(calloc((uint64_t)p->nnodes * p->words, 8));
  p->called = hd__races_need(calloc((uint64_t)p->nin * p->words + 1, 8));
  for (size_t i = 0; i < p->nin; i++) constrain(p, &p->in[i]);
  point(p);
  find_shared(p);
  return true;
}
