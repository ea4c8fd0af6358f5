// SQLite, two threads. "memory": a database in memory with a shared cache, one connection each. "serialized":
// one connection used by both. "file": a database file, one connection each. "initialize": the first calls of the
// library are made by both at once.
#include <assert.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static const char *what = "serialized";
static sqlite3 *common;

static sqlite3 *open_one(void) {
  sqlite3 *db;
  const char *name = !strcmp(what, "file") ? "test.db" : "file:m?mode=memory&cache=shared";
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
  assert(sqlite3_open_v2(name, &db, flags, NULL) == SQLITE_OK);
  sqlite3_busy_timeout(db, 1000);
  return db;
}

static int run(sqlite3 *db, const char *sql) {
  int r = sqlite3_exec(db, sql, NULL, NULL, NULL);
  assert(r == SQLITE_OK || r == SQLITE_LOCKED || r == SQLITE_BUSY);
  return r == SQLITE_OK;
}

static int count(void *p, int columns, char **values, char **names) {
  (void)columns, (void)names;
  sscanf(values[0], "%d", (int *)p);
  return 0;
}

static void *insert(void *p) {
  sqlite3 *db = common ? common : open_one();
  *(int *)p = run(db, "insert into t values(1)");
  if (db != common) {
    assert(sqlite3_close(db) == SQLITE_OK);
  }
  return NULL;
}

static void *open_and_close(void *p) {
  assert(sqlite3_close(open_one()) == SQLITE_OK);
  return p;
}

int main(int argc, char **argv) {
  pthread_t t;
  int done[2], rows = -1;
  what = argc > 1 ? argv[1] : what;
  if (!strcmp(what, "initialize")) {
    pthread_create(&t, NULL, open_and_close, NULL);
    open_and_close(NULL);
    pthread_join(t, NULL);
    return 0;
  }
  sqlite3 *db = open_one();
  assert(run(db, "create table t(x)"));
  common = strcmp(what, "serialized") ? NULL : db;
  pthread_create(&t, NULL, insert, &done[0]);
  insert(&done[1]);
  pthread_join(t, NULL);
  assert(sqlite3_exec(db, "select count(*) from t", count, &rows, NULL) == SQLITE_OK);
  assert(rows == done[0] + done[1]);
  assert(sqlite3_close(db) == SQLITE_OK);
  return 0;
}
