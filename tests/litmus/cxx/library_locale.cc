// The C++ library keeps caches in variables of its own, and inlines the code that fills them: not a race of the
// program.
// expect: clean executions=30
#include <locale>
#include <regex>

#include "litmus.h"

static void *search(void *arg)
{
  std::regex r("i(d) ([0-9])");
  std::string s = "id 5";
  std::smatch m;
  assert(std::regex_search(s, m, r));
  return arg;
}

int main()
{
  pthread_t t[2];
  for (pthread_t &x : t) pthread_create(&x, NULL, search, NULL);
  for (pthread_t &x : t) pthread_join(x, NULL);
  return 0;
}
