// zstd's multithreaded compressor (lib/compress/zstdmt_compress.c): two jobs of a small frame.
#include "zstd.h"

#include <assert.h>
#include <string.h>

enum { SIZE = 1 << 20 };

static char input[SIZE], packed[SIZE + SIZE / 8], output[SIZE];

static void set(ZSTD_CCtx *c, ZSTD_cParameter p, int value) {
  assert(!ZSTD_isError(ZSTD_CCtx_setParameter(c, p, value)));
}

int main(void) {
  for (int i = 0; i < SIZE; i += 64) {
    input[i] = (char)(i >> 8);
  }
  ZSTD_CCtx *c = ZSTD_createCCtx();
  assert(c);
  set(c, ZSTD_c_nbWorkers, 2);
  set(c, ZSTD_c_jobSize, SIZE / 2); // The smallest that it accepts.
  set(c, ZSTD_c_compressionLevel, 1);
  set(c, ZSTD_c_windowLog, 10);
  set(c, ZSTD_c_hashLog, 6);
  size_t n = ZSTD_compress2(c, packed, sizeof packed, input, sizeof input);
  assert(!ZSTD_isError(n));
  ZSTD_freeCCtx(c);
  assert(ZSTD_decompress(output, sizeof output, packed, n) == SIZE && !memcmp(input, output, SIZE));
  return 0;
}
