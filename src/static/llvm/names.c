/* names.c: what functions and variables of the bitcode are called in the program, for pruning by data races. With LLVM's C API;
 * runs in the supervisor, as a part of the module.
 *
 * Linking gives other names to static functions and variables of units that have the same one. The debug information of the
 * program has the names of the source, so functions of one name are one: what is said of their lines is true of all of them.
 * Variables of one name cannot be told apart. */
#include "static/llvm/races_int.h"

#include <llvm-c/Target.h>
#include <stdio.h>
#include <string.h>

#define MARK '\1' /* in names: what follows it tells static ones of one name apart */

static void mark(LLVMValueRef v, size_t number) {
  if (LLVMGetLinkage(v) != LLVMInternalLinkage && LLVMGetLinkage(v) != LLVMPrivateLinkage) return;
  size_t n, size;
  const char *name = LLVMGetValueName2(v, &n);
  char *marked = hd__races_need(malloc(size = n + 24));
  snprintf(marked, size, "%s%c%zu", name, MARK, number);
  LLVMSetValueName2(v, marked, strlen(marked));
  free(marked);
}

void hd__races_mark(LLVMModuleRef unit, size_t number) {
  for (LLVMValueRef f = LLVMGetFirstFunction(unit); f; f = LLVMGetNextFunction(f)) mark(f, number);
  for (LLVMValueRef g = LLVMGetFirstGlobal(unit); g; g = LLVMGetNextGlobal(g)) mark(g, number);
}

/* The name in the source; the caller frees. */
static char *plain(LLVMValueRef v) {
  char *name = hd__races_need(strdup(hd__races_name(v)));
  name[strcspn(name, (char[]){MARK, 0})] = 0;
  return name;
}

/* ---- functions ---- */

static int by_text(const void *a, const void *b) { return strcmp(**(char ***)a, **(char ***)b); }

void hd__races_alike(struct program *p) {
  char ***v = hd__races_need(calloc(p->nfunctions + 1, sizeof *v));
  p->name = hd__races_need(calloc(p->nfunctions + 1, sizeof *p->name));
  p->alike = hd__races_need(calloc(p->nfunctions + 1, sizeof *p->alike));
  for (uint32_t k = 0; k < p->nfunctions; k++) v[k] = &p->name[k], p->name[k] = plain(p->function[k]);
  if (p->nfunctions) qsort(v, p->nfunctions, sizeof *v, by_text);
  for (size_t i = 0, first = 0; i < p->nfunctions; i++) {
    if (strcmp(*v[i], *v[first]) != 0) first = i;
    p->alike[v[i] - p->name] = (uint32_t)(v[first] - p->name);
  }
  free(v);
}

/* ---- variables ---- */

/* Whether some other variable has its name in the source. */
static bool is_shared_name(const struct program *p, LLVMValueRef g) {
  const char *name = hd__races_name(g), sentinel[] = {MARK, 0};
  size_t n = strcspn(name, sentinel);
  for (LLVMValueRef k = LLVMGetFirstGlobal(p->module); k; k = LLVMGetNextGlobal(k)) {
    const char *other = hd__races_name(k);
    if (k != g && strcspn(other, sentinel) == n && strncmp(name, other, n) == 0) return true;
  }
  return false;
}

char *hd__races_variable(const struct program *p, LLVMValueRef g) {
  return is_shared_name(p, g) ? hd__races_need(calloc(1, 1)) : plain(g);
}

void hd__races_variables(struct program *p) {
  p->variable = hd__races_need(calloc(p->nobjects + 1, sizeof *p->variable));
  for (uint32_t o = 1; o < p->nobjects; o++) {
    LLVMValueRef g = p->object[o];
    if (!LLVMIsAGlobalVariable(g) || !LLVMGetInitializer(g) || LLVMIsThreadLocal(g) ||
        LLVMIsGlobalConstant(g))
      continue;
    char *name = hd__races_variable(p, g);
    p->variable[o] = *name != 0;
    if (*name)
      p->sink->variable(p->sink->arg, o, name,
                        LLVMABISizeOfType(LLVMGetModuleDataLayout(p->module), LLVMGlobalGetValueType(g)));
    free(name);
  }
}
