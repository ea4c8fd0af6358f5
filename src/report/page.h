/* page.h: the report page (page.c, page_run.c; src/report/page). Runs in the supervisor. */
#ifndef HD_REPORT_PAGE_H
#define HD_REPORT_PAGE_H

#include "base/base.h"
#include "trace/trace.h"

#include <jansson.h>

/* The page that shows `data` (docs/formats.md). */
void hd_page_write(struct hd_str *out, json_t *data);
/* The rest of a trace, for the page; at most the last `most` events. */
int hd_page_run(struct hd_tr_source *s, size_t most, json_t **out, struct hd_err *err);
/* The operations that events refer to. */
json_t *hd_page_operations(void);
/* A source file; of a long one, the surroundings of these lines (which it sorts). NULL if it is unreadable or not a
 * source file. */
json_t *hd_page_source(const char *path, uint32_t *lines, size_t n);

#endif
