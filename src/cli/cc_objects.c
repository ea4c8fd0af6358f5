/* cc_objects.c: whether the object files of a command line were built with `heddle cc`. Runs in the supervisor.
 *
 * Every object file that is instrumented calls a constructor of ours or of ThreadSanitizer. One that has code, and does
 * not, accesses memory unseen: the program is then marked, so that its verdict says so. Libraries of the system are taken
 * for what they are: all that they need is known by their functions. */
#include "cli/cc_args.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool calls_hooks(Elf *e, Elf_Scn *section, const GElf_Shdr *head) {
  Elf_Data *data = elf_getdata(section, NULL);
  GElf_Sym sym;
  for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
    const char *name = elf_strptr(e, head->sh_link, sym.st_name);
    if (name && (hd__starts_with(name, "__tsan_") || hd__starts_with(name, "__heddle_"))) return true;
  }
  return false;
}

/* Whether the object file has code that was compiled without instrumentation. With -flto that is seen to at the end. */
static bool object_is_plain(Elf *e) {
  bool code = false;
  size_t names;
  if (elf_getshdrstrndx(e, &names)) return false;
  for (Elf_Scn *s = NULL; (s = elf_nextscn(e, s));) {
    GElf_Shdr h;
    if (!gelf_getshdr(s, &h)) return false;
    const char *name = elf_strptr(e, names, h.sh_name);
    if (name && (hd__starts_with(name, ".gnu.lto_") || hd__starts_with(name, ".llvm.lto"))) return false;
    if ((h.sh_flags & SHF_EXECINSTR) && h.sh_size) code = true;
    if (h.sh_type == SHT_SYMTAB && calls_hooks(e, s, &h)) return false;
  }
  return code;
}

static bool any_plain(Elf *e, int fd) {
  GElf_Ehdr head;
  if (elf_kind(e) == ELF_K_ELF) return gelf_getehdr(e, &head) && head.e_type == ET_REL && object_is_plain(e);
  bool plain = false;
  Elf *member;
  for (Elf_Cmd c = ELF_C_READ; !plain && elf_kind(e) == ELF_K_AR && (member = elf_begin(fd, c, e));) {
    plain = any_plain(member, fd);
    c = elf_next(member);
    elf_end(member);
  }
  return plain;
}

static bool of_system(const char *path) {
  char *full = realpath(path, NULL);
  bool is = full && (hd__starts_with(full, "/usr/lib") || hd__starts_with(full, "/lib"));
  free(full);
  return is;
}

bool hd__cc_any_plain(const hd_words *objects) {
  bool plain = false;
  if (elf_version(EV_CURRENT) == EV_NONE) return false;
  for (size_t i = 0; i < objects->n && !plain; i++) {
    int fd = of_system(objects->v[i]) ? -1 : open(objects->v[i], O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    Elf *e = elf_begin(fd, ELF_C_READ, NULL);
    plain = e && any_plain(e, fd);
    if (e) elf_end(e);
    close(fd);
  }
  return plain;
}
