/* trace.h: the trace of one execution as a value, as a file, and as text. Runs in the supervisor.
 *
 *   tables   the names that events refer to: threads, places in the code, objects
 *   event    one operation (model/event.h)
 *   source   a stream of events with their tables: a recording, or a file in one of the formats
 *
 * Sources and writers stream: a trace of any length takes little memory, even a malicious one. docs/formats.md
 * describes the formats. Events are numbered from 1. */
#ifndef HD_TRACE_H
#define HD_TRACE_H

#include "abi/abi.h"
#include "base/base.h"

#include <stdio.h>

/* ---- tables ---- */

/* The tables own the strings; entries may share them. */
struct hd_tr_thread {
  const char *name;     /* "T1.2" */
  const char *called;   /* name given by the program, or NULL */
  const char *function; /* its start function, or NULL */
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
  HD_VEC(char *) string;              /* owns all strings above */
};
void hd_tr_tables_fini(struct hd_tr_tables *t);

/* ---- sources ---- */

struct hd_tr_source {
  const struct hd_tr_tables *tables;
  /* Reads the next event. Returns 1, 0 at the end, or an error. */
  int (*next)(struct hd_tr_source *s, struct hd_event *e, struct hd_err *err);
  void (*close)(struct hd_tr_source *s); /* frees it */
};
static inline int hd_tr_next(struct hd_tr_source *s, struct hd_event *e, struct hd_err *err) {
  return s->next(s, e, err);
}
/* s may be NULL. */
void hd_tr_close(struct hd_tr_source *s);

/* Opens a trace file in memory, in any readable format; `name` is for messages. Takes ownership of `data` (from
 * malloc, with a NUL after it), even on failure. */
int hd_tr_open(char *data, size_t len, const char *name, struct hd_tr_source **out, struct hd_err *err);
/* The same for a path. */
int hd_tr_open_file(const char *path, struct hd_tr_source **out, struct hd_err *err);

/* The source location of a program counter. The receiver frees the strings; NULL and 0 mean unknown. */
typedef void hd_tr_locate(void *arg, uint64_t pc, char **file, uint32_t *line, char **function);
/* The name of the object at an address, or NULL; the caller frees. */
typedef char *hd_tr_name(void *arg, uint64_t addr);

/* The runtime's recording. The caller keeps the events until the source is closed; the rest is used at once. */
struct hd_tr_recording {
  const struct hd_event *event;
  size_t n;
  const uint8_t *kept;           /* [n] which events to include; NULL: all */
  const char (*thread_name)[16]; /* [HD_MAX_THREADS] names given by the program, or NULL */
  const char *command;
  hd_tr_locate *locate; /* NULL: locations are unknown */
  hd_tr_name *name;
  void *arg;
};
struct hd_tr_source *hd_tr_record(const struct hd_tr_recording *r);
/* Marks the events of a recording that concern more than one thread: keep[i] is 0 for an access that was not a
 * scheduling point, to memory that only one thread touched, and 1 otherwise. */
void hd_tr_keep_shared(const struct hd_event *event, size_t n, uint8_t *keep);

/* All events in one array; the caller frees. */
int hd_tr_collect(struct hd_tr_source *s, struct hd_event **out, size_t *n, struct hd_err *err);

/* ---- writers: they write the rest of the source ---- */

enum hd_tr_format { HD_TR_TEXT, HD_TR_BINARY, HD_TR_STD, HD_TR_PERFETTO };
bool hd_tr_format_by_name(const char *name, enum hd_tr_format *out);

/* `name` is the output's name for messages. */
int hd_tr_write(struct hd_tr_source *s, enum hd_tr_format format, FILE *out, const char *name,
                struct hd_err *err);
/* Writes a file atomically. */
int hd_tr_write_file(struct hd_tr_source *s, enum hd_tr_format format, const char *path, struct hd_err *err);

/* Describes an event for people: "T1 write `counter` at x.c:12". */
void hd_tr_describe(struct hd_str *out, const struct hd_tr_tables *t, const struct hd_event *e);
/* The same; `name` is that of its object (NULL: as in the tables). */
void hd_tr_describe_named(struct hd_str *out, const struct hd_tr_tables *t, const struct hd_event *e,
                          const char *name);

/* A value of `size` bytes, 1 to 8: small numbers in signed decimal, others (mostly pointers) in hexadecimal. */
void hd_tr_value(struct hd_str *out, uint64_t v, uint32_t size);

/* Counts of a trace. */
struct hd_tr_stat {
  uint64_t events, plain, switches, values;
  uint64_t op[HD_OP_COUNT];
  uint64_t *thread; /* events of each; owned */
};
int hd_tr_stat(struct hd_tr_source *s, struct hd_tr_stat *out, struct hd_err *err);

#endif
