// libuv's thread pool (src/threadpool.c) and its wake-ups of the loop (src/unix/async.c): two workers.
//
// "work": requests that finish; "cancel": one that may be cancelled before a worker takes it; "async": a
// thread wakes the loop.
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

static uv_work_t request[2];
static int worked[2], finished, cancelled;

static void work(uv_work_t *w) { worked[w - request]++; }

static void after(uv_work_t *w, int status) {
  if (status == UV_ECANCELED) {
    cancelled++;
    assert(!worked[w - request]);
  } else {
    finished++;
    assert(status == 0 && worked[w - request] == 1);
  }
}

static void queued(uv_loop_t *loop, int cancel) {
  assert(uv_queue_work(loop, &request[0], work, after) == 0);
  assert(uv_queue_work(loop, &request[1], work, after) == 0);
  int asked = cancel && uv_cancel((uv_req_t *)&request[1]) == 0;
  uv_run(loop, UV_RUN_DEFAULT);
  assert(cancelled == asked && finished + cancelled == 2);
}

static void woken(uv_async_t *a) {
  finished++;
  uv_close((uv_handle_t *)a, NULL);
}

static void wake(void *a) { assert(uv_async_send(a) == 0); }

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "work";
  uv_loop_t loop;
  setenv("UV_THREADPOOL_SIZE", "2", 1);
  assert(uv_loop_init(&loop) == 0);
  if (!strcmp(what, "async")) {
    uv_async_t async;
    uv_thread_t thread;
    assert(uv_async_init(&loop, &async, woken) == 0);
    assert(uv_thread_create(&thread, wake, &async) == 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_thread_join(&thread);
    assert(finished == 1);
  } else {
    queued(&loop, !strcmp(what, "cancel"));
  }
  assert(uv_loop_close(&loop) == 0);
  uv_library_shutdown();
  return 0;
}
