/* trace.h: what one execution did, as a value, as a file, and as text. Runs in the supervisor.
 *
 *   tables   the names that events refer to: threads, places in the code, objects
 *   event    one operation (model/event.h)
 *   source   events one after the other, with their tables: a recording, a file in one of the formats
 *
 * Sources and writers stream: a trace of any length takes little memory, and one that was made to do harm too
 * (docs/formats.md has the formats). Events are numbered from 1. */
#ifndef HD_TRACE_H
#define HD_TRACE_H

#include "abi/abi.h"
#include "base/base.h"

#include <stdio.h>

/* ---- tables ---- */

/* Strings belong to the tables, and entries may share them. */
struct hd_tr_thread {
  const char *name;     /* "T1.2" */
  const char *called;   /* by the program, or NULL */
  const char *function; /* that it runs, or NULL */
};

struct hd_tr_place {
  uint64_t pc;
  const char *file, *function; /* NULL: unknown */
  uint32_t line;               /* 0: unknown */
};

struct hd_tr_object {
  uint64_t addr;
  const char *name;
};

/* In the events of a trace (struct hd_event) op.thread, THREAD fields of payloads and the objects of operations on
 * threads are entries of `thread`, and `place` is an entry of `place` plus 1. */
struct hd_tr_tables {
  const char *command; /* program and arguments, or NULL */
  uint64_t nevents;
  HD_VEC(struct hd_tr_thread) thread;
  HD_VEC(struct hd_tr_place) place;
  HD_VEC(struct hd_tr_object) object; /* those that have a name */
  HD_VEC(char *) string;              /* all of the above */
};
void hd_tr_tables_fini(struct hd_tr_tables *t);

/* ---- sources ---- */

struct hd_tr_source {
  const struct hd_tr_tables *tables;
  /* The next event: 1, at the end 0, or an error. */
  int (*next)(struct hd_tr_source *s, struct hd_event *e, struct hd_err *err);
  void (*close)(struct hd_tr_source *s); /* frees it */
};
static inline int hd_tr_next(struct hd_tr_source *s, struct hd_event *e, struct hd_err *err) {
  return s->next(s, e, err);
}
/* s may be NULL. */
void hd_tr_close(struct hd_tr_source *s);

/* A trace file that was read whole, in any of the formats that can be read; `name` is for messages. The source owns
 * `data` (from malloc, with a NUL after it), also when it fails. */
int hd_tr_open(char *data, size_t len, const char *name, struct hd_tr_source **out, struct hd_err *err);
/* The same for a path. */
int hd_tr_open_file(const char *path, struct hd_tr_source **out, struct hd_err *err);

/* Where a program counter is: the strings are the receiver's, NULL and 0 what is not known. */
typedef void hd_tr_locate(void *arg, uint64_t pc, char **file, uint32_t *line, char **function);
/* The name of the object at an address, or NULL; the caller frees. */
typedef char *hd_tr_name(void *arg, uint64_t addr);

/* What the runtime recorded. The events stay the caller's until the source is closed; the rest is used at once. */
struct hd_tr_recording {
  const struct hd_event *event;
  size_t n;
  const uint8_t *kept;           /* which of them to take; NULL: all */
  const char (*thread_name)[16]; /* [HD_MAX_THREADS] what the program calls them, or NULL */
  const char *command;
  hd_tr_locate *locate; /* NULL: nothing is known */
  hd_tr_name *name;
  void *arg;
};
struct hd_tr_source *hd_tr_record(const struct hd_tr_recording *r);
/* Which events of a recording concern more than one thread: keep[i] is 0 for an access that was no scheduling point,
 * to memory that one thread alone has touched, else 1. */
void hd_tr_keep_shared(const struct hd_event *event, size_t n, uint8_t *keep);

/* All events in one array; the caller frees. */
int hd_tr_collect(struct hd_tr_source *s, struct hd_event **out, size_t *n, struct hd_err *err);

/* ---- writers: all that is left of the source ---- */

enum hd_tr_format { HD_TR_TEXT, HD_TR_BINARY, HD_TR_STD, HD_TR_PERFETTO };
bool hd_tr_format_by_name(const char *name, enum hd_tr_format *out);

/* `name` is the output's name for messages. */
int hd_tr_write(struct hd_tr_source *s, enum hd_tr_format format, FILE *out, const char *name,
                struct hd_err *err);
/* To a file that is there whole or not at all. */
int hd_tr_write_file(struct hd_tr_source *s, enum hd_tr_format format, const char *path, struct hd_err *err);

/* "T1 write `counter` at x.c:12": an event for people. */
void hd_tr_describe(struct hd_str *out, const struct hd_tr_tables *t, const struct hd_event *e);

/* A value of `size` bytes, 1 to 8: small numbers in decimal, with their sign; others, mostly pointers, in hexadecimal. */
void hd_tr_value(struct hd_str *out, uint64_t v, uint32_t size);

/* What a trace consists of. */
struct hd_tr_stat {
  uint64_t events, plain, switches, values;
  uint64_t op[HD_OP_COUNT];
  uint64_t *thread; /* events of each; owned */
};
int hd_tr_stat(struct hd_tr_source *s, struct hd_tr_stat *out, struct hd_err *err);

#endif
