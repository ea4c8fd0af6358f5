/* inputs.c: values that the program asks for. Runs in the tested process.
 *
 * An input is named by its thread, its number among that thread's, its name and its size; the value of each is in the shared
 * file. So the values are the same in every schedule. */
#include "runtime/core/finding.h"
#include "runtime/memory/memory.h"
#include "runtime/symbolic/symbolic.h"
#include "runtime/symbolic/inputs.h"

static bool same_name(const char *a, const char *b) {
  for (unsigned i = 0; i < HD_INPUT_NAME - 1; i++) {
    if (a[i] != b[i]) return false;
    if (!a[i]) break;
  }
  return true;
}

static struct hd_symbolic_input *find(uint32_t thread, uint32_t index, const char *name, uint32_t size) {
  struct hd_symbolic *s = hd__symbolic();
  for (uint32_t i = 0; i < s->ninputs; i++) {
    struct hd_symbolic_input *in = &s->input[i];
    if (in->thread == thread && in->index == index && in->size == size && same_name(in->name, name))
      return in;
  }
  return NULL;
}

static struct hd_symbolic_input *add(uint32_t thread, uint32_t index, const char *name, uint32_t size) {
  struct hd_symbolic *s = hd__symbolic();
  if (s->ninputs == HD_MAX_INPUTS || s->nbytes + size > HD_MAX_INPUT_BYTES) {
    s->full |= HD_FULL_INPUTS;
    return NULL;
  }
  struct hd_symbolic_input *in = &s->input[s->ninputs];
  *in = (struct hd_symbolic_input){.thread = thread, .index = index, .size = size, .at = s->nbytes};
  for (unsigned i = 0; i < HD_INPUT_NAME - 1 && name[i]; i++) in->name[i] = name[i] == '\n' ? '?' : name[i];
  s->nbytes += size;
  s->ninputs++;
  return in;
}

static uint64_t value_at(const uint8_t *p, unsigned n) {
  uint64_t v = 0;
  for (unsigned i = n; i-- > 0;) v = v << 8 | p[i];
  return v;
}

static bool follows(void) { return rt.config->symbolic & HD_SYMBOLIC_CONDITIONS; }

struct hd_symbolic_input *hd__input(uint32_t size, const char *name, unsigned flags, int64_t lo, int64_t hi,
                                    uint64_t pc) {
  struct hd_symbolic *s = hd__symbolic();
  struct hd_thread *t = rt.cur;
  uint32_t index = t->symbolic.inputs++;
  if (follows() && !hd__symbolic_whole()) hd__inexact(HD_INEXACT_INPUT_CALL, pc);
  struct hd_symbolic_input *in = find(t->id, index, name, size);
  if (!in) {
    in = add(t->id, index, name, size);
    if (!in) return NULL;
    if (flags & HD_INPUT_RANGE)
      for (unsigned i = 0; i < size; i++) s->bytes[in->at + i] = (uint8_t)((uint64_t)lo >> 8 * i);
  }
  in->flags = flags;
  in->lo = lo;
  in->hi = hi;
  in->site = pc;
  in->execution = s->round + 1;
  return in;
}

uint32_t hd__input_symbol(const struct hd_symbolic_input *in, unsigned byte, unsigned size) {
  const struct hd_symbolic *s = hd__symbolic();
  uint32_t number = (uint32_t)(in - s->input);
  uint32_t e =
      hd__expr_symbol(HD_EXPR_INPUT, 8 * size, number, byte, value_at(&s->bytes[in->at + byte], size));
  hd__symbolic_record(&(struct hd_symbolic_record){
      .kind = HD_RECORD_INPUT, .expr = e, .addr = number, .size = (uint8_t)size});
  return e;
}

uint64_t hd__input_value(uint32_t size, const char *name, unsigned flags, int64_t lo, int64_t hi,
                         uint64_t pc) {
  const struct hd_symbolic *s = hd__symbolic();
  if (!rt.config->symbolic) hd__inexact(HD_INEXACT_INPUTS, pc);
  const struct hd_symbolic_input *in = hd__input(size, name, flags, lo, hi, pc);
  if (!in) return (uint64_t)lo;
  if (follows()) {
    hd__shadowed.active = 1;
    hd__shadowed.result[0] = hd__input_symbol(in, 0, size);
    hd__shadowed.own = 1;
  }
  return value_at(&s->bytes[in->at], size);
}

void hd__input_bytes(void *p, uint64_t size, const char *name, unsigned flags, uint64_t pc) {
  const struct hd_symbolic *s = hd__symbolic();
  if (!rt.config->symbolic) hd__inexact(HD_INEXACT_INPUTS, pc);
  for (uint64_t at = 0; at < size;) {
    uint32_t n = (uint32_t)(size - at < HD_MAX_INPUT_SIZE ? size - at : HD_MAX_INPUT_SIZE);
    const struct hd_symbolic_input *in = hd__input(n, name, flags, 0, 0, pc);
    uint64_t to = (uint64_t)p + at;
    bool one = n <= 8 && !(n & (n - 1)) && !(flags & HD_INPUT_TEXT),
         logs = rt.config->symbolic & HD_SYMBOLIC_READS;
    uint32_t unit = one ? n : 1;
    if (!in || !logs) hd__access_range(to, n, HD_A_WRITE, pc);
    if (!in) return hd__zero((void *)to, n);
    hd__shadowed.active |= follows();
    for (uint32_t i = 0; i < n; i += unit) {
      if (logs)
        hd__access_range(to + i, unit, HD_A_WRITE,
                         pc); /* then it is done: what the log has is in this order */
      hd__copy((void *)(to + i), &s->bytes[in->at + i], unit);
      if (!follows()) continue;
      uint32_t e = hd__input_symbol(in, i, unit);
      hd__bytes_store(to + i, unit, e);
      hd__symbolic_stored(to + i, unit, e, value_at(&s->bytes[in->at + i], unit), pc);
    }
    at += n;
  }
}

void hd__input_arguments(int argc, char **argv) {
  uint32_t n = hd__symbolic()->args >> 16, size = hd__symbolic()->args & 0xffff;
  if (!rt.config->symbolic || n >= (uint32_t)argc) return;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t which = (uint32_t)argc - n + i;
    char name[HD_INPUT_NAME];
    hd__format(name, sizeof name, "argument %u", (uint64_t)which);
    uint32_t room = 0;
    while (room < size && argv[which][room]) room++; /* of the word that the supervisor has put there */
    if (room == size) hd__input_bytes(argv[which], size, name, HD_INPUT_TEXT, 0);
  }
}

HD_EXPORT void hd_rt_input(void *p, size_t size, const char *name);
HD_EXPORT int64_t hd_rt_input_range(int64_t lo, int64_t hi, const char *name);

void hd_rt_input(void *p, size_t size, const char *name) {
  if (hot.active) hd__input_bytes(p, size, name ? name : "input", 0, HD_CALLER);
}

int64_t hd_rt_input_range(int64_t lo, int64_t hi, const char *name) {
  if (!hot.active || lo >= hi) return lo;
  return (int64_t)hd__input_value(8, name ? name : "input", HD_INPUT_RANGE | HD_INPUT_SIGNED, lo, hi,
                                  HD_CALLER);
}
