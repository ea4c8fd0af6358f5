/* locale.c: functions on wide characters, which depend on the locale and on nothing else. Runs in the tested process.
 * iswdigit and iswxdigit do not: these characters are the same in every locale. */
#include <wchar.h>
#include <wctype.h>

#include "runtime/wrap/results.h"

#define CHARACTER(ret, name, type) CALL(ret, name, (type c), (c), LOCALE)
CHARACTER(int, iswalnum, wint_t)
CHARACTER(int, iswalpha, wint_t)
CHARACTER(int, iswblank, wint_t)
CHARACTER(int, iswcntrl, wint_t)
CHARACTER(int, iswgraph, wint_t)
CHARACTER(int, iswlower, wint_t)
CHARACTER(int, iswprint, wint_t)
CHARACTER(int, iswpunct, wint_t)
CHARACTER(int, iswspace, wint_t)
CHARACTER(int, iswupper, wint_t)
CHARACTER(wint_t, towlower, wint_t)
CHARACTER(wint_t, towupper, wint_t)
CHARACTER(int, wcwidth, wchar_t)
CHARACTER(wint_t, btowc, int)
CHARACTER(int, wctob, wint_t)
CALL(wctype_t, wctype, (const char *name), (name), name = READS_STRING(name); LOCALE)
CALL(int, iswctype, (wint_t c, wctype_t type), (c, type), LOCALE)
CALL(wctrans_t, wctrans, (const char *name), (name), name = READS_STRING(name); LOCALE)
CALL(wint_t, towctrans, (wint_t c, wctrans_t type), (c, type), LOCALE)
