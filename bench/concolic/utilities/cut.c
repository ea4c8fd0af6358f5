/* cut -b LIST | -f LIST [-d C] [-s]: parts of the lines of standard input. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static unsigned char chosen[64];

/* N, N-, N-M, -M, separated by commas. */
static int read_list(const char *s) {
  for (;;) {
    int from = 0, to = 0, open = 0;
    while (isdigit((unsigned char)*s)) from = from * 10 + *s++ - '0';
    if (*s == '-') {
      s++;
      open = !isdigit((unsigned char)*s);
      while (isdigit((unsigned char)*s)) to = to * 10 + *s++ - '0';
      if (open) to = 63;
      if (!from && open) return 0;
      if (!from) from = 1;
    } else {
      to = from;
    }
    if (!from || to < from) return 0;
    for (int i = from; i <= to && i < 64; i++) chosen[i] = 1;
    if (!*s) return 1;
    if (*s++ != ',') return 0;
  }
}

int main(int argc, char **argv) {
  int by_field = 0, only = 0, c, n = 1, any = 0, found = 0;
  char delimiter = '\t', line[64];
  const char *list = 0;
  for (int i = 1; i < argc; i++) {
    if (!strncmp(argv[i], "-b", 2) || !strncmp(argv[i], "-f", 2)) {
      by_field = argv[i][1] == 'f';
      list = argv[i][2] ? argv[i] + 2 : ++i < argc ? argv[i] : 0;
    } else if (!strncmp(argv[i], "-d", 2) && argv[i][2]) {
      delimiter = argv[i][2];
    } else if (!strcmp(argv[i], "-s")) {
      only = 1;
    }
  }
  if (!list || !read_list(list)) return fprintf(stderr, "cut: invalid list\n"), 0;
  if (only && !by_field) return fprintf(stderr, "cut: -s is for fields\n"), 0;
  int len = 0;
  while ((c = getchar()) != EOF && len < 63) {
    if (c != '\n') {
      line[len++] = (char)c;
      found |= c == delimiter;
      continue;
    }
  end:
    if (by_field && !found) {
      if (!only) fwrite(line, 1, (size_t)len, stdout), putchar('\n');
    } else {
      for (int i = 0; i < len; i++) {
        if (by_field && line[i] == delimiter) {
          n++;
          if (chosen[n < 64 ? n : 63] && any) putchar(delimiter);
          continue;
        }
        int at = by_field ? n : i + 1;
        if (chosen[at < 64 ? at : 63]) putchar(line[i]), any = 1;
      }
      putchar('\n');
    }
    len = found = any = 0;
    n = 1;
    if (c == EOF) return 0;
  }
  if (len) goto end;
  return 0;
}
