// Boost.Asio with C++20 coroutines: two of them on a pool of two threads, which send to each other over a pair of sockets.
#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

namespace asio = boost::asio;
using asio::local::stream_protocol;
static int received;

static asio::awaitable<void> send(stream_protocol::socket &s) {
  char c = 'x';
  co_await asio::async_write(s, asio::buffer(&c, 1), asio::use_awaitable);
}

static asio::awaitable<void> receive(stream_protocol::socket &s) {
  char c;
  co_await asio::async_read(s, asio::buffer(&c, 1), asio::use_awaitable);
  received += c == 'x';
}

int main() {
  asio::thread_pool pool(2);
  stream_protocol::socket a(pool), b(pool);
  asio::local::connect_pair(a, b);
  asio::co_spawn(pool, receive(a), asio::detached);
  asio::co_spawn(pool, send(b), asio::detached);
  pool.join();
  return received == 1 ? 0 : 1;
}
