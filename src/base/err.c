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

static char *live;             /* text of the live lines, or NULL */
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

/* Goes back to the beginning of the live lines, which end without a newline, and erases them. */
static void add_erase(struct hd_str *out) {
  if (!live) return;
  hd_str_add(out, "\r\033[K");
  for (const char *c = live; (c = strchr(c, '\n')); c++) hd_str_add(out, "\033[A\033[K");
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
  add_erase(&line);
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

/* Cuts the lines to the terminal's width: a wrapped line could not be erased. */
static void fit(char *line) {
  struct winsize w;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) || w.ws_col < 2) return;
  char *out = line;
  size_t columns = 0;
  for (; *line; line++) {
    columns = *line == '\n' ? 0 : columns + (((unsigned char)*line & 0xc0) != 0x80);
    if (columns < w.ws_col) *out++ = *line;
  }
  *out = '\0';
}

unsigned hd_live_rows(void) {
  struct winsize w;
  return speaker || ioctl(STDERR_FILENO, TIOCGWINSZ, &w) || w.ws_row < HD_LIVE_ROOM ? 1 : HD_LIVE_ROWS;
}

void hd_live_line(const char *line) {
  if (!line && !live) return;
  struct hd_str out;
  hd_str_init(&out);
  if (live)
    add_erase(&out);
  else
    hd_str_add(&out, "\r\033[K");
  free(live);
  live = line ? hd_sprintf("%s%s%s", speaker ? speaker : "", speaker ? ": " : "", line) : NULL;
  if (live) fit(live);
  if (live) hd_str_add(&out, live);
  hd_write_all(STDERR_FILENO, out.s, out.n);
  hd_str_fini(&out);
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
