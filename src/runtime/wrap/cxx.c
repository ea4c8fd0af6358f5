/* cxx.c: streams and strings of C++. Runs in the tested process.
 *
 * The shared library of libstdc++ has the functions of std::ostream, std::istream and (before C++20) std::string for char,
 * compiled without hooks. Where the program calls one (cxx.def), the members that it changes or reads count as accessed by
 * the caller: the width and the pointers into the buffer of a stream, the size and the pointer of a string. The characters
 * are accessed by block functions, or are not seen. std::cout and the other standard streams may be used by several threads.
 * The layout is that of libstdc++ for 64 bits. */
#include <dlfcn.h>

#include "runtime/core/modules.h"
#include "runtime/wrap/access.h"

enum access {
  OUT,
  FORMAT_OUT, /* sets the width to 0, too */
  IN,
  FORMAT_IN,
  STREAM_TEXT, /* returns a string, so the object is the second argument */
  BUFFER_TEXT, /* the same of a buffer */
  BUFFER_SETS,
  TEXT_CHANGES, /* its size, and what it holds */
  TEXT_MOVES,   /* its pointer */
  TEXT_LOOKS,
  TEXT_COPIES /* the second argument */
};

static const struct {
  enum access how;
  const char *name;
} call[] = {
#define HD_CXX(how, number, name, version) [number] = {how, #name},
#include "runtime/wrap/cxx.def"
#undef HD_CXX
};
#define CALLS (sizeof call / sizeof *call)

struct buffer {
  void *vtable;
  char *in[3], *out[3]; /* begin, current, end */
};
struct text {
  char *at;
  size_t size;
};
#define WIDTH 16   /* where std::ios_base has its width, */
#define BUFFER 232 /* and std::ios its buffer */
#define TO_BASE 24 /* before the vtable: the offset of the virtual base */

static bool is_standard(const void *stream) {
  static const char *const name[] = {"_ZSt4cout", "_ZSt4cerr", "_ZSt4clog", "_ZSt3cin"};
  static void *standard[4];
  for (unsigned i = 0; i < 4; i++) {
    if (!standard[i]) standard[i] = dlsym(RTLD_DEFAULT, name[i]);
    if (stream == standard[i]) return true;
  }
  return false;
}

/* A buffer of the program's own class does as it likes. */
static void buffer_access(enum access how, struct buffer *b, uint64_t pc) {
  if (!b || hd__cxx_library((uint64_t)b) || !hd__cxx_library((uint64_t)b->vtable)) return;
  if (how == STREAM_TEXT || how == BUFFER_TEXT)
    hd__reads(b->out, sizeof b->out, pc);
  else if (how == OUT || how == FORMAT_OUT)
    hd__writes(b->out, sizeof b->out, pc);
  else if (how == BUFFER_SETS)
    hd__writes(b->in, sizeof b->in + sizeof b->out, pc);
  else
    hd__writes(b->in, sizeof b->in, pc);
}

static void stream_access(enum access how, char *stream, uint64_t pc) {
  if (is_standard(stream)) return;
  char *ios = stream + *(const long *)(*(char **)stream - TO_BASE);
  if (how == FORMAT_OUT || how == FORMAT_IN) hd__writes(ios + WIDTH, 8, pc);
  buffer_access(how, *(struct buffer **)(ios + BUFFER), pc);
}

void *hd__cxx_call(unsigned number, void *first, void *second, uint64_t pc);
void *hd__cxx_call(unsigned number, void *first, void *second, uint64_t pc) {
  static void *real[CALLS];
  if (!real[number]) real[number] = dlsym(RTLD_NEXT, call[number].name);
  if (!hot.active || !hd__user_text(pc)) return real[number];
  enum access how = call[number].how;
  struct text *text = how == TEXT_COPIES ? second : first;
  switch (how) {
    case TEXT_CHANGES:
      hd__reads(&text->at, sizeof text->at, pc);
      hd__writes(&text->size, sizeof text->size, pc);
      break;
    case TEXT_MOVES: hd__writes(&text->at, sizeof text->at, pc); break;
    case TEXT_LOOKS:
    case TEXT_COPIES: hd__reads(text, sizeof *text, pc); break;
    case STREAM_TEXT: stream_access(how, second, pc); break;
    case BUFFER_TEXT: buffer_access(how, second, pc); break;
    case BUFFER_SETS: buffer_access(how, first, pc); break;
    default: stream_access(how, first, pc); break;
  }
  return real[number];
}
