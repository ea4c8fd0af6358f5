/* mem.c: memcpy and memset for our own use. Runs in the tested process. */
#define HD_DEFINES_MEMCPY
#include "model/model.h"

void *hd__memcpy(void *to, const void *from, size_t n) {
  char *d = to;
  const char *s = from;
  for (; n >= 8; n -= 8, d += 8, s += 8) *(uint64_t *)d = *(const uint64_t *)s;
  while (n--) *d++ = *s++;
  return to;
}

void *hd__memset(void *to, int c, size_t n) {
  char *d = to;
  uint64_t word = (uint8_t)c * 0x0101010101010101ull;
  for (; n >= 8; n -= 8, d += 8) *(uint64_t *)d = word;
  while (n--) *d++ = (char)c;
  return to;
}
