/* inline.h: what code that is compiled into the tested program knows about the runtime: where the shadow memory is, and
 * which words say that an access is known. Used by the plug-ins for the compilers (src/plugin) and by the runtime.
 *
 * A change of anything here, or of what it means, bumps HD_INLINE_VERSION. It is part of the name of the one symbol that
 * inlined code refers to: a program that was compiled with another layout does not link, and `heddle` refuses to run it. */
#ifndef HD_ABI_INLINE_H
#define HD_ABI_INLINE_H

#define HD_INLINE_VERSION 1
#define HD_INLINE_SYMBOL "__heddle_inline_1" /* struct hd_hot of the runtime */
#define HD_INLINE_TAG \
  56 /* offset of the tag of the running thread, a word; 0: the program is not under control */

/* The cell of a granule of 8 bytes is at HD_SHADOW_BASE + ((address mod 2^HD_SHADOW_BITS) / 8 << HD_CELL_SHIFT). An access
 * is known if the last write or, for a read, the last read (words at these offsets) has the tag of the running thread, and
 * the bits of its bytes in the lowest byte. */
#define HD_SHADOW_BASE 0x300000000000ull
#define HD_SHADOW_BITS 40
#define HD_CELL_SHIFT 5
#define HD_CELL_WRITE 0
#define HD_CELL_READ 8

#endif
