/* unkept.h: why executions cannot start after the set-up of the program (unkept.def). Linked into both binaries. */
#ifndef HD_MODEL_UNKEPT_H
#define HD_MODEL_UNKEPT_H

enum hd_unkept {
  HD_UNKEPT_NONE,
#define HD_UNKEPT(id, name, text) HD_UNKEPT_##id,
#include "model/unkept.def"
#undef HD_UNKEPT
  HD_UNKEPT_COUNT
};

#endif
