/* check_start.c: the start of a process that may call hd_check. Runs in the test process.
 *
 * A replay has to reach the same state in a process of its own. Therefore a program that uses hd_check runs with
 * everything that `heddle replay` gives it: it restarts itself without address randomisation and with an environment
 * of the same size, and standard output has a buffer that does not depend on where it goes. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

#include "abi/attach.h"
#include "runtime/core/check.h"
#include "runtime/core/core.h"
#include "runtime/core/modules.h"
#include "runtime/wrap/wrap.h"

#define OUT_BUFFER 4096
#define SAVED_OUT (HD_CALLS_FD + 1) /* where output went before the call was reached; the next one: errors */

struct hd_process hd__process;

unsigned hd__count_words(char **words) {
  unsigned n = 0;
  while (words[n]) n++;
  return n;
}

const char *hd__variable(char **envp, const char *name) {
  size_t n = hd__strlen(name);
  for (char **e = envp; e && *e; e++)
    if (hd__starts(*e, name) && (*e)[n] == '=') return *e + n + 1;
  return NULL;
}

static bool is_check(const char *name, void *found) {
  return *(bool *)found = hd__streq(name, "hd_rt_check");
}

/* Restarts the program the way a replay will start it. Returns if that fails: replays may diverge then. */
static void restart_program(char **argv, char **envp) {
  char exe[HD_PATH_MAX];
  long n = hd_sys4(SYS_readlink, "/proc/self/exe", exe, sizeof exe - 1, 0);
  long old = hd_sys3(SYS_personality, 0xffffffff, 0, 0);
  if (n <= 0 || old < 0 || getauxval(AT_SECURE)) return;
  exe[n] = 0;
  if (!(old & ADDR_NO_RANDOMIZE) && hd_sys3(SYS_personality, old | ADDR_NO_RANDOMIZE, 0, 0) < 0) return;
  unsigned k = hd__count_words(envp);
  char **out = __builtin_alloca((k + 4) * sizeof *out);
  hd__copy(out, envp, k * sizeof *out);
  out[k] = "LD_BIND_NOW=1";
  out[k + 1] = HD_SPIN_ENV "=" HD_SPIN_VALUE;
  out[k + 2] = HD_CTL_ENV "=" HD_CTL_FREE;
  out[k + 3] = NULL;
  hd_sys3(SYS_execve, exe, argv, out);
  hd_sys3(SYS_personality, old, 0, 0);
}

bool hd__raise_file_limit(void) {
  struct rlimit limit;
  if (hd_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &limit)) return false;
  if (limit.rlim_cur >= HD_FILE_LIMIT) return true;
  limit.rlim_cur = HD_FILE_LIMIT;
  return limit.rlim_max >= HD_FILE_LIMIT && hd_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, 0) == 0;
}

static char **keep(char **words) {
  unsigned n = hd__count_words(words) + 1;
  char **out = hd__map(n * sizeof *out);
  if (out) hd__copy(out, words, n * sizeof *out);
  return out;
}

/* In a replay, what the program prints before the call is not shown again. */
static void hide_output(void) {
  long null = hd_sys4(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY | O_CLOEXEC, 0);
  for (int i = 0; i < 2 && null >= 0; i++) {
    hd_sys3(SYS_dup3, 1 + i, SAVED_OUT + i, O_CLOEXEC);
    hd_sys3(SYS_dup2, null, 1 + i, 0);
  }
  if (null >= 0) hd_sys3(SYS_close, null, 0, 0);
}

void hd__show_output(void) {
  for (int i = 0; i < 2; i++)
    if (hd_sys3(SYS_dup2, SAVED_OUT + i, 1 + i, 0) >= 0) hd_sys3(SYS_close, SAVED_OUT + i, 0, 0);
}

/* A library that is loaded later may call hd_check too; setting this variable announces it. */
static bool announced(char **envp) { return hd__variable(envp, HD_OPTIONS_ENV) != NULL; }

void hd__check_begin(const char *how, bool late, char **argv, char **envp) {
  bool uses = false;
  if (late) {
    hd__process.way = HD_WAY_LATE;
    return;
  }
  if (!how) {
    hd__each_needed_name(is_check, &uses);
    if (!uses && !announced(envp)) return;
    hd__raise_file_limit();
    restart_program(argv, envp);
  }
  hd__process.way = how && hd__streq(how, HD_CTL_CALL) ? HD_WAY_REPLAY : HD_WAY_FREE;
}

void hd__check_start(char **argv, char **envp) {
  if (hd__process.way < HD_WAY_FREE) return;
  hd__process.argv = keep(argv);
  hd__process.envp = keep(envp);
  if (hd_sys3(SYS_getcwd, hd__process.folder, sizeof hd__process.folder, 0) <= 0) hd__process.folder[0] = 0;
  hd__exit_register_last();
  /* Not the runtime's own memory: it is restored with the program's. */
  void *buffer = mmap(NULL, OUT_BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer != MAP_FAILED) setvbuf(stdout, buffer, isatty(1) ? _IOLBF : _IOFBF, OUT_BUFFER);
  if (hd__process.way == HD_WAY_FREE)
    hd__calls_open();
  else
    hide_output();
}
