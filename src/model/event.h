/* event.h: an executed operation, as the search, the recording, traces, analyses and reports know it. Linked into
 * both binaries.
 *
 * Threads are numbers, and places program counters, while an event belongs to a run; in a trace both are entries of
 * its tables (trace/trace.h). */
#ifndef HD_MODEL_EVENT_H
#define HD_MODEL_EVENT_H

#include "model/op.h"

#define HD_EVENT_FIELDS                                                                    \
  struct hd_op op;                                                                         \
  uint64_t value;    /* with HD_EV_VALUE: what was read, or is there after the write */    \
  uint32_t from;     /* number of the event whose effect it saw, from 1; 0: the initial */ \
  uint32_t place;    /* of a trace: entry of the table of places plus 1; 0: unknown */     \
  uint32_t choice;   /* outcome chosen, while nchoices > 1 */                              \
  uint32_t nchoices; /* outcomes there were */                                             \
  uint8_t flags;     /* HD_EV_* */

struct hd_event {
  HD_EVENT_FIELDS
};

/* The fields of events.def; the last has no key. Get and set them with hd_field_get and hd_field_set. */
enum {
#define HD_EVENT_FIELD(key, member) HD__EVENT_FIELD_##key,
#include "model/events.def"
#undef HD_EVENT_FIELD
  HD_EVENT_NFIELDS
};
extern const struct hd_field hd_event_fields[HD_EVENT_NFIELDS + 1];

/* Whether the event changes what others see of its object, and whether it sees what they did. */
static inline int hd_event_gives(const struct hd_event *e) {
  return hd_op_does(e->op.kind, e->flags, HD_EFF_GIVES);
}
static inline int hd_event_sees(const struct hd_event *e) {
  return hd_op_does(e->op.kind, e->flags, HD_EFF_SEES);
}
/* The second object, 0 unless the event changes what others see of that. */
static inline uint64_t hd_event_gives_second(const struct hd_event *e) {
  return hd_effect_properties[hd_op_second(e->op.kind, e->flags)] & HD_EFF_GIVES ? hd_op_second_object(&e->op)
                                                                                 : 0;
}

#endif
