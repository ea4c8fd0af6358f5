/* tables.c: the texts and properties of operations and findings. Linked into both binaries. */
#include "model/op.h"

const char *const hd_op_text[HD_OP_COUNT] = {
#define HD_OP(id, text, obj, eff) [HD_OP_##id] = text,
#include "model/ops.def"
#undef HD_OP
};

const uint8_t hd_op_object[HD_OP_COUNT] = {
#define HD_OP(id, text, obj, eff) [HD_OP_##id] = HD_OBJ_##obj,
#include "model/ops.def"
#undef HD_OP
};

const uint8_t hd_op_effect[HD_OP_COUNT] = {
#define HD_OP(id, text, obj, eff) [HD_OP_##id] = HD_EFF_##eff,
#include "model/ops.def"
#undef HD_OP
};

const char *const hd_kind_name[HD_KIND_COUNT] = {
#define HD_KIND(id, name, title) [HD_KIND_##id] = name,
#include "model/kinds.def"
#undef HD_KIND
};

const char *const hd_kind_title[HD_KIND_COUNT] = {
#define HD_KIND(id, name, title) [HD_KIND_##id] = title,
#include "model/kinds.def"
#undef HD_KIND
};
