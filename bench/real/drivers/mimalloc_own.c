/* mimalloc, linked statically: see own.h. */
#ifndef OVERRIDE
#include <mimalloc.h>
#define TAKE mi_malloc
#define GIVE mi_free
#endif
#include "own.h"
