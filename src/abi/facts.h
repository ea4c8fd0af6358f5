/* facts.h: how `heddle cc --facts`, its plug-in for clang and the reader of facts (src/static) agree. */
#ifndef HD_ABI_FACTS_H
#define HD_ABI_FACTS_H

#define HD_FACTS_ENV "HEDDLE_FACTS"      /* set: the plug-in keeps the bitcode of the unit ... */
#define HD_FACTS_SECTION ".heddle_facts" /* ... in this section, which linkers concatenate */

#endif
