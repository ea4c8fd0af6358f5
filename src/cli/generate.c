/* generate.c: generates the manual page and shell completions from the tables that --help reads. Runs in the
 * supervisor, when Heddle is built: `heddle generate man|bash|zsh` is for the build; no help text mentions it.
 *
 * The placeholder of an option determines its values: FILE and DIR are file names, a list with bars its words, NAME a
 * strategy, KIND a kind of finding. */
#include "cli/cli.h"
#include "session/names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- contents ---- */

/* The possible values, separated by blanks; nothing when any value is possible. */
static void add_values(struct hd_str *out, const char *arg) {
  struct hd_strategy_info s;
  for (size_t at = 0; strcmp(arg, "NAME") == 0 && hd_strategies_next(&at, &s);)
    hd_str_addf(out, "%s%s", out->n ? " " : "", s.name);
  for (int k = 1; k < HD_KIND_COUNT && strcmp(arg, "KIND") == 0; k++)
    hd_str_addf(out, "%s%s", out->n ? " " : "", hd_kind_name[k]);
  if (!strchr(arg, '|')) return;
  for (const char *p = arg; *p;) {
    size_t n = strcspn(p, "|");
    if (islower((unsigned char)*p)) hd_str_addf(out, "%s%.*s", out->n ? " " : "", (int)n, p);
    p += n + (p[n] == '|');
  }
}

static bool is_file(const char *arg) { return strcmp(arg, "FILE") == 0; }
static bool is_folder(const char *arg) { return strcmp(arg, "DIR") == 0; }

/* The options of a verb that has none in the table: those that its text mentions. */
static void add_mentioned(struct hd_str *out, const char *text) {
  for (const char *p = strstr(text, "--"); p; p = strstr(p, "--")) {
    size_t n = 2 + strspn(p + 2, "abcdefghijklmnopqrstuvwxyz-");
    char *word = hd_sprintf(" %.*s ", (int)n, p);
    char *padded = hd_sprintf(" %s ", out->s);
    if (n > 2 && !strstr(padded, word)) hd_str_addf(out, "%s%.*s", out->n ? " " : "", (int)n, p);
    free(padded);
    free(word);
    p += n;
  }
}

/* ---- the manual page ---- */

/* Escapes text for roff: hyphens become minus signs, so that options can be copied; a line may begin with a dot. */
static void add_roff(struct hd_str *out, const char *s) {
  if (*s == '.' || *s == '\'') hd_str_add(out, "\\&");
  for (; *s; s++) {
    if (*s == '-')
      hd_str_add(out, "\\-");
    else if (*s == '\\')
      hd_str_add(out, "\\e");
    else
      hd_str_addc(out, *s);
    if (*s == '\n' && (s[1] == '.' || s[1] == '\'')) hd_str_add(out, "\\&");
  }
}

static void add_man_option(struct hd_str *out, const struct hd_option_info *o) {
  hd_str_add(out, ".TP\n.B ");
  char *name = hd_sprintf("--%s", o->name);
  add_roff(out, name);
  free(name);
  if (o->arg) {
    hd_str_add(out, " \\fI");
    add_roff(out, o->arg);
    hd_str_add(out, "\\fR");
  }
  hd_str_addc(out, '\n');
  add_roff(out, o->help);
  hd_str_addc(out, '\n');
}

static void add_man_verb(struct hd_str *out, const struct hd_verb_info *v) {
  hd_str_add(out, ".SS ");
  add_roff(out, v->usage);
  hd_str_add(out, "\n");
  char *first = hd_sprintf("%c%s.", toupper((unsigned char)v->first[0]), v->first + 1);
  add_roff(out, first);
  free(first);
  hd_str_add(out, "\n");
  struct hd_option_info o;
  for (size_t at = 0; v->options && hd_options_next(v->options, &at, &o);) add_man_option(out, &o);
  hd_str_add(out, ".PP\n.nf\n");
  add_roff(out, v->text);
  hd_str_add(out, ".fi\n");
}

static void make_man(struct hd_str *out) {
  struct hd_verb_info v;
  hd_str_addf(out, ".TH HEDDLE 1 \"\" \"heddle %s\" \"User Commands\"\n", HD_VERSION);
  hd_str_add(out, ".SH NAME\nheddle \\- find the schedules in which threaded C and C++ programs fail\n");
  hd_str_add(out, ".SH SYNOPSIS\n.nf\n");
  for (size_t at = 0; hd_verbs_next(&at, &v);) {
    hd_str_add(out, ".B ");
    add_roff(out, v.usage);
    hd_str_addc(out, '\n');
  }
  hd_str_add(
      out,
      ".fi\n.SH DESCRIPTION\n"
      "Heddle runs a threaded program many times, decides before every step which thread goes next, and\n"
      "reports the schedules in which the program fails. A failure comes with its schedule and replays the\n"
      "same way every time; a search without a failure says how much it covered.\n"
      ".PP\nThe program is built with\n.B heddle cc\nor\n.BR \"heddle c++\" ,\n"
      "which drive gcc or clang, and runs as an ordinary program when it is started on its own.\n"
      ".SH VERBS\n");
  for (size_t at = 0; hd_verbs_next(&at, &v);) add_man_verb(out, &v);
  struct hd_str strategies;
  hd_str_init(&strategies);
  hd_help_strategies(&strategies);
  hd_str_add(out, ".SH STRATEGIES\n.nf\n");
  add_roff(out, strategies.s);
  hd_str_fini(&strategies);
  hd_str_add(out, ".fi\n.SH KINDS OF FINDINGS\n");
  for (int k = 1; k < HD_KIND_COUNT; k++) {
    hd_str_add(out, ".TP\n.B ");
    add_roff(out, hd_kind_name[k]);
    hd_str_addc(out, '\n');
    add_roff(out, hd_kind_title[k]);
    hd_str_addc(out, '\n');
  }
  hd_str_add(
      out,
      ".SH FILES\n.TP\n.I .heddle/N\nA finding: its schedule, its trace and the command that was run.\n"
      ".TP\n.I .heddle/TARGET/N\nThe same of a target of heddle.toml.\n"
      ".TP\n.I heddle.toml\nWhat\n.B heddle check\nruns when no program is given; docs/config.md has its keys.\n"
      ".SH ENVIRONMENT\n.TP\n.B HEDDLE_CC\\fR, \\fBHEDDLE_CXX\nThe compilers of\n.B heddle cc\nand\n.BR "
      "heddle\\ c++ .\n"
      ".TP\n.B HEDDLE_OPTIONS\nOptions for every call, separated by blanks. Those of heddle.toml and of the command line\n"
      "override them; each verb takes those that it has.\n"
      ".TP\n.B HEDDLE_CHECK_OPTIONS\nFor test programs that call\n.BR hd_check ()\nthemselves: more options of\n"
      ".B heddle check\nfor every call, separated by blanks. They override those of the call.\n"
      ".TP\n.B HEDDLE\nFor these programs: the\n.B heddle\nto use instead of the one that they were built with.\n"
      ".SH EXAMPLES\n.nf\nheddle cc \\-g test.c \\-o test\nheddle check \\-\\- ./test\n"
      "heddle replay .heddle/1\n.fi\n"
      ".SH SEE ALSO\n.BR gcc (1),\n.BR clang (1),\n.BR gdb (1)\n");
}

/* ---- bash ---- */

static void add_bash_values(struct hd_str *out, const struct hd_option_info *o) {
  struct hd_str values;
  hd_str_init(&values);
  add_values(&values, o->arg);
  hd_str_addf(out, "        --%s) ", o->name);
  if (values.n)
    hd_str_addf(out, "COMPREPLY=($(compgen -W '%s' -- \"$cur\"))", values.s);
  else if (is_folder(o->arg))
    hd_str_add(out, "compopt -o dirnames");
  else if (!is_file(o->arg))
    hd_str_add(out, "compopt +o default");
  hd_str_add(out, "\n          return ;;\n");
  hd_str_fini(&values);
}

static void add_bash_verb(struct hd_str *out, const struct hd_verb_info *v) {
  struct hd_str names;
  hd_str_init(&names);
  struct hd_option_info o;
  hd_str_addf(out, "    %s)\n", v->name);
  if (v->words) hd_str_add(&names, v->words);
  if (v->options) {
    hd_str_add(out, "      case $prev in\n");
    for (size_t at = 0; hd_options_next(v->options, &at, &o);) {
      hd_str_addf(&names, "%s--%s", names.n ? " " : "", o.name);
      if (o.arg) add_bash_values(out, &o);
    }
    hd_str_add(out, "      esac\n");
  } else {
    add_mentioned(&names, v->text);
  }
  hd_str_addf(out, "      words='%s' ;;\n", names.s);
  hd_str_fini(&names);
}

static void make_bash(struct hd_str *out) {
  struct hd_verb_info v;
  hd_str_add(out, "# bash completion for heddle                                -*- shell-script -*-\n"
                  "_heddle() {\n"
                  "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= i\n"
                  "  COMPREPLY=()\n"
                  "  # --option=value comes as three words.\n"
                  "  if [[ $cur == = ]]; then\n"
                  "    cur=\n"
                  "  elif [[ $prev == = ]]; then\n"
                  "    prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                  "  fi\n"
                  "  if ((COMP_CWORD == 1)); then\n"
                  "    COMPREPLY=($(compgen -W '");
  for (size_t at = 0; hd_verbs_next(&at, &v);) hd_str_addf(out, "%s ", v.name);
  hd_str_add(out, "help --version' -- \"$cur\"))\n"
                  "    return\n"
                  "  fi\n"
                  "  # After -- comes a program with its arguments.\n"
                  "  for ((i = 2; i < COMP_CWORD; i++)); do\n"
                  "    [[ ${COMP_WORDS[i]} == -- ]] && return\n"
                  "  done\n"
                  "  case ${COMP_WORDS[1]} in\n");
  for (size_t at = 0; hd_verbs_next(&at, &v);) add_bash_verb(out, &v);
  hd_str_add(out, "    help)\n      words='");
  for (size_t at = 0; hd_verbs_next(&at, &v);) hd_str_addf(out, "%s%s", at > 1 ? " " : "", v.name);
  hd_str_add(
      out, "' ;;\n"
           "  esac\n"
           "  if [[ $cur == -* || ${COMP_WORDS[1]} == help || ( $COMP_CWORD == 2 && $words != -* ) ]]; then\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
           "  fi\n"
           "}\n"
           "complete -o default -F _heddle heddle\n");
}

/* ---- zsh ---- */

/* A description inside single quotes and brackets, on one line. */
static void add_zsh(struct hd_str *out, const char *s) {
  for (; *s; s++) {
    if (*s == '\'')
      hd_str_add(out, "'\\''");
    else if (strchr("[]:\\", *s))
      hd_str_addf(out, "\\%c", *s);
    else
      hd_str_addc(out, *s == '\n' ? ' ' : *s);
  }
}

static void add_zsh_option(struct hd_str *out, const struct hd_option_info *o) {
  hd_str_addf(out, "        '*--%s%s[", o->name, o->arg ? "=" : "");
  add_zsh(out, o->help);
  hd_str_addc(out, ']');
  if (o->arg) {
    struct hd_str values;
    hd_str_init(&values);
    add_values(&values, o->arg);
    hd_str_addc(out, ':');
    add_zsh(out, o->arg);
    hd_str_addc(out, ':');
    if (values.n)
      hd_str_addf(out, "(%s)", values.s);
    else if (is_file(o->arg))
      hd_str_add(out, "_files");
    else if (is_folder(o->arg))
      hd_str_add(out, "_files -/");
    hd_str_fini(&values);
  }
  hd_str_add(out, "' \\\n");
}

static void add_zsh_verb(struct hd_str *out, const struct hd_verb_info *v) {
  struct hd_option_info o;
  hd_str_addf(out, "    %s)\n      _arguments \\\n", v->name);
  for (size_t at = 0; v->options && hd_options_next(v->options, &at, &o);) add_zsh_option(out, &o);
  if (!v->options) {
    struct hd_str names;
    hd_str_init(&names);
    add_mentioned(&names, v->text);
    char *rest = names.s;
    for (char *word; (word = strsep(&rest, " ")) && *word;) hd_str_addf(out, "        '%s' \\\n", word);
    hd_str_fini(&names);
  }
  if (v->words) hd_str_addf(out, "        '1:what:(%s)' \\\n", v->words);
  bool program = v->options & (HD_VERB_RUN | HD_VERB_CHECK | HD_VERB_RECORD | HD_VERB_PREDICT);
  hd_str_add(out, program ? "        '*::program:_normal' ;;\n" : "        '*:file:_files' ;;\n");
}

static void make_zsh(struct hd_str *out) {
  struct hd_verb_info v;
  hd_str_add(out, "#compdef heddle\n_heddle() {\n  local -a verbs=(\n");
  for (size_t at = 0; hd_verbs_next(&at, &v);) {
    hd_str_add(out, "    '");
    add_zsh(out, v.name);
    hd_str_addc(out, ':');
    add_zsh(out, v.first);
    hd_str_add(out, "'\n");
  }
  hd_str_add(out, "    'help:options of each verb'\n"
                  "  )\n"
                  "  if ((CURRENT == 2)); then\n"
                  "    _describe -t verbs verb verbs\n"
                  "    return\n"
                  "  fi\n"
                  "  local verb=$words[2]\n"
                  "  shift words\n"
                  "  ((CURRENT--))\n"
                  "  case $verb in\n");
  for (size_t at = 0; hd_verbs_next(&at, &v);) add_zsh_verb(out, &v);
  hd_str_add(out, "    help)\n"
                  "      _describe -t verbs verb verbs ;;\n"
                  "  esac\n"
                  "}\n"
                  "_heddle \"$@\"\n");
}

int hd_cmd_generate(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*make)(struct hd_str *out);
  } kinds[] = {{"man", make_man}, {"bash", make_bash}, {"zsh", make_zsh}};
  struct hd_err err;
  for (size_t i = 0; argc == 2 && i < sizeof kinds / sizeof kinds[0]; i++) {
    if (strcmp(argv[1], kinds[i].name) != 0) continue;
    struct hd_str out;
    hd_str_init(&out);
    kinds[i].make(&out);
    int rc = HD_OK;
    if (hd_write_all(STDOUT_FILENO, out.s, out.n))
      rc = hd_fail(&err, HD_EENV, "cannot write to standard output");
    hd_str_fini(&out);
    return rc == HD_OK ? 0 : hd_err_exit(&err);
  }
  hd_fail(&err, HD_EUSAGE, "say what to generate: heddle generate man, bash or zsh");
  return hd_err_exit(&err);
}
