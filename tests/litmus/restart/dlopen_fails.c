// Missing libraries and symbols: the loader's error messages belong to one execution.
// expect: clean executions=100
// restart: memory fork
#include <dlfcn.h>

#include "litmus.h"

static void *ask(void *arg) {
  assert(!dlopen("nowhere.so", RTLD_NOW) && strstr(dlerror(), "nowhere.so"));
  assert(!dlopen("nowhere.so", RTLD_NOW));
  assert(!dlsym(RTLD_DEFAULT, "no_such_name") && strstr(dlerror(), "no_such_name"));
  assert(!dlsym(RTLD_DEFAULT, "no_such_name"));
  return arg;
}

int main(void) {
  pthread_t t;
  ask(NULL);
  pthread_create(&t, NULL, ask, NULL);
  ask(NULL);
  pthread_join(t, NULL);
  return 0;
}
