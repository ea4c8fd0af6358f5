/* inputs.h: the values of inputs (abi/symbolic.h) as part of a schedule. Runs in the supervisor. */
#ifndef HD_SESSION_INPUTS_H
#define HD_SESSION_INPUTS_H

#include "report/report.h"
#include "session/control.h"
#include "session/session.h"

/* Values of inputs. `at` of each is a position in `bytes`. */
struct hd_inputs {
  struct hd_symbolic_input *v; /* owned */
  size_t n;
  uint8_t *bytes; /* owned */
};
void hd_inputs_fini(struct hd_inputs *in);
void hd_inputs_copy(struct hd_inputs *to, const struct hd_inputs *from);
/* Those that executions have asked for since the round began. */
void hd_inputs_take(struct hd_inputs *to, const struct hd_control *c);
/* Writes them where the runtime reads them. */
void hd_inputs_put(const struct hd_inputs *in, const struct hd_control *c);

/* Asks the runtime for arguments (how many << 16 | their size) and for sources. */
void hd_inputs_ask(const struct hd_control *c, uint32_t args, const struct hd_input_source *source,
                   unsigned n);

/* Adds them to the finding, for people. */
void hd_inputs_show(struct hd_finding *f, const struct hd_inputs *in, const struct hd_finding_rec *rec);

static inline struct hd_symbolic *hd_control_symbolic(const struct hd_control *c) {
  return hd_control_area(c, HD_SHM_SYMBOLIC);
}

/* Lines "input THREAD INDEX FLAGS LO HI BYTES NAME", and one of them without "input ". */
void hd_inputs_format(struct hd_str *out, const struct hd_inputs *in);
bool hd_inputs_parse(struct hd_inputs *in, char *line);

#endif
