/* aget.c: a downloader whose handler of an interrupt saves how far it is. The count of bytes and the offset of the last block are
 * written one after the other, so what it saves may be torn. */
#include <assert.h>
#include <heddle.h>
#include <pthread.h>

static _Atomic int written, offset = 100;
static _Atomic int run = 1;

static void *download(void *unused) {
  (void)unused;
  int length = (int)hd_input_range(0, 255, "length");
  if (length < 16) return NULL; /* an empty file */
  for (int block = 0; block < 2; block++) {
    if (!run) return NULL;
    int n = length > 64 ? 64 : length;
    written = written + n;
    offset = 100 + written;
    length -= n;
    if (length <= 0) return NULL;
  }
  return NULL;
}

static void *save(void *unused) {
  (void)unused;
  int signal = (int)hd_input_range(0, 31, "signal");
  if (signal != 2 && signal != 15) return NULL;
  if (signal == 2) run = 0;
  int bytes = written, at = offset;
  if (bytes > 64) {
    if (at == 100 + 64) assert(0); /* resumed there, a block would come twice */
    if (at == 100 + bytes) return NULL;
  }
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, download, NULL);
  pthread_create(&b, NULL, save, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
