/* cc_args.c: analyses a gcc or clang command line.
 *
 * Runs in the supervisor. Rules:
 *  1. It determines four facts only: whether the line compiles, links, only queries the compiler, or requests
 *     something that Heddle does not support. Unknown words are passed to the compiler unchanged.
 *  2. A response file (@file) is read but passed on as @file, unless a word in it must be dropped.
 *  3. Words are dropped only where they would link ThreadSanitizer's own runtime. */
#include "cli/cc_args.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RESPONSE_MAX (64u << 20) /* bytes of one response file */
#define RESPONSE_DEPTH 20        /* nested files; the compilers have a limit, too */

/* Whether the `n` characters at `word` are one of the words of `list`, which are separated by blanks. */
static bool listed(const char *word, size_t n, const char *list) {
  for (; *list; list += strcspn(list, " ")) {
    list += strspn(list, " ");
    if (n && strncmp(word, list, n) == 0 && strcspn(list, " ") == n) return true;
  }
  return false;
}

static bool in_list(const char *word, const char *list) { return listed(word, strlen(word), list); }

/* Whether one of the items of `items`, which are separated by commas, is in `list`. */
static bool any_listed(const char *items, const char *list) {
  for (size_t n; *items; items += n + (items[n] == ',')) {
    n = strcspn(items, ",");
    if (listed(items, n, list)) return true;
  }
  return false;
}

/* ---- knowledge about options ---- */

/* Options whose argument may be the next word. Those that can also be joined (-Idir) are here for the
 * case that the word is exactly the option. */
static const char with_argument[] =
    "-o -x -I -L -D -U -l -u -T -z -e -A -B -F -G -J -MF -MT -MQ -MJ -include -imacros -include-pch "
    "-isystem -idirafter -iquote -iprefix -iwithprefix -iwithprefixbefore -isysroot -imultilib "
    "-imultiarch -iwithsysroot -iframework -ivfsoverlay -cxx-isystem -Xlinker -Xassembler -Xpreprocessor "
    "-Xclang -Xanalyzer -Xopenmp-target -mllvm -target -arch -aux-info -dumpbase -dumpdir -dumpbase-ext "
    "-wrapper -specs -framework -rpath -Tbss -Tdata -Ttext -working-directory -serialize-diagnostics "
    "-gcc-toolchain -resource-dir -fplugin-arg --param --sysroot --output --language --include --imacros "
    "--define-macro --undefine-macro --include-directory --include-directory-after --include-prefix "
    "--include-with-prefix --include-with-prefix-after --include-with-prefix-before --library-directory "
    "--assert --prefix --entry --force-link --for-assembler --for-linker --serialize-diagnostics "
    "--config";

/* Options that prevent linking. */
static const char stop_early[] =
    "-c -S -E -M -MM -fsyntax-only --compile --assemble --preprocess --dependencies --user-dependencies "
    "--analyze --precompile -emit-ast -emit-pch -emit-interface-stubs";

/* Linker options for a relocatable object, which is not a program yet. */
static const char relocatable_options[] = "-r -i -Ur --relocatable";

/* Sanitizers with a runtime or a memory layout of their own. Others (undefined and its many parts, coverage) only
 * affect the generated code and are allowed. */
static const char bad_sanitizers[] =
    "address kernel-address pointer-compare pointer-subtract hwaddress kernel-hwaddress memory "
    "kernel-memory leak dataflow safe-stack fuzzer scudo memtag memtag-stack memtag-heap type realtime "
    "numerical";

static bool is_query(const char *w) {
  if (hd__starts_with(w, "--help") || hd__starts_with(w, "--target-help") || strcmp(w, "--version") == 0)
    return true;
  if (hd__starts_with(w, "-print-") || hd__starts_with(w, "--print-")) return true;
  return hd__starts_with(w, "-dump") && !hd__starts_with(w, "-dumpbase") && !hd__starts_with(w, "-dumpdir");
}

static bool is_debug_option(const char *w) {
  static const char *const families[] = {"-ggdb",  "-gdwarf",    "-gstabs", "-gline-", "-gmlt",
                                         "-gbtf",  "-gctf",      "-glldb",  "-gsce",   "-gdbx",
                                         "-gfull", "-gcodeview", "-gused"};
  if (!hd__starts_with(w, "-g")) return strcmp(w, "--debug") == 0;
  if (w[2] == '\0' || isdigit((unsigned char)w[2])) return true;
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    if (hd__starts_with(w, families[i])) return true;
  return false;
}

/* ---- knowledge about inputs ---- */

enum input { SOURCE, HEADER, PREPROCESSED, ASSEMBLER, OBJECT };

static enum input by_language(const char *lang) {
  if (strcmp(lang, "assembler") == 0) return ASSEMBLER;
  if (strcmp(lang, "ir") == 0 || strstr(lang, "cpp-output")) return PREPROCESSED;
  size_t n = strlen(lang);
  return n > 7 && strcmp(lang + n - 7, "-header") == 0 ? HEADER : SOURCE;
}

static enum input by_name(const char *path) {
  static const char sources[] = "c cc cp cxx cpp CPP c++ C m mm M S sx ixx cppm";
  static const char preprocessed[] = "i ii mi mii ll bc";
  static const char headers[] = "h hh H hp hxx hpp HPP h++ tcc";
  if (strcmp(path, "-") == 0) return SOURCE;
  const char *dot = strrchr(path, '.');
  if (!dot || strchr(dot, '/')) return OBJECT;
  if (in_list(dot + 1, sources)) return SOURCE;
  if (in_list(dot + 1, headers)) return HEADER;
  if (in_list(dot + 1, preprocessed)) return PREPROCESSED;
  return strcmp(dot, ".s") == 0 ? ASSEMBLER : OBJECT;
}

/* Assembly that goes through the preprocessor. */
static bool is_assembly(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot && in_list(dot + 1, "S sx");
}

/* ---- response files ---- */

/* The next word at *p, with quotes and backslashes as in the compilers; NULL at the end. */
static char *next_word(const char **p) {
  const char *s = *p;
  while (isspace((unsigned char)*s)) s++;
  if (!*s) return NULL;
  struct hd_str word;
  hd_str_init(&word);
  char quote = 0;
  for (; *s && (quote || !isspace((unsigned char)*s)); s++) {
    if (*s == '\\' && s[1])
      hd_str_addc(&word, *++s);
    else if (quote ? *s == quote : *s == '"' || *s == '\'')
      quote = quote ? 0 : *s;
    else
      hd_str_addc(&word, *s);
  }
  *p = s;
  return hd_str_take(&word);
}

/* Appends `word` to `flat`; a readable @file is replaced by its contents. */
static void expand(struct hd_cc_args *a, hd_words *flat, char *word, int depth) {
  char *text = NULL;
  size_t len;
  struct hd_err ignored;
  struct stat st;
  /* Only a regular file can be read twice, by heddle and by the compiler. */
  if (word[0] != '@' || depth > RESPONSE_DEPTH || stat(word + 1, &st) != 0 || !S_ISREG(st.st_mode) ||
      hd_read_file(word + 1, RESPONSE_MAX, &text, &len, &ignored) != 0) {
    hd_vec_push(flat, word);
    return;
  }
  const char *p = text;
  for (char *w; (w = next_word(&p));) {
    hd_vec_push(&a->pool, w);
    expand(a, flat, w, depth + 1);
  }
  free(text);
}

/* ---- reading the line ---- */

/* Reads the list of -fsanitize=. Returns the word to pass on: without "thread" if `drop` is set, NULL if the list
 * becomes empty. */
static char *read_sanitizers(struct hd_cc_args *a, char *word, bool drop) {
  struct hd_str rest;
  hd_str_init(&rest);
  bool found = false;
  for (const char *s = strchr(word, '=') + 1; *s;) {
    size_t n = strcspn(s, ",");
    char *name = hd_strndup(s, n);
    hd_vec_push(&a->pool, name);
    if (strcmp(name, "thread") == 0) {
      found = true;
      a->uninstrumented = false;
    } else {
      a->undefined = true;
      hd_str_add(&rest, rest.n ? "," : "-fsanitize=");
      hd_str_add(&rest, name);
    }
    if (!a->bad_sanitizer && in_list(name, bad_sanitizers)) a->bad_sanitizer = name;
    s += n + (s[n] == ',');
  }
  if (!found || !drop) {
    hd_str_fini(&rest);
    return word;
  }
  if (!rest.n) {
    hd_str_fini(&rest);
    return NULL;
  }
  char *shorter = hd_str_take(&rest);
  hd_vec_push(&a->pool, shorter);
  return shorter;
}

void hd__cc_args_init(struct hd_cc_args *a, int argc, char **argv) {
  static const char option[] = "--heddle-compiler";
  memset(a, 0, sizeof *a);
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0) a->help = true;
    if (strcmp(argv[i], "--branches") == 0)
      a->branches = true;
    else if (strcmp(argv[i], "--facts") == 0)
      a->facts = true;
    else if (strcmp(argv[i], "--symbolic") == 0)
      a->symbolic = true;
    else if (hd__starts_with(argv[i], option) && argv[i][sizeof option - 1] == '=')
      a->compiler = argv[i] + sizeof option;
    else if (strcmp(argv[i], option) == 0 && i + 1 < argc)
      a->compiler = argv[++i];
    else
      hd_vec_push(&a->words, argv[i]);
  }
}

/* Facts about the line as a whole. */
struct scan {
  struct hd_cc_args *a;
  bool clang;
  bool stops, relocatable, only_inputs;
  bool headers, others; /* inputs that are headers; inputs that end up in a program */
  const char *language; /* -x */
};

static void scan_input(struct scan *s, const char *w) {
  struct hd_cc_args *a = s->a;
  enum input kind = s->language ? by_language(s->language) : by_name(w);
  a->inputs = true;
  if (kind == OBJECT) hd_vec_push(&a->objects, (char *)w);
  if (kind == ASSEMBLER || is_assembly(w)) a->assembles = true;
  if (kind == SOURCE || kind == HEADER) a->preprocesses = a->compiles = true;
  if (kind == PREPROCESSED) a->compiles = true;
  if (kind == HEADER)
    s->headers = true;
  else
    s->others = true;
}

/* Notes linked libraries, and options whose result is not a program. */
static void scan_linker(struct scan *s, bool relocatable, bool input) {
  if (relocatable) s->relocatable = true;
  if (input) s->a->inputs = s->others = true;
}

/* Scans one option; `arg` is its argument if that is the next word. Returns the word to pass on; NULL: drop it. */
static char *scan_option(struct scan *s, char *w, const char *arg) {
  struct hd_cc_args *a = s->a;
  if (s->clang && strcmp(w, "--") == 0) s->only_inputs = true;
  if (is_query(w)) a->query = true;
  if (in_list(w, stop_early)) s->stops = true;
  if (in_list(w, "-E -M -MM --preprocess --dependencies --user-dependencies")) a->only_text = true;
  if (is_debug_option(w)) a->debug = true;
  if (strcmp(w, "-r") == 0) s->relocatable = true;
  if (in_list(w, "-static --static -static-pie")) a->is_static = w;
  if (in_list(w, "-m32 -mx32 -m16")) a->other_arch = w;
  if (strcmp(w, "-m64") == 0) a->other_arch = NULL;
  if (hd__starts_with(w, "-x") || strcmp(w, "--language") == 0) {
    s->language = arg ? arg : w + 2;
    if (strcmp(s->language, "none") == 0) s->language = NULL;
  } else if (hd__starts_with(w, "-l")) {
    scan_linker(s, false, true);
  } else if (hd__starts_with(w, "-Wl,")) {
    scan_linker(s, any_listed(w + 4, relocatable_options), w[4] != '-');
  } else if (strcmp(w, "-Xlinker") == 0 && arg) {
    scan_linker(s, in_list(arg, relocatable_options), arg[0] != '-');
  } else if (hd__starts_with(w, "-fno-sanitize=") && any_listed(strchr(w, '=') + 1, "thread all")) {
    a->uninstrumented = true;
  } else if (hd__starts_with(w, "-fsanitize=")) {
    /* clang's instrumentation is requested in another way (cmd_cc.c), since the driver would link its runtime; gcc may
     * keep the word. */
    return read_sanitizers(a, w, s->clang);
  } else if (strcmp(w, "-static-libtsan") == 0) {
    return NULL;
  }
  return w;
}

void hd__cc_args_analyse(struct hd_cc_args *a, bool clang) {
  hd_words flat = {0}, kept = {0};
  struct scan s = {.a = a, .clang = clang};
  bool changed = false;
  for (size_t i = 0; i < a->words.n; i++) expand(a, &flat, a->words.v[i], 0);
  for (size_t i = 0; i < flat.n; i++) {
    char *w = flat.v[i];
    if (s.only_inputs || w[0] != '-' || w[1] == '\0') {
      scan_input(&s, w);
      hd_vec_push(&kept, w);
      continue;
    }
    const char *arg = in_list(w, with_argument) && i + 1 < flat.n ? flat.v[i + 1] : NULL;
    char *instead = scan_option(&s, w, arg);
    if (instead != w) changed = true;
    if (instead) hd_vec_push(&kept, instead);
    if (arg) hd_vec_push(&kept, flat.v[++i]);
  }
  a->links = a->inputs && !s.stops && !s.relocatable && (s.others || !s.headers);
  if (changed) {
    hd_vec_free(&a->words);
    hd_vec_free(&a->objects);
    a->words.v = kept.v, a->words.n = kept.n, a->words.cap = kept.cap;
  } else {
    hd_vec_free(&kept);
  }
  hd_vec_free(&flat);
}

void hd__cc_args_fini(struct hd_cc_args *a) {
  for (size_t i = 0; i < a->pool.n; i++) free(a->pool.v[i]);
  hd_vec_free(&a->pool);
  hd_vec_free(&a->words);
}
