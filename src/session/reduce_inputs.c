/* reduce_inputs.c: smaller values of inputs with the same finding. Runs in the supervisor.
 *
 * Each try is an execution with the steps of the schedule. Numbers move towards zero, or the lower end of their range, as far as
 * they can by halves; texts and files become shorter in the same way; then bytes that cannot be printed become letters. */
#include "session/rerun.h"

#include <ctype.h>
#include <string.h>

#define MAX_TRIES 100

struct trial {
  struct hd_schedule *s;
  hd_reduce_fails *fails;
  void *arg;
  double deadline;
  unsigned tries;
};

/* Whether it still fails with that value; else the old one stays. */
static bool keeps(struct trial *t, uint8_t *at, const uint8_t *value, size_t n) {
  uint8_t old[HD_MAX_INPUT_SIZE];
  if (memcmp(at, value, n) == 0) return true;
  if (t->tries == MAX_TRIES || hd_now() >= t->deadline || hd_interrupts() > 0) return false;
  t->tries++;
  memcpy(old, at, n);
  memcpy(at, value, n);
  if (t->fails(t->arg, t->s)) return true;
  memcpy(at, old, n);
  return false;
}

static void number(struct trial *t, const struct hd_symbolic_input *in, uint8_t *at) {
  uint64_t now = 0, base = in->flags & HD_INPUT_RANGE ? (uint64_t)in->lo : 0;
  memcpy(&now, at, in->size);
  unsigned up = 64u - 8u * in->size;
  int64_t away = (int64_t)((now - base) << up) >> up, near = 0; /* from the base */
  if (!away || keeps(t, at, (const uint8_t *)&base, in->size)) return;
  while ((away > near ? (uint64_t)away - (uint64_t)near : (uint64_t)near - (uint64_t)away) > 1) {
    /* it does not fail with `near` */
    int64_t mid = near / 2 + away / 2 + (near % 2 + away % 2) / 2;
    uint64_t v = base + (uint64_t)mid;
    if (keeps(t, at, (const uint8_t *)&v, in->size))
      away = mid;
    else
      near = mid;
  }
}

static void bytes(struct trial *t, const struct hd_symbolic_input *in, uint8_t *at, bool ends) {
  uint8_t shorter[HD_MAX_INPUT_SIZE] = {0};
  size_t n = ends ? strnlen((const char *)at, in->size) : in->size;
  for (size_t cut = n; cut; cut /= 2) /* from the end */
    while (cut <= n) {
      memcpy(shorter, at, n - cut);
      memset(shorter + n - cut, 0, cut);
      if (!keeps(t, at, shorter, in->size)) break;
      n -= cut;
    }
  for (size_t i = 0; i < n; i++)
    if (at[i] && !isprint(at[i])) keeps(t, at + i, (const uint8_t *)"a", 1);
}

static bool is_number(const struct hd_symbolic_input *in) {
  bool small = in->size == 1 || in->size == 2 || in->size == 4 || in->size == 8;
  return in->flags & HD_INPUT_LENGTH || (small && !(in->flags & (HD_INPUT_TEXT | HD_INPUT_SOURCES)));
}

unsigned hd_reduce_inputs(struct hd_schedule *s, hd_reduce_fails *fails, void *arg, double deadline) {
  struct trial t = {.s = s, .fails = fails, .arg = arg, .deadline = deadline};
  for (int pass = 0; pass < 2; pass++) /* numbers first: lengths of files are some */
    for (size_t i = 0; i < s->inputs.n; i++) {
      const struct hd_symbolic_input *in = &s->inputs.v[i];
      uint8_t *at = s->inputs.bytes + in->at;
      if (pass == 0 && is_number(in)) number(&t, in, at);
      if (pass == 1 && !is_number(in)) bytes(&t, in, at, in->flags & (HD_INPUT_TEXT | HD_INPUT_ENVIRONMENT));
    }
  return t.tries;
}
