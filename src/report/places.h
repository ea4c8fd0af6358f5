/* places.h: source lines of a program as addresses, and back (places.c). Runs in the supervisor. */
#ifndef HD_REPORT_PLACES_H
#define HD_REPORT_PLACES_H

#include "abi/aim.h"
#include "base/base.h"

struct hd_places;

/* Reads the debug information of the program's file, and of those libraries that have some, up to HD_MAX_AIM_LIBRARIES. */
int hd_places_open(struct hd_places **out, const char *program, char *const *library, size_t n,
                   struct hd_err *err);
void hd_places_close(struct hd_places *p);

/* The names of these libraries, as HD_AIM_CODE numbers them from 1 on. */
void hd_places_libraries(const struct hd_places *p, struct hd_aims *out);

/* A range of code: from `code` (HD_AIM_CODE) to that of the next one. */
struct hd_place_row {
  uint64_t code;
  const char *file; /* absolute path where known; NULL: no line belongs to the code */
  int line, column;
  bool statement; /* a debugger would stop at its beginning */
};
/* All of them, in increasing order. Valid until the places are closed. */
const struct hd_place_row *hd_places_rows(struct hd_places *p, size_t *n);

/* A function around an address: its name as the linker has it, and where it is if it calls an inlined one. */
struct hd_place_scope {
  const char *function;
  int line, column; /* of the call; 0: of the innermost function */
};
#define HD_PLACE_SCOPES 64
/* The inlined functions at the code, innermost first, and the one around them. Returns how many. */
size_t hd_places_scopes(struct hd_places *p, uint64_t code, struct hd_place_scope out[HD_PLACE_SCOPES]);

/* The path of a file of the folder, with "." and ".." resolved. The caller frees. */
char *hd_places_clean(const char *dir, const char *file);

typedef HD_VEC(uint64_t) hd_codes;
/* Finds the file that `file` names: the whole path, or the end of one. *path is its name in the debug information. An error
 * if there is none, or several. */
int hd_places_file(struct hd_places *p, const char *file, const char **path, struct hd_err *err);
/* Where in the code the line begins. An error if it has no code; the message names the nearest line that has. */
int hd_places_line(struct hd_places *p, const char *path, int line, hd_codes *out, struct hd_err *err);

#endif
