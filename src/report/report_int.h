/* report_int.h: between the files of src/report. */
#ifndef HD_REPORT_INT_H
#define HD_REPORT_INT_H

#include "report/report.h"

/* Adds the part of the symbol's variable at `offset`: ".name", "[4]"; "+16" where its type is unknown. */
struct Dwfl_Module;
void hd__variable_part(struct hd_str *out, struct Dwfl_Module *mod, uint64_t symbol, uint64_t offset);
/* Clears the cache, before the modules are unloaded. */
void hd__variable_forget(void);
/* "waits for `b`, held by T2". pre: a place of role WAITS. */
void hd__text_wait(struct hd_str *out, const struct hd_place *p);
/* The name of a function; long C++ names are shortened. */
void hd__text_function(struct hd_str *out, const char *name);
/* "T1 write": the thread and its operation at the place. */
void hd__text_place(struct hd_str *out, const struct hd_place *p);
/* Whether place `i` need not be listed: it is in the story, or repeats an earlier one. */
bool hd__text_redundant(const struct hd_finding *f, size_t i);
/* The row's effect, and whether it fails there. pre: `out` is empty. `every`: hidden rows are numbered too. */
void hd__text_row(struct hd_str *out, const struct hd_story *s, size_t row, bool every);
void hd__text_story(struct hd_str *out, const struct hd_story *s, bool colour);
json_t *hd__json_story(const struct hd_story *s);
/* Whether the frame is in a system header (such as std::thread's call of its function) or has no source. */
bool hd__is_plumbing(const struct hd_frame *f);

/* Line `line` of a source file without its newline; NULL if it cannot be read. Valid until the next call. */
const char *hd__source_line(const char *path, int line);

#endif
