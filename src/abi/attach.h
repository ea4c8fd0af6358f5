/* attach.h: the protocol between a test process that calls hd_check and the supervisor it starts.
 *
 * The test process forks a child that becomes `heddle check`, and that child's own child is the *template*: a copy of
 * the test process as it was at the call. For each tested process the supervisor asks the template, over a socket, for
 * a copy of itself (struct hd_copy_request, with the descriptors of enum hd_copy_fd); the copy is the supervisor's
 * child. The answer is its process number, or minus an error.
 *
 * The results of earlier calls are kept in a file: a sequence of struct hd_call_record, each followed by `size` bytes
 * of the result, without unused entries for findings and without trailing zeros. The last record is that of the
 * current call and has no result. A replay is a new process that receives these results until it reaches that call. */
#ifndef HD_ATTACH_H
#define HD_ATTACH_H

#include <stdint.h>

/* Values of HD_CTL_ENV in a process that is not controlled from its beginning. They are as long as the number of a
 * descriptor, so that the environment has the same size in every process. */
#define HD_CTL_FREE "free" /* hd_check starts a supervisor */
#define HD_CTL_CALL "call" /* control begins with the call that HD_CALLS_FD has no result of */

/* Options for every call, set by the user who runs the tests; they override those of the call. */
#define HD_OPTIONS_ENV "HEDDLE_CHECK_OPTIONS"

#define HD_CALLS_FD 1010              /* the results of earlier calls */
#define HD_ATTACH_ENV "HEDDLE_ATTACH" /* for the supervisor: "<socket> <result> <calls>", descriptors */

enum hd_copy_fd { HD_COPY_CTL, HD_COPY_SEARCH, HD_COPY_IN, HD_COPY_OUT, HD_COPY_ERR, HD_COPY_FDS };

struct hd_copy_request {
  uint32_t own_group; /* the copy becomes the leader of a process group */
};
struct hd_copy_answer {
  int32_t pid; /* or -errno */
};

#define HD_CALL_HERE 0xffffffffu

struct hd_call_record {
  uint64_t key;  /* identifies the call: its location, body and argument */
  uint32_t size; /* HD_CALL_HERE: the current call */
  uint32_t pad;
};

#endif
