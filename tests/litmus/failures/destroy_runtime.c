// A wild write over the runtime's own data. What happens then depends on the layout: there are two classes, and an execution whose
// process dies before its end makes the search go on with others.
// native: no
// restart: memory fork
// expect: goes-on executions=2+ kinds=crash|abort|hang|exit
// args: --hang-timeout 2s
// replays: 0
#include "litmus.h"
#include <dlfcn.h>
#include <link.h>

static uintptr_t data, end, constant;
static int state;

static int find(struct dl_phdr_info *info, size_t size, void *arg)
{
  (void)size;
  (void)arg;
  if (!strstr(info->dlpi_name, "libheddle_rt")) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    uintptr_t from = info->dlpi_addr + p->p_vaddr, to = from + p->p_memsz;
    if (p->p_type == PT_LOAD && (p->p_flags & PF_W)) {
      data = from;
      end = to;
    }
    if (p->p_type == PT_GNU_RELRO) constant = to; /* cannot be written to: it would fault at once */
  }
  if (data < constant) data = constant;
  return 0;
}

static void *other(void *arg)
{
  poke(&state, 1);
  return arg;
}

/* Assembly, since the accesses of C are seen. */
static void smash(void)
{
  for (uintptr_t p = (data + 4095) & ~4095ul; p + 8 <= end; p += 8)
    __asm__ volatile("movq %0, (%1)" : : "r"(0x4141414141414141), "r"(p));
}

static void *user(void *arg)
{
  if (peek(&state)) smash();
  return arg;
}

int main(void)
{
  dl_iterate_phdr(find, NULL);
  assert(data);
  both(other, user);
  return 0;
}
