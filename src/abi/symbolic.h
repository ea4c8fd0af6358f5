/* symbolic.h: inputs and symbolic expressions, as they cross the border. Part of abi.h.
 *
 *   input       a value that the program asks for (hd_input, __VERIFIER_nondet_int, an argument ...). Its identity is a
 *               thread, a number among that thread's inputs, a name and a size: the same in every schedule. The supervisor
 *               says which values inputs have, for all executions until it says otherwise.
 *   expression  a node in a table, named by its number. 0 is no expression: the value is concrete. Equal expressions have
 *               one number (hash-consing), in all executions, until the table is cleared. Operands have smaller numbers
 *               than the node, so one pass in order of numbers visits operands first.
 *   condition   an expression of one bit, and the value it had: a branch, the case of a switch, the value that an address
 *               had to be made concrete to ...
 *   record      an entry of the log of one execution
 *
 * With HD_SYMBOLIC_CONDITIONS the conditions of all executions are collected, each once, until the supervisor sets ncond
 * to 0 and increments `round`. With HD_SYMBOLIC_LOG everything that an execution does is in the log, in order, which the
 * next execution overwrites. With HD_SYMBOLIC_READS each read of memory that is a scheduling point is a fresh symbol
 * (HD_EXPR_READ), and log entries for reads and writes say what was read and written.
 *
 * The runtime writes everything but what is said to be the supervisor's. Changed with HD_ABI_VERSION. */
#ifndef HD_ABI_SYMBOLIC_H
#define HD_ABI_SYMBOLIC_H

#include <stdint.h>

enum hd_expr_op {
#define HD_EXPR(NAME, text, arity, result) HD_EXPR_##NAME,
#include "model/exprs.def"
#undef HD_EXPR
  HD_EXPR_COUNT
};

struct hd_expr {
  uint8_t op;
  uint8_t width;    /* bits: 1 to 64 */
  uint16_t low;     /* EXTRACT: the lowest bit */
  uint32_t a, b, c; /* operands; INPUT, READ: numbers. 0 where there is none */
  uint64_t
      value; /* the concrete value when it was made last, in the lowest `width` bits, others 0. CONST: always */
  uint32_t next,
      mark; /* of the runtime: hash chain; 1 + the round in which it was collected as a condition */
};

/* ---- inputs ---- */

#define HD_INPUT_NAME 48
#define HD_MAX_INPUTS 4096       /* different ones, of one search */
#define HD_MAX_INPUT_BYTES 65536 /* of all inputs */
#define HD_MAX_INPUT_SIZE 4096   /* of one: longer ones are several */

enum hd_input_flags {
  HD_INPUT_RANGE = 1,  /* lo <= value <= hi, as signed 64-bit numbers: a condition of every search */
  HD_INPUT_SIGNED = 2, /* how to print it */
  HD_INPUT_TEXT = 4,
  /* What the supervisor asks for: thread 0 has it when main begins, and its name begins with one of the texts below. The
   * contents of standard input or a file are followed by an input of their length, with the same name. */
  HD_INPUT_STDIN = 8,
  HD_INPUT_ENVIRONMENT = 16,
  HD_INPUT_FILE = 32,
  HD_INPUT_SOURCES = HD_INPUT_STDIN | HD_INPUT_ENVIRONMENT | HD_INPUT_FILE,
  HD_INPUT_LENGTH = 64,
};
#define HD_INPUT_STDIN_NAME "standard input"
#define HD_INPUT_ENV_NAME "environment "
#define HD_INPUT_FILE_NAME "file "

/* An input of up to 8 bytes, and of a size that is a power of 2, is one symbol: HD_EXPR_INPUT with b = 0 and its width. Of
 * another one each byte is: b is the number of the byte. */
struct hd_symbolic_input {
  uint32_t thread, index; /* identity, with name and size */
  uint32_t size;          /* bytes */
  uint32_t flags;
  uint32_t at;        /* first byte of its value in hd_symbolic.bytes */
  uint32_t execution; /* seen in this round: round + 1 */
  int64_t lo, hi;
  uint64_t site; /* where it was asked for first */
  char name[HD_INPUT_NAME];
};

/* ---- conditions and the log ---- */

/* Why something is recorded. All but BRANCH and CASE are about values that are not followed; see docs/concolic.md. */
enum hd_symbolic_why {
#define HD_SYMBOLIC_WHY(NAME, text) HD_WHY_##NAME,
#include "model/symbolic.def"
#undef HD_SYMBOLIC_WHY
  HD_WHY_COUNT
};

struct hd_condition {
  uint32_t expr; /* of width 1 */
  uint8_t taken; /* its value */
  uint8_t why;   /* enum hd_symbolic_why */
  uint8_t thread, unused;
  uint64_t site; /* code address */
};

enum hd_record_kind {
  HD_RECORD_INPUT,     /* expr: INPUT; addr: number of the input */
  HD_RECORD_CONDITION, /* expr, value (0 or 1), why, site */
  HD_RECORD_READ,      /* addr, size, value, expr: the symbol */
  HD_RECORD_WRITE,     /* addr, size, value, expr (0: concrete) */
};

struct hd_symbolic_record {
  uint8_t kind;
  uint8_t why;
  uint8_t size; /* bytes */
  uint8_t atomic;
  uint16_t thread;
  uint8_t negated; /* CONDITION: the program's is the opposite of `expr` */
  uint8_t unused;
  uint32_t expr;
  uint32_t point; /* operations of the schedule that were executed before it, in this execution */
  uint64_t addr;
  uint64_t value;
  uint64_t site;
};

enum hd_symbolic_mode {
  HD_SYMBOLIC_INPUTS = 1,     /* inputs have the values given */
  HD_SYMBOLIC_CONDITIONS = 2, /* expressions are made; conditions are collected */
  HD_SYMBOLIC_LOG = 4,        /* ... and logged */
  HD_SYMBOLIC_READS = 8,
  HD_SYMBOLIC_FOLLOWED =
      HD_SYMBOLIC_CONDITIONS | HD_SYMBOLIC_READS, /* what the program's own code depends on */
};

struct hd_symbolic {
  uint32_t round;  /* supervisor */
  uint32_t nexprs; /* nodes; number 0 is none, so that the first is 1 and nexprs is the next free number */
  uint32_t ncond, nlog;
  uint32_t full; /* a table had no room: enum hd_symbolic_full */
  uint32_t
      ninputs; /* inputs known: the supervisor adds those that it knows from before, the runtime what it meets */
  uint32_t nbytes;            /* of their values */
  uint32_t unused, no_shadow; /* no_shadow: the program asked for inputs but was not built with --symbolic */
  uint32_t args; /* supervisor: the last arguments of the program are inputs: how many << 16 | their size */
  uint32_t unused_args;
  struct hd_symbolic_input input[HD_MAX_INPUTS];
  uint8_t bytes
      [HD_MAX_INPUT_BYTES]; /* their values, lowest byte first. New inputs: 0, or the lower end of the range */
};

enum hd_symbolic_full { HD_FULL_EXPRS = 1, HD_FULL_CONDITIONS = 2, HD_FULL_LOG = 4, HD_FULL_INPUTS = 8 };

/* Areas of a process's file, behind those of abi.h. Without expressions only the first is used. */
#define HD_SHM_SYMBOLIC (22ull << 28)   /* struct hd_symbolic */
#define HD_SHM_CONDITIONS (23ull << 28) /* struct hd_condition[] */
#define HD_SHM_RECORDS (24ull << 28)    /* struct hd_symbolic_record[] */
#define HD_SHM_BUCKETS (27ull << 28)    /* uint32_t[HD_EXPR_BUCKETS] */
#define HD_SHM_EXPRS (28ull << 28)      /* struct hd_expr[] */
#define HD_SHM_SYMBOLIC_END (44ull << 28)
#define HD_EXPR_BUCKETS (1u << 22)
#define HD_MAX_EXPRS (1u << 27)
#define HD_MAX_CONDITIONS (1u << 24)
#define HD_MAX_RECORDS (1u << 24)

_Static_assert(sizeof(struct hd_symbolic) <= 1ull << 28 && sizeof(struct hd_expr) == 32 &&
                   HD_MAX_CONDITIONS * sizeof(struct hd_condition) <= 1ull << 28 &&
                   HD_MAX_RECORDS * sizeof(struct hd_symbolic_record) <= 3ull << 28 &&
                   HD_MAX_EXPRS * sizeof(struct hd_expr) <= 16ull << 28,
               "every table has room");

#endif
