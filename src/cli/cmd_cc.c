/* cmd_cc.c: `heddle cc` and `heddle c++`, drop-in compilers over gcc and clang.
 *
 * Runs in the supervisor, which execs the real compiler, so output and exit status are the compiler's own. Rules:
 *  1. Compiling adds the compiler's thread instrumentation: a call before every access that may be shared.
 *     A read-modify-write stays two accesses, and volatile accesses are distinguished, with both compilers.
 *  2. Linking puts libheddle_rt.so first, so that it precedes libc in the search order, and excludes ThreadSanitizer's
 *     own runtime.
 *  3. A plug-in instruments the accesses that the compiler's instrumentation misses, where one fits the compiler.
 *  4. With --branches, the compiler's coverage instrumentation calls the runtime in every block of the program. (That
 *     of comparisons would miss those of pointers.)
 *  5. Nothing is added to a line that only queries the compiler, and no option that the line does not use (clang warns
 *     about unused options). Heddle's options come first, so that the user's override them. */
#include "abi/facts.h"
#include "abi/shadowed.h"
#include "cli/cc_args.h"
#include "cli/cli.h"
#include "session/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct compiler {
  hd_words words; /* as given: "gcc", or "ccache gcc" */
  char *path;     /* of words[0] */
  bool clang;
};

static const char help[] =
    "usage: heddle %s [--heddle-compiler=NAME] [compiler options] files\n"
    "\n"
    "Compiles and links like gcc (or clang), so that `heddle check` can control the program. Started on its own,\n"
    "it is an ordinary program.\n"
    "\n"
    "  --heddle-compiler=NAME   the compiler to use: gcc, clang, gcc-12, /opt/bin/clang++, \"ccache gcc\"\n"
    "  --branches               also records branches, so that `heddle predict` knows which reads matter\n"
    "  --facts                  keep facts about the code in the objects, for heddle aim (needs clang-19)\n"
    "  --symbolic               follow inputs through the program, for heddle concolic (needs clang-19)\n"
    "  --help                   this text\n"
    "\n"
    "Everything else is passed to the compiler unchanged. Not supported: -static (a static program cannot be\n"
    "controlled), 32-bit code, and sanitizers with a runtime of their own (-fsanitize=address and the like;\n"
    "-fsanitize=undefined is fine). A file compiled with -fno-sanitize=thread is not instrumented: Heddle\n"
    "then sees its locks and threads, but not its memory accesses.\n"
    "\n"
    "Environment: HEDDLE_CC is the compiler for `heddle cc`, HEDDLE_CXX the one for `heddle c++`. Defaults are\n"
    "gcc and g++. As one word, for build systems that need one: heddle-cc and heddle-c++. HEDDLE_PLUGIN=no\n"
    "compiles without Heddle's plug-in for the compiler, as if there were none for its version.\n";

/* ---- choosing the compiler ---- */

static hd_words split_words(const char *s) {
  hd_words out = {0};
  for (;;) {
    s += strspn(s, " \t");
    size_t n = strcspn(s, " \t");
    if (!n) return out;
    hd_vec_push(&out, hd_strndup(s, n));
    s += n;
  }
}

/* The C++ compiler that belongs to the C compiler in `spec` (gcc-12 to g++-12), or NULL. */
static char *cxx_sibling(const char *spec) {
  static const struct {
    const char *cc, *cxx;
  } pairs[] = {{"clang", "clang++"}, {"gcc", "g++"}, {"cc", "c++"}};
  size_t last = strlen(spec);
  while (last && spec[last - 1] != '/' && spec[last - 1] != ' ') last--;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    const char *at = strstr(spec + last, pairs[i].cc);
    if (!at) continue;
    const char *tail = at + strlen(pairs[i].cc);
    if (tail[0] == '+') return NULL; /* it is a C++ compiler already */
    return hd_sprintf("%.*s%s%s", (int)(at - spec), spec, pairs[i].cxx, tail);
  }
  return NULL;
}

static char *find_in_path(const char *name) {
  if (strchr(name, '/')) return access(name, X_OK) == 0 ? hd_strdup(name) : NULL;
  const char *path = getenv("PATH");
  if (!path) path = "/usr/local/bin:/usr/bin:/bin";
  for (;;) {
    size_t n = strcspn(path, ":");
    char *full = hd_sprintf("%.*s%s%s", (int)n, path, n ? "/" : "./", name);
    if (access(full, X_OK) == 0) return full;
    free(full);
    if (!path[n]) return NULL;
    path += n + 1;
  }
}

/* Queries a compiler with an ambiguous name ("cc") whether it is clang. */
static bool says_clang(const struct compiler *c) {
  char *text = hd__cc_ask(&c->words, c->path, "--version");
  bool yes = strstr(text, "clang") != NULL;
  free(text);
  return yes;
}

static bool is_clang(const struct compiler *c) {
  for (size_t i = c->words.n; i-- > 0;) { /* "ccache gcc": the last word is the compiler */
    const char *name = hd_base_name(c->words.v[i]);
    if (strstr(name, "clang")) return true;
    if (strstr(name, "gcc") || strstr(name, "g++")) return false;
  }
  return says_clang(c);
}

/* The compiler whose bitcode src/static/llvm reads, and that makes symbolic shadows. */
#define OUR_VERSION "19"
#define OUR_CC "clang-" OUR_VERSION
#define OUR_CXX "clang++-" OUR_VERSION

/* For --facts and --symbolic, which are the plug-in's work. */
static int check_version(const struct compiler *c, const char *option, struct hd_err *err) {
  char *version = c->clang ? hd__cc_ask(&c->words, c->path, "-dumpversion") : NULL;
  bool fits = version && hd__starts_with(version, OUR_VERSION ".");
  free(version);
  if (!fits)
    return hd_fail(err, HD_EUSAGE, "%s needs " OUR_CC ", not %s: install it, or leave %s out", option,
                   c->words.v[c->words.n - 1], option);
  char *plugin = hd__cc_plugin(&c->words, c->path, true, hd_libdir());
  free(plugin);
  if (!plugin)
    return hd_fail(err, HD_EENV,
                   "%s needs Heddle's plug-in for " OUR_CC ": install llvm-" OUR_VERSION
                   "-dev, build Heddle again, and install it",
                   option);
  return 0;
}

static int check_options(const struct compiler *c, const struct hd_cc_args *a, struct hd_err *err) {
  if (a->facts) setenv(HD_FACTS_ENV, "1", 1);
  if (a->symbolic) setenv(HD_SHADOWED_ENV, "1", 1);
  int rc = a->facts ? check_version(c, "--facts", err) : 0;
  return rc == 0 && a->symbolic ? check_version(c, "--symbolic", err) : rc;
}

/* gcc; clang where there is only that. */
static const char *usual_compiler(bool cxx) {
  const char *gcc = cxx ? "g++" : "gcc", *clang = cxx ? "clang++" : "clang";
  char *first = find_in_path(gcc), *second = first ? NULL : find_in_path(clang);
  const char *name = second ? clang : gcc;
  free(first);
  free(second);
  return name;
}

/* Command line, then environment, then the usual one; fills in `c`. */
static int choose_compiler(struct compiler *c, const struct hd_cc_args *a, bool cxx, struct hd_err *err) {
  const char *option = a->compiler;
  bool ours = a->facts || a->symbolic;
  const char *variable = cxx ? "HEDDLE_CXX" : "HEDDLE_CC";
  const char *spec = option;
  char *sibling = NULL;
  if (spec && cxx && (sibling = cxx_sibling(spec))) spec = sibling;
  if (!spec) spec = getenv(variable);
  if ((!spec || !*spec) && cxx && (spec = getenv("HEDDLE_CC")) && *spec) spec = sibling = cxx_sibling(spec);
  if (!option && (!spec || !*spec)) spec = ours ? (cxx ? OUR_CXX : OUR_CC) : usual_compiler(cxx);

  c->words = split_words(spec);
  free(sibling);
  if (!c->words.n) return hd_fail(err, HD_EUSAGE, "--heddle-compiler= needs the name of a compiler");
  c->path = find_in_path(c->words.v[0]);
  if (!c->path) {
    return hd_fail(err, HD_EENV,
                   "compiler %s not found; install it, or name another one with %s or --heddle-compiler=",
                   c->words.v[0], variable);
  }
  char *mine = realpath("/proc/self/exe", NULL), *its = realpath(c->path, NULL);
  bool self = mine && its && strcmp(mine, its) == 0;
  free(mine);
  free(its);
  if (self) {
    return hd_fail(err, HD_EUSAGE,
                   "%s is heddle itself; name the real compiler with %s or --heddle-compiler=", c->words.v[0],
                   variable);
  }
  c->clang = is_clang(c);
  return check_options(c, a, err);
}

/* ---- the command ---- */

static void add(hd_words *out, const char *const *list) {
  for (; *list; list++) hd_vec_push(out, (char *)*list);
}

/* Adds the plug-in (src/plugin) that instruments the accesses which the compiler's instrumentation misses. Where none
 * fits, options prevent the inline expansion of functions as far as possible; the runtime notices the missing plug-in.
 * */
static void add_plugin(hd_words *out, const struct compiler *c, const char *libdir, bool compiles) {
  static const char *const gcc_calls[] = {"memset", "memcpy",  "memmove", "mempcpy", "bzero",
                                          "strcpy", "stpcpy",  "strncpy", "strcat",  "strncat",
                                          "memcmp", "strncmp", NULL};
  static const char *const clang_calls[] = {"memcmp", "bcmp", NULL};
  char *plugin = hd__cc_plugin(&c->words, c->path, c->clang, libdir);
  if (plugin && c->clang) {
    hd_vec_push(out, (char *)"-Xclang");
    hd_vec_push(out, hd_sprintf("-fpass-plugin=%s", plugin));
  } else if (plugin) {
    hd_vec_push(out, hd_sprintf("-fplugin=%s", plugin));
  } else if (compiles) {
    for (const char *const *f = c->clang ? clang_calls : gcc_calls; *f; f++)
      hd_vec_push(out, hd_sprintf("-fno-builtin-%s", *f));
  }
  free(plugin);
}

static void add_compile_flags(hd_words *out, const struct hd_cc_args *a, bool clang, const char *libdir) {
  /* An error that the program survives is no finding. With gcc the runtime sees bad indices (wrap/undefined.c). */
  if (clang && a->undefined) hd_vec_push(out, (char *)"-fno-sanitize-recover=bounds");
  /* With -g, gcc -E would write the working folder into its output. */
  if (!a->debug && !a->only_text) hd_vec_push(out, (char *)"-g");
  if (a->preprocesses) {
    hd_vec_push(out, (char *)"-idirafter");
    hd_vec_push(out, hd_sprintf("%s/include", libdir));
  }
  /* -fsanitize=thread is handed to the compiler proper only: clang's driver, if it knew, would link its own
   * runtime. -fno-plt: the hook of every access is called directly. */
  static const char *const for_clang[] = {"-Xclang",  "-fsanitize=thread",
                                          "-mllvm",   "-tsan-instrument-read-before-write=1",
                                          "-mllvm",   "-tsan-distinguish-volatile=1",
                                          "-fno-plt", NULL};
  /* -Wtsan warns that fences are not supported, which is true of ThreadSanitizer only. */
  static const char *const for_gcc[] = {"--param=tsan-distinguish-volatile=1", "-Wno-tsan", "-fno-plt", NULL};
  /* Of clang's blocks none is left out because another one implies it. */
  static const char *const blocks_clang[] = {
      "-Xclang", "-fsanitize-coverage-type=3",         "-Xclang", "-fsanitize-coverage-trace-pc",
      "-mllvm",  "-sanitizer-coverage-prune-blocks=0", NULL};
  static const char *const blocks_gcc[] = {"-fsanitize-coverage=trace-pc", NULL};
  /* Vectors have no shadows. */
  static const char *const scalar[] = {"-fno-vectorize", "-fno-slp-vectorize", NULL};
  if (a->symbolic) add(out, scalar);
  if (a->branches && !a->uninstrumented) add(out, clang ? blocks_clang : blocks_gcc);
  if (!clang)
    add(out, for_gcc);
  else if (!a->uninstrumented)
    add(out, for_clang);
}

static void add_link_flags(hd_words *out, const struct hd_cc_args *a, bool clang, const char *libdir) {
  if (!clang) {
    /* Where gcc finds the empty libtsan_preinit.o (-B) and libtsan (-L, ahead of the user's). */
    hd_vec_push(out, hd_sprintf("-B%s/gcc/", libdir));
    hd_vec_push(out, hd_sprintf("-L%s/gcc", libdir));
  }
  /* -Xlinker instead of -Wl, since a path may have a comma in it. */
  static const char *const before[] = {"-Wl,--push-state,--no-as-needed", "-Xlinker", NULL};
  static const char *const after[] = {"-Wl,--pop-state", "-Xlinker", "-rpath", "-Xlinker", NULL};
  add(out, before);
  hd_vec_push(out, hd_sprintf("%s/libheddle_rt.so", libdir));
  add(out, after);
  hd_vec_push(out, hd_strdup(libdir));
  if (a->assembles || hd__cc_any_plain(&a->objects)) {
    hd_vec_push(out, (char *)"-Xlinker");
    hd_vec_push(out, hd_sprintf("%s/plain_object.o", libdir));
  }
}

static int check_possible(const struct hd_cc_args *a, struct hd_err *err) {
  if (a->links && a->is_static) {
    return hd_fail(err, HD_EUSAGE,
                   "%s: a static program cannot be controlled by Heddle; link it without that option",
                   a->is_static);
  }
  if (a->bad_sanitizer) {
    return hd_fail(
        err, HD_EUSAGE,
        "-fsanitize=%s cannot be combined with Heddle, which brings a runtime of its own; leave it out",
        a->bad_sanitizer);
  }
  if (a->other_arch)
    return hd_fail(err, HD_EUSAGE, "%s: Heddle controls 64-bit programs only; leave it out", a->other_arch);
  return 0;
}

static int build_command(hd_words *out, const struct compiler *c, const struct hd_cc_args *a,
                         struct hd_err *err) {
  for (size_t i = 0; i < c->words.n; i++) hd_vec_push(out, c->words.v[i]);
  if (a->inputs && !a->query) {
    int rc = check_possible(a, err);
    if (rc) return rc;
    const char *libdir = hd_libdir();
    char *runtime = libdir ? hd_sprintf("%s/libheddle_rt.so", libdir) : NULL;
    bool there = runtime && access(runtime, R_OK) == 0;
    if (!there)
      rc = hd_fail(err, HD_EENV, "%s not found; build or install Heddle again",
                   runtime ? runtime : "libheddle_rt.so");
    free(runtime);
    if (rc) return rc;
    /* gcc needs it for linking, too: with -flto the code is made then. */
    if (!c->clang && (a->compiles || a->links)) hd_vec_push(out, (char *)"-fsanitize=thread");
    if ((a->compiles || (a->links && !c->clang)) && !a->only_text && !a->uninstrumented)
      add_plugin(out, c, libdir, a->compiles);
    if (a->compiles) add_compile_flags(out, a, c->clang, libdir);
    if (a->links) add_link_flags(out, a, c->clang, libdir);
  }
  for (size_t i = 0; i < a->words.n; i++) hd_vec_push(out, a->words.v[i]);
  hd_vec_push(out, NULL);
  return 0;
}

/* For `heddle mutate --run`: compiles the mutant in the place of its original, as if it were in the original's folder. */
static void use_mutant(struct hd_cc_args *a) {
  const char *mutant = getenv("HEDDLE_MUTANT"), *of = getenv("HEDDLE_MUTANT_OF");
  char *original = mutant && of ? realpath(of, NULL) : NULL;
  bool used = false;
  for (size_t i = 0; original && i < a->words.n; i++) {
    char *word = a->words.v[i][0] == '-' ? NULL : realpath(a->words.v[i], NULL);
    if (word && strcmp(word, original) == 0) {
      a->words.v[i] = (char *)mutant;
      used = true;
    }
    free(word);
  }
  if (used) {
    hd_vec_push(&a->words, (char *)"-iquote");
    hd_vec_push(&a->words, hd_strndup(original, (size_t)(hd_base_name(original) - original)));
  }
  free(original);
}

int hd_cmd_cc(int argc, char **argv) {
  bool cxx = strcmp(argv[0], "c++") == 0;
  struct hd_err err;
  struct hd_cc_args args;
  hd__cc_args_init(&args, argc, argv);
  if (args.help) {
    printf(help, argv[0]);
    hd__cc_args_fini(&args);
    return 0;
  }
  struct compiler compiler = {0};
  hd_words command = {0};
  int rc = choose_compiler(&compiler, &args, cxx, &err);
  if (rc == 0) {
    use_mutant(&args);
    hd__cc_args_analyse(&args, compiler.clang);
    rc = build_command(&command, &compiler, &args, &err);
  }
  if (rc == 0) {
    execv(compiler.path, command.v);
    hd_fail(&err, HD_EENV, "cannot start %s: %s", compiler.path, strerror(errno));
  }
  /* The process ends here, which frees the command line. */
  return hd_err_exit(&err);
}

int hd_cmd_cxx(int argc, char **argv) { return hd_cmd_cc(argc, argv); }

int hd_cc_by_name(const char *argv0) {
  const char *name = hd_base_name(argv0);
  if (strcmp(name, "heddle-cc") == 0) return 1;
  return strcmp(name, "heddle-c++") == 0 ? 2 : 0;
}
