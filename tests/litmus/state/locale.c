// A thread sets the locale while another one calls a function that depends on it.
// native: no
// expect: kind=assertion
// argv: class
// expect: kind=assertion
// argv: case
// expect: kind=assertion
// argv: format
// expect: kind=assertion
// argv: convert
// expect: kind=assertion
// argv: back
// expect: exact executions=1
// argv: plain
#include <locale.h>
#include <wchar.h>
#include <wctype.h>

#include "litmus.h"

static void *set(void *arg)
{
  assert(setlocale(LC_ALL, "C.UTF-8"));
  return arg;
}

int main(int argc, char **argv)
{
  (void)argc;
  const char *what = argv[1];
  wchar_t wide[4], one[] = L"\u00e9";
  char text[16];
  pthread_t t = spawn(set, NULL);
  if (!strcmp(what, "class")) assert(!iswalpha(0xe9));
  if (!strcmp(what, "case")) assert(towupper(0xe9) == 0xe9);
  if (!strcmp(what, "format")) assert(snprintf(text, sizeof text, "%lc", (wint_t)0xe9) < 0);
  if (!strcmp(what, "convert")) assert(mbstowcs(wide, "\xc3\xa9", 4) == (size_t)-1);
  if (!strcmp(what, "back")) assert(wcstombs(text, one, sizeof text) == (size_t)-1);
  if (!strcmp(what, "plain")) assert(strlen(what) == 5);
  join(t);
  return 0;
}
