// The threaded encoder and decoder of liblzma: two workers, a stream of two small blocks.
//
// "encode" (decoded without threads), or "decode" (encoded by one worker: without any, blocks have no sizes in front
// and are not decoded in parallel).
#include <assert.h>
#include <lzma.h>
#include <string.h>

enum { BLOCK = 4096, SIZE = 2 * BLOCK };

static uint8_t input[SIZE], packed[SIZE + 4096], output[SIZE];

static lzma_options_lzma options;
static lzma_filter filters[] = {{.id = LZMA_FILTER_LZMA2, .options = &options}, {.id = LZMA_VLI_UNKNOWN}};

static void code(lzma_stream *s, const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size) {
  lzma_ret r;
  s->next_in = in;
  s->avail_in = in_size;
  s->next_out = out;
  s->avail_out = out_size;
  do {
    r = lzma_code(s, LZMA_FINISH);
  } while (r == LZMA_OK);
  assert(r == LZMA_STREAM_END);
}

static size_t encode(int threads) {
  lzma_mt mt = {.threads = threads, .block_size = BLOCK, .filters = filters, .check = LZMA_CHECK_CRC32};
  lzma_stream s = LZMA_STREAM_INIT;
  assert(lzma_stream_encoder_mt(&s, &mt) == LZMA_OK);
  code(&s, input, SIZE, packed, sizeof packed);
  size_t n = s.total_out;
  lzma_end(&s);
  return n;
}

static void decode(int threads, size_t n) {
  lzma_mt mt = {.threads = threads, .memlimit_threading = UINT64_MAX, .memlimit_stop = UINT64_MAX};
  lzma_stream s = LZMA_STREAM_INIT;
  assert((threads ? lzma_stream_decoder_mt(&s, &mt) : lzma_stream_decoder(&s, UINT64_MAX, 0)) == LZMA_OK);
  code(&s, packed, n, output, SIZE);
  lzma_end(&s);
  assert(!memcmp(input, output, SIZE));
}

int main(int argc, char **argv) {
  int decoder = argc > 1 && !strcmp(argv[1], "decode");
  for (int i = 0; i < SIZE; i++) {
    input[i] = (uint8_t)(i >> 5);
  }
  assert(!lzma_lzma_preset(&options, 0));
  options.dict_size = LZMA_DICT_SIZE_MIN;
  decode(decoder ? 2 : 0, encode(decoder ? 1 : 2));
  return 0;
}
