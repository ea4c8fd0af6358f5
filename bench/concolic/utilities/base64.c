/* base64 [-d] [-i]: encodes standard input, or decodes it. */
#include <stdio.h>
#include <string.h>

static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int value_of(int c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static void encode(void) {
  unsigned char in[3];
  size_t n;
  while ((n = fread(in, 1, 3, stdin)) > 0) {
    unsigned v = (unsigned)in[0] << 16 | (n > 1 ? (unsigned)in[1] << 8 : 0) | (n > 2 ? in[2] : 0);
    putchar(digit[v >> 18]);
    putchar(digit[v >> 12 & 63]);
    putchar(n > 1 ? digit[v >> 6 & 63] : '=');
    putchar(n > 2 ? digit[v & 63] : '=');
  }
  putchar('\n');
}

static int decode(int ignores) {
  unsigned v = 0;
  int n = 0, pads = 0, c;
  while ((c = getchar()) != EOF) {
    if (c == '\n') continue;
    if (c == '=') {
      if (n < 2 || ++pads + n > 4) return 0;
      continue;
    }
    int d = value_of(c);
    if (d < 0 || pads) {
      if (d < 0 && ignores) continue;
      return 0;
    }
    v = v << 6 | (unsigned)d;
    if (++n < 4) continue;
    putchar((int)(v >> 16 & 255));
    putchar((int)(v >> 8 & 255));
    putchar((int)(v & 255));
    n = 0;
  }
  if (n + pads && n + pads != 4) return 0;
  if (n >= 2) putchar((int)(v >> (n == 2 ? 4 : 10) & 255));
  if (n == 3) putchar((int)(v >> 2 & 255));
  return 1;
}

int main(int argc, char **argv) {
  int decodes = 0, ignores = 0;
  for (int i = 1; i < argc; i++) {
    decodes |= !strcmp(argv[i], "-d");
    ignores |= !strcmp(argv[i], "-i");
  }
  if (!decodes)
    encode();
  else if (!decode(ignores))
    fprintf(stderr, "base64: invalid input\n");
  return 0;
}
