// cpp-httplib's server with its pool of threads, from start to stop: three requests of two clients.
#define CPPHTTPLIB_THREAD_POOL_COUNT 2
#include <httplib.h>
#include <thread>

#define SHUTDOWN
#include "daemon.h"

int main() {
  httplib::Server server;
  int served = 0;
  std::mutex lock;
  server.Get("/", [&](const httplib::Request &, httplib::Response &answer) {
    std::lock_guard<std::mutex> held(lock);
    answer.set_content(std::to_string(++served), "text/plain");
  });
  std::thread loop([&] { server.listen("127.0.0.1", 18888); });
  pthread_t t = start_clients(18888, "GET / HTTP/1.0\r\n\r\n", NULL);
  pthread_join(t, NULL);
  server.stop();
  loop.join();
  return served == 3 ? 0 : 1;
}
