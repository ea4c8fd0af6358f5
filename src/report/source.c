/* source.c: single lines of source files, for quoting. Runs in the supervisor.
 *
 * Caches the last file read: most findings have their places in one file. */
#include "report/report_int.h"

#include <stdlib.h>
#include <string.h>

#define SOURCE_MAX ((size_t)16 << 20)

const char *hd__source_line(const char *path, int line) {
  static char *name, *text, *quoted;
  if (!path || line < 1) return NULL;
  if (!name || strcmp(name, path) != 0) {
    struct hd_err ignored;
    size_t len;
    free(name);
    free(text);
    text = NULL;
    name = hd_strdup(path);
    if (hd_read_file(path, SOURCE_MAX, &text, &len, &ignored) != HD_OK) text = NULL;
  }
  if (!text) return NULL;
  const char *p = text;
  for (int i = 1; i < line; i++) {
    p = strchr(p, '\n');
    if (!p) return NULL;
    p++;
  }
  if (!*p) return NULL;
  free(quoted);
  quoted = hd_strndup(p, strcspn(p, "\r\n"));
  return quoted;
}
