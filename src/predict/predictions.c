/* predictions.c: predictions as values, and the table of detectors. Runs in the supervisor. */
#include "predict/predict.h"

#include <stdlib.h>
#include <string.h>

void hd_prediction_fini(struct hd_prediction *p) {
  hd_vec_free(&p->event);
  hd_vec_free(&p->order);
}

void hd_predictions_fini(struct hd_predictions *p) {
  for (size_t i = 0; i < p->v.n; i++) hd_prediction_fini(&p->v.v[i]);
  hd_vec_free(&p->v);
}

#define HD_DETECTOR(id, name, traits, what) [HD_DETECT_##id] = name,
const char *const hd_detector_name[HD_DETECTORS] = {
#include "predict/detectors.def"
};
#undef HD_DETECTOR
#define HD_DETECTOR(id, name, traits, what) [HD_DETECT_##id] = what,
const char *const hd_detector_what[HD_DETECTORS] = {
#include "predict/detectors.def"
};
#undef HD_DETECTOR

enum { TRAIT_SOLVES = 1, TRAIT_FILTER = 2 };
#define D(trait) TRAIT_##trait
#define HD_DETECTOR(id, name, traits, what) [HD_DETECT_##id] = traits,
static const unsigned char traits_of[HD_DETECTORS] = {
#include "predict/detectors.def"
};
#undef HD_DETECTOR

bool hd_detector_solves(enum hd_detector d) { return traits_of[d] & TRAIT_SOLVES; }
bool hd_detector_filters(enum hd_detector d) { return traits_of[d] & TRAIT_FILTER; }

bool hd_detector_by_name(const char *name, enum hd_detector *out) {
  for (int d = 0; d < HD_DETECTORS; d++)
    if (strcmp(name, hd_detector_name[d]) == 0) {
      *out = (enum hd_detector)d;
      return true;
    }
  return false;
}
