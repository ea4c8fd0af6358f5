/* symbolize.h: addresses of the tested process as functions, lines and names of variables. Runs in the supervisor. */
#ifndef HD_REPORT_SYMBOLIZE_H
#define HD_REPORT_SYMBOLIZE_H

#include "abi/abi.h"
#include "base/base.h"

struct hd_frame {
  char *function;   /* NULL if unknown */
  char *file;       /* NULL if unknown; relative when below the working folder */
  char *path;       /* the file to open for quoting; NULL if unknown */
  int line, column; /* 0 if unknown */
  uint64_t pc;
  bool inlined;
  bool system; /* in a library of the system */
};

struct hd_symbolizer;

/* Reads the debug information of `modules` from their files. The module without a name is `program`; relative paths
 * are relative to `cwd`. */
struct hd_symbolizer *hd_symbolizer_new(const struct hd_module *modules, size_t n, const char *program,
                                        const char *cwd);
void hd_symbolizer_free(struct hd_symbolizer *s);
/* Stack frames by which local variables are named from now on, until the symbolizer is asked for again. Copied. */
void hd_symbolizer_frames(struct hd_symbolizer *s, const struct hd_frame_recs *frames);
/* Heap blocks that are named from now on by where they were allocated. Copied. */
void hd_symbolizer_blocks(struct hd_symbolizer *s, const struct hd_block_recs *blocks);
/* The last one is kept for the next caller. Closes its files, which a process that is started would inherit. */
void hd_symbolizer_forget(void);

/* Frames, innermost first. One program counter has several when calls were inlined. */
struct hd_frames {
  struct hd_frame *v;
  size_t n, cap;
};
void hd_symbolize_pc(struct hd_symbolizer *s, uint64_t pc, bool exact, struct hd_frames *out);
void hd_frames_free(struct hd_frames *f);
void hd_frames_drop(struct hd_frames *f, size_t i);

/* "counter", "table[4].name": the variable at `addr`, or NULL. The caller frees. */
char *hd_symbolize_object(struct hd_symbolizer *s, uint64_t addr);
/* "*s", "node#2": the whole block of the heap that `addr` is in, or NULL. The caller frees. */
char *hd_symbolize_block(struct hd_symbolizer *s, uint64_t addr);
/* Demangles the name of a type from std::type_info. The caller frees it. */
char *hd_symbolize_type(const char *name);

#endif
