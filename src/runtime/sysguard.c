#include "runtime/rt.h"
void hd__sysguard_init(void) {}
void hd__sysguard_begin(void) {}
void hd__sysguard_enable(void) {}
