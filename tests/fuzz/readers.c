/* readers.c: the target of libFuzzer for everything that reads files of others: traces, schedules, suppressions,
 * TOML. The first byte of an input says which (readers.h). readers.py builds and runs it. */
#include "readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size) feed(data[0] % FEED_COUNT, (const char *)data + 1, size - 1);
  return 0;
}
