/* libraries.c: the shared libraries that a program brings along. Runs in the supervisor. */
#include "session/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool of_system(const char *path) {
  static const char *const folder[] = {"/lib/",     "/lib32/",     "/lib64/",
                                       "/usr/lib/", "/usr/lib32/", "/usr/lib64/"};
  for (size_t i = 0; i < sizeof folder / sizeof *folder; i++)
    if (strncmp(path, folder[i], strlen(folder[i])) == 0) return true;
  return strstr(path, "/libheddle_rt.so") != NULL; /* it comes with heddle */
}

/* The dynamic linker lists them as lines "NAME => PATH (ADDRESS)", and runs nothing. */
int hd_program_libraries(const char *program, char ***library, size_t *n, struct hd_err *err) {
  HD_VEC(char *) out = {0};
  int pipe_fd[2];
  *library = NULL;
  *n = 0;
  if (pipe(pipe_fd)) return hd_fail(err, HD_EENV, "the libraries of %s: %s", program, strerror(errno));
  pid_t child = fork();
  if (child == 0) {
    dup2(pipe_fd[1], STDOUT_FILENO);
    setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
    execl(program, program, (char *)NULL);
    _exit(1);
  }
  close(pipe_fd[1]);
  FILE *f = fdopen(pipe_fd[0], "r");
  char line[4352], path[4096];
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, " %*s => %4095s (", path) == 1 && path[0] == '/' && !of_system(path))
      hd_vec_push(&out, hd_strdup(path));
  if (f) fclose(f);
  while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
  *library = out.v;
  *n = out.n;
  return HD_OK;
}

void hd_libraries_free(char **library, size_t n) {
  for (size_t i = 0; i < n; i++) free(library[i]);
  free(library);
}
