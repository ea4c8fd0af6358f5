/* mutate_job.c: the commands that `heddle mutate` runs, and compile_commands.json. Runs in the supervisor. */
#include "cli/mutate_cli.h"
#include "session/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

const char *hd__self(void) {
  static char path[4096];
  ssize_t n = path[0] ? 0 : readlink("/proc/self/exe", path, sizeof path - 1);
  if (n > 0) path[n] = '\0';
  return path;
}

static void start(const struct hd__job *j, char **argv) {
  int null = open("/dev/null", O_RDWR);
  int out = j->output ? open(j->output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : null;
  hd_interrupt_release();
  setpgid(0, 0);
  dup2(null, STDIN_FILENO);
  dup2(out < 0 ? null : out, STDOUT_FILENO);
  dup2(out < 0 ? null : out, STDERR_FILENO);
  if (j->folder && chdir(j->folder) != 0) _exit(127);
  if (j->mutant) {
    setenv("HEDDLE_MUTANT", j->mutant, 1);
    setenv("HEDDLE_MUTANT_OF", j->original, 1);
  }
  execvp(argv[0], argv);
  _exit(127);
}

int hd__job_run(const struct hd__job *j) {
  hd_words argv = {0};
  for (size_t i = 0; i < j->words.n; i++) hd_vec_push(&argv, j->words.v[i]);
  hd_vec_push(&argv, NULL);
  pid_t pid = fork();
  if (pid == 0) start(j, argv.v);
  hd_vec_free(&argv);
  if (pid < 0) return -1;
  double deadline = hd_now() + j->seconds;
  int status = 0, interrupts = hd_interrupts();
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (hd_now() > deadline || hd_interrupts() > interrupts) {
      kill(-pid, SIGKILL);
      waitpid(pid, &status, 0);
      break;
    }
    usleep(2000);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- compile_commands.json ---- */

/* The words of a shell command: quotes and backslashes, nothing else. */
static void split(const char *s, hd_words *out) {
  struct hd_str word;
  while (*(s += strspn(s, " \t"))) {
    char quote = 0;
    hd_str_init(&word);
    for (; *s && (quote || !strchr(" \t", *s)); s++) {
      if (*s == '\\' && quote != '\'' && s[1])
        hd_str_addc(&word, *++s);
      else if (quote ? *s == quote : *s == '"' || *s == '\'')
        quote = quote ? 0 : *s;
      else
        hd_str_addc(&word, *s);
    }
    hd_vec_push(out, hd_str_take(&word));
  }
}

/* Drops the compiler, what says what to make, and the file itself. */
static void keep_flags(const hd_words *all, const char *file, const char *folder, hd_words *flags) {
  static const char *const with_value[] = {"-o", "-MF", "-MT", "-MQ", NULL};
  static const char *const alone[] = {"-c", "-M", "-MM", "-MD", "-MMD", "-MP", "cc", "c++", NULL};
  char *own = hd_absolute(folder, file);
  for (size_t i = 1; i < all->n; i++) {
    const char *w = all->v[i];
    bool drop = false, value = false;
    for (const char *const *k = with_value; *k; k++) value |= strcmp(w, *k) == 0;
    for (const char *const *k = alone; *k; k++) drop |= strcmp(w, *k) == 0 && (w[0] == '-' || i == 1);
    if (!drop && w[0] != '-') {
      char *path = hd_absolute(folder, w);
      drop = strcmp(path, own) == 0;
      free(path);
    }
    i += value;
    if (!drop && !value) hd_vec_push(flags, hd_strdup(w));
  }
  free(own);
}

static bool same_file(const char *a, const char *b) {
  char *x = realpath(a, NULL), *y = realpath(b, NULL);
  bool same = x && y && strcmp(x, y) == 0;
  free(x);
  free(y);
  return same;
}

int hd__compile_command(const char *database, const char *file, hd_words *flags, char **folder,
                        struct hd_err *err) {
  json_error_t why;
  json_t *all = json_load_file(database, 0, &why), *one;
  size_t i;
  if (!json_is_array(all)) {
    json_decref(all);
    return hd_fail(err, HD_EUSAGE, "%s is not a compile_commands.json: %s", database,
                   all ? "it is not a list" : why.text);
  }
  bool found = false;
  json_array_foreach(all, i, one) {
    const char *name = json_string_value(json_object_get(one, "file"));
    const char *where = json_string_value(json_object_get(one, "directory"));
    const char *command = json_string_value(json_object_get(one, "command"));
    json_t *words = json_object_get(one, "arguments"), *word;
    if (!name || !where || found) continue;
    char *path = hd_absolute(where, name);
    found = same_file(path, file);
    if (found) {
      hd_words line = {0};
      size_t k;
      if (command) split(command, &line);
      json_array_foreach(words, k, word)
          hd_vec_push(&line, hd_strdup(json_string_value(word) ? json_string_value(word) : ""));
      keep_flags(&line, path, where, flags);
      for (k = 0; k < line.n; k++) free(line.v[k]);
      hd_vec_free(&line);
      *folder = hd_strdup(where);
    }
    free(path);
  }
  json_decref(all);
  return found ? HD_OK : hd_fail(err, HD_EUSAGE, "%s is not among the files of %s", file, database);
}
