/* scopes.h: the functions around an address (scopes.c). */
#ifndef HD_REPORT_SCOPES_H
#define HD_REPORT_SCOPES_H

#include <elfutils/libdw.h>

#define HD_MAX_SCOPES 64

/* The inlined functions at `addr`, innermost first, and at last the one that they are inlined into. Returns their
 * number, 0 if the unit has no function there. */
int hd__scopes_at(Dwarf_Die *cu, Dwarf_Addr addr, Dwarf_Die scope[HD_MAX_SCOPES]);
/* pre: the debug information it refers to is about to be closed. */
void hd__scopes_forget(void);

#endif
