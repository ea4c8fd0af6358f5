/* err.c: errors, messages, and the live line. Runs in the supervisor.
 *
 * All text for the user that is not a report goes through here, so that a message never lands in the
 * middle of the live line. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *live; /* what the live line shows, or NULL */

int hd_fail(struct hd_err *err, int code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  err->code = code;
  vsnprintf(err->text, sizeof err->text, fmt, ap);
  va_end(ap);
  return code;
}

static void say(const char *prefix, const char *fmt, va_list ap) {
  struct hd_str line;
  hd_str_init(&line);
  if (live) hd_str_add(&line, "\r\033[K");
  hd_str_add(&line, prefix);
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
  say("heddle: ", fmt, ap);
  va_end(ap);
}

void hd_warn(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  say("heddle: warning: ", fmt, ap);
  va_end(ap);
}

void hd_live_line(const char *line) {
  if (!line && !live) return;
  free(live);
  live = line ? hd_strdup(line) : NULL;
  hd_write_all(STDERR_FILENO, "\r\033[K", 4);
  if (live) hd_write_all(STDERR_FILENO, live, strlen(live));
}

int hd_err_exit(const struct hd_err *err) {
  hd_say("%s", err->text);
  return -err->code;
}

_Noreturn void hd_bug(const char *file, int line, const char *cond) {
  hd_live_line(NULL);
  hd_say("bug in heddle at %s:%d: %s; please report it with the command line", file, line, cond);
  _exit(-HD_EINTERNAL);
}
