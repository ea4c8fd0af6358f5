/* property.h: what a search for one property knows about the code, as it crosses the border. Part of abi.h.
 *
 * The supervisor writes it at the end of the search memory before anything runs; the tested process only reads it
 * (explore/property.c). */
#ifndef HD_ABI_PROPERTY_H
#define HD_ABI_PROPERTY_H

#include <stdint.h>

enum hd_property_kind { HD_PROPERTY_NONE, HD_PROPERTY_RACES };

#define HD_PROPERTY_SIZE (1ull << 30) /* of the search memory, at its end */
#define HD_PROPERTY_LOCKS 64          /* told apart by their bits in a set */

/* What is known of a place, for threads that begin with a function. */
#define HD_PROPERTY_KNOWN 1    /* they may execute it */
#define HD_PROPERTY_DECIDES 2  /* what it reads may decide what the thread does next */
#define HD_PROPERTY_UNSTABLE 4 /* from there on it may meet a result that no event shows, and that decides */
#define HD_PROPERTY_VARIES \
  16 /* from there on it may meet a result that no event shows, whatever that decides */
#define HD_PROPERTY_RESULT 32  /* what comes of its call may decide what the thread does next */
#define HD_PROPERTY_ANYTHING 8 /* from there on it may do anything, such as create threads */
struct hd_property_fact {
  uint32_t first, n; /* what may be accessed from there on, in the array at at_accesses */
  uint32_t flags;
};

/* An access that may come, of an object; 0: of any. */
struct hd_property_access {
  uint32_t object;
  uint8_t writes, atomic;
  uint16_t unused;
  uint64_t acquired, released; /* locks taken since, and those that may have been let go */
};

/* An object that is a variable with a known address. */
struct hd_property_variable {
  uint64_t offset, size;
  uint64_t object;
};

/* Code of a place that accesses one object: a place of its own. */
struct hd_property_part {
  uint32_t object, place;
};

struct hd_property_plan {
  uint64_t size; /* of all of it; 0: there is nothing */
  uint32_t nrows, nplaces, nentries, nlocks, naccesses, nobjects, nvariables, nparts;
  uint64_t at_row; /* uint64_t[nrows]: offset of the first byte of each range of code, in increasing order */
  uint64_t at_place;     /* uint32_t[nrows]: the place of each; 0: not known */
  uint64_t at_entry;     /* uint64_t[nentries]: offset of the function that threads begin with; 0: main */
  uint64_t at_lock;      /* uint64_t[nlocks]: offset of each lock */
  uint64_t at_facts;     /* struct hd_property_fact[nentries][nplaces + 1]; the last: of the beginning */
  uint64_t at_accesses;  /* struct hd_property_access[naccesses] */
  uint64_t at_objects;   /* uint32_t[nplaces + 1]: where the objects of each place begin, in ... */
  uint64_t at_object;    /* uint32_t[nobjects]: ... this array */
  uint64_t at_variables; /* struct hd_property_variable[nvariables], by offset; no two overlap */
  uint64_t at_parts;     /* uint32_t[nplaces + 1]: where the parts of each place begin, in ... */
  uint64_t at_part;      /* struct hd_property_part[nparts]: ... this array */
};

#endif
