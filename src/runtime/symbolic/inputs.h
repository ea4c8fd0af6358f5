/* inputs.h: values that the program asks for. */
#ifndef HD_RUNTIME_INPUTS_H
#define HD_RUNTIME_INPUTS_H

#include "runtime/core/core.h"

/* The running thread's next input. NULL: there is no room. pre: hot.active. */
struct hd_symbolic_input *hd__input(uint32_t size, const char *name, unsigned flags, int64_t lo, int64_t hi,
                                    uint64_t pc);
/* The value of an input of 1, 2, 4 or 8 bytes; code with shadows gets its expression as that of the result. */
uint64_t hd__input_value(uint32_t size, const char *name, unsigned flags, int64_t lo, int64_t hi,
                         uint64_t pc);
/* Fills memory with an input. */
void hd__input_bytes(void *p, uint64_t size, const char *name, unsigned flags, uint64_t pc);
/* The expression of bytes of an input. */
uint32_t hd__input_symbol(const struct hd_symbolic_input *in, unsigned byte, unsigned size);
/* The last arguments of the program are inputs, if the supervisor says so. */
HD_EACH void hd__input_arguments(int argc, char **argv);

#endif
