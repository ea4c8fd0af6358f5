// Global objects, static locals and containers are fresh in every execution.
// restart: memory fork
// expect: clean executions=200
#include <cassert>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>

static std::map<std::string, int> table{{"one", 1}};
static std::string text = "text";

static int &count()
{
  static int n = [] { return 5; }();
  return n;
}

int main()
{
  assert(table.size() == 1 && text == "text" && count() == 5);
  std::thread a([] {
    table["two"] = 2;
    table.erase("one");
  });
  a.join();
  std::thread b([] {
    for (int i = 0; i < 100; i++) text += "more and more ";
    count()++;
  });
  b.join();
  std::ostringstream s;
  s << table.size() << text.size() << 1.5;
  assert(s.str().size() > 4);
  std::cout << "a line of output" << std::endl;
  return 0;
}
