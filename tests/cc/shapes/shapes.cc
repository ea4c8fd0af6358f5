/* shapes.cc: shapes of accesses in C++. See shapes.h. */
#include "shapes.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

struct Plain {
  long a[5];
};
struct Member {
  long a[5];
  NOINLINE void set(int i) { a[i] = some; }
  NOINLINE long get(int i) const { return a[i]; }
  void all() {
    for (long &x : a) x = some;
  }
  Plain copy() const { return *reinterpret_cast<const Plain *>(this); }
};
struct Copied { /* not trivial: passed by reference, built in place */
  long a[5];
  Copied() : a{} {}
  Copied(const Copied &o) {
    for (int i = 0; i < 5; i++) a[i] = o.a[i];
  }
  Copied &operator=(const Copied &o) {
    for (int i = 0; i < 5; i++) a[i] = o.a[i];
    return *this;
  }
  ~Copied() { keep = nullptr; }
};
struct Initialised {
  int a = 1, b = (int)some;
  long c[4] = {};
};
struct Virtual {
  long a = some;
  virtual ~Virtual() {}
  virtual NOINLINE void set() { a = some + 1; }
};

struct Bits {
  bool x : 1, y : 1;
};
enum class Colour : unsigned char { red, green };
struct ColourBits {
  Colour x : 2, y : 2;
};

NOINLINE Plain make_plain() { return Plain{{(long)some, 2, 3, 4, 5}}; }
NOINLINE Copied make_copied() {
  Copied c;
  c.a[4] = some;
  return c;
}
NOINLINE Plain may_throw(int n) {
  if (n < 0) throw n;
  return make_plain();
}
NOINLINE long use_plain(Plain p) { return p.a[0] + p.a[4]; }
NOINLINE long use_copied(Copied c) { return c.a[0] + c.a[4]; }
static NOINLINE void call(const std::function<void()> &f) { f(); }
template <typename T> static NOINLINE void assign(T &to, const T &from) { to = from; }

#define AT(...) (*reinterpret_cast<__VA_ARGS__ *>(p))
#define FROM(...) (*reinterpret_cast<__VA_ARGS__ *>(q))

/* ---- bit-fields ---- */
SHAPE(bool_bits, 1, 0, 0, AT(Bits).y = some != 0)
SHAPE(bool_bits_constant, 1, 0, 0, AT(Bits).y = true)
SHAPE(bool_bits_from, 0, 0, 0, sink = AT(Bits).y)
SHAPE(enum_bits, 1, 0, 0, AT(ColourBits).y = some ? Colour::green : Colour::red)
SHAPE(enum_bits_from, 0, 0, 0, sink = (int)AT(ColourBits).y)

/* ---- algorithms ---- */
SHAPE(copy_chars, 1, 0, 39, std::copy(q, q + 40, p))
SHAPE(copy_chars_from, 0, 0, 39, std::copy(p, p + 40, q))
SHAPE(copy_ints_n, 1, 0, 39, std::copy_n((int *)q, n_unknown / 4, (int *)p))
SHAPE(copy_backward, 1, 0, 39, std::copy_backward(q, q + 40, p + 40))
SHAPE(move_plains, 1, 0, 79, std::move((Plain *)q, (Plain *)q + 2, (Plain *)p))
SHAPE(fill_chars, 1, 0, 39, std::fill(p, p + 40, 'x'))
SHAPE(fill_ints, 1, 0, 39, std::fill_n((int *)p, n_unknown / 4, (int)some))
SHAPE(iota_ints, 1, 0, 39, std::iota((int *)p, (int *)p + 10, (int)some))
SHAPE(accumulate_ints, 0, 0, 39, sink = std::accumulate((int *)p, (int *)p + 10, 0))
SHAPE(equal_chars, 0, 0, 39, sink = std::equal(p, p + 40, q))
SHAPE(find_chars, 0, 0, 39, sink = std::find(p, p + 40, 'x') == p + 40)
SHAPE(swap_ranges, 1, 0, 39, std::swap_ranges(p, p + 40, q))
SHAPE(swap_plain, 1, 0, 39, std::swap(AT(Plain), FROM(Plain)))
SHAPE(reverse_longs, 1, 0, 39, std::reverse((long *)p, (long *)p + 5))
SHAPE(uninitialized_fill, 1, 0, 39, std::uninitialized_fill_n((long *)p, 5, 3))

/* ---- objects ---- */
SHAPE(array_copy, 1, 0, 39, (AT(std::array<long, 5>) = FROM(std::array<long, 5>)))
SHAPE(array_copy_from, 0, 0, 39, (FROM(std::array<long, 5>) = AT(std::array<long, 5>)))
SHAPE(array_fill, 1, 0, 39, (AT(std::array<long, 5>).fill(some)))
SHAPE(array_equal, 0, 0, 39, (sink = AT(std::array<long, 5>) == FROM(std::array<long, 5>)))
SHAPE(tuple_copy, 1, 0, 55, (AT(std::tuple<long, long, Plain>) = FROM(std::tuple<long, long, Plain>)))
SHAPE(pair_assign, 1, 0, 15, (AT(std::pair<long, long>) = std::make_pair((long)some, 2L)))
SHAPE(assign_plain, 1, 0, 39, assign(AT(Plain), FROM(Plain)))
SHAPE(return_plain, 1, 0, 39, AT(Plain) = make_plain())
SHAPE(return_throws, 1, 0, 39, try { AT(Plain) = may_throw(3); } catch (int) {})
SHAPE(return_copied, 1, 0, 39, AT(Copied) = make_copied())
SHAPE(arg_plain, 0, 0, 39, sink = (int)use_plain(AT(Plain)))
SHAPE(arg_copied, 0, 0, 39, sink = (int)use_copied(AT(Copied)))
SHAPE(arg_method, 0, 0, 39, sink = (int)use_plain(AT(Member).copy()))
SHAPE(new_plain, 1, 0, 39, keep = (char *)new (p) Plain())
SHAPE(new_from, 1, 0, 39, keep = (char *)new (p) Plain(make_plain()))
SHAPE(new_copied, 1, 0, 39, keep = (char *)new (p) Copied(make_copied()))
SHAPE(new_initialised, 1, 0, 39, keep = (char *)new (p) Initialised)
SHAPE(new_virtual, 1, 0, 15, keep = (char *)new (p) Virtual)
SHAPE(new_array, 1, 0, 39, keep = (char *)new (p) long[5]())
SHAPE(member_set, 1, 8, 15, AT(Member).set(1))
SHAPE(member_get, 0, 32, 39, sink = (int)AT(Member).get(4))
SHAPE(member_all, 1, 0, 39, AT(Member).all())
SHAPE(initialised, 1, 0, 39, AT(Initialised) = Initialised())
SHAPE(pointer_to_member, 1, 0, 39, long(Plain::*m)[5] = &Plain::a; for (long &x : AT(Plain).*m) x = some)
SHAPE(atomic_object, 1, 0, 15, struct Two { long a; long b; }; AT(std::atomic<Two>).store(Two{(long)some, 2}))
SHAPE(atomic_object_load, 0, 0, 15, struct Two { long a; long b; }; FROM(Two) = AT(std::atomic<Two>).load())
SHAPE(atomic_large, 1, 0, 39, AT(std::atomic<Plain>).store(make_plain()))
SHAPE(vector_from, 0, 0, 39, std::vector<char> v(p, p + 40); keep = v.data(); sink = v[n_unknown - 1])
SHAPE(vector_to, 1, 0, 39, std::vector<char> v(40, 'x'); keep = v.data(); std::copy(v.begin(), v.end(), p))
SHAPE(string_from, 0, 0, 39, std::string s(p, 40); keep = &s[0]; sink = s[3])
SHAPE(string_to, 1, 0, 29, std::string s(30, 'x'); keep = &s[0]; s.copy(p, 30))
SHAPE(lambda_writes, 1, 0, 7, long &x = AT(long); auto f = [&x] { x = some; }; call(f))
SHAPE(lambda_copies, 0, 0, 39, Plain &x = AT(Plain); auto f = [x]() mutable { sink = (int)x.a[4]; }; call(f))

/* ---- variables of the thread's own that another one knows ---- */
OWN(own_long, 1, 0, 7, long, f.x = some)
OWN(own_plain, 1, 0, 39, Plain, f.x = make_plain())
OWN(own_plain_element, 1, 16, 23, Plain, f.x.a[2] = some)
OWN(own_member, 1, 8, 15, Member, f.x.set(1))
OWN(own_member_all, 1, 0, 39, Member, f.x.all())
OWN(own_array, 1, 16, 23, std::array<long COMMA 5>, f.x[2] = some)
OWN(own_array_range, 1, 0, 39, std::array<long COMMA 5>, for (long &x : f.x) x = some)
OWN(own_array_read, 0, 16, 23, std::array<long COMMA 5>, sink = (int)f.x[2])
OWN(own_arg, 0, 0, 39, Plain, sink = (int)use_plain(f.x))
OWN(own_lambda, 1, 0, 7, long, auto g = [&f] { f.x = some; }; call(g))
OWN(own_fill, 1, 0, 39, Plain, std::fill_n(f.x.a, 5, 3))

/* What a lambda captures by reference, touched by the thread that runs the lambda. */
TOUCHERS(captured_by_thread, 1, 16, 23)
static NOINLINE void do_captured_by_thread(void *(*fn)(void *)) {
  struct {
    char before[MARGIN];
    long a[5];
    char after[MARGIN];
  } f = {};
  int other = 3;
  std::thread t([&f, &other, fn] {
    other++;
    fn(f.a);
  });
  enter();
  f.a[2] = some;
  leave();
  t.join();
  sink = other;
}
ENTRY(captured_by_thread, 1, 16, 23, NULL, do_captured_by_thread)
