/* LevelDB: two threads put, another one gets, then everything is compacted by the thread in the background. */
#include <leveldb/db.h>

#include <cstdlib>
#include <string>
#include <thread>

static void must(bool good) {
  if (!good) abort();
}

int main() {
  leveldb::DB *db;
  leveldb::Options options;
  std::string value;
  options.create_if_missing = true;
  options.write_buffer_size = 65536;
  must(leveldb::DB::Open(options, "db", &db).ok());
  auto put = [db](const char *key) { must(db->Put({}, key, "value").ok()); };
  std::thread a(put, "a"), b(put, "b");
  leveldb::Status s = db->Get({}, "a", &value);
  must(s.ok() || s.IsNotFound());
  a.join();
  b.join();
  must(db->Get({}, "a", &value).ok() && db->Get({}, "b", &value).ok());
  db->CompactRange(nullptr, nullptr);
  delete db;
}
