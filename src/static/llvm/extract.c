/* extract.c: facts about the functions of one unit, from its bitcode, with LLVM's C API. Runs in the supervisor, as a module
 * that is loaded when it is needed.
 *
 * The bitcode is that of the front end, before any optimisation: it says what the source says, however the program was
 * compiled. Objects are named so that two names differ only if the objects do (may-alias): globals by their name, fields by
 * the structure's type, whatever else is behind a pointer by its type. */
#include "static/sink.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hd_facts_reader hd_facts_read_19;

#define VISITS 2000 /* values that the search for what a condition depends on looks at */
#define DEPTH 4     /* calls that it follows */

struct reader {
  const struct hd_fact_sink *sink;
  const char *unit;
};

static const char *name_of(LLVMValueRef v) {
  size_t n;
  return LLVMGetValueName2(v, &n);
}

/* ---- names of objects ---- */

static bool is_internal(LLVMValueRef v) {
  LLVMLinkage l = LLVMGetLinkage(v);
  return l == LLVMInternalLinkage || l == LLVMPrivateLinkage;
}

/* The name of what the pointer points to, for an access of that type; false: a variable of the function. */
static bool object_of(const struct reader *r, LLVMValueRef p, LLVMTypeRef type, char *out, size_t size) {
  for (unsigned i = 0; i < 64; i++) {
    if (LLVMIsAGlobalVariable(p)) {
      if (is_internal(p))
        snprintf(out, size, "%s (%s)", name_of(p), r->unit);
      else
        snprintf(out, size, "%s", name_of(p));
      return true;
    }
    if (LLVMIsAAllocaInst(p)) return false;
    bool gep =
        LLVMIsAGetElementPtrInst(p) || (LLVMIsAConstantExpr(p) && LLVMGetConstOpcode(p) == LLVMGetElementPtr);
    bool cast = LLVMIsACastInst(p) || (LLVMIsAConstantExpr(p) && !gep);
    if (gep) {
      LLVMTypeRef from = LLVMGetGEPSourceElementType(p);
      bool fields = LLVMGetTypeKind(from) == LLVMStructTypeKind && LLVMGetStructName(from);
      if (fields && LLVMGetNumOperands(p) > 2 && LLVMIsAConstantInt(LLVMGetOperand(p, 2))) {
        LLVMValueRef base = LLVMGetOperand(p, 0);
        if (LLVMIsAAllocaInst(base)) return false;
        snprintf(out, size, "%s.%llu", LLVMGetStructName(from),
                 (unsigned long long)LLVMConstIntGetZExtValue(LLVMGetOperand(p, 2)));
        return true;
      }
      p = LLVMGetOperand(p, 0);
    } else if (cast && LLVMGetNumOperands(p) > 0) {
      p = LLVMGetOperand(p, 0);
    } else {
      break;
    }
  }
  char *text = LLVMPrintTypeToString(type);
  snprintf(out, size, "(%s)", text);
  LLVMDisposeMessage(text);
  return true;
}

/* ---- what an instruction does ---- */

static LLVMValueRef callee_of(LLVMValueRef call) {
  LLVMValueRef f = LLVMGetCalledValue(call);
  if (LLVMIsAConstantExpr(f) && LLVMGetNumOperands(f) == 1) f = LLVMGetOperand(f, 0);
  return LLVMIsAFunction(f) ? f : NULL;
}

static bool is_call(LLVMValueRef i) { return LLVMIsACallInst(i) || LLVMIsAInvokeInst(i); }

/* Whether it is a call that the program makes: not of an intrinsic. */
static bool calls(LLVMValueRef i) {
  if (!is_call(i)) return false;
  LLVMValueRef f = callee_of(i);
  return !f || strncmp(name_of(f), "llvm.", 5) != 0;
}

static bool starts(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

/* Locks: which argument of the function is the lock. */
static const struct {
  const char *name;
  unsigned argument;
  enum hd_fact_access how;
} locks[] = {
    {"pthread_mutex_lock", 0, HD_FACT_ACQUIRE},
    {"pthread_mutex_trylock", 0, HD_FACT_ACQUIRE},
    {"pthread_mutex_timedlock", 0, HD_FACT_ACQUIRE},
    {"pthread_mutex_unlock", 0, HD_FACT_RELEASE},
    {"pthread_rwlock_rdlock", 0, HD_FACT_ACQUIRE},
    {"pthread_rwlock_wrlock", 0, HD_FACT_ACQUIRE},
    {"pthread_rwlock_unlock", 0, HD_FACT_RELEASE},
    {"pthread_spin_lock", 0, HD_FACT_ACQUIRE},
    {"pthread_spin_unlock", 0, HD_FACT_RELEASE},
    {"mtx_lock", 0, HD_FACT_ACQUIRE},
    {"mtx_unlock", 0, HD_FACT_RELEASE},
    {"_ZNSt5mutex4lockEv", 0, HD_FACT_ACQUIRE},
    {"_ZNSt5mutex6unlockEv", 0, HD_FACT_RELEASE},
    {"_ZNSt10lock_guardISt5mutexEC2ERS0_", 1, HD_FACT_ACQUIRE},
    {"_ZNSt10lock_guardISt5mutexEC1ERS0_", 1, HD_FACT_ACQUIRE},
};

static void add_locks(const struct reader *r, uint32_t node, LLVMValueRef call, const char *name) {
  char object[512];
  for (size_t i = 0; i < sizeof locks / sizeof *locks; i++)
    if (strcmp(locks[i].name, name) == 0 && LLVMGetNumArgOperands(call) > locks[i].argument &&
        object_of(r, LLVMGetOperand(call, locks[i].argument),
                  LLVMTypeOf(LLVMGetOperand(call, locks[i].argument)), object, sizeof object))
      r->sink->access(r->sink->arg, node, object, locks[i].how);
}

static void add_call(const struct reader *r, uint32_t node, LLVMValueRef call) {
  const struct hd_fact_sink *s = r->sink;
  LLVMValueRef f = callee_of(call);
  if (!f) {
    char *type = LLVMPrintTypeToString(LLVMGetCalledFunctionType(call));
    if (!LLVMIsAInlineAsm(LLVMGetCalledValue(call))) s->call(s->arg, node, NULL, type, HD_FACT_INDIRECT);
    LLVMDisposeMessage(type);
    return;
  }
  const char *name = name_of(f);
  s->call(s->arg, node, name, NULL, 0);
  add_locks(r, node, call, name);
  if (!LLVMIsDeclaration(f)) return;
  /* A library that gets a function may call it; some start a thread with it. */
  bool spawns = strcmp(name, "pthread_create") == 0 || strcmp(name, "thrd_create") == 0;
  if (starts(name, "_ZNSt6thread15_M_start_thread")) {
    s->call(s->arg, node, NULL, "void (ptr)", HD_FACT_INDIRECT | HD_FACT_SPAWNS);
    return;
  }
  bool given = false;
  for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
    LLVMValueRef a = LLVMGetOperand(call, i);
    if (!LLVMIsAFunction(a)) continue;
    s->call(s->arg, node, name_of(a), NULL, spawns ? HD_FACT_SPAWNS : 0);
    given = true;
  }
  if (spawns && !given)
    s->call(s->arg, node, NULL, strcmp(name, "thrd_create") == 0 ? "i32 (ptr)" : "ptr (ptr)",
            HD_FACT_INDIRECT | HD_FACT_SPAWNS);
}

static void add_access(const struct reader *r, uint32_t node, LLVMValueRef p, LLVMTypeRef type,
                       enum hd_fact_access how) {
  char object[512];
  if (object_of(r, p, type, object, sizeof object)) r->sink->access(r->sink->arg, node, object, how);
}

static void add_accesses(const struct reader *r, uint32_t node, LLVMValueRef i) {
  if (LLVMIsALoadInst(i)) add_access(r, node, LLVMGetOperand(i, 0), LLVMTypeOf(i), HD_FACT_READ);
  if (LLVMIsAStoreInst(i))
    add_access(r, node, LLVMGetOperand(i, 1), LLVMTypeOf(LLVMGetOperand(i, 0)), HD_FACT_WRITE);
  if (LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i)) {
    LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(i, 1));
    add_access(r, node, LLVMGetOperand(i, 0), type, HD_FACT_READ);
    add_access(r, node, LLVMGetOperand(i, 0), type, HD_FACT_WRITE);
  }
  if (!is_call(i)) return;
  LLVMValueRef f = callee_of(i);
  const char *name = f ? name_of(f) : "";
  bool copies = starts(name, "llvm.memcpy") || starts(name, "llvm.memmove");
  if (copies) add_access(r, node, LLVMGetOperand(i, 1), LLVMTypeOf(LLVMGetOperand(i, 1)), HD_FACT_READ);
  if (copies || starts(name, "llvm.memset"))
    add_access(r, node, LLVMGetOperand(i, 0), LLVMTypeOf(LLVMGetOperand(i, 0)), HD_FACT_WRITE);
}

/* ---- what a condition depends on ---- */

struct visit {
  const struct reader *r;
  uint32_t node;
  unsigned n;
  LLVMValueRef seen[VISITS];
};

static void visit(struct visit *v, LLVMValueRef value, unsigned depth);

/* What the function returns. */
static void visit_returns(struct visit *v, LLVMValueRef f, unsigned depth) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
    LLVMValueRef t = LLVMGetBasicBlockTerminator(b);
    if (t && LLVMIsAReturnInst(t) && LLVMGetNumOperands(t) == 1) visit(v, LLVMGetOperand(t, 0), depth);
  }
}

/* What callers pass. */
static void visit_argument(struct visit *v, LLVMValueRef argument, unsigned depth) {
  LLVMValueRef f = LLVMGetParamParent(argument);
  unsigned k = 0;
  while (k < LLVMCountParams(f) && LLVMGetParam(f, k) != argument) k++;
  for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
    LLVMValueRef call = LLVMGetUser(u);
    if (is_call(call) && callee_of(call) == f && LLVMGetNumArgOperands(call) > k)
      visit(v, LLVMGetOperand(call, k), depth);
  }
}

static void visit(struct visit *v, LLVMValueRef value, unsigned depth) {
  if (v->n == VISITS || depth > DEPTH) return;
  for (unsigned i = 0; i < v->n; i++)
    if (v->seen[i] == value) return;
  v->seen[v->n++] = value;
  if (LLVMIsAArgument(value)) {
    visit_argument(v, value, depth + 1);
    return;
  }
  if (!LLVMIsAInstruction(value)) return;
  if (LLVMIsALoadInst(value)) {
    LLVMValueRef p = LLVMGetOperand(value, 0);
    if (!LLVMIsAAllocaInst(p)) {
      add_access(v->r, v->node, p, LLVMTypeOf(value), HD_FACT_CONDITION);
      return;
    }
    for (LLVMUseRef u = LLVMGetFirstUse(p); u; u = LLVMGetNextUse(u)) {
      LLVMValueRef store = LLVMGetUser(u);
      if (LLVMIsAStoreInst(store) && LLVMGetOperand(store, 1) == p) visit(v, LLVMGetOperand(store, 0), depth);
    }
    return;
  }
  if (LLVMIsAAtomicRMWInst(value) || LLVMIsAAtomicCmpXchgInst(value)) {
    add_access(v->r, v->node, LLVMGetOperand(value, 0), LLVMTypeOf(LLVMGetOperand(value, 1)),
               HD_FACT_CONDITION);
    return;
  }
  if (is_call(value)) {
    LLVMValueRef f = callee_of(value);
    if (f && !LLVMIsDeclaration(f)) visit_returns(v, f, depth + 1);
    return;
  }
  for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(value); i++)
    if (!LLVMValueIsBasicBlock(LLVMGetOperand(value, i))) visit(v, LLVMGetOperand(value, i), depth);
}

static void add_condition(const struct reader *r, uint32_t node, LLVMValueRef t) {
  static struct visit v; /* large */
  v.r = r;
  v.node = node;
  v.n = 0;
  if (LLVMIsABranchInst(t) && LLVMIsConditional(t)) visit(&v, LLVMGetCondition(t), 0);
  if (LLVMIsASwitchInst(t)) visit(&v, LLVMGetOperand(t, 0), 0);
}

/* ---- a function ---- */

struct block {
  LLVMBasicBlockRef at;
  uint32_t first, last;
};

static struct block *find_block(struct block *b, unsigned n, LLVMBasicBlockRef at) {
  for (unsigned i = 0; i < n; i++)
    if (b[i].at == at) return &b[i];
  return NULL;
}

static void read_block(const struct reader *r, struct block *b, unsigned first_line) {
  const struct hd_fact_sink *s = r->sink;
  unsigned line = first_line, column = 0;
  bool open = false, called = false;
  uint32_t node = 0;
  for (LLVMValueRef i = LLVMGetFirstInstruction(b->at); i; i = LLVMGetNextInstruction(i)) {
    LLVMMetadataRef at = LLVMInstructionGetDebugLoc(i);
    unsigned l = at ? LLVMDILocationGetLine(at) : line, c = at ? LLVMDILocationGetColumn(at) : column;
    if (!l) l = line, c = column;
    if (!open || called || l != line || c != column) {
      uint32_t next = s->node(s->arg, l, c);
      if (open)
        s->edge(s->arg, node, next);
      else
        b->first = next;
      node = next;
      open = true;
      called = false;
      line = l;
      column = c;
    }
    add_accesses(r, node, i);
    if (calls(i)) {
      add_call(r, node, i);
      called = true;
    }
  }
  b->last = node;
}

static void read_function(const struct reader *r, LLVMValueRef f) {
  const struct hd_fact_sink *s = r->sink;
  LLVMMetadataRef sub = LLVMGetSubprogram(f);
  LLVMMetadataRef file = sub ? LLVMDIScopeGetFile(sub) : NULL;
  unsigned line = sub ? LLVMDISubprogramGetLine(sub) : 0, n = LLVMCountBasicBlocks(f), flags = 0, len = 0,
           dlen = 0;
  const char *name = file ? LLVMDIFileGetFilename(file, &len) : "",
             *dir = file ? LLVMDIFileGetDirectory(file, &dlen) : "";
  char path[4096];
  bool absolute = len && name[0] == '/';
  snprintf(path, sizeof path, "%.*s%s%.*s", absolute ? 0 : (int)dlen, dir, absolute || !dlen ? "" : "/",
           (int)len, name);
  for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
    LLVMValueRef user = LLVMGetUser(u);
    if (!is_call(user) || callee_of(user) != f) flags |= HD_FACT_ADDRESS;
    for (unsigned i = 0; is_call(user) && i < LLVMGetNumArgOperands(user); i++)
      if (LLVMGetOperand(user, i) == f) flags |= HD_FACT_ADDRESS;
  }
  if (is_internal(f)) flags |= HD_FACT_INTERNAL;
  char *type = LLVMPrintTypeToString(LLVMGlobalGetValueType(f));
  s->function(s->arg, name_of(f), path, line, type, flags);
  LLVMDisposeMessage(type);
  struct block *block = calloc(n ? n : 1, sizeof *block);
  unsigned k = 0;
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
    block[k].at = b;
    read_block(r, &block[k++], line);
  }
  for (unsigned i = 0; i < k; i++) {
    LLVMValueRef t = LLVMGetBasicBlockTerminator(block[i].at);
    unsigned successors = t ? LLVMGetNumSuccessors(t) : 0;
    for (unsigned j = 0; j < successors; j++) {
      struct block *to = find_block(block, k, LLVMGetSuccessor(t, j));
      if (to) s->edge(s->arg, block[i].last, to->first);
    }
    if (successors > 1) {
      s->flags(s->arg, block[i].last, HD_FACT_BRANCHES);
      add_condition(r, block[i].last, t);
    }
    if (t && (LLVMIsAReturnInst(t) || LLVMIsAResumeInst(t))) s->flags(s->arg, block[i].last, HD_FACT_RETURNS);
  }
  free(block);
}

/* ---- a unit ---- */

static void on_diagnostic(LLVMDiagnosticInfoRef d, void *arg) {
  char *text = LLVMGetDiagInfoDescription(d), *message = arg;
  snprintf(message, 256, "%s", text);
  LLVMDisposeMessage(text);
}

int hd_facts_read_19(const void *bitcode, size_t size, const struct hd_fact_sink *sink, char *message,
                     size_t message_size) {
  char problem[256] = "it is not bitcode";
  LLVMContextRef context = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(context, on_diagnostic, problem);
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(bitcode, size, "unit");
  LLVMModuleRef module = NULL;
  bool bad = LLVMParseBitcodeInContext2(context, buffer, &module);
  LLVMDisposeMemoryBuffer(buffer);
  if (bad) {
    snprintf(message, message_size, "%s", problem);
  } else {
    size_t n;
    struct reader r = {sink, LLVMGetSourceFileName(module, &n)};
    sink->unit(sink->arg, r.unit);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
      if (!LLVMIsDeclaration(f)) read_function(&r, f);
    LLVMDisposeModule(module);
  }
  LLVMContextDispose(context);
  return bad ? -1 : 0;
}
