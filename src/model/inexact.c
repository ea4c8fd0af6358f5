/* inexact.c: counting reasons for inexactness. Linked into both binaries. */
#include "model/inexact.h"

const uint8_t hd_inexact_class[HD_INEXACT_COUNT] = {
#define HD_INEXACT(id, class, name, text, advice) [HD_INEXACT_##id] = HD_CLASS_##class,
#include "model/inexact.def"
#undef HD_INEXACT
};

uint64_t hd_inexact_sum(const struct hd_inexact_count *a, unsigned classes) {
  uint64_t n = 0;
  for (unsigned i = 0; i < HD_INEXACT_COUNT; i++)
    if (hd_inexact_class[i] & classes) n += a[i].count;
  return n;
}

void hd_inexact_add(struct hd_inexact_count *to, const struct hd_inexact_count *from, unsigned classes) {
  for (unsigned i = 0; i < HD_INEXACT_COUNT; i++) {
    if ((hd_inexact_class[i] & ~classes) || !from[i].count) continue;
    if (!to[i].first_pc) to[i].first_pc = from[i].first_pc;
    to[i].count += from[i].count;
  }
}

void hd_inexact_restart(struct hd_inexact_count *a) {
  for (unsigned i = 0; i < HD_INEXACT_COUNT; i++)
    if (hd_inexact_class[i] & HD_CLASS_CUT) a[i] = (struct hd_inexact_count){0};
}
