/* heddle_gtest.hpp: heddle::check for GoogleTest.
 *
 *   TEST(Cache, IsConsistent) {
 *     HEDDLE_CHECK([&] {
 *       ...
 *       EXPECT_EQ(cache.size(), 1u);  // of this execution: a failure is a finding with its schedule
 *     });
 *   }
 *
 * HEDDLE_CHECK(body) and HEDDLE_CHECK(body, options) fail the test, without leaving it, when there is a finding or
 * an error; HEDDLE_CHECK_COMPLETE also when not every schedule was covered. */
#ifndef HEDDLE_GTEST_HPP
#define HEDDLE_GTEST_HPP

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "heddle.hpp"

namespace heddle {
namespace gtest {

/* A failed assertion of this execution, in whatever thread, ends it there. */
class reporter : public ::testing::ScopedFakeTestPartResultReporter {
 public:
  reporter() : ScopedFakeTestPartResultReporter(INTERCEPT_ALL_THREADS, &unused_) {}

 private:
  void ReportTestPartResult(const ::testing::TestPartResult &part) override {
    if (part.failed()) hd_failure(part.summary());
  }
  ::testing::TestPartResultArray unused_;
};

/* heddle::check in which a failed assertion of GoogleTest is a finding. */
template <class Body>
result check(Body &&body, const options &o = {}) {
  return heddle::check(
      [&] {
        if (!hd_controlled()) return body();
        reporter all;
        body();
      },
      o);
}

inline ::testing::AssertionResult passed(const result &r) {
  if (r) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << r.message();
}

inline ::testing::AssertionResult covered(const result &r) {
  if (r && (r.complete() || r.verdict() == HD_CHECK_ONCE)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << r.message();
}

}  // namespace gtest
}  // namespace heddle

#define HEDDLE_CHECK_(result)                                        \
  switch (0)                                                          \
  case 0:                                                             \
  default:                                                            \
    if (const ::testing::AssertionResult heddle_passed = result)      \
      ;                                                               \
    else                                                              \
      ADD_FAILURE() << heddle_passed.message()

#define HEDDLE_CHECK(...) HEDDLE_CHECK_(::heddle::gtest::passed(::heddle::gtest::check(__VA_ARGS__)))
#define HEDDLE_CHECK_COMPLETE(...) HEDDLE_CHECK_(::heddle::gtest::covered(::heddle::gtest::check(__VA_ARGS__)))

#endif
