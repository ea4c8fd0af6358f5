/* races.h: what the module that reads bitcode says of a whole program, for pruning by data races (src/static/llvm/races.c).
 * Runs in the supervisor. */
#ifndef HD_STATIC_RACES_H
#define HD_STATIC_RACES_H

#include <stddef.h>
#include <stdint.h>

#define HD_RACE_LOCKS \
  64 /* mutexes with a name that are tracked one by one; of others only releases are known */

/* Of a line of a function, for threads that begin with a given function. */
#define HD_RACE_KNOWN 1  /* such a thread may execute it */
#define HD_RACE_DANGER 2 /* what it reads there may decide what the thread does next */
#define HD_RACE_UNSTABLE \
  4 /* from there on it may meet a result that no event shows, and that decides what it does */
#define HD_RACE_VARIES 16  /* from there on it may meet a result that no event shows, whatever that decides */
#define HD_RACE_RESULT 32  /* what comes of a call of that line may decide what the thread does next */
#define HD_RACE_ANYTHING 8 /* from there on it may do anything, such as start threads */

/* Of accesses. */
#define HD_RACE_WRITE 1
#define HD_RACE_ATOMIC 2
#define HD_RACE_ANY_OBJECT 0 /* the object that may be any; others have numbers from 1 */

/* A line: code of the function whose line is not known, since compilers put together what stood at several. */
#define HD_RACE_ANY_LINE UINT32_MAX

struct hd_race_sink {
  void *arg;
  /* A function that the program calls, and that has no bitcode. */
  void (*external)(void *arg, const char *function);
  /* A lock: a variable, and the offset in it. They come first, with their numbers from 0. */
  void (*lock)(void *arg, const char *variable, uint64_t offset);
  /* The object is the variable of that name and size. */
  void (*variable)(void *arg, unsigned object, const char *name, uint64_t size);
  /* A line of a function may access the object. */
  void (*object)(void *arg, const char *function, unsigned line, unsigned object);
  /* What follows is about threads that begin with that function. */
  void (*entry)(void *arg, const char *function);
  /* Line 0: where they begin. `object`: only where they access that. */
  void (*line)(void *arg, const char *function, unsigned line, unsigned object, unsigned flags);
  /* From the last line on, such a thread may access the object, with these locks, which it has taken since (one bit
   * each), and with those that it had then, but for `released`, which it may have let go since without taking them again. */
  void (*future)(void *arg, unsigned object, unsigned how, uint64_t acquired, uint64_t released);
  /* Nothing can be concluded, for this reason. */
  void (*refuse)(void *arg, const char *why);
};

struct hd_bitcode {
  const void *data;
  size_t size;
};

#define HD_RACES_READER "hd_races_read_19"
typedef int hd_races_reader(const struct hd_bitcode *unit, size_t n, const struct hd_race_sink *sink,
                            char *message, size_t message_size);

#endif
