/* heddle_gtest.hpp: heddle::check for GoogleTest.
 *
 *   TEST(Cache, IsConsistent) {
 *     heddle::expect_clean([&] {
 *       ...
 *       EXPECT_EQ(cache.size(), 1u);  // of this execution: a failure is a finding with its schedule
 *     });
 *   }
 *
 * These are functions, not macros, so that the body keeps its line numbers. */
#ifndef HEDDLE_GTEST_HPP
#define HEDDLE_GTEST_HPP

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "heddle.hpp"

namespace heddle {
namespace gtest {

/* A failed assertion, in any thread, ends the execution at that point. */
class reporter : public ::testing::ScopedFakeTestPartResultReporter {
 public:
  reporter() : ScopedFakeTestPartResultReporter(INTERCEPT_ALL_THREADS, &unused_) {}

 private:
  void ReportTestPartResult(const ::testing::TestPartResult &part) override {
    if (part.failed()) hd_failure(part.summary());
  }
  ::testing::TestPartResultArray unused_;
};

/* heddle::check in which a failed assertion of GoogleTest is a finding. It does not fail the test itself. */
template <class Body>
result check(Body &&body, const options &o = {}) {
  return heddle::check(
      [&] {
        if (!hd_controlled()) {
          body();
          return;
        }
        reporter all;
        body();
      },
      o);
}

}  // namespace gtest

/* Fails the test, without leaving it, when a schedule of body() fails. */
template <class Body>
result expect_passed(Body &&body, const options &o = {}, const char *file = __builtin_FILE(),
                     int line = __builtin_LINE()) {
  result r = gtest::check(body, o);
  if (!r) ADD_FAILURE_AT(file, line) << r.message();
  return r;
}

/* Also fails it when not every schedule was covered. If nothing is searched, coverage is not required. */
template <class Body>
result expect_clean(Body &&body, const options &o = {}, const char *file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
  result r = gtest::check(body, o);
  if (!r || r.verdict() == HD_CHECK_BOUNDED) ADD_FAILURE_AT(file, line) << r.message();
  return r;
}

}  // namespace heddle

#endif
