/* property.h: searches for one property only (property.c). Private to the search. */
#ifndef HD_PROPERTY_H
#define HD_PROPERTY_H

#include "explore/walk.h"

extern const struct policy hd__pruned;

#endif
