/* sink.h: what the module that reads bitcode (src/static/llvm) tells the builder of facts. Runs in the supervisor.
 *
 * The module is loaded when it is needed, so that heddle itself does not depend on LLVM. */
#ifndef HD_STATIC_SINK_H
#define HD_STATIC_SINK_H

#include <stddef.h>
#include <stdint.h>

/* Of functions. */
#define HD_FACT_ADDRESS 1  /* its address is taken */
#define HD_FACT_INTERNAL 2 /* it is known in its unit only */
/* Of nodes. */
#define HD_FACT_RETURNS 1 /* the function may end after it */
#define HD_FACT_BRANCHES 2
/* Of calls. */
#define HD_FACT_INDIRECT 1 /* any function of the type whose address is taken */
#define HD_FACT_SPAWNS 2   /* it begins another thread */

enum hd_fact_access {
  HD_FACT_READ,
  HD_FACT_WRITE,
  HD_FACT_CONDITION, /* the branch at the end of the node depends on it */
  HD_FACT_ACQUIRE,   /* a lock */
  HD_FACT_RELEASE,
};

/* The functions come one by one: first `function`, then its nodes, then the rest of it. A node is a run of instructions
 * with one source location, in one basic block, with at most one call, at its end. Numbers are those that the sink gave. */
struct hd_fact_sink {
  void *arg;
  void (*unit)(void *arg, const char *name);
  void (*function)(void *arg, const char *name, const char *file, unsigned line, const char *type,
                   unsigned flags);
  uint32_t (*node)(void *arg, unsigned line, unsigned column);
  void (*flags)(void *arg, uint32_t node, unsigned flags);
  void (*edge)(void *arg, uint32_t from, uint32_t to);
  /* name: of the function, NULL: only its type is known. */
  void (*call)(void *arg, uint32_t node, const char *name, const char *type, unsigned flags);
  /* object: "name" of a global, "struct.field" of any object of a structure, "(type)" of what a pointer points to. */
  void (*access)(void *arg, uint32_t node, const char *object, enum hd_fact_access how);
};

/* What the module exports under this name. Returns 0, or -1 with a message. */
#define HD_FACTS_READER "hd_facts_read_19"
typedef int hd_facts_reader(const void *bitcode, size_t size, const struct hd_fact_sink *sink, char *message,
                            size_t message_size);

#endif
