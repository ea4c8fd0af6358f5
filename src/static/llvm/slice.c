/* slice.c: which instructions a value may change: those that may be executed another number of times, or with another address,
 * when what is read at a line has another value. All others do what they did (explore/property.c, 1). With LLVM's C API; runs
 * in the supervisor, as a part of the module.
 *
 * A forward slice (Weiser 1984) without contexts and without the order of instructions, over the whole program:
 *
 *  1. It begins with the objects that are read at the line, not with the loads there: the compiler may use what it has read
 *     once for another line.
 *  2. Values flow as in e->flows, through memory by the objects that pointers may point to.
 *  3. A branch changes what may be executed between it and its post-dominator, and the values that meet there. A loop that
 *     never ends, a failed assertion and abort() are no ends of a function here: an execution with them is not judged.
 *     exit() and pthread_exit() are: what comes after them has not been seen.
 *  4. What is called there is changed with everything in it.
 *
 * The answer "everything" is given where more than accesses may change: locks that are held, threads that were joined, addresses
 * of new objects, what an unknown function does; and where exceptions may be thrown. */
#include "static/llvm/races_int.h"

#include <string.h>

#define MAX_BLOCKS 1024 /* of a function */

struct slicer {
  const struct entry *e;
  bool *in;       /* [instruction] */
  bool *value;    /* [node] */
  bool *called;   /* [function]: all of it is changed */
  uint32_t *work; /* nodes to follow */
  size_t nwork;
  uint32_t *todo; /* instructions that were added */
  size_t ntodo;
  uint32_t *first_user, *user; /* [node]: instructions that have it as an operand */
  uint32_t *buffer;
  bool all, never; /* everything is changed; this is so for every line */
};

static void add_value(struct slicer *s, uint32_t node) {
  if (node == NONE) return;
  if (node == s->e->p->contents) s->all = true; /* what is in any object */
  if (s->value[node]) return;
  s->value[node] = true;
  s->work[s->nwork++] = node;
}

static void add_objects(struct slicer *s, uint32_t pointer) {
  const struct program *p = s->e->p;
  if (pointer == NONE) return;
  for (uint32_t o = 0; o < p->nobjects; o++)
    if (has(pts_of(p, pointer), o)) add_value(s, p->contents + o);
}

static void add(struct slicer *s, uint32_t i) {
  if (i == NONE || s->in[i]) return;
  s->in[i] = true;
  s->todo[s->ntodo++] = i;
}

/* ---- branches ---- */

/* Blocks of one function. */
struct blocks {
  LLVMBasicBlockRef v[MAX_BLOCKS];
  uint64_t after[MAX_BLOCKS][MAX_BLOCKS / 64]; /* its post-dominators */
  bool ends[MAX_BLOCKS];                       /* the end of the function can be reached from it */
  unsigned n;
};

static unsigned number_of(const struct blocks *b, LLVMBasicBlockRef block) {
  unsigned i = 0;
  while (i < b->n && b->v[i] != block) i++;
  return i;
}

static bool leaves(LLVMBasicBlockRef block) {
  LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
  if (LLVMIsAReturnInst(last) || LLVMIsAResumeInst(last)) return true;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
    LLVMValueRef f = is_call(i) ? hd__races_callee(i) : NULL;
    const struct known *k = f && LLVMIsDeclaration(f) ? hd__races_library(hd__races_name(f)) : NULL;
    if (k && (k->how & ENDS) && strcmp(k->name, "abort") != 0 && strcmp(k->name, "__assert_fail") != 0)
      return true;
  }
  return false;
}

/* Post-dominators: those of all successors from which the end can be reached. */
static bool find_blocks(struct blocks *b, LLVMValueRef f) {
  b->n = 0;
  if (LLVMCountBasicBlocks(f) > MAX_BLOCKS) return false;
  for (LLVMBasicBlockRef k = LLVMGetFirstBasicBlock(f); k; k = LLVMGetNextBasicBlock(k)) b->v[b->n++] = k;
  unsigned words = (b->n + 63) / 64;
  for (unsigned i = 0; i < b->n; i++) {
    b->ends[i] = leaves(b->v[i]);
    for (unsigned w = 0; w < words; w++) b->after[i][w] = b->ends[i] ? 0 : ~0ull;
    b->after[i][i / 64] |= 1ull << i % 64;
  }
  for (bool more = true; more;) {
    more = false;
    for (unsigned i = b->n; i-- > 0;) {
      LLVMValueRef last = LLVMGetBasicBlockTerminator(b->v[i]);
      uint64_t with[MAX_BLOCKS / 64];
      for (unsigned w = 0; w < words; w++) with[w] = ~0ull;
      for (unsigned k = 0; k < LLVMGetNumSuccessors(last); k++) {
        unsigned to = number_of(b, LLVMGetSuccessor(last, k));
        if (!b->ends[to]) continue;
        if (!b->ends[i]) b->ends[i] = more = true;
        for (unsigned w = 0; w < words; w++) with[w] &= b->after[to][w];
      }
      with[i / 64] |= 1ull << i % 64;
      if (!b->ends[i] || leaves(b->v[i])) continue;
      for (unsigned w = 0; w < words; w++) {
        more |= with[w] != b->after[i][w];
        b->after[i][w] = with[w];
      }
    }
  }
  return true;
}

static bool meets(const struct blocks *b, unsigned at, unsigned with) {
  return at != with && b->ends[at] && (b->after[at][with / 64] >> with % 64 & 1);
}

static void add_block(struct slicer *s, LLVMBasicBlockRef block, bool meeting) {
  uint32_t i = hd__races_first(s->e->p, block);
  for (LLVMValueRef v = LLVMGetFirstInstruction(block); v; v = LLVMGetNextInstruction(v), i++) {
    if (!meeting)
      add(s, i);
    else if (LLVMIsAPHINode(v))
      add_value(s, s->e->p->in[i].id);
  }
}

/* What is executed after the branch or not. */
static void add_branch(struct slicer *s, const struct instruction *x) {
  static struct blocks b;
  static unsigned stack[MAX_BLOCKS];
  static bool seen[MAX_BLOCKS];
  unsigned n = 0;
  if (!find_blocks(&b, s->e->p->function[x->function])) {
    s->all = true;
    return;
  }
  unsigned at = number_of(&b, LLVMGetInstructionParent(x->v));
  memset(seen, 0, sizeof seen);
  for (unsigned k = 0; k < LLVMGetNumSuccessors(x->v); k++) {
    unsigned to = number_of(&b, LLVMGetSuccessor(x->v, k));
    if (!seen[to]) seen[to] = true, stack[n++] = to;
  }
  while (n) {
    unsigned i = stack[--n];
    bool end = meets(&b, at, i);
    add_block(s, b.v[i], end);
    if (end) continue; /* a post-dominator: on the ways to the others of them, too */
    LLVMValueRef last = LLVMGetBasicBlockTerminator(b.v[i]);
    for (unsigned k = 0; k < LLVMGetNumSuccessors(last); k++) {
      unsigned to = number_of(&b, LLVMGetSuccessor(last, k));
      if (!seen[to]) seen[to] = true, stack[n++] = to;
    }
  }
}

/* ---- instructions ---- */

/* Whether more than accesses changes with it. */
static bool changes_more(const struct slicer *s, uint32_t i) {
  const struct instruction *x = &s->e->p->in[i];
  size_t n;
  if (LLVMIsAInvokeInst(x->v) || LLVMIsAResumeInst(x->v) || LLVMIsALandingPadInst(x->v)) return true;
  if (LLVMIsAAllocaInst(x->v)) {
    LLVMBasicBlockRef block = LLVMGetInstructionParent(x->v);
    return LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(block)) != block;
  }
  if (!is_call(x->v)) return false;
  if (!hd__races_callees(s->e->p, i, s->buffer, &n)) return true;
  if (!x->external) return false;
  if (!x->known || n) return true;
  unsigned how = x->known->how;
  const char *name = x->known->name;
  if (how & (LOCK | TRIES | JOINS | CREATES | FRESH | VARIES)) return true;
  if ((how & ENDS) && strcmp(name, "abort") != 0 && strcmp(name, "__assert_fail") != 0) return true;
  return strstr(name, "lock") || strstr(name, "init") || strstr(name, "destroy") ||
         strcmp(name, "free") == 0 || strncmp(name, "_Zd", 3) == 0;
}

/* It may be executed another number of times, or with another address. */
static void follow_instruction(struct slicer *s, uint32_t i) {
  const struct program *p = s->e->p;
  const struct instruction *x = &p->in[i];
  if (changes_more(s, i)) s->all = true;
  if (s->all) return;
  add_value(s, x->id);
  if (LLVMIsAStoreInst(x->v)) add_objects(s, hd__races_pointer(p, LLVMGetOperand(x->v, 1)));
  if (LLVMIsAAtomicRMWInst(x->v) || LLVMIsAAtomicCmpXchgInst(x->v))
    add_objects(s, hd__races_pointer(p, LLVMGetOperand(x->v, 0)));
  if (LLVMIsAReturnInst(x->v)) add_value(s, p->returns[x->function]);
  if (LLVMIsATerminatorInst(x->v) && LLVMGetNumSuccessors(x->v) > 1) add_branch(s, x);
  if (!is_call(x->v)) return;
  if (x->external && !(x->known->how & WORDS))
    for (unsigned a = 0; a < LLVMGetNumArgOperands(x->v); a++)
      add_objects(s, hd__races_id(p, LLVMGetOperand(x->v, a)));
  size_t n;
  hd__races_callees(p, i, s->buffer, &n);
  for (size_t k = 0; k < n; k++) {
    uint32_t f = s->buffer[k];
    if (s->called[f]) continue;
    s->called[f] = true;
    for (uint32_t c = p->first_in[f]; c < p->first_in[f + 1]; c++) add(s, c);
  }
}

/* The operand has another value. */
static void follow_use(struct slicer *s, uint32_t i, uint32_t node) {
  const struct program *p = s->e->p;
  const struct instruction *x = &p->in[i];
  LLVMValueRef v = x->v;
  if (LLVMIsALoadInst(v) || LLVMIsAAtomicRMWInst(v) || LLVMIsAAtomicCmpXchgInst(v)) {
    if (hd__races_id(p, LLVMGetOperand(v, 0)) == node) add(s, i);
  } else if (LLVMIsAStoreInst(v)) {
    if (hd__races_id(p, LLVMGetOperand(v, 1)) == node) add(s, i);
  } else if (is_call(v)) {
    if (hd__races_id(p, LLVMGetCalledValue(v)) == node) add(s, i);
    if (!x->external) return;
    for (unsigned a = 0; a < LLVMGetNumArgOperands(v); a++) {
      LLVMValueRef arg = LLVMGetOperand(v, a);
      if (hd__races_id(p, arg) != node) continue;
      bool pointer = LLVMGetTypeKind(LLVMTypeOf(arg)) == LLVMPointerTypeKind;
      if (pointer || !x->known || !(x->known->how & (SHOWS | PURE | ENDS))) add(s, i);
    }
  } else if (LLVMIsATerminatorInst(v) && LLVMGetNumSuccessors(v) > 1) {
    add_branch(s, x);
  }
}

static void close_slice(struct slicer *s) {
  const struct entry *e = s->e;
  while (!s->all && (s->nwork || s->ntodo)) {
    if (s->ntodo) {
      follow_instruction(s, s->todo[--s->ntodo]);
      continue;
    }
    uint32_t node = s->work[--s->nwork];
    for (uint32_t k = e->first_flow[node]; k < e->first_flow[node + 1]; k++) add_value(s, e->flows.v[k].to);
    for (uint32_t k = s->first_user[node]; k < s->first_user[node + 1]; k++) follow_use(s, s->user[k], node);
  }
}

const bool *hd__slice(struct slicer *s, uint32_t function, unsigned line) {
  const struct entry *e = s->e;
  const struct program *p = e->p;
  s->all = s->never || !line;
  s->nwork = s->ntodo = 0;
  memset(s->in, 0, p->nin * sizeof *s->in);
  memset(s->value, 0, (p->nnodes + 1) * sizeof *s->value);
  memset(s->called, 0, (p->nfunctions + 1) * sizeof *s->called);
  for (uint32_t f = 0; f < p->nfunctions && !s->all; f++) {
    if (!e->in[f] || p->alike[f] != p->alike[function]) continue;
    for (uint32_t i = p->first_in[f]; i < p->first_in[f + 1]; i++) {
      const struct instruction *x = &p->in[i];
      struct access a[16];
      /* Those without a line may be at any; variables of the function have none. */
      if (x->line != line && (x->line || LLVMIsAAllocaInst(x->v))) continue;
      if (e->flags[i] & (HD_RACE_UNSTABLE | HD_RACE_ANYTHING)) s->all = true;
      bool tries = x->known && (x->known->how & TRIES);
      unsigned n = hd__races_accesses(p, x, a);
      if (tries) add_value(s, x->id);
      for (unsigned k = 0; k < n; k++)
        if (a[k].how != HD_RACE_WRITE || tries) add_objects(s, a[k].pointer);
    }
  }
  if (!s->all) close_slice(s);
  return s->all ? NULL : s->in;
}

struct slicer *hd__slicer_new(const struct entry *e) {
  const struct program *p = e->p;
  struct slicer *s = hd__races_need(calloc(1, sizeof *s));
  s->e = e;
  s->in = hd__races_need(calloc(p->nin + 1, sizeof *s->in));
  s->value = hd__races_need(calloc(p->nnodes + 1, sizeof *s->value));
  s->called = hd__races_need(calloc(p->nfunctions + 1, sizeof *s->called));
  s->work = hd__races_need(calloc(p->nnodes + 1, sizeof *s->work));
  s->todo = hd__races_need(calloc(p->nin + 1, sizeof *s->todo));
  s->buffer = hd__races_need(calloc(p->nobjects + 2, sizeof *s->buffer));
  s->first_user = hd__races_need(calloc(p->nnodes + 3, sizeof *s->first_user));
  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < p->nin; i++) {
      LLVMValueRef v = p->in[i].v;
      if (!e->in[p->in[i].function]) continue;
      if (LLVMIsAInvokeInst(v) || LLVMIsALandingPadInst(v)) s->never = true;
      for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(v); k++) {
        LLVMValueRef operand = LLVMGetOperand(v, k);
        uint32_t id = LLVMValueIsBasicBlock(operand) ? NONE : hd__races_id(p, operand);
        if (id == NONE) continue;
        if (pass)
          s->user[s->first_user[id + 1]++] = (uint32_t)i;
        else
          s->first_user[id + 2]++;
      }
    }
    if (pass) break;
    for (uint32_t i = 0; i <= p->nnodes; i++) s->first_user[i + 1] += s->first_user[i];
    s->user = hd__races_need(calloc(s->first_user[p->nnodes + 1] + 1, sizeof *s->user));
  }
  return s;
}

void hd__slicer_free(struct slicer *s) {
  free(s->in);
  free(s->value);
  free(s->called);
  free(s->work);
  free(s->todo);
  free(s->buffer);
  free(s->first_user);
  free(s->user);
  free(s);
}
