/* exception.c: uncaught C++ exceptions. Runs in the tested process.
 *
 * std::terminate calls our handler, on the thread at fault and with the exception still active, in place of the
 * library's own handler, which prints and aborts. Ours calls a handler that the program has set, and its behaviour
 * counts: if it exits, the program exits; if it aborts or returns, that is the finding. The places where the last
 * few exceptions were thrown are kept, since by the time of std::terminate the stack may be unwound.
 *
 * Everything is looked up by name when it is there: the runtime links no C++ library. The layout of exceptions is
 * that of the Itanium C++ ABI, which libstdc++ and libc++ share. Our functions have the symbol versions of
 * libstdc++'s, so that the dynamic linker binds to them but a static linker does not: with -static-libstdc++ the
 * library's own must be linked (then this file has no effect, and an uncaught exception is an abort). */
#include <dlfcn.h>

#include "runtime/core/fingerprint.h"
#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/modules.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

/* ---- where exceptions were thrown ---- */

#define THROWN 64
static HD_EXEC_LARGE struct thrown {
  uint64_t object, site, again; /* again: where it was last rethrown, 0 if it was not */
  uint32_t epoch;
} thrown[THROWN];
static HD_EXEC unsigned nthrown;

static struct thrown *find_thrown(uint64_t object) {
  for (unsigned i = 0; i < THROWN; i++)
    if (thrown[i].object == object && thrown[i].epoch == rt.epoch) return &thrown[i];
  return NULL;
}

/* The program's own call that led to one made by libstdc++ (std::vector::at). */
static uint64_t user_call(uint64_t pc) { return hd__user_pc(pc, (uint64_t)__builtin_frame_address(0)); }

static void note_throw(void *object, uint64_t pc) {
  uint64_t site = hd__site_here(user_call(pc));
  struct thrown *t = find_thrown((uint64_t)object); /* its address may be reused */
  if (!t) t = &thrown[nthrown++ % THROWN];
  *t = (struct thrown){.object = (uint64_t)object, .site = site, .epoch = rt.epoch};
}

static void note_rethrow(void *object, uint64_t pc) {
  struct thrown *t = find_thrown((uint64_t)object);
  if (t) t->again = hd__site_here(user_call(pc));
}

/* ---- the exception that is being handled ---- */

static struct {
  void *(*current_type)(void);
  void **(*current_exception)(void **); /* returns an exception_ptr, in memory of the caller */
  void (*release)(void **);             /* its destructor */
  void **(*globals)(void);
  void *vtable_class, *vtable_single, *vtable_several; /* of the three kinds of class types */
  const struct type *exception;                        /* std::exception */
} cxx;

struct type {
  void *vtable;
  const char *name;
};
struct type_single {
  struct type type;
  const struct type *base;
};
struct type_several {
  struct type type;
  uint32_t flags, nbases;
  struct {
    const struct type *base;
    long offset_flags; /* from bit 8: offset, or where the vtable has it; bit 0: virtual, bit 1: public */
  } base[];
};

static void *base_of(const struct type *type, char *object, const struct type *wanted) {
  if (type == wanted || hd__streq(type->name, wanted->name)) return object;
  void *kind = (char *)type->vtable - 2 * sizeof(void *);
  if (kind == cxx.vtable_single) return base_of(((const struct type_single *)type)->base, object, wanted);
  if (kind != cxx.vtable_several) return NULL;
  const struct type_several *t = (const struct type_several *)type;
  for (uint32_t i = 0; i < t->nbases; i++) {
    long flags = t->base[i].offset_flags, offset = flags >> 8;
    if (!(flags & 2)) continue;
    if (flags & 1) offset = *(long *)(*(char **)object + offset);
    void *found = base_of(t->base[i].base, object + offset, wanted);
    if (found) return found;
  }
  return NULL;
}

/* The text of its what(), or NULL if it has none. This runs code of the program, as the library's own handler does. */
static const char *what(const struct type *type, void *object) {
  if (!cxx.exception || !cxx.vtable_class) return NULL;
  void *kind = (char *)type->vtable - 2 * sizeof(void *);
  if (kind != cxx.vtable_class && kind != cxx.vtable_single && kind != cxx.vtable_several) return NULL;
  void *e = base_of(type, object, cxx.exception);
  if (!e) return NULL;
  const char *(**functions)(void *) = *(const char *(***)(void *))e;
  return functions[2](e); /* after the two destructors */
}

/* The unwinder's header of the topmost exception being handled. Its last word is set when the search for a handler
 * has found one. The first word identifies the language, and with that where the exception is. */
static uint64_t *unwind_header(void) {
  static const struct {
    uint64_t class, offset;
  } owner[] = {{0x474e5543432b2b, 0x50}, {0x434c4e47432b2b, 0x60}};
  char *top = cxx.globals ? *cxx.globals() : NULL;
  for (unsigned i = 0; top && i < 2; i++) { /* "GNUCC++", "CLNGC++" */
    uint64_t *header = (uint64_t *)(top + owner[i].offset);
    if (header[0] >> 8 == owner[i].class) return header;
  }
  return NULL;
}

static void *current_object(void) {
  void *object = NULL, *pointer = NULL;
  if (cxx.current_exception) cxx.current_exception(&pointer);
  object = pointer;
  if (pointer && cxx.release) cxx.release(&pointer); /* the handler holds a reference too */
  return object;
}

_Noreturn static void report(uint64_t pc) {
  struct hd_thread *t = rt.cur;
  const struct type *type = cxx.current_type ? cxx.current_type() : NULL;
  if (!type) {
    hd__report_simple(HD_KIND_ABORT, 0, pc, "std::terminate was called without an active exception", true);
    __builtin_unreachable();
  }
  void *object = current_object();
  bool again = t->exit.terminating == 2; /* what() has failed too */
  t->exit.terminating = 2;
  const char *text = object && !again ? what(type, object) : NULL;
  const struct thrown *from = find_thrown((uint64_t)object);
  uint64_t *header = unwind_header();
  uint64_t at = from ? hd__site_pc(from->again ? from->again : from->site) : pc;
  struct hd_finding_rec *f = hd__finding(HD_KIND_EXCEPTION, at, 0);
  if (f) {
    struct hd_site *s = hd__finding_site(f, HD_ROLE_AT, t->id, HD_OP_NONE);
    if (from)
      hd__site_stored(s, from->again ? from->again : from->site);
    else
      hd__site_stack(s, t, pc);
    if (from && from->again)
      hd__site_stored(hd__finding_site(f, HD_ROLE_THROWN, t->id, HD_OP_NONE), from->site);
    f->status = header && header[3];
    hd__format(f->text, sizeof f->text, "%s\n%s", type->name + (type->name[0] == '*'), text ? text : "");
    hd__finding_done(f, true);
  }
  hd__thread_stop();
}

/* ---- std::terminate ---- */

static HD_EXEC hd_handler program_handler; /* set by the program; the library's at first */
static hd_handler program_handler_mark;
static hd_handler library_handler;
static bool installed;

void hd__terminated(uint64_t pc) {
  if (rt.cur->exit.terminating) report(pc);
}

static void hd_rt_terminate(void) {
  uint64_t pc = user_call(HD_CALLER);
  if (!hot.active) {
    program_handler();
    return;
  }
  bool ours = program_handler == library_handler || rt.cur->exit.terminating;
  if (!rt.cur->exit.terminating) rt.cur->exit.terminating = 1;
  if (!ours) program_handler();
  report(pc);
}

static void look_up(void) {
  *(void **)&cxx.current_type = dlsym(RTLD_DEFAULT, "__cxa_current_exception_type");
  if (!cxx.current_type) return;
  *(void **)&cxx.current_exception = dlsym(RTLD_DEFAULT, "_ZSt17current_exceptionv");
  *(void **)&cxx.release = dlsym(RTLD_DEFAULT, "_ZNSt15__exception_ptr13exception_ptrD1Ev");
  *(void **)&cxx.globals = dlsym(RTLD_DEFAULT, "__cxa_get_globals");
  cxx.vtable_class = dlsym(RTLD_DEFAULT, "_ZTVN10__cxxabiv117__class_type_infoE");
  cxx.vtable_single = dlsym(RTLD_DEFAULT, "_ZTVN10__cxxabiv120__si_class_type_infoE");
  cxx.vtable_several = dlsym(RTLD_DEFAULT, "_ZTVN10__cxxabiv121__vmi_class_type_infoE");
  cxx.exception = dlsym(RTLD_DEFAULT, "_ZTISt9exception");
  *(void **)&library_handler = dlsym(RTLD_DEFAULT, "_ZN9__gnu_cxx27__verbose_terminate_handlerEv");
}

void hd__terminate_mark(void) {
  hd__private_depth++; /* memory for the text of an error must not come from the program's heap */
  look_up();
  hd__private_depth--;
  if (!real__ZSt13set_terminatePFvvE || !cxx.current_type) return;
  if (!installed) program_handler = real__ZSt13set_terminatePFvvE(hd_rt_terminate);
  if (!library_handler) library_handler = program_handler;
  program_handler_mark = program_handler;
  installed = true;
}

void hd__terminate_begin(void) { program_handler = program_handler_mark; }

HD_EXPORT hd_handler hd_rt_set_terminate(hd_handler fn);
HD_STANDS_FOR(hd_rt_set_terminate, "_ZSt13set_terminatePFvvE@GLIBCXX_3.4");
hd_handler hd_rt_set_terminate(hd_handler fn) {
  if (!installed) {
    hd__real_init();
    return real__ZSt13set_terminatePFvvE(fn);
  }
  hd__uncaptured(HD_UNCAPTURED_LIBRARY);
  hd_handler old = program_handler;
  program_handler = fn && fn != hd_rt_terminate ? fn : library_handler; /* std::get_terminate returns ours */
  return old;
}

/* ---- throwing ---- */

HD_EXPORT void hd_rt_throw(void *object, void *type, void (*destroy)(void *));
HD_STANDS_FOR(hd_rt_throw, "__cxa_throw@CXXABI_1.3");
void hd_rt_throw(void *object, void *type, void (*destroy)(void *)) {
  hd__real_init();
  if (hot.active) note_throw(object, HD_CALLER);
  real___cxa_throw(object, type, destroy);
}

HD_EXPORT void hd_rt_rethrow(void);
HD_STANDS_FOR(hd_rt_rethrow, "__cxa_rethrow@CXXABI_1.3");
void hd_rt_rethrow(void) {
  hd__real_init();
  if (hot.active) {
    note_rethrow(current_object(), HD_CALLER);
    uint64_t *header = unwind_header();
    if (header) header[3] = 0; /* the search for a handler starts over */
  }
  real___cxa_rethrow();
}

/* std::rethrow_exception; an exception_ptr is passed by its address. */
HD_EXPORT void hd_rt_rethrow_exception(void **exception);
HD_STANDS_FOR(hd_rt_rethrow_exception,
              "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE@CXXABI_1.3.3");
void hd_rt_rethrow_exception(void **exception) {
  hd__real_init();
  if (hot.active) note_rethrow(*exception, HD_CALLER);
  real__ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE(exception);
}
