/* heddle_catch2.hpp: heddle::check for Catch2 version 2.
 *
 *   TEST_CASE("the cache is consistent") {
 *     heddle::expect_clean([&] {
 *       ...
 *       CHECK(cache.size() == 1);  // of this execution: a failure is a finding with its schedule
 *     });
 *   }
 *
 * Include it in the file with CATCH_CONFIG_MAIN (or CATCH_CONFIG_RUNNER) too, after catch.hpp: failed assertions
 * are detected there. Catch2's assertions are not thread-safe: use them after the threads of the body have been joined,
 * and assert() in the threads. */
#ifndef HEDDLE_CATCH2_HPP
#define HEDDLE_CATCH2_HPP

#include <catch2/catch.hpp>
#include <iostream>
#include <string>

#include "heddle.hpp"

namespace heddle {
namespace catch2 {

/* If the linker does not find this, the header was not included in the file with CATCH_CONFIG_MAIN. */
extern const bool heddle_catch2_hpp_is_in_the_main_file;

inline result fail_unless(bool passed, result r, const char *what, const char *file, int line) {
  if (passed) return r;
  /* Catch2 breaks long lines, so the whole message is printed here and Catch2 gets the essential part. */
  std::cout.flush();
  std::cerr << r.message();
  Catch::AssertionHandler handler(Catch::StringRef(what),
                                  Catch::SourceLineInfo(file, static_cast<std::size_t>(line)), Catch::StringRef(),
                                  Catch::ResultDisposition::ContinueOnFailure);
  const finding *first = r.begin();
  std::string text = r.findings() ? std::string(first->title) + "; " + first->replay : r.message();
  handler.handleMessage(Catch::ResultWas::ExplicitFailure, text);
  handler.complete();
  return r;
}

}  // namespace catch2

/* Fails the test, without leaving it, when a schedule of body() fails. */
template <class Body>
result expect_passed(Body &&body, const options &o = {}, const char *file = __builtin_FILE(),
                     int line = __builtin_LINE()) {
  result r = check(body, o);
  bool passed = catch2::heddle_catch2_hpp_is_in_the_main_file && r;
  return catch2::fail_unless(passed, std::move(r), "heddle::expect_passed", file, line);
}

/* Also fails it when not every schedule was covered. If nothing is searched, coverage is not required. */
template <class Body>
result expect_clean(Body &&body, const options &o = {}, const char *file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
  result r = check(body, o);
  bool passed = catch2::heddle_catch2_hpp_is_in_the_main_file && r && r.verdict() != HD_CHECK_BOUNDED;
  return catch2::fail_unless(passed, std::move(r), "heddle::expect_clean", file, line);
}

}  // namespace heddle

#if defined(CATCH_CONFIG_MAIN) || defined(CATCH_CONFIG_RUNNER)
namespace heddle {
namespace catch2 {

extern const bool heddle_catch2_hpp_is_in_the_main_file = true;

/* A failed assertion ends the execution at that point. */
struct listener : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;
  bool assertionEnded(const Catch::AssertionStats &stats) override {
    const Catch::AssertionResult &a = stats.assertionResult;
    if (!hd_controlled() || a.isOk()) return false;
    std::string text = a.getExpressionInMacro();
    if (a.hasExpandedExpression()) text += ": " + a.getExpandedExpression();
    if (a.hasMessage()) text += ": " + std::string(a.getMessage());
    hd_failure(text.c_str());
    return false;
  }
};
CATCH_REGISTER_LISTENER(listener)

}  // namespace catch2
}  // namespace heddle
#endif

#endif
