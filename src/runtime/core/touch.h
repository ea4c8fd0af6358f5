/* touch.h: what threads access, for a search for one property (touch.c). */
#ifndef HD_RUNTIME_TOUCH_H
#define HD_RUNTIME_TOUCH_H

#include <stdint.h>

#include "runtime/core/util.h"

void hd__touch_init(void);
HD_EACH void hd__touch_begin(void);
/* The running thread accesses memory. pre: rt.touches */
void hd__touch(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc);

#endif
