/* LMDB: one thread writes while another reads; then the reader writes, too. The map is a file in the current folder. */
#include <assert.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static MDB_env *env;
static MDB_dbi db;
#define OK(call) do { int rc = (call); if (rc) abort(); } while (0)

static int get(void) {
  MDB_txn *t;
  MDB_val k = {1, "k"}, v;
  int n = 0;
  OK(mdb_txn_begin(env, NULL, MDB_RDONLY, &t));
  if (mdb_get(t, db, &k, &v) == 0) memcpy(&n, v.mv_data, sizeof n);
  mdb_txn_abort(t);
  return n;
}

static void add(void) {
  MDB_txn *t;
  MDB_val k = {1, "k"}, v;
  int n = 0;
  OK(mdb_txn_begin(env, NULL, 0, &t));
  if (mdb_get(t, db, &k, &v) == 0) memcpy(&n, v.mv_data, sizeof n);
  n++;
  v = (MDB_val){sizeof n, &n};
  OK(mdb_put(t, db, &k, &v, 0));
  OK(mdb_txn_commit(t));
}

static void *other(void *arg) {
  int before = get();
  add();
  assert(get() > before);
  return arg;
}

int main(void) {
  pthread_t t;
  MDB_txn *first;
  unlink("data.mdb");
  unlink("data.mdb-lock");
  OK(mdb_env_create(&env));
  OK(mdb_env_set_mapsize(env, 1 << 20));
  OK(mdb_env_open(env, "data.mdb", MDB_NOSUBDIR | MDB_NOSYNC, 0600));
  OK(mdb_txn_begin(env, NULL, 0, &first));
  OK(mdb_dbi_open(first, NULL, 0, &db));
  OK(mdb_txn_commit(first));
  pthread_create(&t, NULL, other, NULL);
  add();
  pthread_join(t, NULL);
  assert(get() == 2);
  mdb_env_close(env);
  return 0;
}
