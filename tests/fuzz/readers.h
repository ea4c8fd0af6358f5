/* readers.h: feeds the readers of files with bytes that may be anything, and checks what must hold whatever they are:
 * no crash, a message of one line when they are refused, and the same bytes again when a trace that is accepted goes to
 * text and back. For the fuzzer (readers.c) and for a unit test (test_hostile.c). */
#ifndef HD_FUZZ_READERS_H
#define HD_FUZZ_READERS_H

#include "session/session.h"
#include "session/store.h"
#include "trace/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FEED_FILE, FEED_CHUNKS, FEED_SCHEDULE, FEED_SUPPRESSIONS, FEED_TOML, FEED_COUNT };

#define FEED_CHECK(c) ((c) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c), abort()))
#define FEED_EVENTS 5000 /* a longer trace is read, and not written again */

static char *feed_copy(const void *data, size_t len) {
  char *copy = malloc(len + 1);
  FEED_CHECK(copy);
  if (len) memcpy(copy, data, len);
  copy[len] = '\0';
  return copy;
}

static void feed_refused(int rc, const struct hd_err *err) {
  FEED_CHECK(rc == HD_EUSAGE && err->code == HD_EUSAGE && err->text[0] && !strchr(err->text, '\n'));
}

/* The trace in another format; false if it was refused. */
static bool feed_convert(const char *data, size_t len, enum hd_tr_format format, char **out, size_t *n) {
  struct hd_tr_source *s = NULL;
  struct hd_err err;
  int rc = hd_tr_open(feed_copy(data, len), len, "input", &s, &err);
  if (rc != HD_OK) return feed_refused(rc, &err), false;
  if (s->tables->nevents > FEED_EVENTS) {
    struct hd_tr_stat st;
    rc = hd_tr_stat(s, &st, &err);
    free(st.thread);
    if (rc != HD_OK) feed_refused(rc, &err);
    hd_tr_close(s);
    return false;
  }
  FILE *f = open_memstream(out, n);
  FEED_CHECK(f);
  rc = hd_tr_write(s, format, f, "output", &err);
  fclose(f);
  hd_tr_close(s);
  if (rc == HD_OK) return true;
  feed_refused(rc, &err);
  free(*out);
  return false;
}

static bool feed_trace(const char *data, size_t len) {
  char *binary, *text, *again, *other;
  size_t nbinary, ntext, nagain, nother;
  if (!feed_convert(data, len, HD_TR_BINARY, &binary, &nbinary)) return false;
  FEED_CHECK(feed_convert(binary, nbinary, HD_TR_TEXT, &text, &ntext));
  FEED_CHECK(feed_convert(text, ntext, HD_TR_BINARY, &again, &nagain));
  FEED_CHECK(nagain == nbinary && memcmp(again, binary, nbinary) == 0);
  if (len % 8 == 0) { /* it needs more memory than the others */
    FEED_CHECK(feed_convert(binary, nbinary, HD_TR_PERFETTO, &other, &nother));
    free(other);
  }
  free(binary);
  free(text);
  free(again);
  return true;
}

static void feed_chunk(struct hd_str *b, char kind, const char *data, size_t n) {
  uint32_t sum = XXH32(data, n, 0);
  hd_str_addc(b, kind);
  for (int twice = 0; twice < 2; twice++) {
    size_t v = n;
    for (; v >= 0x80; v >>= 7) hd_str_addc(b, (char)(v | 0x80));
    hd_str_addc(b, (char)v);
  }
  for (int i = 0; i < 4; i++) hd_str_addc(b, (char)(sum >> 8 * i));
  hd_str_addn(b, data, n);
}

/* A binary trace of one block whose chunks, not packed, are the bytes: two of length, the tables, the events. */
static bool feed_chunks(const char *data, size_t len) {
  if (len < 2) return false;
  size_t tables = (unsigned char)data[0] | (size_t)(unsigned char)data[1] << 8;
  data += 2;
  len -= 2;
  if (tables > len) tables = len;
  struct hd_str b;
  hd_str_init(&b);
  hd_str_addn(&b, HD_TR_MAGIC "\x03", HD_TR_MAGIC_LEN + 1);
  feed_chunk(&b, HD_CHUNK_TABLES, data, tables);
  if (len > tables) feed_chunk(&b, HD_CHUNK_EVENTS, data + tables, len - tables);
  feed_chunk(&b, HD_CHUNK_END, "", 0);
  bool ok = feed_trace(b.s, b.n);
  hd_str_fini(&b);
  return ok;
}

static bool feed_schedule(const char *data, size_t len) {
  char *copy = feed_copy(data, len);
  struct hd_schedule s;
  struct hd_err err;
  int rc = hd_schedule_parse(&s, copy, len, "schedule", &err);
  free(copy);
  if (rc != HD_OK) return feed_refused(rc, &err), false;
  struct hd_str a, b;
  hd_str_init(&a);
  hd_str_init(&b);
  hd_schedule_format(&a, &s);
  hd_schedule_fini(&s);
  copy = feed_copy(a.s, a.n);
  FEED_CHECK(hd_schedule_parse(&s, copy, a.n, "schedule", &err) == HD_OK);
  hd_schedule_format(&b, &s);
  FEED_CHECK(a.n == b.n && memcmp(a.s, b.s, a.n) == 0);
  hd_schedule_fini(&s);
  hd_str_fini(&a);
  hd_str_fini(&b);
  free(copy);
  return true;
}

static bool feed_suppressions(const char *data, size_t len) {
  char *copy = feed_copy(data, len);
  struct hd_suppressions *s = NULL;
  struct hd_err err;
  int rc = hd_suppressions_parse(copy, "suppressions", &s, &err);
  if (rc != HD_OK)
    feed_refused(rc, &err);
  else
    hd_suppressions_free(s);
  free(copy);
  return rc == HD_OK;
}

static bool feed_toml(const char *data, size_t len) {
  struct hd_toml *t = NULL;
  struct hd_err err;
  int line, column, rest = 0;
  int rc = hd_toml_parse(data, len, "toml", &t, &err);
  if (rc == HD_OK) return hd_toml_free(t), true;
  feed_refused(rc, &err);
  FEED_CHECK(sscanf(err.text, "toml:%d:%d: %n", &line, &column, &rest) == 2 && line > 0 && column > 0 && rest);
  return false;
}

/* Returns whether the bytes were accepted. */
static bool feed(int kind, const char *data, size_t len) {
  switch (kind) {
    case FEED_FILE: return feed_trace(data, len);
    case FEED_CHUNKS: return feed_chunks(data, len);
    case FEED_SCHEDULE: return feed_schedule(data, len);
    case FEED_TOML: return feed_toml(data, len);
    default: return feed_suppressions(data, len);
  }
}

#endif
