/* exec.c: what starting another program reads: its name, arguments and environment. Runs in the tested process. The system
 * call itself is an operation (kernel/child.c). */
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/wrap/results.h"

static void reads_list(char *const *list, uint64_t pc) {
  if (!hot.active || !list) return;
  size_t n = 0;
  for (; list[n]; n++) hd__reads_string(list[n], pc);
  hd__reads(list, (n + 1) * sizeof *list, pc);
}

#define LIST(list) reads_list((list), HD_CALLER)

/* An environment. Before the memory of the process's own is read, setenv and similar may change it. */
static void environment(char *const *envp, uint64_t pc) {
  bool own = envp == environ;
  if (own) hd__lookup(HD_STATE_ENVIRON, 0, pc);
  reads_list(own ? environ : envp, pc);
}
/* PATH, in which a name without a slash is looked for. */
static void search_path(const char *file, uint64_t pc) {
  while (*file && *file != '/') file++;
  if (!*file) hd__lookup(HD_STATE_ENVIRON, 0, pc);
}
#define ENVIRONMENT(envp) environment((envp), HD_CALLER)
#define PATH(file) search_path((file), HD_CALLER)

CALL(int, execv, (const char *path, char *const argv[]), (path, argv), READS_STRING(path); LIST(argv);
     ENVIRONMENT(environ))
CALL(int, execvp, (const char *file, char *const argv[]), (file, argv), READS_STRING(file); LIST(argv);
     ENVIRONMENT(environ))
CALL(int, execve, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp),
     READS_STRING(path);
     LIST(argv); ENVIRONMENT(envp))
CALL(int, execvpe, (const char *file, char *const argv[], char *const envp[]), (file, argv, envp),
     READS_STRING(file);
     PATH(file); LIST(argv); ENVIRONMENT(envp))
CALL(int, fexecve, (int fd, char *const argv[], char *const envp[]), (fd, argv, envp), LIST(argv);
     ENVIRONMENT(envp))
CALL(int, execveat, (int dir, const char *path, char *const argv[], char *const envp[], int flags),
     (dir, path, argv, envp, flags), READS_STRING(path);
     LIST(argv); ENVIRONMENT(envp))

/* The arguments that follow `first`, up to NULL, in an array; then what the call does with it. */
#define WITH_LIST(first, then)                                             \
  do {                                                                     \
    va_list ap;                                                            \
    size_t n = 1;                                                          \
    va_start(ap, first);                                                   \
    while (va_arg(ap, char *)) n++;                                        \
    va_end(ap);                                                            \
    char *argv[n + 1];                                                     \
    va_start(ap, first);                                                   \
    argv[0] = (char *)(uintptr_t)(first);                                  \
    for (size_t i = 1; i <= n; i++) argv[i] = va_arg(ap, char *);          \
    char *const *envp __attribute__((unused)) = va_arg(ap, char *const *); \
    va_end(ap);                                                            \
    return then;                                                           \
  } while (0)

/* With the environment that the process has then, or with envp. */
static int run(const char *path, char *const *argv, bool own, char *const *envp, uint64_t pc) {
  static void *plain, *given;
  hd__reads_string(path, pc);
  reads_list(argv, pc);
  environment(own ? environ : envp, pc);
  return own ? ((__typeof__(&execv))hd__original(&plain, "execv"))(path, argv)
             : ((__typeof__(&execve))hd__original(&given, "execve"))(path, argv, envp);
}
static int run_found(const char *file, char *const *argv, uint64_t pc) {
  static void *found;
  hd__reads_string(file, pc);
  reads_list(argv, pc);
  environment(environ, pc);
  return ((__typeof__(&execvp))hd__original(&found, "execvp"))(file, argv);
}

HD_EXPORT int execl(const char *path, const char *arg, ...) {
  WITH_LIST(arg, run(path, argv, true, NULL, HD_CALLER));
}
HD_EXPORT int execlp(const char *file, const char *arg, ...) {
  WITH_LIST(arg, run_found(file, argv, HD_CALLER));
}
/* The environment follows NULL. */
HD_EXPORT int execle(const char *path, const char *arg, ...) {
  WITH_LIST(arg, run(path, argv, false, envp, HD_CALLER));
}

/* The shell gets the environment of the process. */
CALL(int, system, (const char *command), (command), command = READS_STRING(command); ENVIRONMENT(environ))
CALL(FILE *, popen, (const char *command, const char *mode), (command, mode), command = READS_STRING(command);
     mode = READS_STRING(mode); ENVIRONMENT(environ))

#define SPAWN(name, search)                                                                             \
  RESULT(int, name,                                                                                     \
         (pid_t *restrict pid, const char *restrict path, const posix_spawn_file_actions_t *restrict f, \
          const posix_spawnattr_t *restrict a, char *const argv[restrict], char *const envp[restrict]), \
         (pid, path, f, a, argv, envp), READS_STRING(path);                                             \
         search; READS(f, sizeof *f); READS(a, sizeof *a); LIST(argv); ENVIRONMENT(envp);               \
         WRITES(pid, sizeof *pid), false, NOTHING)
SPAWN(posix_spawn, NOTHING)
SPAWN(posix_spawnp, PATH(path))

#define SET(name, type) CALL(int, name, (posix_spawnattr_t * a, type v), (a, v), WRITES(a, sizeof *a))
#define SET_FROM(name, type)                                                                            \
  CALL(int, name, (posix_spawnattr_t *restrict a, const type *restrict v), (a, v), READS(v, sizeof *v); \
       WRITES(a, sizeof *a))
#define GET(name, type)                                                                                   \
  RESULT(int, name, (const posix_spawnattr_t *restrict a, type *restrict v), (a, v), READS(a, sizeof *a), \
         r == 0, WRITES(v, sizeof *v))
CALL(int, posix_spawnattr_init, (posix_spawnattr_t * a), (a), WRITES(a, sizeof *a))
CALL(int, posix_spawnattr_destroy, (posix_spawnattr_t * a), (a), WRITES(a, sizeof *a))
SET(posix_spawnattr_setflags, short)
SET(posix_spawnattr_setpgroup, pid_t)
SET(posix_spawnattr_setschedpolicy, int)
SET_FROM(posix_spawnattr_setsigmask, sigset_t)
SET_FROM(posix_spawnattr_setsigdefault, sigset_t)
SET_FROM(posix_spawnattr_setschedparam, struct sched_param)
GET(posix_spawnattr_getflags, short)
GET(posix_spawnattr_getpgroup, pid_t)
GET(posix_spawnattr_getschedpolicy, int)
GET(posix_spawnattr_getsigmask, sigset_t)
GET(posix_spawnattr_getsigdefault, sigset_t)
GET(posix_spawnattr_getschedparam, struct sched_param)

#define ACTION(name, params, args, reads) CALL(int, name, params, args, reads; WRITES(f, sizeof *f))
ACTION(posix_spawn_file_actions_init, (posix_spawn_file_actions_t * f), (f), NOTHING)
ACTION(posix_spawn_file_actions_destroy, (posix_spawn_file_actions_t * f), (f), NOTHING)
ACTION(posix_spawn_file_actions_addclose, (posix_spawn_file_actions_t * f, int fd), (f, fd), NOTHING)
ACTION(posix_spawn_file_actions_adddup2, (posix_spawn_file_actions_t * f, int fd, int to), (f, fd, to),
       NOTHING)
ACTION(posix_spawn_file_actions_addopen,
       (posix_spawn_file_actions_t *restrict f, int fd, const char *restrict path, int flags, mode_t mode),
       (f, fd, path, flags, mode), READS_STRING(path))
ACTION(posix_spawn_file_actions_addchdir_np,
       (posix_spawn_file_actions_t *restrict f, const char *restrict path), (f, path), READS_STRING(path))
ACTION(posix_spawn_file_actions_addfchdir_np, (posix_spawn_file_actions_t * f, int fd), (f, fd), NOTHING)
ACTION(posix_spawn_file_actions_addclosefrom_np, (posix_spawn_file_actions_t * f, int fd), (f, fd), NOTHING)
