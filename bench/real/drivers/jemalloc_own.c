/* jemalloc, linked statically: see own.h. */
#ifndef OVERRIDE
#include <jemalloc/jemalloc.h>
#define TAKE je_malloc
#define GIVE je_free
#endif
#include "own.h"
