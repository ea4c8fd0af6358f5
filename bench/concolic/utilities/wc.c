/* wc [-l] [-w] [-c] [-L]: counts standard input. */
#include <ctype.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int lines = 0, words = 0, bytes = 0, longest = 0;
  for (int i = 1; i < argc && argv[i][0] == '-'; i++)
    for (const char *o = argv[i] + 1; *o; o++) switch (*o) {
        case 'l': lines = 1; break;
        case 'w': words = 1; break;
        case 'c': bytes = 1; break;
        case 'L': longest = 1; break;
        default: fprintf(stderr, "wc: unknown option\n"); return 0;
      }
  if (!lines && !words && !bytes && !longest) lines = words = bytes = 1;
  long nl = 0, nw = 0, nc = 0, most = 0, column = 0;
  int in_word = 0, c;
  while ((c = getchar()) != EOF) {
    nc++;
    if (c == '\n') {
      nl++;
      if (column > most) most = column;
      column = 0;
    } else if (c == '\t') {
      column += 8 - column % 8;
    } else if (isprint(c)) {
      column++;
    }
    if (isspace(c)) {
      in_word = 0;
    } else if (!in_word) {
      in_word = 1;
      nw++;
    }
  }
  if (column > most) most = column;
  if (lines) printf(" %ld", nl);
  if (words) printf(" %ld", nw);
  if (bytes) printf(" %ld", nc);
  if (longest) printf(" %ld", most);
  putchar('\n');
  return 0;
}
