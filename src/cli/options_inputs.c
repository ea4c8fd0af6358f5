/* options_inputs.c: the options that say what of the program's surroundings are inputs. Runs in the supervisor. */
#include "cli/options_int.h"

#include <stdlib.h>
#include <string.h>

/* WORD:SIZE; the word is the caller's to free. */
static bool parse_sized(const char *value, char **word, uint64_t *size) {
  const char *colon = strrchr(value, ':');
  *word = NULL;
  if (!colon || colon == value || !hd_parse_u64(colon + 1, 10, HD_MAX_INPUT_SIZE, size) || !*size)
    return false;
  *word = hd_strdup(value);
  (*word)[colon - value] = '\0';
  return true;
}

int hd__parse_symbolic_args(struct hd_options *o, const char *value, struct hd_err *err) {
  char *word;
  bool good = parse_sized(value, &word, &o->symbolic_size) && hd_parse_u64(word, 10, 64, &o->symbolic_args) &&
              o->symbolic_args;
  free(word);
  o->inputs = true;
  if (good) return HD_OK;
  return hd_fail(err, HD_EUSAGE,
                 "--symbolic-args needs a number of arguments and their size, such as 1:8, not '%s'", value);
}

static int add_source(struct hd_options *o, unsigned kind, char *name, uint64_t size, struct hd_err *err) {
  o->inputs = true;
  for (unsigned i = 0; i < o->nsources; i++)
    if (o->source[i].kind == kind && strcmp(o->source[i].name, name) == 0) {
      o->source[i].size = (uint32_t)size;
      free(name);
      return HD_OK;
    }
  if (strlen(name) >= HD_INPUT_NAME)
    return hd_fail(err, HD_EUSAGE,
                   "the name of '%s' is too long for an input: use one of at most %d characters%s", name,
                   HD_INPUT_NAME - 1 - (int)(strchr(name, ' ') + 1 - name),
                   kind == HD_INPUT_FILE ? ", relative to the folder where the program runs" : "");
  if (o->nsources == HD_MAX_SOURCES)
    return hd_fail(err, HD_EUSAGE, "at most %d files and variables can be inputs", HD_MAX_SOURCES);
  o->source[o->nsources++] = (struct hd_input_source){.kind = kind, .size = (uint32_t)size, .name = name};
  return HD_OK;
}

int hd__parse_symbolic_stdin(struct hd_options *o, const char *value, struct hd_err *err) {
  uint64_t size;
  if (!hd_parse_u64(value, 10, HD_MAX_INPUT_SIZE, &size) || !size)
    return hd_fail(err, HD_EUSAGE, "--symbolic-stdin needs a number of bytes from 1 to %d, not '%s'",
                   HD_MAX_INPUT_SIZE, value);
  return add_source(o, HD_INPUT_STDIN, hd_strdup(HD_INPUT_STDIN_NAME), size, err);
}

/* The source that NAME:SIZE means, or NULL; the caller's to free. `never`: what the name does not contain. */
static char *parse_source(const char *value, const char *prefix, const char *never, uint64_t *size) {
  char *word;
  bool good = parse_sized(value, &word, size) && !strpbrk(word, never);
  char *name = good ? hd_sprintf("%s%s", prefix, word) : NULL;
  free(word);
  return name;
}

int hd__parse_symbolic_env(struct hd_options *o, const char *value, struct hd_err *err) {
  uint64_t size;
  char *name = parse_source(value, HD_INPUT_ENV_NAME, "= \n", &size);
  if (name) return add_source(o, HD_INPUT_ENVIRONMENT, name, size, err);
  return hd_fail(err, HD_EUSAGE,
                 "--symbolic-env needs a variable and the size of its value, such as LANG:8, not '%s'",
                 value);
}

int hd__parse_symbolic_file(struct hd_options *o, const char *value, struct hd_err *err) {
  uint64_t size;
  char *name = parse_source(value, HD_INPUT_FILE_NAME, "\n", &size);
  if (name) return add_source(o, HD_INPUT_FILE, name, size, err);
  return hd_fail(err, HD_EUSAGE, "--symbolic-file needs a file and its size, such as in.txt:16, not '%s'",
                 value);
}

void hd__forget_sources(struct hd_options *o, unsigned kind) {
  unsigned n = 0;
  for (unsigned i = 0; i < o->nsources; i++)
    if (o->source[i].kind != kind) o->source[n++] = o->source[i];
  o->nsources = n;
}

/* Room for them in the command. They live as long as the process. */
void hd_options_add_symbolic_args(struct hd_options *o) {
  if (!o->symbolic_args) return;
  char **all = hd_alloc(((size_t)o->nargs + o->symbolic_args + 1) * sizeof *all);
  memcpy(all, o->args, (size_t)o->nargs * sizeof *all);
  for (uint64_t i = 0; i < o->symbolic_args; i++) {
    char *word = all[o->nargs++] = hd_alloc(o->symbolic_size + 1);
    memset(word, '?', o->symbolic_size);
  }
  o->args = all;
}
