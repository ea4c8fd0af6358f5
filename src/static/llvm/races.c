/* races.c: of a whole program: which values may decide what a thread does, and what it may access, under which locks, after
 * it has seen other values than before. With LLVM's C API; runs in the supervisor, as a part of the module.
 *
 * Everything is an over-approximation, in the direction that docs/soundness.md needs: objects that a pointer may point to
 * (Andersen 1994, without fields or contexts), values that may flow into a decision, accesses that may come after a line
 * (paths through calls and returns need not match). Locks that are held are under-approximated: those of variables with a
 * name, taken on every path. A function of a library that is not listed below may read and write whatever it is given, call
 * functions that it is given, and return anything. */
#include "static/llvm/races_int.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hd_races_reader hd_races_read_19;

#define MAX_WORK 400000000ull /* steps of the search for what comes after lines */
#define MAX_FINER 20000000ull /* ... and of what comes after code without a line that accesses a variable */

/* ---- the program ---- */

void *hd__races_need(void *p) {
  if (!p) abort();
  return p;
}

void hd__races_pair(struct pairs *p, uint32_t from, uint32_t to) {
  if (from == NONE || to == NONE) return;
  if (p->n == p->cap) {
    p->cap = p->cap ? 2 * p->cap : 1024;
    p->v = hd__races_need(realloc(p->v, p->cap * sizeof *p->v));
  }
  p->v[p->n++] = (struct pair){from, to};
}

static size_t slot_of(const struct program *p, LLVMValueRef v) {
  size_t i = ((uintptr_t)v >> 4) * 0x9e3779b97f4a7c15ull >> 20 & (p->slots - 1);
  while (p->key[i] && p->key[i] != v) i = (i + 1) & (p->slots - 1);
  return i;
}

static uint32_t add_value(struct program *p, LLVMValueRef v) {
  if (2 * (p->nvalues + 1) >= p->slots) {
    LLVMValueRef *key = p->key;
    uint32_t *number = p->number;
    size_t n = p->slots;
    p->slots = n ? 2 * n : 4096;
    p->key = hd__races_need(calloc(p->slots, sizeof *p->key));
    p->number = hd__races_need(calloc(p->slots, sizeof *p->number));
    for (size_t i = 0; i < n; i++)
      if (key[i]) {
        size_t k = slot_of(p, key[i]);
        p->key[k] = key[i];
        p->number[k] = number[i];
      }
    free(key);
    free(number);
  }
  size_t i = slot_of(p, v);
  if (!p->key[i]) {
    p->key[i] = v;
    p->number[i] = (uint32_t)p->nvalues++;
  }
  return p->number[i];
}

/* The number of a value, NONE: a constant. */
uint32_t hd__races_id(const struct program *p, LLVMValueRef v) {
  for (unsigned i = 0; i < 64; i++)
    if (LLVMIsAGlobalAlias(v))
      v = LLVMAliasGetAliasee(v);
    else if (LLVMIsAConstantExpr(v) && LLVMGetNumOperands(v) > 0)
      v = LLVMGetOperand(v, 0);
    else
      break;
  size_t i = slot_of(p, v);
  return p->key[i] ? p->number[i] : NONE;
}

/* The number of a pointer that is followed. One that is no address of the program's objects, but not null either, may point
 * to any. */
uint32_t hd__races_pointer(const struct program *p, LLVMValueRef v) {
  uint32_t id = hd__races_id(p, v);
  return id != NONE || LLVMIsNull(v) || LLVMIsUndef(v) ? id : p->contents;
}

const char *hd__races_name(LLVMValueRef v) {
  size_t n;
  return LLVMGetValueName2(v, &n);
}

LLVMValueRef hd__races_callee(LLVMValueRef call) {
  LLVMValueRef f = LLVMGetCalledValue(call);
  while (LLVMIsAConstantExpr(f) && LLVMGetNumOperands(f) == 1) f = LLVMGetOperand(f, 0);
  if (LLVMIsAGlobalAlias(f)) f = LLVMAliasGetAliasee(f);
  return LLVMIsAFunction(f) ? f : NULL;
}

uint32_t hd__races_function(const struct program *p, LLVMValueRef f) {
  for (uint32_t i = 0; i < p->nfunctions; i++)
    if (p->function[i] == f) return i;
  return NONE;
}

/* A call of a function of the program. */
void hd__races_connect(const struct program *p, struct pairs *edges, const struct instruction *x, uint32_t f,
                       bool library_calls) {
  unsigned n = library_calls ? 0 : LLVMGetNumArgOperands(x->v), have = LLVMCountParams(p->function[f]);
  for (unsigned i = 0; i < n && i < have; i++)
    hd__races_pair(edges, hd__races_id(p, LLVMGetOperand(x->v, i)),
                   hd__races_id(p, LLVMGetParam(p->function[f], i)));
  for (unsigned i = have; i < n; i++)
    hd__races_pair(edges, hd__races_id(p, LLVMGetOperand(x->v, i)), p->contents); /* variadic */
  for (unsigned i = 0; library_calls && i < have; i++)
    hd__races_pair(edges, p->contents, hd__races_id(p, LLVMGetParam(p->function[f], i)));
  hd__races_pair(edges, p->returns[f], x->id);
}

static bool starts(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

static void collect(struct program *p) {
  for (LLVMValueRef g = LLVMGetFirstGlobal(p->module); g; g = LLVMGetNextGlobal(g)) add_value(p, g);
  for (LLVMValueRef f = LLVMGetFirstFunction(p->module); f; f = LLVMGetNextFunction(f)) {
    add_value(p, f);
    if (LLVMIsDeclaration(f)) continue;
    p->function = hd__races_need(realloc(p->function, (p->nfunctions + 1) * sizeof *p->function));
    p->function[p->nfunctions++] = f;
  }
  p->first_in = hd__races_need(calloc(p->nfunctions + 1, sizeof *p->first_in));
  p->returns = hd__races_need(calloc(p->nfunctions + 1, sizeof *p->returns));
  for (uint32_t k = 0; k < p->nfunctions; k++) {
    LLVMValueRef f = p->function[k];
    p->first_in[k] = (uint32_t)p->nin;
    p->returns[k] = (uint32_t)p->nvalues++;
    for (unsigned i = 0; i < LLVMCountParams(f); i++) add_value(p, LLVMGetParam(f, i));
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
        if (p->nin == p->cap_in) {
          p->cap_in = p->cap_in ? 2 * p->cap_in : 4096;
          p->in = hd__races_need(realloc(p->in, p->cap_in * sizeof *p->in));
        }
        LLVMMetadataRef at = LLVMInstructionGetDebugLoc(i);
        struct instruction x = {.v = i, .id = add_value(p, i), .function = k, .block_next = NONE};
        x.line = at ? LLVMDILocationGetLine(at) : 0;
        LLVMValueRef called = is_call(i) ? hd__races_callee(i) : NULL;
        if (is_call(i) && called && LLVMIsDeclaration(called)) {
          const char *name = hd__races_name(called);
          x.external = true;
          x.known = starts(name, "llvm.") ? hd__races_intrinsic(name) : hd__races_library(name);
          if (hd__races_refuses(name))
            p->sink->refuse(p->sink->arg, name);
          else if (!x.known)
            p->sink->external(p->sink->arg, name);
        }
        if (is_call(i) && LLVMIsAInlineAsm(LLVMGetCalledValue(i))) x.external = true;
        if (LLVMGetNextInstruction(i)) x.block_next = (uint32_t)p->nin + 1;
        p->in[p->nin++] = x;
      }
  }
  p->first_in[p->nfunctions] = (uint32_t)p->nin;
}

static void find_taken(struct program *p) {
  p->taken = hd__races_need(calloc(p->nfunctions + 1, sizeof *p->taken));
  for (uint32_t k = 0; k < p->nfunctions; k++)
    for (LLVMUseRef u = LLVMGetFirstUse(p->function[k]); u; u = LLVMGetNextUse(u)) {
      LLVMValueRef user = LLVMGetUser(u);
      if (!is_call(user) || hd__races_callee(user) != p->function[k]) p->taken[k] = true;
      for (unsigned i = 0; is_call(user) && i < LLVMGetNumArgOperands(user); i++)
        if (LLVMGetOperand(user, i) == p->function[k]) p->taken[k] = true;
    }
}

/* ---- what an instruction accesses ---- */

/* Returns how many there are, at most 16. A pointer that is NONE is a constant that no object is at. */
unsigned hd__races_accesses(const struct program *p, const struct instruction *x, struct access out[16]) {
  LLVMValueRef v = x->v;
  unsigned n = 0;
#define ACCESS(value, what) \
  (n < 16 ? (void)(out[n++] = (struct access){hd__races_pointer(p, value), what}) : (void)0)
  if (LLVMIsALoadInst(v)) {
    ACCESS(LLVMGetOperand(v, 0), LLVMGetOrdering(v) == LLVMAtomicOrderingNotAtomic ? 0 : HD_RACE_ATOMIC);
  } else if (LLVMIsAStoreInst(v)) {
    ACCESS(LLVMGetOperand(v, 1),
           HD_RACE_WRITE | (LLVMGetOrdering(v) == LLVMAtomicOrderingNotAtomic ? 0 : HD_RACE_ATOMIC));
  } else if (LLVMIsAAtomicRMWInst(v) || LLVMIsAAtomicCmpXchgInst(v)) {
    ACCESS(LLVMGetOperand(v, 0), HD_RACE_WRITE | HD_RACE_ATOMIC);
  } else if (is_call(v) && x->external) {
    unsigned args = LLVMGetNumArgOperands(v), how = x->known ? x->known->how : 0;
    if (how & (WORDS | CREATES)) return 0;
    if (!x->known) { /* it may follow whatever it has got, and what got out before */
      out[0] = (struct access){p->contents, HD_RACE_WRITE};
      return 1;
    }
    if (how & JOINS) {
      if (args > 1) ACCESS(LLVMGetOperand(v, 1), HD_RACE_WRITE);
      return n;
    }
    for (unsigned i = 0; i < args; i++) {
      bool source = x->known && (how & COPIES) && i >= 1;
      if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(v, i))) != LLVMPointerTypeKind) continue;
      ACCESS(LLVMGetOperand(v, i), (how & WRITES) && !source ? HD_RACE_WRITE : 0);
    }
  }
#undef ACCESS
  return n;
}

/* ---- threads that begin with one function ---- */

/* Calls f(function) for each that the call may call. Returns false if it may be one that is not known. */
bool hd__races_callees(const struct program *p, size_t i, uint32_t *out, size_t *n) {
  const struct instruction *x = &p->in[i];
  LLVMValueRef f = is_call(x->v) ? hd__races_callee(x->v) : NULL;
  *n = 0;
  if (!is_call(x->v)) return true;
  uint32_t k = f ? hd__races_function(p, f) : NONE;
  if (k != NONE) {
    out[(*n)++] = k;
    return true;
  }
  if (x->external && x->known) return true;
  const uint64_t *done = p->called + i * p->words;
  for (uint32_t o = 1; o < p->nobjects; o++)
    if (has(done, o)) out[(*n)++] = hd__races_function(p, p->object[o]);
  return x->external || !has(done, 0);
}

static void reach(struct entry *e, uint32_t f, uint32_t *buffer) {
  struct program *p = e->p;
  e->in[f] = true;
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < p->nin; i++) {
      size_t n;
      if (!e->in[p->in[i].function]) continue;
      hd__races_callees(p, i, buffer, &n);
      for (size_t k = 0; k < n; k++)
        if (!e->in[buffer[k]]) e->in[buffer[k]] = more = true;
    }
  }
}

static int by_from(const void *a, const void *b) {
  const struct pair *x = a, *y = b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return (x->to > y->to) - (x->to < y->to);
}
static void qsort_pairs(struct pairs *v) {
  if (v->n) qsort(v->v, v->n, sizeof *v->v, by_from);
}
/* [number]: the first of the sorted pairs that come from it; the caller frees. */
static uint32_t *first_of_each(const struct pairs *v, size_t n) {
  uint32_t *first = hd__races_need(calloc(n + 2, sizeof *first));
  for (size_t i = 0; i < v->n; i++) first[v->v[i].from + 1]++;
  for (size_t i = 0; i < n; i++) first[i + 1] += first[i];
  return first;
}

/* Values that flow from one to another, and those that decide something. */
static void flow(struct entry *e, uint32_t *buffer) {
  struct program *p = e->p;
  for (size_t i = 0; i < p->nin; i++) {
    const struct instruction *x = &p->in[i];
    LLVMValueRef v = x->v;
    unsigned n = (unsigned)LLVMGetNumOperands(v);
    if (!e->in[x->function]) continue;
#define DECIDES(value)                       \
  do {                                       \
    uint32_t id_ = hd__races_id(p, value);   \
    if (id_ != NONE) e->decides[id_] = true; \
  } while (0)
    if (LLVMIsALoadInst(v) || LLVMIsAStoreInst(v) || LLVMIsAAtomicRMWInst(v) || LLVMIsAAtomicCmpXchgInst(v)) {
      bool load = !LLVMIsAStoreInst(v), store = !LLVMIsALoadInst(v);
      LLVMValueRef pointer = LLVMGetOperand(v, LLVMIsAStoreInst(v) ? 1 : 0);
      uint32_t at = hd__races_pointer(p, pointer);
      DECIDES(pointer);
      for (uint32_t o = 0; at != NONE && o < p->nobjects; o++) {
        if (!has(pts_of(p, at), o)) continue;
        if (load) hd__races_pair(&e->flows, p->contents + o, x->id);
        for (unsigned k = 0; store && k < n; k++)
          if (LLVMGetOperand(v, k) != pointer)
            hd__races_pair(&e->flows, hd__races_id(p, LLVMGetOperand(v, k)), p->contents + o);
      }
      for (unsigned k = 1; load && k < n; k++)
        hd__races_pair(&e->flows, hd__races_id(p, LLVMGetOperand(v, k)), x->id);
    } else if (LLVMIsAReturnInst(v)) {
      if (n) hd__races_pair(&e->flows, hd__races_id(p, LLVMGetOperand(v, 0)), p->returns[x->function]);
    } else if (is_call(v)) {
      size_t callees;
      hd__races_callees(p, i, buffer, &callees);
      if (!hd__races_callee(v)) DECIDES(LLVMGetCalledValue(v));
      for (size_t k = 0; k < callees; k++) hd__races_connect(p, &e->flows, x, buffer[k], x->external);
      if (!x->external) continue;
      unsigned args = LLVMGetNumArgOperands(v), how = x->known ? x->known->how : 0;
      for (unsigned a = 0; a < args; a++) {
        uint32_t id = hd__races_id(p, LLVMGetOperand(v, a));
        if (id == NONE) continue;
        bool pointer = LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(v, a))) == LLVMPointerTypeKind;
        if (!x->known ||
            (!(how & (SHOWS | PURE | ENDS)) && !hd__races_quiet(hd__races_name(hd__races_callee(v)))) ||
            pointer)
          e->decides[id] = true;
        hd__races_pair(&e->flows, id, x->id);
        for (uint32_t o = 0; (how & (PURE | COPIES)) && o < p->nobjects; o++)
          if (has(pts_of(p, id), o)) hd__races_pair(&e->flows, p->contents + o, x->id);
        for (uint32_t o = 0; (how & (COPIES | WRITES | JOINS)) && o < p->nobjects; o++)
          if (has(pts_of(p, id), o)) hd__races_pair(&e->flows, x->id, p->contents + o);
      }
    } else if (LLVMIsATerminatorInst(v)) {
      if (n && LLVMGetNumSuccessors(v) > 1) DECIDES(LLVMGetOperand(v, 0));
    } else {
      for (unsigned k = 0; k < n; k++)
        if (!LLVMValueIsBasicBlock(LLVMGetOperand(v, k)))
          hd__races_pair(&e->flows, hd__races_id(p, LLVMGetOperand(v, k)), x->id);
    }
  }
  e->decides[p->contents] = true; /* what is in any object */
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < e->flows.n; i++)
      if (e->decides[e->flows.v[i].to] && !e->decides[e->flows.v[i].from])
        e->decides[e->flows.v[i].from] = more = true;
  }
  qsort_pairs(&e->flows);
  e->first_flow = first_of_each(&e->flows, p->nnodes);
#undef DECIDES
}

uint32_t hd__races_first(const struct program *p, LLVMBasicBlockRef b) {
  LLVMValueRef i = LLVMGetFirstInstruction(b);
  uint32_t id = hd__races_id(p, i);
  /* Instructions of a function have numbers in their order. */
  for (uint32_t lo = 0, hi = (uint32_t)p->nin; lo < hi;) {
    uint32_t mid = (lo + hi) / 2;
    if (p->in[mid].id == id) return mid;
    if (p->in[mid].id < id)
      lo = mid + 1;
    else
      hi = mid;
  }
  return NONE;
}

/* The order in which instructions may be executed, through calls. */
static void order(struct entry *e, uint32_t *buffer) {
  struct program *p = e->p;
  for (size_t i = 0; i < p->nin; i++) {
    const struct instruction *x = &p->in[i];
    size_t n;
    if (!e->in[x->function]) continue;
    bool known = hd__races_callees(p, i, buffer, &n);
    for (size_t k = 0; k < n; k++) {
      uint32_t f = buffer[k];
      hd__races_pair(&e->next, (uint32_t)i, p->first_in[f]);
      for (uint32_t r = p->first_in[f]; r < p->first_in[f + 1]; r++) {
        if (LLVMIsAReturnInst(p->in[r].v)) {
          if (x->block_next != NONE) hd__races_pair(&e->next, r, x->block_next);
          for (unsigned s = 0; LLVMIsATerminatorInst(x->v) && s < LLVMGetNumSuccessors(x->v); s++)
            hd__races_pair(&e->next, r, hd__races_first(p, LLVMGetSuccessor(x->v, s)));
        }
        if (LLVMIsAResumeInst(p->in[r].v))
          for (unsigned s = 0; LLVMIsATerminatorInst(x->v) && s < LLVMGetNumSuccessors(x->v); s++)
            hd__races_pair(&e->next, r, hd__races_first(p, LLVMGetSuccessor(x->v, s)));
      }
    }
    unsigned how = x->known ? x->known->how : 0;
    bool passes = !n || x->external || !known;
    if (how & ENDS) continue;
    if (x->block_next != NONE && passes) hd__races_pair(&e->next, (uint32_t)i, x->block_next);
    for (unsigned s = 0; passes && LLVMIsATerminatorInst(x->v) && s < LLVMGetNumSuccessors(x->v); s++)
      hd__races_pair(&e->next, (uint32_t)i, hd__races_first(p, LLVMGetSuccessor(x->v, s)));
    if (how & CREATES) e->flags[i] |= HD_RACE_ANYTHING;
    if (!known) e->flags[i] |= HD_RACE_ANYTHING;
    if (is_call(x->v) && LLVMIsAInlineAsm(LLVMGetCalledValue(x->v)))
      e->flags[i] |= HD_RACE_ANYTHING | HD_RACE_UNSTABLE | HD_RACE_VARIES;
    if (x->external && (!x->known || (how & VARIES))) { /* its result, and what it writes, may be anything */
      bool decides = e->decides[x->id];
      for (unsigned a = 0; a < LLVMGetNumArgOperands(x->v); a++) {
        uint32_t id = hd__races_id(p, LLVMGetOperand(x->v, a));
        for (uint32_t o = 0; id != NONE && o < p->nobjects; o++)
          decides |= has(pts_of(p, id), o) && !LLVMIsAFunction(p->object[o] ? p->object[o] : x->v) &&
                     e->decides[p->contents + o];
      }
      e->flags[i] |= HD_RACE_VARIES;
      if (decides || (n && !x->known)) e->flags[i] |= HD_RACE_UNSTABLE;
    }
  }
  qsort_pairs(&e->next);
  e->first_next = first_of_each(&e->next, p->nin);
  for (bool more = true; more;) { /* what may come later counts now */
    more = false;
    for (size_t i = e->next.n; i-- > 0;) {
      uint8_t new = e->flags[e->next.v[i].to] & ~e->flags[e->next.v[i].from];
      e->flags[e->next.v[i].from] |= new;
      more |= new != 0;
    }
  }
}

/* Whether what the instruction reads, or what comes of its call, may decide what its thread does. */
static unsigned dangers(const struct entry *e, const struct instruction *x) {
  const struct program *p = e->p;
  struct access a[16];
  unsigned n = hd__races_accesses(p, x, a);
  bool tries = x->known && (x->known->how & TRIES);
  if (tries && e->decides[x->id]) return HD_RACE_RESULT;
  for (unsigned i = 0; i < n; i++) {
    if (a[i].how == HD_RACE_WRITE && !tries) continue;
    for (uint32_t o = 0; a[i].pointer != NONE && o < p->nobjects; o++)
      if (has(pts_of(p, a[i].pointer), o) && e->decides[p->contents + o])
        return tries ? HD_RACE_RESULT : HD_RACE_DANGER;
  }
  return 0;
}

/* ---- locks with names ---- */

/* The number of the lock that the pointer is; NONE: not a variable, or too many. */
static uint32_t lock_of(struct program *p, LLVMValueRef v) {
  uint64_t offset = 0;
  LLVMTargetDataRef layout = LLVMGetModuleDataLayout(p->module);
  while (!LLVMIsAGlobalVariable(v)) {
    bool gep =
        LLVMIsAGetElementPtrInst(v) || (LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMGetElementPtr);
    if (!gep) return NONE;
    LLVMTypeRef type = LLVMGetGEPSourceElementType(v);
    for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(v); i++) {
      LLVMValueRef index = LLVMGetOperand(v, i);
      if (!LLVMIsAConstantInt(index)) return NONE;
      int64_t k = LLVMConstIntGetSExtValue(index);
      if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
        offset += LLVMOffsetOfElement(layout, type, (unsigned)k);
        type = LLVMStructGetTypeAtIndex(type, (unsigned)k);
      } else {
        if (i > 1 && LLVMGetTypeKind(type) != LLVMArrayTypeKind) return NONE;
        if (i > 1) type = LLVMGetElementType(type);
        offset += (uint64_t)k * LLVMABISizeOfType(layout, type);
      }
    }
    v = LLVMGetOperand(v, 0);
  }
  if (LLVMIsThreadLocal(v)) return NONE;
  for (unsigned i = 0; i < p->nlocks; i++)
    if (p->lock[i].variable == v && p->lock[i].offset == offset) return i;
  if (p->nlocks == HD_RACE_LOCKS) return NONE;
  p->lock[p->nlocks].variable = v;
  p->lock[p->nlocks].offset = offset;
  return p->nlocks++;
}

/* ---- what may come after a line ---- */

struct state {
  uint64_t acquired, released;
  bool reached;
};
struct future {
  uint32_t object;
  unsigned how;
  uint64_t acquired, released;
};

struct search {
  struct state *at; /* [instruction] */
  uint32_t *queue;
  bool *queued;
  bool *start;    /* [instruction]: where to look from */
  uint32_t *lock; /* [instruction]: of a call that takes one or lets it go */
  struct future *found;
  size_t nfound, cap;
  uint64_t work, finer;
};

static void enter(struct search *s, uint32_t i, struct state with, size_t *tail, size_t size) {
  struct state *t = &s->at[i], old = *t;
  if (!t->reached)
    *t = with;
  else
    t->acquired &= with.acquired, t->released |= with.released;
  t->reached = true;
  if (old.reached && old.acquired == t->acquired && old.released == t->released) return;
  if (s->queued[i]) return;
  s->queued[i] = true;
  s->queue[(*tail)++ % size] = i;
}

static void add_future(struct search *s, uint32_t object, unsigned how, const struct state *t) {
  for (size_t i = 0; i < s->nfound; i++) {
    struct future *f = &s->found[i];
    if (f->object == object && f->how == how && f->acquired == t->acquired && f->released == t->released)
      return;
  }
  if (s->nfound == s->cap) {
    s->cap = s->cap ? 2 * s->cap : 64;
    s->found = hd__races_need(realloc(s->found, s->cap * sizeof *s->found));
  }
  s->found[s->nfound++] = (struct future){object, how, t->acquired, t->released};
}

/* From the instructions s->start on. `slice`: only what that has changes. */
static void look_ahead(struct entry *e, struct search *s, const bool *slice) {
  struct program *p = e->p;
  size_t head = 0, tail = 0, size = p->nin + 1;
  memset(s->at, 0, p->nin * sizeof *s->at);
  s->nfound = 0;
  for (size_t i = 0; i < p->nin; i++)
    if (s->start[i]) enter(s, (uint32_t)i, (struct state){0, 0, true}, &tail, size);
  while (head != tail && s->work < MAX_WORK) {
    uint32_t i = s->queue[head++ % size];
    const struct instruction *x = &p->in[i];
    struct state t = s->at[i];
    s->queued[i] = false;
    s->work++;
    if (x->known && (x->known->how & LOCK)) {
      uint64_t bit = s->lock[i] == NONE ? 0 : 1ull << s->lock[i];
      if (x->known->how & LOCKS) {
        t.acquired |= bit;
        t.released &= ~bit;
      } else {
        t.acquired &= bit ? ~bit : 0;
        t.released |= bit ? bit : ~0ull;
      }
    } else if (x->external && !x->known) {
      t = (struct state){0, ~0ull, true};
    }
    for (uint32_t k = e->first_next[i]; k < e->first_next[i + 1]; k++)
      enter(s, e->next.v[k].to, t, &tail, size);
  }
  for (size_t i = 0; i < p->nin; i++) {
    struct access a[16];
    if (!s->at[i].reached || (slice && !slice[i])) continue;
    unsigned n = hd__races_accesses(p, &p->in[i], a);
    s->work += n;
    for (unsigned k = 0; k < n; k++)
      for (uint32_t o = 0; a[k].pointer != NONE && o < p->nobjects; o++)
        if (has(pts_of(p, a[k].pointer), o) && has(p->shared, o) && !(o && LLVMIsAFunction(p->object[o])))
          add_future(s, o, a[k].how, &s->at[i]);
  }
}

/* ---- what is reported ---- */

static void tell_objects(const struct program *p, uint32_t *buffer) {
  struct entry inner = {.p = (struct program *)p,
                        .in = hd__races_need(calloc(p->nfunctions + 1, sizeof *inner.in))};
  for (uint32_t f = 0; f < p->nfunctions; f++) {
    const char *name = p->name[f];
    memset(inner.in, 0, p->nfunctions * sizeof *inner.in);
    reach(&inner, f, buffer);
    for (size_t i = 0; i < p->nin; i++) {
      struct access a[16];
      if (!inner.in[p->in[i].function]) continue;
      unsigned n = hd__races_accesses(p, &p->in[i], a);
      for (unsigned k = 0; k < n; k++)
        for (uint32_t o = 0; a[k].pointer != NONE && o < p->nobjects; o++)
          if (has(pts_of(p, a[k].pointer), o)) {
            if (p->in[i].function == f) p->sink->object(p->sink->arg, name, p->in[i].line, o);
            p->sink->object(p->sink->arg, name, HD_RACE_ANY_LINE, o);
          }
    }
  }
  free(inner.in);
}

static void tell_found(const struct hd_race_sink *sink, const struct search *s) {
  for (size_t i = 0; i < s->nfound; i++)
    sink->future(sink->arg, s->found[i].object, s->found[i].how, s->found[i].acquired, s->found[i].released);
}

static void tell_future(struct entry *e, struct search *s, struct slicer *slicer, uint32_t function,
                        unsigned line) {
  const struct program *p = e->p;
  for (size_t i = 0; i < p->nin; i++)
    s->start[i] = e->in[p->in[i].function] &&
                  (line ? p->in[i].line == line : i == p->first_in[p->in[i].function]) &&
                  p->alike[p->in[i].function] == p->alike[function];
  look_ahead(e, s, hd__slice(slicer, function, line));
  tell_found(p->sink, s);
}

static bool accesses_object(const struct program *p, const struct instruction *x, uint32_t object) {
  struct access a[16];
  unsigned n = hd__races_accesses(p, x, a);
  for (unsigned k = 0; k < n; k++)
    if (a[k].pointer != NONE && has(pts_of(p, a[k].pointer), object)) return true;
  return false;
}

/* About the instructions s->start, as code of the function that has no line. */
static void tell_without_line(struct entry *e, struct search *s, uint32_t f, uint32_t object) {
  struct program *p = e->p;
  uint8_t flags = HD_RACE_KNOWN;
  for (size_t i = 0; i < p->nin; i++)
    if (s->start[i]) flags |= (uint8_t)(e->flags[i] | dangers(e, &p->in[i]));
  p->sink->line(p->sink->arg, p->name[f], HD_RACE_ANY_LINE, object, flags);
  if (!(flags & (HD_RACE_DANGER | HD_RACE_RESULT | HD_RACE_UNSTABLE)) || (flags & HD_RACE_ANYTHING)) return;
  look_ahead(e, s, NULL);
  tell_found(p->sink, s);
}

/* The compiler may put together code of several lines, and of functions that are called: that has no line. If it accesses a
 * variable, it is code that does so. */
static void tell_any_line(struct entry *e, struct search *s, uint32_t f, uint32_t *buffer) {
  struct program *p = e->p;
  struct entry inner = {.p = p, .in = hd__races_need(calloc(p->nfunctions + 1, sizeof *inner.in))};
  for (uint32_t k = 0; k < p->nfunctions; k++)
    if (e->in[k] && p->alike[k] == p->alike[f]) reach(&inner, k, buffer);
  s->work += p->nin;
  for (size_t i = 0; i < p->nin; i++) s->start[i] = inner.in[p->in[i].function];
  tell_without_line(e, s, f, HD_RACE_ANY_OBJECT);
  uint64_t before = s->work;
  for (uint32_t o = 1; o < p->nobjects && s->finer < MAX_FINER; o++) {
    bool any = false;
    if (!p->variable[o]) continue;
    for (size_t i = 0; i < p->nin; i++)
      any |= s->start[i] = inner.in[p->in[i].function] && accesses_object(p, &p->in[i], o);
    if (any) tell_without_line(e, s, f, o);
    s->finer += p->nin + s->work - before;
    s->work = before;
  }
  free(inner.in);
}

/* About the lines of the functions of one name. */
static void tell_lines(struct entry *e, struct search *s, struct slicer *slicer, uint32_t f) {
  struct program *p = e->p;
  unsigned last = 0;
  for (size_t i = 0; i < p->nin; i++) {
    s->start[i] = e->in[p->in[i].function] && p->alike[p->in[i].function] == p->alike[f];
    if (s->start[i] && p->in[i].line > last) last = p->in[i].line;
  }
  uint8_t *line = hd__races_need(calloc(last + 1, 1)); /* flags */
  for (size_t i = 0; i < p->nin; i++)
    if (s->start[i]) line[p->in[i].line] |= (uint8_t)(HD_RACE_KNOWN | e->flags[i] | dangers(e, &p->in[i]));
  for (unsigned l = 1; l <= last; l++) {
    if (!line[l]) continue;
    line[l] |= line[0] & (HD_RACE_DANGER | HD_RACE_RESULT); /* of instructions without a line */
    p->sink->line(p->sink->arg, p->name[f], l, HD_RACE_ANY_OBJECT, line[l]);
    if ((line[l] & (HD_RACE_DANGER | HD_RACE_RESULT | HD_RACE_UNSTABLE)) && !(line[l] & HD_RACE_ANYTHING))
      tell_future(e, s, slicer, f, l);
  }
  free(line);
}

static void tell_entry(struct program *p, uint32_t f, struct search *s, uint32_t *buffer) {
  struct entry e = {.p = p};
  e.in = hd__races_need(calloc(p->nfunctions + 1, sizeof *e.in));
  e.decides = hd__races_need(calloc(p->nnodes + 1, sizeof *e.decides));
  e.flags = hd__races_need(calloc(p->nin + 1, sizeof *e.flags));
  reach(&e, f, buffer);
  flow(&e, buffer);
  order(&e, buffer);
  struct slicer *slicer = hd__slicer_new(&e);
  p->sink->entry(p->sink->arg, p->name[f]);
  uint8_t first = HD_RACE_KNOWN | (p->first_in[f] < p->first_in[f + 1] ? e.flags[p->first_in[f]] : 0);
  p->sink->line(p->sink->arg, p->name[f], 0, HD_RACE_ANY_OBJECT, first);
  if ((first & HD_RACE_UNSTABLE) && !(first & HD_RACE_ANYTHING)) tell_future(&e, s, slicer, f, 0);
  bool *told = hd__races_need(calloc(p->nfunctions + 1, sizeof *told)); /* [function]: the name is */
  for (uint32_t k = 0; k < p->nfunctions; k++)
    if (e.in[k] && !told[p->alike[k]]) {
      told[p->alike[k]] = true;
      tell_lines(&e, s, slicer, k);
      tell_any_line(&e, s, k, buffer);
    }
  free(told);
  free(e.in);
  free(e.decides);
  free(e.flags);
  free(e.first_next);
  free(e.next.v);
  free(e.flows.v);
  free(e.first_flow);
  hd__slicer_free(slicer);
}

/* Whether no other function has its name. */
static bool is_only(const struct program *p, uint32_t f) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < p->nfunctions; k++) n += p->alike[k] == p->alike[f];
  return n == 1;
}

static void tell(struct program *p) {
  struct search s = {.at = hd__races_need(calloc(p->nin + 1, sizeof *s.at)),
                     .queue = hd__races_need(calloc(p->nin + 1, sizeof *s.queue)),
                     .queued = hd__races_need(calloc(p->nin + 1, sizeof *s.queued)),
                     .start = hd__races_need(calloc(p->nin + 1, sizeof *s.start)),
                     .lock = hd__races_need(calloc(p->nin + 1, sizeof *s.lock))};
  uint32_t *buffer = hd__races_need(calloc(p->nobjects + 2, sizeof *buffer));
  bool *entry = hd__races_need(calloc(p->nfunctions + 1, sizeof *entry));
  for (size_t i = 0; i < p->nin; i++) {
    const struct instruction *x = &p->in[i];
    s.lock[i] = x->known && (x->known->how & LOCK) ? lock_of(p, LLVMGetOperand(x->v, 0)) : NONE;
    if (!x->known || !(x->known->how & CREATES)) continue;
    for (uint32_t o = 1; o < p->nobjects; o++)
      if (has(p->called + i * p->words, o)) entry[hd__races_function(p, p->object[o])] = true;
  }
  for (unsigned i = 0; i < p->nlocks; i++) {
    char *name = hd__races_variable(p, p->lock[i].variable);
    p->sink->lock(p->sink->arg, name, p->lock[i].offset);
    free(name);
  }
  hd__races_variables(p);
  tell_objects(p, buffer);
  for (uint32_t k = 0; k < p->nfunctions; k++)
    if (is_only(p, k) && (entry[k] || strcmp(p->name[k], "main") == 0)) tell_entry(p, k, &s, buffer);
  if (s.work >= MAX_WORK) p->sink->refuse(p->sink->arg, "the program is too large");
  free(s.at);
  free(s.queue);
  free(s.queued);
  free(s.start);
  free(s.lock);
  free(s.found);
  free(buffer);
  free(entry);
}

static void conclude(struct program *p) {
  collect(p);
  hd__races_alike(p);
  find_taken(p);
  if (hd__races_points(p))
    tell(p);
  else
    p->sink->refuse(p->sink->arg, "the program is too large");
  free(p->key);
  free(p->number);
  free(p->in);
  free(p->function);
  for (size_t k = 0; k < p->nfunctions; k++) free(p->name[k]);
  free(p->name);
  free(p->alike);
  free(p->first_in);
  free(p->returns);
  free(p->taken);
  free(p->object_of);
  free(p->object);
  free(p->variable);
  free(p->pts);
  free(p->called);
  free(p->shared);
  free(p->copy.v);
  free(p->load.v);
  free(p->store.v);
}

static void on_diagnostic(LLVMDiagnosticInfoRef d, void *arg) {
  char *text = LLVMGetDiagInfoDescription(d), *message = arg;
  snprintf(message, 256, "%s", text);
  LLVMDisposeMessage(text);
}

int hd_races_read_19(const struct hd_bitcode *unit, size_t n, const struct hd_race_sink *sink, char *message,
                     size_t message_size) {
  char problem[256] = "it is not bitcode";
  LLVMContextRef context = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(context, on_diagnostic, problem);
  LLVMModuleRef all = NULL;
  bool bad = false;
  for (size_t i = 0; i < n && !bad; i++) {
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(unit[i].data, unit[i].size, "unit");
    LLVMModuleRef module = NULL;
    bad = LLVMParseBitcodeInContext2(context, buffer, &module);
    LLVMDisposeMemoryBuffer(buffer);
    if (!bad) hd__races_mark(module, i);
    if (!bad && all)
      bad = LLVMLinkModules2(all, module);
    else if (!bad)
      all = module;
  }
  if (!bad && all) {
    unsigned optnone = LLVMGetEnumAttributeKindForName("optnone", 7);
    for (LLVMValueRef f = LLVMGetFirstFunction(all); f; f = LLVMGetNextFunction(f))
      LLVMRemoveEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, optnone);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(all, "mem2reg", NULL, options);
    LLVMDisposePassBuilderOptions(options);
    if (error) LLVMConsumeError(error);
    struct program p = {.sink = sink, .module = all};
    conclude(&p);
  } else {
    snprintf(message, message_size, "%s", problem);
  }
  if (all) LLVMDisposeModule(all);
  LLVMContextDispose(context);
  return bad ? -1 : 0;
}
