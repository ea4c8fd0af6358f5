/* options_driver.c: the options of `heddle concolic` that choose its driver. Runs in the supervisor. */
#include "cli/options_int.h"

#include <string.h>

int hd__parse_driver(struct hd_options *o, const char *value, struct hd_err *err) {
  static const struct {
    const char *name;
    enum hd_cc_driver driver;
  } known[] = {{"partition", HD_CC_NONE},
               {"bounded", HD_CC_BOUNDED},
               {"hyper", HD_CC_HYPER},
               {"mta", HD_CC_MTA},
               {"sequential", HD_CC_SEQUENTIAL}};
  for (size_t i = 0; i < HD_COUNT(known); i++)
    if (strcmp(value, known[i].name) == 0) {
      o->driver = known[i].driver;
      return HD_OK;
    }
  return hd_fail(err, HD_EUSAGE, "--driver needs partition, bounded, hyper, mta or sequential, not '%s'",
                 value);
}

int hd__parse_datarace(struct hd_options *o, const char *value, struct hd_err *err) {
  enum hd_detector d;
  static const uint8_t races[] = {HD_DETECT_HB,     HD_DETECT_SHB,  HD_DETECT_SYNC,
                                  HD_DETECT_STRICT, HD_DETECT_SAID, HD_DETECT_HUANG};
  o->datarace = true;
  bool known = hd_detector_by_name(value, &d);
  for (size_t i = 0; known && i < HD_COUNT(races); i++)
    if (races[i] == d) {
      o->race_detector = d;
      return HD_OK;
    }
  if (known && hd_detector_filters(d))
    return hd_fail(
        err, HD_EUSAGE,
        "--datarace %s: it says which accesses may race, but not in which schedule; use hb, shb, sync, "
        "strict, said or huang",
        value);
  return hd_fail(err, HD_EUSAGE, "--datarace needs hb, shb, sync, strict, said or huang, not '%s'", value);
}

int hd__parse_order(struct hd_options *o, const char *value, struct hd_err *err) {
  static const char *const name[] = {
      [HD_CC_COVERING] = "covering", [HD_CC_HEAP] = "heap", [HD_CC_DEEPEN] = "deepen"};
  for (size_t i = 0; i < HD_COUNT(name); i++)
    if (strcmp(value, name[i]) == 0) {
      o->order = (enum hd_cc_order)i;
      return HD_OK;
    }
  return hd_fail(err, HD_EUSAGE, "--order needs covering, heap or deepen, not '%s'", value);
}

int hd__check_driver(struct hd_options *o, enum hd_verb verb, struct hd_err *err) {
  bool aims = verb == HD_VERB_AIM;
  if (aims && o->inputs && !hd__given(o, OPT_DRIVER)) o->driver = HD_CC_MTA;
  if (aims && hd__given(o, OPT_DRIVER) && !o->inputs)
    return hd_fail(err, HD_EUSAGE, "--driver is for --symbolic: without it inputs have one value each");
  if (aims && o->inputs && !o->driver)
    return hd_fail(err, HD_EUSAGE,
                   "--driver partition comes after another one: give bounded, hyper, mta or sequential");
  static const struct {
    enum option_id id;
    const char *name;
  } guided[] = {{OPT_HEURISTIC, "heuristic"},
                {OPT_SEARCH, "search"},
                {OPT_NO_REFINE, "no-refine"},
                {OPT_NO_META, "no-meta"}};
  for (size_t i = 0; aims && o->inputs && i < HD_COUNT(guided); i++)
    if (hd__given(o, guided[i].id))
      return hd_fail(err, HD_EUSAGE, "--%s is for the search without --symbolic", guided[i].name);
  if (o->datarace && !o->driver)
    return hd_fail(
        err, HD_EUSAGE,
        "--datarace is for --driver bounded, hyper, mta and sequential: the driver partition runs every "
        "schedule, so it finds all data races");
  if (hd__given(o, OPT_ORDER) && o->driver != HD_CC_HYPER)
    return hd_fail(err, HD_EUSAGE, "--order is for --driver hyper");
  return HD_OK;
}
