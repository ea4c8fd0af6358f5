/* unkept.c: the words for why executions cannot start after the set-up of the program. Runs in the supervisor. */
#include "report/report.h"

#include "model/unkept.h"

static const char *const name_of[HD_UNKEPT_COUNT] = {
#define HD_UNKEPT(id, name, text) [HD_UNKEPT_##id] = name,
#include "model/unkept.def"
#undef HD_UNKEPT
};
static const char *const text_of[HD_UNKEPT_COUNT] = {
#define HD_UNKEPT(id, name, text) [HD_UNKEPT_##id] = text,
#include "model/unkept.def"
#undef HD_UNKEPT
};

const char *hd_unkept_name(uint32_t why) { return why < HD_UNKEPT_COUNT ? name_of[why] : NULL; }
const char *hd_unkept_text(uint32_t why) { return why < HD_UNKEPT_COUNT ? text_of[why] : NULL; }
