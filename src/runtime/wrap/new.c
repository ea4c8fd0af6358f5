/* new.c: operator new. Runs in the tested process.
 *
 * The C++ library's own calls malloc in its turn. Here the block belongs to the code that called operator new, so that an
 * access which nothing orders after the allocation is a data race, as with malloc. A program that replaces operator new
 * never gets here; one that replaces malloc gets the original, whose operator delete calls the program's free. Like those of wrap/exception.c, the functions have the symbol versions of the originals, and have no
 * effect with -static-libstdc++. */
#include <dlfcn.h>

#include "runtime/core/core.h"
#include "runtime/memory/memory.h"

/* If there is no memory, the original calls the handler of std::set_new_handler, and throws. */
#define OPERATOR_NEW(name, symbol, version, params, args, align)                                    \
  HD_EXPORT void *hd_rt_##name params;                                                              \
  HD_STANDS_FOR(hd_rt_##name, symbol "@" version);                                                  \
  void *hd_rt_##name params {                                                                       \
    static void *(*real)params;                                                                     \
    void *p = NULL;                                                                                 \
    if (hd__heap_on && !hd__malloc_replaced()) p = hd__malloc_aligned(n ? n : 1, align, HD_CALLER); \
    if (HD_LIKELY(p != NULL)) return p;                                                             \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, symbol);                                          \
    return real args;                                                                               \
  }

#define FORMS(name, mangled)                                                                              \
  OPERATOR_NEW(name, mangled "m", "GLIBCXX_3.4", (size_t n), (n), 16)                                     \
  OPERATOR_NEW(name##_nothrow, mangled "mRKSt9nothrow_t", "GLIBCXX_3.4", (size_t n, const void *nothrow), \
               (n, nothrow), 16)                                                                          \
  OPERATOR_NEW(name##_aligned, mangled "mSt11align_val_t", "CXXABI_1.3.11", (size_t n, size_t align),     \
               (n, align), align)                                                                         \
  OPERATOR_NEW(name##_aligned_nothrow, mangled "mSt11align_val_tRKSt9nothrow_t", "CXXABI_1.3.11",         \
               (size_t n, size_t align, const void *nothrow), (n, align, nothrow), align)
FORMS(new, "_Znw")
FORMS(new_array, "_Zna")
