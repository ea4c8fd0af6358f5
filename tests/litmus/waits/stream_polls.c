// Loops that wait for what a function of stdio returns: they go on when another thread has changed the stream.
// expect: clean executions=20
// argv: position
// expect: clean executions=20
// argv: error
// expect: kind=assertion
// argv: once
// where: function=main line=@once
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static FILE *stream;

static void *writes(void *unused) {
  fputc('a', stream);
  return unused;
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "position";
  pthread_t t;
  stream = strcmp(how, "error") ? tmpfile() : fopen("/dev/full", "w");
  if (!stream) return 0;
  setvbuf(stream, NULL, _IONBF, 0);
  FILE *volatile again = stream; /* so that a compiler does not take the call out of the loop */
  pthread_create(&t, NULL, writes, NULL);
  if (!strcmp(how, "position"))
    while (ftell(again) == 0) {}
  if (!strcmp(how, "error"))
    while (!ferror(again)) {}
  if (!strcmp(how, "once")) assert(ftell(again) == 0); /* @once */
  pthread_join(t, NULL);
  return 0;
}
