// test_parts.cc: GoogleTest. Each test runs under every schedule of its threads.
#include <gtest/gtest.h>
#include <heddle_gtest.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "parts.h"

// Runs these at the same time, and waits for all of them.
static void together(std::initializer_list<std::function<void()>> bodies) {
  std::vector<std::thread> threads;
  for (auto &body : bodies) threads.emplace_back(body);
  for (auto &t : threads) t.join();
}

// ---- counter ----

struct Counter : ::testing::Test {
  counter c;
  Counter() { counter_init(&c, 0); }
};

TEST_F(Counter, AddsFromTwoThreads) {
  heddle::expect_clean([&] {
    together({[&] { counter_add(&c, 1); }, [&] { counter_add(&c, 2); }});
    EXPECT_EQ(counter_units(&c), 3);
  });
}

TEST_F(Counter, AddsFromThreeThreads) {
  heddle::expect_clean([&] {
    together({[&] { counter_add(&c, 1); }, [&] { counter_add(&c, 2); }, [&] { counter_add(&c, 3); }});
    EXPECT_EQ(counter_units(&c), 6);
  });
}

TEST_F(Counter, EndsWhereItBegan) {
  heddle::expect_clean([&] {
    together({[&] {
                counter_add(&c, 1);
                counter_add(&c, -1);
              },
              [&] {
                counter_add(&c, 5);
                counter_add(&c, -5);
              }});
    EXPECT_EQ(counter_units(&c), 0);
  });
}

TEST_F(Counter, GrowsWhileItIsRead) {
  heddle::expect_clean([&] {
    together({[&] {
                counter_add(&c, 1);
                counter_add(&c, 1);
              },
              [&] {
                int n = counter_units(&c);
                EXPECT_LE(n, counter_units(&c));
              }});
  });
}

TEST_F(Counter, TakesEachUnitOnce) {
  counter_add(&c, 1); // every execution begins with it
  heddle::expect_clean([&] {
    std::atomic<int> taken(0);
    auto take = [&] { taken += counter_take(&c); };
    together({take, take});
    EXPECT_EQ(taken, 1);
    EXPECT_EQ(counter_units(&c), 0);
  });
}

TEST_F(Counter, TakesWhatIsAddedMeanwhile) {
  heddle::expect_clean([&] {
    bool taken = false;
    together({[&] { counter_add(&c, 1); }, [&] { taken = counter_take(&c); }});
    EXPECT_EQ(counter_units(&c), taken ? 0 : 1);
  });
}

// ---- queue ----

struct Queue : ::testing::Test {
  std::unique_ptr<queue> q{new queue};
  void SetUp() override { queue_init(q.get()); }
  void TearDown() override { queue_fini(q.get()); }

  int take() {
    int item = -1;
    return queue_take(q.get(), &item) ? item : -1;
  }
};

TEST_F(Queue, GivesWhatWasPut) {
  heddle::expect_clean([&] { together({[&] { queue_put(q.get(), 7); }, [&] { EXPECT_EQ(take(), 7); }}); });
}

TEST_F(Queue, KeepsTheOrder) {
  heddle::expect_clean([&] {
    together({[&] {
                queue_put(q.get(), 1);
                queue_put(q.get(), 2);
              },
              [&] {
                EXPECT_EQ(take(), 1);
                EXPECT_EQ(take(), 2);
              }});
  });
}

TEST_F(Queue, WaitsForRoom) {
  for (int i = 0; i < QUEUE_ROOM; i++) queue_put(q.get(), i);
  heddle::expect_clean([&] {
    together({[&] { EXPECT_TRUE(queue_put(q.get(), QUEUE_ROOM)); }, [&] { EXPECT_EQ(take(), 0); }});
    for (int i = 1; i <= QUEUE_ROOM; i++) EXPECT_EQ(take(), i);
  });
}

TEST_F(Queue, TakesFromTwoThreads) {
  heddle::expect_clean([&] {
    together({[&] { queue_put(q.get(), 1); }, [&] { queue_put(q.get(), 2); }});
    EXPECT_EQ(take() + take(), 3);
  });
}

TEST_F(Queue, GivesToTwoThreads) {
  queue_put(q.get(), 1);
  queue_put(q.get(), 2);
  heddle::expect_clean([&] {
    std::atomic<int> sum(0);
    auto add = [&] { sum += take(); };
    together({add, add});
    EXPECT_EQ(sum, 3);
  });
}

TEST_F(Queue, TriesWithoutWaiting) {
  queue_put(q.get(), 1);
  heddle::expect_clean([&] {
    std::atomic<int> done(0);
    auto put = [&] { done += queue_try_put(q.get(), 2); };
    together({put, put});
    EXPECT_EQ(done, QUEUE_ROOM - 1);
  });
}

TEST_F(Queue, ClosesForOneWhoTakes) {
  heddle::expect_clean([&] { together({[&] { queue_close(q.get()); }, [&] { EXPECT_EQ(take(), -1); }}); });
}

TEST_F(Queue, ClosesForAllWhoTake) {
  heddle::expect_clean([&] {
    auto nothing = [&] { EXPECT_EQ(take(), -1); };
    together({[&] { queue_close(q.get()); }, nothing, nothing});
  });
}

TEST_F(Queue, ClosesForOneWhoPuts) {
  for (int i = 0; i < QUEUE_ROOM; i++) queue_put(q.get(), i);
  heddle::expect_clean([&] {
    together({[&] { queue_close(q.get()); }, [&] { EXPECT_FALSE(queue_put(q.get(), 7)); }});
  });
}

TEST_F(Queue, GivesWhatWasPutBeforeItClosed) {
  heddle::expect_clean([&] {
    together({[&] {
                queue_put(q.get(), 7);
                queue_close(q.get());
              },
              [&] {
                EXPECT_EQ(take(), 7);
                EXPECT_EQ(take(), -1);
              }});
  });
}

// ---- cache ----

struct Cache : ::testing::Test {
  static std::atomic<int> made;
  cache c;
  Cache() {
    made = 0;
    cache_init(&c, [](int key) {
      made++;
      return key * key;
    });
  }
  ~Cache() override { cache_fini(&c); }
};
std::atomic<int> Cache::made;

TEST_F(Cache, GivesTheSameToAll) {
  heddle::expect_clean([&] {
    auto get = [&] { EXPECT_EQ(cache_get(&c, 3), 9); };
    together({get, get});
  });
}

TEST_F(Cache, MakesEachValueOnce) {
  heddle::expect_clean([&] {
    auto get = [&] { cache_get(&c, 3); };
    together({get, get});
    EXPECT_EQ(made, 1);
  });
}

TEST_F(Cache, KeepsTwoValuesApart) {
  heddle::expect_clean([&] {
    together({[&] { EXPECT_EQ(cache_get(&c, 2), 4); }, [&] { EXPECT_EQ(cache_get(&c, 3), 9); }});
    EXPECT_EQ(made, 2);
  });
}

TEST_F(Cache, ForgetsWhileItIsUsed) {
  cache_get(&c, 3);
  heddle::expect_clean([&] {
    together({[&] { cache_forget(&c); }, [&] { EXPECT_EQ(cache_get(&c, 3), 9); }});
    EXPECT_LE(made, 2);
  });
}
