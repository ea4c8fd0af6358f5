/* program.c: validates and identifies an executable built with heddle cc. Runs in the supervisor.
 *
 * Every problem with the program is diagnosed here, before anything is started, so that the user gets one line with
 * the remedy. */
#include "session/command.h"

#include "abi/inline.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define REBUILD "rebuild it with `heddle cc` (or `heddle c++`)"

extern char **environ;

/* Like execvp: a name without a slash is looked up in PATH. NULL with `err` set if it is not found. */
static char *find_program(const char *name, const char *path_env, const char *cwd, struct hd_err *err) {
  struct stat st;
  if (!*name) {
    hd_fail(err, HD_EUSAGE, "no program given (its name is empty)");
    return NULL;
  }
  if (strchr(name, '/')) {
    char *path = hd_absolute(cwd, name);
    if (stat(path, &st) == 0) return path;
    hd_fail(err, errno == EACCES ? HD_EENV : HD_EUSAGE, errno == ENOENT ? "%s: no such program" : "%s: %s",
            name, strerror(errno));
    free(path);
    return NULL;
  }
  const char *p = path_env ? path_env : "/bin:/usr/bin";
  for (;;) {
    size_t len = strcspn(p, ":");
    char *folder = len ? hd_strndup(p, len) : hd_strdup(".");
    char *joined = hd_sprintf("%s/%s", folder, name);
    char *path = hd_absolute(cwd, joined);
    free(folder);
    free(joined);
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0) return path;
    free(path);
    if (!p[len]) break;
    p += len + 1;
  }
  char *here = hd_absolute(cwd, name);
  bool is_here = stat(here, &st) == 0;
  free(here);
  if (is_here)
    hd_fail(err, HD_EUSAGE, "%s: no such program in PATH; for the one in this folder write ./%s", name, name);
  else
    hd_fail(err, HD_EUSAGE, "%s: no such program in PATH", name);
  return NULL;
}

char *hd_program_find(const char *name, struct hd_err *err) {
  char *cwd = hd_cwd();
  char *path = find_program(name, getenv("PATH"), cwd ? cwd : "/", err);
  free(cwd);
  return path;
}

/* One entry of DT_RUNPATH or DT_RPATH with $ORIGIN expanded: is the runtime there? */
static bool runtime_in(const char *entry, size_t len, const char *origin) {
  struct hd_str path;
  hd_str_init(&path);
  for (size_t i = 0; i < len;) {
    size_t left = len - i;
    size_t token = left >= 9 && memcmp(entry + i, "${ORIGIN}", 9) == 0 ? 9
                   : left >= 7 && memcmp(entry + i, "$ORIGIN", 7) == 0 ? 7
                                                                       : 0;
    if (token) {
      hd_str_add(&path, origin);
      i += token;
    } else {
      hd_str_addc(&path, entry[i++]);
    }
  }
  hd_str_add(&path, "/" HD_RUNTIME_SONAME);
  bool found = access(path.s, R_OK) == 0;
  hd_str_fini(&path);
  return found;
}

static bool runtime_on_path(const char *runpath, const char *program) {
  char *origin = hd_strndup(program, (size_t)(strrchr(program, '/') - program));
  bool found = false;
  for (const char *p = runpath; !found;) {
    size_t len = strcspn(p, ":");
    found = len > 0 && runtime_in(p, len, origin);
    if (!p[len]) break;
    p += len + 1;
  }
  free(origin);
  return found;
}

static void read_build_id(Elf *elf, char out[80]) {
  out[0] = '\0';
  size_t n = 0;
  elf_getphdrnum(elf, &n);
  for (size_t i = 0; i < n; i++) {
    GElf_Phdr ph;
    if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_NOTE) continue;
    Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz,
                                          ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    GElf_Nhdr note;
    size_t name, desc, off = 0;
    while (data && (off = gelf_getnote(data, off, &note, &name, &desc)) > 0) {
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || note.n_descsz > 39 ||
          memcmp((char *)data->d_buf + name, "GNU", 4) != 0)
        continue;
      for (size_t k = 0; k < note.n_descsz; k++)
        sprintf(out + 2 * k, "%02x", ((unsigned char *)data->d_buf)[desc + k]);
    }
  }
}

/* The relevant contents of the dynamic section. */
struct dynamic {
  bool present, is_pie; /* a static program may be position-independent, and have a dynamic section then */
  char *runtime;        /* the soname it needs, or NULL */
  char *runpath;
};

static void read_dynamic(Elf *elf, struct dynamic *d) {
  Elf_Scn *scn = NULL;
  while ((scn = elf_nextscn(elf, scn))) {
    GElf_Shdr sh;
    if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNAMIC || !sh.sh_entsize) continue;
    d->present = true;
    Elf_Data *data = elf_getdata(scn, NULL);
    for (size_t i = 0; data && i < sh.sh_size / sh.sh_entsize; i++) {
      GElf_Dyn dyn;
      if (!gelf_getdyn(data, (int)i, &dyn)) break;
      if (dyn.d_tag == DT_FLAGS_1 && (dyn.d_un.d_val & DF_1_PIE)) d->is_pie = true;
      if (dyn.d_tag != DT_NEEDED && dyn.d_tag != DT_RUNPATH && dyn.d_tag != DT_RPATH) continue;
      const char *s = elf_strptr(elf, sh.sh_link, dyn.d_un.d_val);
      if (!s) continue;
      char **slot = NULL;
      if (dyn.d_tag == DT_NEEDED) {
        if (strncmp(s, "libheddle_rt.so", 15) == 0) slot = &d->runtime;
      } else {
        slot = &d->runpath;
      }
      if (slot) {
        free(*slot);
        *slot = hd_strdup(s);
      }
    }
  }
}

/* The sanitizer that a program was built with, by its library or by what clang links into it; NULL: none. */
static const char *sanitizer_of(Elf *elf) {
  static const struct {
    const char *library, *symbol, *name;
  } known[] = {{"libtsan.so", "__tsan_init", "ThreadSanitizer"},
               {"libasan.so", "__asan_init", "AddressSanitizer"},
               {"libmsan.so", "__msan_init", "MemorySanitizer"}};
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
    GElf_Shdr sh;
    if (!gelf_getshdr(scn, &sh) || (sh.sh_type != SHT_DYNSYM && sh.sh_type != SHT_DYNAMIC) || !sh.sh_entsize)
      continue;
    Elf_Data *data = elf_getdata(scn, NULL);
    for (size_t i = 0; data && i < sh.sh_size / sh.sh_entsize; i++) {
      GElf_Sym sym;
      GElf_Dyn dyn;
      const char *s = NULL;
      if (sh.sh_type == SHT_DYNSYM && gelf_getsym(data, (int)i, &sym))
        s = elf_strptr(elf, sh.sh_link, sym.st_name);
      if (sh.sh_type == SHT_DYNAMIC && gelf_getdyn(data, (int)i, &dyn) && dyn.d_tag == DT_NEEDED)
        s = elf_strptr(elf, sh.sh_link, dyn.d_un.d_val);
      for (size_t k = 0; s && k < sizeof known / sizeof *known; k++)
        if (strcmp(s, known[k].symbol) == 0 || strncmp(s, known[k].library, strlen(known[k].library)) == 0)
          return known[k].name;
    }
  }
  return NULL;
}

/* Whether it has inlined code that knows another layout of the runtime (abi/inline.h). */
static bool is_other_layout(Elf *elf) {
  static const char name[] = HD_INLINE_SYMBOL;
  size_t stem = (size_t)(strrchr(name, '_') - name) + 1;
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
    GElf_Shdr sh;
    if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNSYM || !sh.sh_entsize) continue;
    Elf_Data *data = elf_getdata(scn, NULL);
    for (size_t i = 0; data && i < sh.sh_size / sh.sh_entsize; i++) {
      GElf_Sym sym;
      const char *s = gelf_getsym(data, (int)i, &sym) ? elf_strptr(elf, sh.sh_link, sym.st_name) : NULL;
      if (s && strncmp(s, name, stem) == 0 && strcmp(s, name) != 0) return true;
    }
  }
  return false;
}

static bool has_interpreter(Elf *elf) {
  size_t n = 0;
  elf_getphdrnum(elf, &n);
  for (size_t i = 0; i < n; i++) {
    GElf_Phdr ph;
    if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_INTERP) return true;
  }
  return false;
}

/* Whether the headers refer to something beyond the end of the file. */
static bool is_cut_off(Elf *elf, const GElf_Ehdr *eh, uint64_t size) {
  if (eh->e_phoff + (uint64_t)eh->e_phnum * eh->e_phentsize > size) return true;
  if (eh->e_shoff + (uint64_t)eh->e_shnum * eh->e_shentsize > size) return true;
  for (int i = 0; i < eh->e_phnum; i++) {
    GElf_Phdr ph;
    if (!gelf_getphdr(elf, i, &ph) || (ph.p_type == PT_LOAD && ph.p_offset + ph.p_filesz > size)) return true;
  }
  return false;
}

static int check_elf(const char *name, Elf *elf, struct hd_program *p, struct hd_err *err) {
  GElf_Ehdr eh;
  if (!gelf_getehdr(elf, &eh)) return hd_fail(err, HD_EUSAGE, "%s: damaged ELF file; %s", name, REBUILD);
  if (eh.e_machine != EM_X86_64 || gelf_getclass(elf) != ELFCLASS64)
    return hd_fail(err, HD_EUSAGE, "%s: built for another machine; Heddle runs 64-bit x86 programs", name);
  if (eh.e_type != ET_EXEC && eh.e_type != ET_DYN)
    return hd_fail(err, HD_EUSAGE, "%s: not an executable (an object file?); link it with `heddle cc`", name);
  size_t size = 0;
  elf_rawfile(elf, &size);
  if (is_cut_off(elf, &eh, size)) return hd_fail(err, HD_EUSAGE, "%s: damaged ELF file; %s", name, REBUILD);
  struct dynamic d = {0};
  read_dynamic(elf, &d);
  int rc = HD_OK;
  if (!has_interpreter(elf) && d.present && !d.is_pie)
    rc = hd_fail(err, HD_EUSAGE, "%s: a shared library, not a program", name);
  else if (!has_interpreter(elf))
    rc = hd_fail(err, HD_EUSAGE, "%s: statically linked; link it with `heddle cc` and without -static", name);
  else if (p->preload && d.runtime)
    rc = hd_fail(err, HD_EUSAGE, "%s: built with heddle cc already; leave out --preload", name);
  else if (!d.runtime && sanitizer_of(elf))
    rc = hd_fail(
        err, HD_EUSAGE,
        "%s: built with %s, whose runtime excludes Heddle's; rebuild it with `heddle cc`, without -fsanitize",
        name, sanitizer_of(elf));
  else if (!p->preload && !d.runtime)
    rc = hd_fail(err, HD_EUSAGE, "%s: not built with heddle cc; %s, or see --preload", name, REBUILD);
  else if (!p->preload && strcmp(d.runtime, HD_RUNTIME_SONAME) != 0)
    rc = hd_fail(err, HD_EENV, "%s: built by an incompatible version of heddle (needs %s, this is %s); %s",
                 name, d.runtime, HD_RUNTIME_SONAME, REBUILD);
  else if (!p->preload && is_other_layout(elf))
    rc = hd_fail(err, HD_EENV, "%s: built by an incompatible version of heddle; %s", name, REBUILD);
  if (rc == HD_OK) {
    p->runtime_found = d.runpath && runtime_on_path(d.runpath, p->path);
    read_build_id(elf, p->build_id);
  }
  free(d.runtime);
  free(d.runpath);
  return rc;
}

static int check_program(const char *name, struct hd_program *p, struct hd_err *err) {
  struct stat st;
  if (stat(p->path, &st)) return hd_fail(err, HD_EUSAGE, "%s: %s", name, strerror(errno));
  if (S_ISDIR(st.st_mode)) return hd_fail(err, HD_EUSAGE, "%s: a folder, not a program", name);
  if (!S_ISREG(st.st_mode)) return hd_fail(err, HD_EUSAGE, "%s: not a program", name);
  if (!(st.st_mode & 0111)) return hd_fail(err, HD_EUSAGE, "%s: not executable; see chmod +x", name);
  if (p->preload && (st.st_mode & 06000))
    return hd_fail(err, HD_EUSAGE, "%s: runs with other rights (setuid), so nothing can be loaded into it",
                   name);
  if (access(p->path, X_OK)) return hd_fail(err, HD_EENV, "%s: %s", name, strerror(errno));
  int fd = open(p->path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return hd_fail(err, HD_EENV, "%s: %s", name, strerror(errno));
  char head[4] = {0};
  ssize_t n = pread(fd, head, sizeof head, 0);
  int rc;
  if (n >= 2 && head[0] == '#' && head[1] == '!') {
    rc = hd_fail(err, HD_EUSAGE, "%s: a script; name the program it starts, built with `heddle cc`", name);
  } else if (n < 4 || memcmp(head, ELFMAG, SELFMAG) != 0) {
    rc = hd_fail(err, HD_EUSAGE, "%s: not an ELF executable; name a program built with `heddle cc`", name);
  } else {
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    rc = elf ? check_elf(name, elf, p, err)
             : hd_fail(err, HD_EUSAGE, "%s: damaged ELF file; %s", name, REBUILD);
    elf_end(elf);
  }
  close(fd);
  return rc;
}

static int identify(struct hd_program *p, struct hd_err *err) {
  char *data;
  size_t len;
  int rc = hd_read_file(p->path, SIZE_MAX, &data, &len, err);
  if (rc != HD_OK) return rc;
  p->size = len;
  p->hash = XXH64(data, len, 0);
  free(data);
  return HD_OK;
}

int hd_program_open(const char *name, const char *path_env, const char *cwd, struct hd_program *p,
                    struct hd_err *err) {
  *p = (struct hd_program){.preload = p->preload};
  p->path = find_program(name, path_env, cwd, err);
  if (!p->path) return err->code;
  int rc = check_program(name, p, err);
  if (rc == HD_OK) rc = identify(p, err);
  if (rc != HD_OK) hd_program_fini(p);
  return rc;
}

void hd_program_fini(struct hd_program *p) {
  free(p->path);
  p->path = NULL;
}

/* ---- command: a program with its arguments, environment and folder ---- */

static char **copy_words(char **words) {
  HD_VEC(char *) out = {0};
  /* The control variable belongs to one run; drop an inherited one. */
  for (; *words; words++)
    if (strncmp(*words, HD_CTL_ENV "=", sizeof HD_CTL_ENV) != 0) hd_vec_push(&out, hd_strdup(*words));
  hd_vec_push(&out, NULL);
  return out.v;
}

int hd_command_init(struct hd_command *c, char **argv, bool preload, const char *cwd, struct hd_err *err) {
  *c = (struct hd_command){.program.preload = preload};
  c->cwd = cwd ? hd_strdup(cwd) : hd_cwd();
  if (!c->cwd) return hd_fail(err, HD_EENV, "the current folder no longer exists; cd to one that does");
  int rc = hd_program_open(argv[0], getenv("PATH"), c->cwd, &c->program, err);
  if (rc != HD_OK) {
    hd_command_fini(c);
    return rc;
  }
  c->argv = copy_words(argv);
  c->envp = copy_words(environ);
  rc = hd_command_find_runtime(c, err);
  if (rc != HD_OK) hd_command_fini(c);
  return rc;
}

/* The entry of the environment with this name ("NAME="), or the index at which to add it. */
static size_t find_variable(char **envp, const char *name) {
  size_t n = 0, len = strlen(name);
  while (envp[n] && strncmp(envp[n], name, len) != 0) n++;
  return n;
}

/* Prepends a word to a list in the environment, unless it comes first already. */
static void prepend(struct hd_command *c, const char *name, const char *word, char separator) {
  size_t n = find_variable(c->envp, name), len = strlen(word);
  char *old = c->envp[n];
  if (!old) {
    c->envp = hd_realloc(c->envp, (n + 2) * sizeof *c->envp);
    c->envp[n + 1] = NULL;
    c->envp[n] = hd_sprintf("%s%s", name, word);
    return;
  }
  const char *value = old + strlen(name);
  if (strncmp(value, word, len) == 0 && (value[len] == separator || !value[len])) return;
  if (*value)
    c->envp[n] = hd_sprintf("%s%s%c%s", name, word, separator, value);
  else
    c->envp[n] = hd_sprintf("%s%s", name, word);
  free(old);
}

#define PRELOAD "LD_PRELOAD="

bool hd_command_preloads(const struct hd_command *c) {
  const char *value = c->envp[find_variable(c->envp, PRELOAD)];
  return value && strstr(value, HD_RUNTIME_SONAME) != NULL;
}

int hd_command_find_runtime(struct hd_command *c, struct hd_err *err) {
  if (c->program.runtime_found && !c->program.preload) return HD_OK;
  const char *folder = hd_libdir();
  if (!folder || !runtime_in(folder, strlen(folder), ""))
    return hd_fail(err, HD_EENV, "%s is neither where %s looks for it nor in %s; install heddle again",
                   HD_RUNTIME_SONAME, c->program.path, folder ? folder : "lib/heddle beside heddle");
  if (c->program.preload) {
    char *path = hd_sprintf("%s/%s", folder, HD_RUNTIME_SONAME);
    if (strpbrk(path, " :")) {
      hd_fail(err, HD_EENV, "%s: a path with a space or colon cannot be preloaded; install heddle elsewhere",
              path);
      free(path);
      return err->code;
    }
    prepend(c, PRELOAD, path, ':');
    free(path);
  } else {
    prepend(c, "LD_LIBRARY_PATH=", folder, ':');
  }
  return HD_OK;
}

static void free_words(char **words) {
  for (char **w = words; w && *w; w++) free(*w);
  free(words);
}

void hd_command_fini(struct hd_command *c) {
  hd_program_fini(&c->program);
  free_words(c->argv);
  free_words(c->envp);
  free(c->cwd);
  free(c->calls);
  *c = (struct hd_command){0};
}
