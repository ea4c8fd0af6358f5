/* echo [-n] [-e] WORD...: escapes as those of coreutils. */
#include <stdio.h>
#include <string.h>

static int octal(const char **p) {
  int v = 0;
  for (int i = 0; i < 3 && **p >= '0' && **p <= '7'; i++) v = v * 8 + *(*p)++ - '0';
  return v;
}

/* Returns whether the output ends there. */
static int escaped(const char *s) {
  while (*s) {
    int c = *s++;
    if (c == '\\' && *s) {
      switch (c = *s++) {
        case 'a': c = '\a'; break;
        case 'b': c = '\b'; break;
        case 'c': return 1;
        case 'f': c = '\f'; break;
        case 'n': c = '\n'; break;
        case 'r': c = '\r'; break;
        case 't': c = '\t'; break;
        case '0': c = octal(&s); break;
        case '\\': break;
        default: putchar('\\');
      }
    }
    putchar(c);
  }
  return 0;
}

int main(int argc, char **argv) {
  int line = 1, escapes = 0, i = 1;
  for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
    const char *o = argv[i] + 1;
    if (o[strspn(o, "neE")]) break;
    for (; *o; o++) {
      if (*o == 'n') line = 0;
      if (*o == 'e') escapes = 1;
      if (*o == 'E') escapes = 0;
    }
  }
  for (int first = i; i < argc; i++) {
    if (i > first) putchar(' ');
    if (!escapes)
      fputs(argv[i], stdout);
    else if (escaped(argv[i]))
      return 0;
  }
  if (line) putchar('\n');
  return 0;
}
