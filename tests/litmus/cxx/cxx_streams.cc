// Streams and strings, whose functions are in the shared library of C++: two threads that change one race. std::cout may be
// shared.
// cflags: -std=c++17
// expect: kind=data-race
// argv: print
// expect: kind=data-race
// argv: read
// expect: kind=data-race
// argv: text
// expect: kind=data-race
// argv: append
// expect: clean executions=100
// argv: locked
// expect: clean executions=100
// argv: standard
#include <cstring>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

static std::ostringstream out;
static std::istringstream in("1 2 3");
static std::string text = "x";
static std::mutex lock;
static const char *how;
static thread_local volatile size_t kept;

static bool is(const char *s) { return std::strcmp(how, s) == 0; }

static void one()
{
  int n;
  if (is("print")) out << "one" << 1;
  if (is("read")) in >> n;
  if (is("text")) kept = out.str().size();
  if (is("append")) text.append("abcdefghijklmnopqrstuvwxyz");
  if (is("standard")) std::cout << "one" << 1 << std::endl;
  if (!is("locked")) return;
  std::lock_guard<std::mutex> hold(lock);
  out << text.append("y") << 2.5;
}

static void two()
{
  if (is("text")) out << 5;
  if (is("append")) kept = text.find("abc");
  if (!is("text") && !is("append")) one();
}

int main(int argc, char **argv)
{
  how = argc > 1 ? argv[argc - 1] : "standard";
  std::thread a(one), b(two);
  a.join();
  b.join();
  return 0;
}
