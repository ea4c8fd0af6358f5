/* report_int.h: between the files of src/report. */
#ifndef HD_REPORT_INT_H
#define HD_REPORT_INT_H

#include "report/report.h"

/* Adds the part of the symbol's variable at `offset`: ".name", "[4]"; "+16" where its type is unknown. */
struct Dwfl_Module;
void hd__variable_part(struct hd_str *out, struct Dwfl_Module *mod, uint64_t symbol, uint64_t offset);
/* Adds the local variable at `addr` of the function around `pc` (as in the debug information) of the unit, a Dwarf_Die,
 * with its part; false if none is known. The frame is the function's. */
bool hd__local_variable(struct hd_str *out, void *cu, uint64_t pc, const struct hd_frame_rec *frame,
                        uint64_t addr);
/* A type of the unit by its name. Adds the part at `offset` of a block of `size` bytes that holds one of them, or an array of
 * them, as ".name" and "[2].name"; `header`: that of std::make_shared precedes it. False if there is none. */
bool hd__typed_part(struct hd_str *out, void *cu, const char *name, uint64_t size, uint64_t offset,
                    bool header);
/* The same, of the type that the variable points to which the code at `pc` calls so. */
bool hd__pointee_part(struct hd_str *out, void *cu, uint64_t pc, const char *variable, uint64_t size,
                      uint64_t offset);
/* Clears the cache, before the modules are unloaded. */
void hd__variable_forget(void);
/* block.c: the blocks of the heap at a finding. The caller frees both. */
struct hd_blocks *hd__blocks_new(const struct hd_block_recs *recs);
void hd__blocks_free(struct hd_blocks *b);
/* "s->calls", "node#2.lock": the part of a block at the address, or, as "*s" and "node#2", the whole one; NULL if it is in
 * none. */
char *hd__block_name(struct hd_blocks *b, struct hd_symbolizer *s, uint64_t addr, bool whole);
/* The unit of the debug information around a call, a Dwarf_Die, and the call's address there; NULL if there is none. */
void *hd__unit_at(struct hd_symbolizer *s, uint64_t pc, uint64_t *at);
/* "waits for `b`, held by T2". pre: a place of role WAITS. */
void hd__text_wait(struct hd_str *out, const struct hd_place *p);
/* The name of a function; long C++ names are shortened. */
void hd__text_function(struct hd_str *out, const char *name);
/* "T1 write": the thread and its operation at the place. */
void hd__text_place(struct hd_str *out, const struct hd_place *p);
/* Whether place `i` need not be listed: it is in the story, or repeats an earlier one. */
bool hd__text_redundant(const struct hd_finding *f, size_t i);
/* The distance of each event from the failure (hd_analysis_why). The caller frees. */
uint8_t *hd__story_why(const struct hd_recording *r, const struct hd_finding *f, struct hd_symbolizer *sym);
/* The event of a place, or the number of events if it has none. */
size_t hd__event_of_place(const struct hd_recording *r, const struct hd_place *p);
/* The value of a variable of `size` bytes: in decimal where that is short. */
void hd__text_value(struct hd_str *out, uint64_t v, uint32_t size);
/* The row's effect, and whether it fails there. pre: `out` is empty. */
void hd__text_row(struct hd_str *out, const struct hd_story *s, size_t row);
void hd__text_story(struct hd_str *out, const struct hd_story *s, const struct hd_style *style);
json_t *hd__json_story(const struct hd_story *s);
json_t *hd__json_replays(const struct hd_finding *f); /* true, false, or null: it was not run again */
/* Whether the frame is in a system header (such as std::thread's call of its function) or has no source. */
bool hd__is_plumbing(const struct hd_frame *f);

/* Line `line` of a source file without its newline; NULL if it cannot be read. Valid until the next call. */
const char *hd__source_line(const char *path, int line);

#endif
