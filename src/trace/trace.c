/* trace.c: opens, writes and counts traces of every format. Runs in the supervisor. */
#include "trace/trace_int.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX ((size_t)1 << 33)

void hd__input_fini(struct hd__input *in) {
  free(in->data);
  free(in->name);
}

void hd_tr_close(struct hd_tr_source *s) {
  if (s) s->close(s);
}

int hd_tr_open(char *data, size_t len, const char *name, struct hd_tr_source **out, struct hd_err *err) {
  struct hd__input in = {data, len, hd_strdup(name)};
  if (hd__is_binary(data, len)) return hd__open_binary(in, out, err);
  if (hd__is_text(data, len)) return hd__open_text(in, out, err);
  if (hd__is_std(data, len)) return hd__open_std(in, out, err);
  bool program = len > 4 && memcmp(data, "\177ELF", 4) == 0;
  hd__input_fini(&in);
  if (program) return hd_fail(err, HD_EUSAGE, "%s: a program, not a trace: programs come after `--`", name);
  return hd_fail(err, HD_EUSAGE, "%s: not a trace: neither Heddle's binary or text format, nor STD", name);
}

int hd_tr_open_file(const char *path, struct hd_tr_source **out, struct hd_err *err) {
  char *data;
  size_t len;
  struct stat st;
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
    return hd_fail(err, HD_EUSAGE, "%s: a folder, not a trace", path);
  int rc = hd_read_file(path, FILE_MAX, &data, &len, err);
  if (rc != HD_OK) {
    if (errno == ENOENT || errno == ENOTDIR) err->code = HD_EUSAGE;
    return err->code;
  }
  return hd_tr_open(data, len, path, out, err);
}

bool hd_tr_format_by_name(const char *name, enum hd_tr_format *out) {
  static const char *const names[] = {
      [HD_TR_TEXT] = "text", [HD_TR_BINARY] = "binary", [HD_TR_STD] = "std", [HD_TR_PERFETTO] = "perfetto"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(names[i], name) == 0) return *out = (enum hd_tr_format)i, true;
  return false;
}

int hd_tr_write(struct hd_tr_source *s, enum hd_tr_format format, FILE *out, const char *name,
                struct hd_err *err) {
  int rc = format == HD_TR_BINARY ? hd__write_binary(s, out, err)
           : format == HD_TR_STD  ? hd__write_std(s, out, err)
           : format == HD_TR_TEXT ? hd__write_text(s, out, err)
                                  : hd__write_perfetto(s, out, err);
  if (rc == HD_OK && (fflush(out) || ferror(out)))
    return hd_fail(err, HD_EENV, "%s: %s", name, strerror(errno ? errno : EIO));
  return rc;
}

int hd_tr_write_file(struct hd_tr_source *s, enum hd_tr_format format, const char *path, struct hd_err *err) {
  struct stat st;
  /* A device or a pipe must be written to, not replaced. */
  bool direct = stat(path, &st) == 0 && !S_ISREG(st.st_mode);
  char *tmp = direct ? hd_strdup(path) : hd_sprintf("%s.tmp-%d", path, (int)getpid());
  FILE *out = fopen(tmp, "we");
  int rc =
      out ? hd_tr_write(s, format, out, path, err) : hd_fail(err, HD_EENV, "%s: %s", path, strerror(errno));
  if (out && fclose(out) && rc == HD_OK) rc = hd_fail(err, HD_EENV, "%s: %s", path, strerror(errno));
  if (rc == HD_OK && !direct && rename(tmp, path))
    rc = hd_fail(err, HD_EENV, "%s: %s", path, strerror(errno));
  if (rc != HD_OK && !direct && out) unlink(tmp);
  free(tmp);
  return rc;
}

int hd_tr_collect(struct hd_tr_source *s, struct hd_event **out, size_t *n, struct hd_err *err) {
  HD_VEC(struct hd_event) all = {0};
  struct hd_event e;
  int rc;
  while ((rc = hd_tr_next(s, &e, err)) > 0) hd_vec_push(&all, e);
  *out = all.v;
  *n = all.n;
  return rc;
}

int hd_tr_stat(struct hd_tr_source *s, struct hd_tr_stat *out, struct hd_err *err) {
  *out = (struct hd_tr_stat){.thread = hd_alloc(s->tables->thread.n * sizeof *out->thread)};
  struct hd_event e;
  uint32_t last = 0;
  int rc;
  while ((rc = hd_tr_next(s, &e, err)) > 0) {
    out->switches += out->events && e.op.thread != last;
    last = e.op.thread;
    out->events++;
    out->plain += (e.flags & HD_EV_PLAIN) != 0;
    out->values += (e.flags & HD_EV_VALUE) != 0;
    out->op[e.op.kind]++;
    out->thread[e.op.thread]++;
  }
  return rc;
}
