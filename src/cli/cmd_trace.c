/* cmd_trace.c: `heddle trace`: shows and converts traces. Runs in the supervisor. */
#include "cli/cli.h"
#include "session/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct words {
  const char *to, *out;
  bool stat;
  const char *in; /* the word that is not an option */
};

/* Takes the value of the option `name` if `word` is that option. */
static int take_value(const char *word, const char *name, char ***next, const char **value, bool *taken,
                      struct hd_err *err) {
  size_t n = strlen(name);
  *taken = strncmp(word, name, n) == 0 && (!word[n] || (name[1] == '-' && word[n] == '='));
  if (!*taken) return HD_OK;
  *value = word[n] ? word + n + 1 : **next ? *(*next)++ : NULL;
  if (*value && **value) return HD_OK;
  return hd_fail(err, HD_EUSAGE, "%s needs a value", name);
}

static int parse(struct words *o, bool convert, char **argv, struct hd_err *err) {
  while (*argv) {
    const char *word = *argv++;
    bool taken = false;
    int rc = HD_OK;
    if (strcmp(word, "--") == 0 && *argv && !o->in) word = *argv++, taken = false;
    if (convert) rc = take_value(word, "--to", &argv, &o->to, &taken, err);
    if (convert && rc == HD_OK && !taken) rc = take_value(word, "-o", &argv, &o->out, &taken, err);
    if (rc != HD_OK) return rc;
    if (taken) continue;
    if (!convert && strcmp(word, "--stat") == 0) {
      o->stat = true;
    } else if (word[0] == '-' && word[1]) {
      return hd_fail(err, HD_EUSAGE, "unknown option '%s'; see `heddle help trace`", word);
    } else if (o->in) {
      return hd_fail(err, HD_EUSAGE, "one trace at a time: '%s' is a second one", word);
    } else {
      o->in = word;
    }
  }
  if (!o->in)
    return hd_fail(err, HD_EUSAGE,
                   convert ? "name a trace: heddle trace convert --to text IN -o OUT"
                           : "name a trace: heddle trace show .heddle/1");
  if (convert && !o->out)
    return hd_fail(err, HD_EUSAGE, "say where to write: -o FILE (- is standard output)");
  return HD_OK;
}

/* A file, standard input, or the trace in the folder of a finding: the one that a replay follows. */
static int open_trace(const char *in, struct hd_tr_source **out, uint64_t *size, struct hd_err *err) {
  struct stat st;
  if (strcmp(in, "-") == 0) in = "/dev/stdin";
  bool folder = stat(in, &st) == 0 && S_ISDIR(st.st_mode);
  char *path = folder ? hd_store_trace(in) : hd_strdup(in);
  *size = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
  int rc = hd_tr_open_file(path, out, err);
  if (rc != HD_OK && strcmp(path, in) != 0 && access(path, F_OK))
    rc = hd_fail(err, HD_EUSAGE, "%s has no trace: is it the folder of a finding, such as .heddle/1?", in);
  free(path);
  return rc;
}

static int print_stat(struct hd_tr_source *s, uint64_t size, struct hd_err *err) {
  struct hd_tr_stat st;
  int rc = hd_tr_stat(s, &st, err);
  if (rc == HD_OK) {
    const struct hd_tr_tables *t = s->tables;
    printf("%llu events, %llu of them accesses that were no scheduling points; %llu with a value\n",
           (unsigned long long)st.events, (unsigned long long)st.plain, (unsigned long long)st.values);
    printf("%zu threads, %llu switches, %zu places, %zu named objects\n", t->thread.n,
           (unsigned long long)st.switches, t->place.n, t->object.n);
    if (size && st.events)
      printf("%llu bytes, %.2f per event\n", (unsigned long long)size, (double)size / (double)st.events);
    for (int k = 0; k < HD_OP_COUNT; k++)
      if (st.op[k]) printf("  %12llu  %s\n", (unsigned long long)st.op[k], hd_op_text(k));
    for (size_t i = 0; i < t->thread.n; i++) {
      const struct hd_tr_thread *thread = &t->thread.v[i];
      struct hd_str b;
      hd_str_init(&b);
      hd_str_addf(&b, "  %12llu  of %s", (unsigned long long)st.thread[i], thread->name);
      if (thread->called) hd_str_addf(&b, " %s", thread->called);
      if (thread->function) hd_str_addf(&b, " (%s)", thread->function);
      for (char *c = b.s; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
      printf("%s\n", b.s);
      hd_str_fini(&b);
    }
    if (fflush(stdout)) rc = hd_fail(err, HD_EENV, "cannot write to standard output: %s", strerror(errno));
  }
  free(st.thread);
  return rc;
}

static int run(const struct words *o, bool convert, struct hd_err *err) {
  enum hd_tr_format format = convert ? HD_TR_BINARY : HD_TR_TEXT;
  if (o->to && !hd_tr_format_by_name(o->to, &format))
    return hd_fail(err, HD_EUSAGE, "--to is text, binary, std or perfetto, not '%s'", o->to);
  struct hd_tr_source *s = NULL;
  uint64_t size;
  int rc = open_trace(o->in, &s, &size, err);
  if (rc != HD_OK) return rc;
  if (o->stat)
    rc = print_stat(s, size, err);
  else if (convert && strcmp(o->out, "-") != 0)
    rc = hd_tr_write_file(s, format, o->out, err);
  else
    rc = hd_tr_write(s, format, stdout, "standard output", err);
  hd_tr_close(s);
  return rc;
}

int hd_cmd_trace(int argc, char **argv) {
  struct hd_err err;
  struct words o = {0};
  bool help = false;
  for (int i = 1; i < argc; i++) help |= strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
  if (help) return hd_help_verb("trace"), 0;
  bool convert = argc > 1 && strcmp(argv[1], "convert") == 0;
  int rc = HD_OK;
  if (argc < 2 || (!convert && strcmp(argv[1], "show") != 0))
    rc = hd_fail(&err, HD_EUSAGE, "say what to do with the trace: heddle trace show or heddle trace convert");
  if (rc == HD_OK) rc = parse(&o, convert, argv + 2, &err);
  if (rc == HD_OK) rc = run(&o, convert, &err);
  return rc == HD_OK ? 0 : hd_err_exit(&err);
}
