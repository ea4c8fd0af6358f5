/* inputs.c: the values of inputs as part of a schedule. Runs in the supervisor.
 *
 * What the tested process has written is not trusted: numbers are clamped to their areas. */
#include "session/inputs.h"

#include <stdlib.h>
#include <string.h>

void hd_inputs_fini(struct hd_inputs *in) {
  free(in->v);
  free(in->bytes);
  *in = (struct hd_inputs){0};
}

static size_t total(const struct hd_inputs *in) {
  return in->n ? in->v[in->n - 1].at + in->v[in->n - 1].size : 0;
}

static void add(struct hd_inputs *in, const struct hd_symbolic_input *one, const uint8_t *value) {
  size_t at = total(in);
  in->v = hd_realloc(in->v, (in->n + 1) * sizeof *in->v);
  in->bytes = hd_realloc(in->bytes, at + one->size + 1);
  in->v[in->n] = *one;
  in->v[in->n].at = (uint32_t)at;
  in->v[in->n++].name[HD_INPUT_NAME - 1] = '\0';
  memcpy(in->bytes + at, value, one->size);
}

void hd_inputs_copy(struct hd_inputs *to, const struct hd_inputs *from) {
  *to = (struct hd_inputs){0};
  for (size_t i = 0; i < from->n; i++) add(to, &from->v[i], from->bytes + from->v[i].at);
}

void hd_inputs_take(struct hd_inputs *to, const struct hd_control *c) {
  const struct hd_symbolic *s = hd_control_symbolic(c);
  *to = (struct hd_inputs){0};
  if (!c->config.symbolic) return;
  for (uint32_t i = 0; i < s->ninputs && i < HD_MAX_INPUTS; i++) {
    const struct hd_symbolic_input *in = &s->input[i];
    bool fits = in->at <= HD_MAX_INPUT_BYTES && in->size <= HD_MAX_INPUT_SIZE &&
                in->size <= HD_MAX_INPUT_BYTES - in->at;
    if (fits && in->size && in->execution == s->round + 1) add(to, in, s->bytes + in->at);
  }
}

static void ask(struct hd_symbolic *s, struct hd_symbolic_input in, const char *name) {
  in.index = (s->args >> 16) + s->ninputs;
  in.at = s->nbytes;
  strncpy(in.name, name, HD_INPUT_NAME - 1);
  s->input[s->ninputs++] = in;
  s->nbytes += in.size;
}

void hd_inputs_ask(const struct hd_control *c, uint32_t args, const struct hd_input_source *source,
                   unsigned n) {
  struct hd_symbolic *s = hd_control_symbolic(c);
  s->args = args;
  for (unsigned i = 0; i < n; i++) {
    ask(s, (struct hd_symbolic_input){.size = source[i].size, .flags = source[i].kind}, source[i].name);
    if (source[i].kind == HD_INPUT_ENVIRONMENT) continue;
    unsigned flags = HD_INPUT_RANGE | HD_INPUT_SIGNED | HD_INPUT_LENGTH;
    ask(s, (struct hd_symbolic_input){.size = 8, .flags = flags, .hi = source[i].size}, source[i].name);
  }
}

void hd_inputs_put(const struct hd_inputs *in, const struct hd_control *c) {
  struct hd_symbolic *s = hd_control_symbolic(c);
  for (size_t i = 0; i < in->n && i < HD_MAX_INPUTS; i++) {
    const struct hd_symbolic_input *from = &in->v[i];
    if (s->nbytes + from->size > HD_MAX_INPUT_BYTES) break;
    struct hd_symbolic_input *to = &s->input[s->ninputs++];
    *to = *from;
    to->at = s->nbytes;
    to->execution = 0;
    memcpy(s->bytes + to->at, in->bytes + from->at, from->size);
    if (from->flags & HD_INPUT_TEXT) s->args = ((s->args >> 16) + 1) << 16 | from->size;
    s->nbytes += from->size;
  }
}

static uint64_t number_of(const uint8_t *byte, uint32_t size) {
  uint64_t v = 0;
  for (uint32_t i = size; i-- > 0;) v = v << 8 | byte[i];
  return v;
}

static bool has_length(const struct hd_symbolic_input *x) {
  return x->flags & (HD_INPUT_STDIN | HD_INPUT_FILE) && !(x->flags & HD_INPUT_LENGTH);
}

static char *quoted(const uint8_t *byte, uint32_t size) {
  struct hd_str text;
  hd_str_init(&text);
  hd_str_addc(&text, '"');
  for (uint32_t i = 0; i < size; i++)
    if (byte[i] >= ' ' && byte[i] < 0x7f && byte[i] != '"' && byte[i] != '\\')
      hd_str_addc(&text, (char)byte[i]);
    else
      hd_str_addf(&text, "\\x%02x", byte[i]);
  hd_str_addc(&text, '"');
  return hd_str_take(&text);
}

/* A number that may as well be a text: an array of characters has such a size, too. */
static char *number_text(const struct hd_symbolic_input *x, const uint8_t *byte) {
  uint64_t v = number_of(byte, x->size);
  unsigned up = 64 - 8 * x->size, printable = 0;
  int64_t n = (int64_t)(v << up) >> up;
  bool is_signed = x->flags & (HD_INPUT_SIGNED | HD_INPUT_RANGE);
  while (printable < x->size && byte[printable] >= ' ' && byte[printable] < 0x7f) printable++;
  if (!is_signed && x->size >= 4 && printable == x->size) {
    char *text = quoted(byte, x->size), *both = hd_sprintf("%lld or %s", (long long)n, text);
    free(text);
    return both;
  }
  if (n >= 0 || is_signed) return hd_sprintf("%lld", (long long)n);
  return hd_sprintf("%lld or %llu", (long long)n, (unsigned long long)v);
}

/* A number, or the bytes: of a file so many of them. */
static char *value_text(const struct hd_symbolic_input *x, const uint8_t *byte, uint64_t length) {
  uint32_t size = x->size;
  if (x->flags & (HD_INPUT_TEXT | HD_INPUT_ENVIRONMENT)) /* a string */
    size = (uint32_t)strnlen((const char *)byte, size);
  else if (has_length(x))
    size = length < size ? (uint32_t)length : size;
  else if (x->size == 1 || x->size == 2 || x->size == 4 || x->size == 8)
    return number_text(x, byte);
  return quoted(byte, size);
}

void hd_inputs_show(struct hd_finding *f, const struct hd_inputs *in, const struct hd_finding_rec *rec) {
  f->input = hd_alloc(in->n * sizeof *f->input + 1);
  for (size_t i = 0; i < in->n; i++) {
    const struct hd_symbolic_input *x = &in->v[i];
    if (x->thread >= rec->nthreads) continue; /* it is another execution's */
    if (x->flags & HD_INPUT_LENGTH) continue; /* the contents show it */
    const struct hd_symbolic_input *next = has_length(x) && i + 1 < in->n ? x + 1 : NULL;
    struct hd_input_shown *to = &f->input[f->ninputs++];
    to->thread = hd_thread_name(rec->thread, rec->nthreads, x->thread);
    to->name = hd_strdup(x->name);
    for (char *c = to->name; *c; c++)
      if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
    to->index = x->index;
    to->value =
        value_text(x, in->bytes + x->at, next ? number_of(in->bytes + next->at, next->size) : x->size);
  }
}

void hd_inputs_format(struct hd_str *out, const struct hd_inputs *in) {
  for (size_t i = 0; i < in->n; i++) {
    const struct hd_symbolic_input *x = &in->v[i];
    hd_str_addf(out, "input %u %u %u %lld %lld ", x->thread, x->index, x->flags, (long long)x->lo,
                (long long)x->hi);
    for (uint32_t k = 0; k < x->size; k++) hd_str_addf(out, "%02x", in->bytes[x->at + k]);
    hd_str_addf(out, " %s\n", x->name);
  }
}

static bool read_signed(char *word, int64_t *out) {
  if (!word || !*word) return false;
  char *end;
  *out = strtoll(word, &end, 10);
  return !*end;
}

static bool read_hex(const char *word, uint8_t *to, size_t n) {
  for (size_t i = 0; i < n; i++) {
    char pair[3] = {word[2 * i], word[2 * i + 1], 0};
    uint64_t v;
    if (!hd_parse_u64(pair, 16, 255, &v)) return false;
    to[i] = (uint8_t)v;
  }
  return true;
}

bool hd_inputs_parse(struct hd_inputs *in, char *line) {
  char *word[6];
  for (int i = 0; i < 6; i++)
    if (!(word[i] = strsep(&line, " "))) return false;
  uint64_t thread, index, flags;
  struct hd_symbolic_input x = {0};
  if (!hd_parse_u64(word[0], 10, HD_MAX_THREADS - 1, &thread) ||
      !hd_parse_u64(word[1], 10, UINT32_MAX, &index) || !hd_parse_u64(word[2], 10, 255, &flags) ||
      !read_signed(word[3], &x.lo) || !read_signed(word[4], &x.hi))
    return false;
  size_t digits = strlen(word[5]);
  if (!digits || digits % 2 || digits / 2 > HD_MAX_INPUT_SIZE || !line || strlen(line) >= HD_INPUT_NAME ||
      in->n == HD_MAX_INPUTS)
    return false;
  uint8_t value[HD_MAX_INPUT_SIZE];
  x.thread = (uint32_t)thread;
  x.index = (uint32_t)index;
  x.flags = (uint32_t)flags;
  x.size = (uint32_t)(digits / 2);
  strcpy(x.name, line);
  if (!read_hex(word[5], value, x.size)) return false;
  add(in, &x, value);
  return true;
}
