/* err.c: errors, messages, and the live line. Runs in the supervisor.
 *
 * All text for the user that is not a report goes through here, so that a message never lands in the
 * middle of the live line. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static char *live;             /* text of the live line, or NULL */
static const char *speaker;    /* prefix of the live line, or NULL */
static struct hd_str *keep_in; /* where messages go instead of standard error, or NULL */

int hd_fail(struct hd_err *err, int code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  err->code = code;
  vsnprintf(err->text, sizeof err->text, fmt, ap);
  va_end(ap);
  return code;
}

void hd_speak_for(const char *name, struct hd_str *messages) {
  speaker = name;
  keep_in = messages;
}

/* `mark` is the prefix of warnings. */
static void say(const char *mark, const char *fmt, va_list ap) {
  struct hd_str line;
  if (keep_in) {
    hd_str_add(keep_in, mark);
    hd_str_vaddf(keep_in, fmt, ap);
    hd_str_addc(keep_in, '\n');
    return;
  }
  hd_str_init(&line);
  if (live) hd_str_add(&line, "\r\033[K");
  hd_str_addf(&line, "heddle: %s%s%s", speaker ? speaker : "", speaker ? ": " : "", mark);
  hd_str_vaddf(&line, fmt, ap);
  hd_str_addc(&line, '\n');
  if (live) hd_str_add(&line, live);
  fflush(stdout);
  hd_write_all(STDERR_FILENO, line.s, line.n);
  hd_str_fini(&line);
}

void hd_say(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  say("", fmt, ap);
  va_end(ap);
}

void hd_warn(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  say("warning: ", fmt, ap);
  va_end(ap);
}

/* Cuts the line to the terminal's width: a wrapped line could not be erased. */
static void fit(char *line) {
  struct winsize w;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) || w.ws_col < 2) return;
  size_t columns = 0;
  for (; *line; line++) {
    columns += ((unsigned char)*line & 0xc0) != 0x80;
    if (columns < w.ws_col) continue;
    *line = '\0';
    return;
  }
}

void hd_live_line(const char *line) {
  if (!line && !live) return;
  free(live);
  live = line ? hd_sprintf("%s%s%s", speaker ? speaker : "", speaker ? ": " : "", line) : NULL;
  if (live) fit(live);
  hd_write_all(STDERR_FILENO, "\r\033[K", 4);
  if (live) hd_write_all(STDERR_FILENO, live, strlen(live));
}

int hd_err_exit(const struct hd_err *err) {
  hd_say("%s", err->text);
  return -err->code;
}

_Noreturn void hd_bug(const char *file, int line, const char *cond) {
  hd_live_line(NULL);
  keep_in = NULL; /* the parent does not read it after a bug */
  hd_say("bug in heddle at %s:%d: %s; please report it with the command line", file, line, cond);
  _exit(-HD_EINTERNAL);
}
