/* warnings.h: warnings of other tools, as lines to aim at (warnings.c). Runs in the supervisor. */
#ifndef HD_SESSION_WARNINGS_H
#define HD_SESSION_WARNINGS_H

#include "session/aim.h"

struct hd_warning {
  char *title; /* "data race", as the tool has it; owned */
  struct hd_goal goal;
  char *unusable; /* why there is nothing to aim at, or NULL; owned */
  unsigned alike; /* warnings with the same lines, this one included */
};
struct hd_warnings {
  const char *tool;
  HD_VEC(struct hd_warning) v;
};

/* Reads the report of ThreadSanitizer, of Helgrind or DRD (text or XML), of cppcheck (XML) or of Infer (JSON). Which it is
 * is seen from the file. The caller frees, also after an error. */
int hd_warnings_read(struct hd_warnings *w, const char *file, struct hd_places *places, struct hd_err *err);
void hd_warnings_fini(struct hd_warnings *w);

#endif
