/* tr [-d] [-s] SET1 [SET2]: replaces, deletes or squeezes characters of standard input. */
#include <stdio.h>
#include <string.h>

/* Expands ranges and escapes; returns how many characters, -1: a range is in reverse. */
static int expand(const char *s, unsigned char *out) {
  int n = 0;
  while (*s && n < 200) {
    unsigned char c = (unsigned char)*s++;
    if (c == '\\' && *s) {
      c = (unsigned char)*s++;
      if (c == 'n') c = '\n';
      if (c == 't') c = '\t';
    }
    if (s[0] == '-' && s[1]) {
      unsigned char to = (unsigned char)s[1];
      if (to < c) return -1;
      s += 2;
      for (unsigned v = c; v <= to && n < 200; v++) out[n++] = (unsigned char)v;
    } else {
      out[n++] = c;
    }
  }
  return n;
}

static int index_of(const unsigned char *set, int n, int c) {
  for (int i = 0; i < n; i++)
    if (set[i] == c) return i;
  return -1;
}

int main(int argc, char **argv) {
  unsigned char from[256], to[256];
  int deletes = 0, squeezes = 0, i = 1, nto = 0, c, last = -1;
  for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
    if (!strcmp(argv[i], "-d"))
      deletes = 1;
    else if (!strcmp(argv[i], "-s"))
      squeezes = 1;
    else
      return fprintf(stderr, "tr: invalid option\n"), 0;
  }
  if (i == argc) return fprintf(stderr, "tr: missing operand\n"), 0;
  int nfrom = expand(argv[i++], from);
  if (i < argc) nto = expand(argv[i++], to);
  if (nfrom < 0 || nto < 0) return fprintf(stderr, "tr: range in reverse\n"), 0;
  if (!deletes && !squeezes && !nto) return fprintf(stderr, "tr: missing second set\n"), 0;
  while ((c = getchar()) != EOF) {
    int at = index_of(from, nfrom, c);
    if (at >= 0 && deletes) continue;
    if (at >= 0 && nto) c = to[at < nto ? at : nto - 1];
    if (squeezes && at >= 0 && c == last) continue;
    last = c;
    putchar(c);
  }
  return 0;
}
