/* load.c: the events of a stored trace, for analysis. Runs in the supervisor. */
#include "analysis/analysis.h"

#include <stdlib.h>

int hd_analysis_load(const char *path, struct hd_tr_source **source, struct hd_event **ev, size_t *n,
                     struct hd_err *err) {
  int rc = hd_tr_open_file(path, source, err);
  if (rc != HD_OK) return rc;
  rc = hd_tr_collect(*source, ev, n, err);
  if (rc == HD_OK) return HD_OK;
  free(*ev);
  hd_tr_close(*source);
  return rc;
}
