/* heddle.hpp: hd_check for C++: the body is anything callable, and the result converts to bool and prints.
 *
 *   auto result = heddle::check([&] {
 *     std::thread a(...), b(...);
 *     ...
 *   });
 *   EXPECT_TRUE(result) << result;
 *
 * Options are named: heddle::check(body, {.strategy = "pct", .seconds = 5}) (C++20), or set one by one. An
 * exception that leaves the body is a finding, so REQUIRE of Catch2 works in it. For GoogleTest there is
 * heddle_gtest.hpp. */
#ifndef HEDDLE_HPP
#define HEDDLE_HPP

#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "heddle.h"

namespace heddle {

using options = hd_check_options;
using verdict = hd_check_verdict;
using finding = hd_check_finding;

class result {
 public:
  explicit result(std::unique_ptr<hd_check_result> r) : r_(std::move(r)) {}

  /* True if there was no finding and no error. complete() says whether every schedule was covered. */
  explicit operator bool() const { return hd_check_passed(r_.get()); }
  bool complete() const { return r_->verdict == HD_CHECK_CLEAN; }
  heddle::verdict verdict() const { return r_->verdict; }
  unsigned long long executions() const { return r_->executions; }
  double seconds() const { return r_->seconds; }
  /* What `heddle check` would have printed. */
  const char *message() const { return r_->message; }

  unsigned findings() const { return r_->findings; }
  const heddle::finding *begin() const { return r_->finding; }
  const heddle::finding *end() const {
    return r_->finding + (r_->findings < HD_CHECK_FINDINGS ? r_->findings : HD_CHECK_FINDINGS);
  }

 private:
  std::unique_ptr<hd_check_result> r_;
};

inline std::ostream &operator<<(std::ostream &out, const result &r) { return out << '\n' << r.message(); }

/* Searches the schedules of body(); see hd_check. */
template <class Body>
result check(Body &&body, const options &o = {}) {
  auto call = [&] { body(); }; /* an object even if the body is a function */
  auto r = std::unique_ptr<hd_check_result>(new hd_check_result);
  *r = hd_check([](void *arg) { (*static_cast<decltype(call) *>(arg))(); }, &call, &o);
  return result(std::move(r));
}

}  // namespace heddle

#endif
