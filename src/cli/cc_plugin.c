/* cc_plugin.c: finds the plug-in of Heddle for a compiler (src/plugin). Runs in the supervisor.
 *
 * A plug-in works only with the version of the compiler that it was built for. That of GCC is named after the full
 * version. That of clang is named after the major version of LLVM's shared library: a clang that is not linked with it
 * exports nothing that a plug-in could use. Without a plug-in the program is still compiled, and the runtime notices
 * it (core/modules.c). */
#include "cli/cc_args.h"
#include "cli/cli.h"

#include <ctype.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

char *hd__cc_ask(const hd_words *compiler, const char *path, const char *question) {
  int fds[2];
  if (pipe(fds) != 0) return hd_strdup("");
  pid_t pid = fork();
  if (pid == 0) {
    hd_words args = {0};
    for (size_t i = 0; i < compiler->n; i++) hd_vec_push(&args, compiler->v[i]);
    hd_vec_push(&args, (char *)question);
    hd_vec_push(&args, NULL);
    dup2(fds[1], 1);
    close(fds[0]);
    close(fds[1]);
    execv(path, args.v);
    _exit(127);
  }
  close(fds[1]);
  struct hd_str text;
  hd_str_init(&text);
  char buf[512];
  for (ssize_t n; (n = read(fds[0], buf, sizeof buf)) > 0;) hd_str_addn(&text, buf, (size_t)n);
  close(fds[0]);
  if (pid > 0) waitpid(pid, NULL, 0);
  while (text.n && isspace((unsigned char)text.s[text.n - 1])) text.s[--text.n] = 0;
  return hd_str_take(&text);
}

/* The major version in the name of LLVM's library: libLLVM-14.so.1, or libLLVM.so.19.1; 0 for another library. */
static int llvm_in_name(const char *name) {
  static const char prefix[] = "libLLVM";
  if (strncmp(name, prefix, sizeof prefix - 1) != 0) return 0;
  name += sizeof prefix - 1;
  return *name == '-' ? atoi(name + 1) : strncmp(name, ".so.", 4) == 0 ? atoi(name + 4) : 0;
}

static int llvm_of_elf(Elf *elf) {
  for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
    GElf_Shdr sh;
    if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNAMIC || !sh.sh_entsize) continue;
    Elf_Data *data = elf_getdata(scn, NULL);
    for (size_t i = 0; data && i < sh.sh_size / sh.sh_entsize; i++) {
      GElf_Dyn dyn;
      if (!gelf_getdyn(data, (int)i, &dyn) || dyn.d_tag == DT_NULL) break;
      const char *name = dyn.d_tag == DT_NEEDED ? elf_strptr(elf, sh.sh_link, dyn.d_un.d_val) : NULL;
      int version = name ? llvm_in_name(name) : 0;
      if (version) return version;
    }
  }
  return 0;
}

static int llvm_of_file(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || elf_version(EV_CURRENT) == EV_NONE) return 0;
  Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
  int version = elf && elf_kind(elf) == ELF_K_ELF ? llvm_of_elf(elf) : 0;
  if (elf) elf_end(elf);
  close(fd);
  return version;
}

/* A compiler launcher (ccache) or a script reports the path of the compiler itself. */
static int llvm_version(const hd_words *compiler, const char *path) {
  int version = compiler->n == 1 ? llvm_of_file(path) : 0;
  if (version) return version;
  char *answer = hd__cc_ask(compiler, path, "-print-prog-name=clang");
  version = llvm_of_file(answer);
  free(answer);
  return version;
}

char *hd__cc_plugin(const hd_words *compiler, const char *path, bool clang, const char *libdir) {
  const char *wish = getenv("HEDDLE_PLUGIN");
  if (wish && strcmp(wish, "no") == 0) return NULL;
  char *file;
  if (clang) {
    int version = llvm_version(compiler, path);
    file = version ? hd_sprintf("%s/plugin/llvm-%d.so", libdir, version) : NULL;
  } else {
    char *version = hd__cc_ask(compiler, path, "-dumpfullversion");
    file = hd_sprintf("%s/plugin/gcc-%s.so", libdir, version);
    free(version);
  }
  if (file && access(file, R_OK) == 0) return file;
  free(file);
  return NULL;
}
