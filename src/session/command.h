/* command.h: the command to run: a validated program with its arguments, environment and folder.
 * Runs in the supervisor. */
#ifndef HD_SESSION_COMMAND_H
#define HD_SESSION_COMMAND_H

#include "abi/abi.h"
#include "base/base.h"

/* ---- paths.c ---- */

/* The folder of libheddle_rt.so and of include/heddle.h; NULL if it cannot be determined. */
const char *hd_libdir(void);

/* ---- program.c ---- */

struct hd_program {
  char *path; /* absolute */
  uint64_t size;
  uint64_t hash;      /* XXH64 of the file */
  char build_id[80];  /* hex; "" if it has none */
  bool runtime_found; /* the library is where the program looks for it */
  bool preload;       /* not built with heddle cc: the runtime is preloaded */
};

/* Finds `name` as execvp would and checks that it was built with heddle cc, or with p->preload, that it was not.
 * pre: p->preload is set; the other fields need not be. */
int hd_program_open(const char *name, const char *path_env, const char *cwd, struct hd_program *p,
                    struct hd_err *err);
void hd_program_fini(struct hd_program *p);

/* When a call of hd_check is searched, `template` is the process that waits at the call; each tested process is a copy
 * of it. Without a template, the program starts from its beginning with the results of the earlier calls. */
struct hd_command {
  struct hd_program program;
  char **argv, **envp;
  char *cwd;
  int template; /* socket of the process to copy; 0: none */
  char *calls;  /* file with the results of earlier calls, or NULL: control begins with main */
};

/* The shared libraries that the dynamic linker loads for it, without those of the system (libraries.c). The caller frees. */
int hd_program_libraries(const char *program, char ***library, size_t *n, struct hd_err *err);
void hd_libraries_free(char **library, size_t n);

/* Where the program is, a name without a slash as the shell finds it. The caller frees; NULL with `err` set. */
char *hd_program_find(const char *name, struct hd_err *err);
/* The command for `argv` in the folder `cwd` (NULL: the current one), with the current environment. */
int hd_command_init(struct hd_command *c, char **argv, bool preload, const char *cwd, struct hd_err *err);
/* Whether its environment preloads the runtime. */
bool hd_command_preloads(const struct hd_command *c);
/* Adds the folder of the runtime to the environment if the program would not find it. */
int hd_command_find_runtime(struct hd_command *c, struct hd_err *err);
void hd_command_fini(struct hd_command *c);

#endif
