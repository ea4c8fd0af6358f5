/* library.h: what both compilers' plug-ins know of the C++ library. Runs in both compilers. */
#ifndef HD_PLUGIN_LIBRARY_H
#define HD_PLUGIN_LIBRARY_H

/* std::__detail::__atomic_spin of libstdc++ (bits/atomic_wait.h): looks so often before it gives up. */
#define HD_LIBRARY_SPINS "_ZNSt8__detail13__atomic_spin"
#define HD_LIBRARY_ROUNDS 16

#endif
