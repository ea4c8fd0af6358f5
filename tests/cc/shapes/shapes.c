/* shapes.c: shapes of accesses in C. See shapes.h. */
#define _GNU_SOURCE
#include <complex.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <strings.h>

#include "shapes.h"

struct s3 { char a[3]; };
struct s16 { long a[2]; };
struct s17 { char a[17]; };
struct s24 { long a[3]; };
struct s40 { long a[5]; };
struct s200 { char a[200]; };
struct s5000 { char a[5000]; };
struct bits { unsigned x : 3, y : 5; };
struct truth_bits { _Bool x : 1, y : 1; };
struct wide_bits { unsigned long long x : 36, y : 20; };
union u { int i; double d; long double l; char c[24]; };
typedef int v2 __attribute__((vector_size(8)));
typedef int v4 __attribute__((vector_size(16)));
typedef int v8 __attribute__((vector_size(32)));
typedef int v16 __attribute__((vector_size(64)));
typedef short v3 __attribute__((vector_size(2)));

NOINLINE int use3(struct s3 s) { return s.a[0] + s.a[2]; }
NOINLINE int use16(struct s16 s) { return (int)(s.a[0] + s.a[1]); }
NOINLINE int use24(struct s24 s) { return (int)(s.a[0] + s.a[2]); }
NOINLINE int use40(struct s40 s) { return (int)(s.a[0] + s.a[4]); }
NOINLINE int use200(struct s200 s) { return s.a[0] + s.a[199]; }
NOINLINE int use_mixed(int a, struct s24 s, double d, struct s40 t) { return a + (int)(s.a[0] + t.a[4] + d); }
NOINLINE struct s16 make16(void) { struct s16 s = {{some, 2}}; return s; }
NOINLINE struct s24 make24(void) { struct s24 s = {{some, 2, 3}}; return s; }
NOINLINE struct s40 make40(void) { struct s40 s = {{some, 2, 3, 4, 5}}; return s; }
NOINLINE struct s40 add40(struct s40 s) { s.a[2]++; return s; }
NOINLINE long double make_long(void) { return some; }
NOINLINE _Complex double make_complex(void) { return some; }

static NOINLINE int variadic(int n, ...) {
  va_list ap;
  va_start(ap, n);
  struct s40 s = va_arg(ap, struct s40);
  va_end(ap);
  return (int)s.a[n];
}
static NOINLINE void from_variadic(char *p, ...) {
  va_list ap;
  va_start(ap, p);
  *(struct s40 *)p = va_arg(ap, struct s40);
  va_end(ap);
}
static inline __attribute__((always_inline)) void set_fields(struct s40 *s) { s->a[0] = some; s->a[4] = some; }

#ifdef __clang__
#define __builtin_shuffle_(v, m) __builtin_shufflevector(v, m, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#else
#define __builtin_shuffle_(v, m) __builtin_shuffle(v, m)
#endif

#define AT(type) (*(type *)p)
#define FROM(type) (*(type *)q)


/* ---- block functions ---- */
SHAPE(memset_40, 1, 0, 39, memset(p, 0, 40))
SHAPE(memset_1, 1, 0, 0, memset(p, 7, 1))
SHAPE(memset_3, 1, 0, 2, memset(p, 7, 3))
SHAPE(memset_16, 1, 0, 15, memset(p, 7, 16))
SHAPE(memset_200, 1, 0, 199, memset(p, 0, 200))
SHAPE(memset_n, 1, 0, 39, memset(p, 0, (size_t)n_unknown))
SHAPE(memset_v, 1, 0, 23, memset(p, n_unknown, 24))
SHAPE(bzero_40, 1, 0, 39, bzero(p, 40))
SHAPE(bcopy_40, 1, 0, 39, bcopy(q, p, 40))
SHAPE(memcpy_to_8, 1, 0, 7, memcpy(p, q, 8))
SHAPE(memcpy_to_40, 1, 0, 39, memcpy(p, q, 40))
SHAPE(memcpy_from_3, 0, 0, 2, memcpy(q, p, 3))
SHAPE(memcpy_from_40, 0, 0, 39, memcpy(q, p, 40))
SHAPE(memcpy_to_200, 1, 0, 199, memcpy(p, q, 200))
SHAPE(memcpy_n, 1, 0, 39, memcpy(p, q, (size_t)n_unknown))
SHAPE(memcpy_from_n, 0, 0, 39, memcpy(q, p, (size_t)n_unknown))
SHAPE(memcpy_literal, 1, 0, 11, memcpy(p, "hello world", 12))
SHAPE(mempcpy_40, 1, 0, 39, keep = mempcpy(p, q, 40))
SHAPE(builtin_memcpy, 1, 0, 39, __builtin_memcpy(p, q, 40))
SHAPE(builtin_memset, 1, 0, 39, __builtin_memset(p, 0, 40))
SHAPE(builtin_memmove, 0, 0, 39, __builtin_memmove(q, p, 40))
SHAPE(memmove_to_40, 1, 0, 39, memmove(p, q, 40))
SHAPE(memmove_from_24, 0, 0, 23, memmove(q, p, 24))
SHAPE(memmove_over, 1, 1, 16, memmove(p + 1, p, 16))
SHAPE(memcmp_eq_16, 0, 0, 15, sink = memcmp(p, q, 16) == 0)
SHAPE(memcmp_eq_40, 0, 0, 39, sink = memcmp(p, q, 40) == 0)
SHAPE(memcmp_n, 0, 0, 39, sink = memcmp(p, q, (size_t)n_unknown))
SHAPE(bcmp_16, 0, 0, 15, sink = bcmp(p, q, 16))
SHAPE(memchr_40, 0, 0, 39, sink = memchr(p, 'x', 40) != 0)

/* ---- strings: at p and q there are zeros ---- */
SHAPE(strcpy_literal, 1, 0, 5, strcpy(p, "hello"))
SHAPE(strcpy_from, 0, 0, 0, strcpy(q, p))
SHAPE(sprintf_literal, 1, 0, 5, sprintf(p, "hello"))
SHAPE(sprintf_string, 1, 0, 5, sprintf(p, "%s", "hello"))
SHAPE(sprintf_number, 1, 0, 5, sprintf(p, "%d", 12345))
SHAPE(sprintf_from, 0, 0, 0, sprintf(q, "%s", p))
SHAPE(snprintf_literal, 1, 0, 5, snprintf(p, 20, "hello"))
SHAPE(snprintf_string, 1, 0, 5, snprintf(p, 20, "%s", "hello"))
SHAPE(frexp_constant, 1, 0, 3, sink = (int)frexp(12.5, (int *)p))
SHAPE(modf_constant, 1, 0, 7, sink = (int)modf(12.5, (double *)p))
SHAPE(strncpy_literal, 1, 0, 19, strncpy(p, "hello", 20))
SHAPE(strcat_literal, 1, 0, 5, strcat(p, "hello"))
SHAPE(strncat_literal, 1, 0, 3, strncat(p, "hello", 3))
SHAPE(stpcpy_literal, 1, 0, 5, keep = stpcpy(p, "hello"))
SHAPE(strcmp_literal, 0, 0, 0, sink = strcmp(p, "hello"))
SHAPE(strcmp_empty, 0, 0, 0, sink = strcmp(p, "") == 0)
SHAPE(strncmp_literal, 0, 0, 0, sink = strncmp(p, "he", 2))
SHAPE(strlen_p, 0, 0, 0, sink = (int)strlen(p))
SHAPE(strlen_zero, 0, 0, 0, sink = strlen(p) == 0)
SHAPE(strchr_p, 0, 0, 0, sink = strchr(p, 'x') != 0)
SHAPE(strrchr_p, 0, 0, 0, sink = strrchr(p, 'x') != 0)
SHAPE(strstr_p, 0, 0, 0, sink = strstr(p, "x") != 0)
SHAPE(strdup_p, 0, 0, 0, free(keep = strdup(p)))

/* ---- structures ---- */
SHAPE(copy_to_3, 1, 0, 2, AT(struct s3) = FROM(struct s3))
SHAPE(copy_from_17, 0, 0, 16, FROM(struct s17) = AT(struct s17))
SHAPE(copy_to_24, 1, 0, 23, AT(struct s24) = FROM(struct s24))
SHAPE(copy_from_24, 0, 0, 23, FROM(struct s24) = AT(struct s24))
SHAPE(copy_to_200, 1, 0, 199, AT(struct s200) = FROM(struct s200))
SHAPE(copy_from_200, 0, 0, 199, FROM(struct s200) = AT(struct s200))
SHAPE(zero_24, 1, 0, 23, AT(struct s24) = (struct s24){{0}})
SHAPE(zero_40, 1, 0, 39, AT(struct s40) = (struct s40){{0}})
SHAPE(zero_200, 1, 0, 199, AT(struct s200) = (struct s200){{0}})
SHAPE(init_40, 1, 0, 39, AT(struct s40) = ((struct s40){{1, 2, 3, 4, 5}}))
SHAPE(designated_40, 1, 0, 39, AT(struct s40) = ((struct s40){.a = {[4] = some}}))
SHAPE(constant_40, 1, 0, 39, static const struct s40 c = {{1, 2, 3, 4, 5}}; AT(struct s40) = c)
SHAPE(arg_3, 0, 0, 2, sink = use3(AT(struct s3)))
SHAPE(arg_16, 0, 0, 15, sink = use16(AT(struct s16)))
SHAPE(arg_24, 0, 0, 23, sink = use24(AT(struct s24)))
SHAPE(arg_40, 0, 0, 39, sink = use40(AT(struct s40)))
SHAPE(arg_200, 0, 0, 199, sink = use200(AT(struct s200)))
SHAPE(arg_mixed, 0, 0, 39, sink = use_mixed(3, FROM(struct s24), 4.0, AT(struct s40)))
SHAPE(arg_variadic, 0, 0, 39, sink = variadic(4, AT(struct s40)))
SHAPE(arg_pointer, 0, 0, 23, int (*f)(struct s24) = use24; __asm__("" : "+r"(f)); sink = f(AT(struct s24)))
SHAPE(return_16, 1, 0, 15, AT(struct s16) = make16())
SHAPE(return_24, 1, 0, 23, AT(struct s24) = make24())
SHAPE(return_40, 1, 0, 39, AT(struct s40) = make40())
SHAPE(return_nested, 1, 0, 39, AT(struct s40) = add40(add40(FROM(struct s40))))
SHAPE(return_nested_from, 0, 0, 39, FROM(struct s40) = add40(add40(AT(struct s40))))
SHAPE(return_variadic, 1, 0, 39, from_variadic(p, FROM(struct s40)))
SHAPE(ternary_40, 0, 0, 39, FROM(struct s40) = some > 3 ? AT(struct s40) : make40())
SHAPE(swap_40, 1, 0, 39, struct s40 t = AT(struct s40); AT(struct s40) = FROM(struct s40); FROM(struct s40) = t)
SHAPE(fields_40, 1, 0, 39, set_fields((struct s40 *)p))
SHAPE(union_double, 1, 0, 7, ((union u *)p)->d = (double)some)
SHAPE(union_copy, 1, 0, 23, AT(struct s24) = *(struct s24 *)((union u *)q)->c)
SHAPE(bits_to, 1, 0, 0, ((struct bits *)p)->y = (unsigned)some & 31)
SHAPE(truth_bits_to, 1, 0, 0, ((struct truth_bits *)p)->y = some != 0)
SHAPE(truth_bits_constant, 1, 0, 0, ((struct truth_bits *)p)->y = 1)
SHAPE(truth_bits_from, 0, 0, 0, sink = ((struct truth_bits *)p)->y)
SHAPE(bits_from, 0, 0, 0, sink = ((struct bits *)p)->y)
SHAPE(wide_bits_to, 1, 0, 4, ((struct wide_bits *)p)->x = (unsigned long long)some)

/* ---- loops and merged accesses ---- */
SHAPE(loop_zero, 1, 0, 199, for (int i = 0; i < 200; i++) p[i] = 0)
SHAPE(loop_zero_n, 1, 0, 39, for (int i = 0; i < n_unknown; i++) p[i] = 0)
SHAPE(loop_copy_to, 1, 0, 199, for (int i = 0; i < 200; i++) p[i] = q[i])
SHAPE(loop_copy_from, 0, 0, 199, for (int i = 0; i < 200; i++) q[i] = p[i])
SHAPE(loop_sum, 0, 0, 199, int t = 0; for (int i = 0; i < 200; i++) t += p[i]; sink = t)
SHAPE(loop_sum_n, 0, 0, 39, int t = 0; for (int i = 0; i < n_unknown / 4; i++) t += ((int *)p)[i]; sink = t)
SHAPE(loop_ints, 1, 0, 199, for (int i = 0; i < 50; i++) ((int *)p)[i] = i)
SHAPE(loop_doubles, 1, 0, 199, for (int i = 0; i < 25; i++) ((double *)p)[i] = ((double *)q)[i] * 2)
SHAPE(loop_if, 0, 0, 199, for (int i = 0; i < 50; i++) if (((int *)q)[i] == 0) ((int *)q)[i] = ((int *)p)[i])
SHAPE(loop_if_to, 1, 0, 199, for (int i = 0; i < 50; i++) if (((int *)q)[i] == 0) ((int *)p)[i] = i)
SHAPE(loop_structs, 1, 0, 199, for (int i = 0; i < 5; i++) ((struct s40 *)p)[i] = ((struct s40 *)q)[i])
SHAPE(four_zeros, 1, 0, 31, AT(long) = 0; ((long *)p)[1] = 0; ((long *)p)[2] = 0; ((long *)p)[3] = 0)
SHAPE(bytes_to, 1, 0, 3, p[0] = 1; p[1] = 2; p[2] = 3; p[3] = 4)
SHAPE(bytes_from, 0, 0, 3, sink = p[0] | p[1] << 8 | p[2] << 16 | p[3] << 24)
SHAPE(ifs, 1, 0, 3, if (n_unknown > 3) AT(int) = 1; else AT(int) = 2)
SHAPE(add_to, 1, 0, 3, AT(int) += 3)
SHAPE(compare_fields, 0, 0, 11,
    sink = AT(int) == FROM(int) && ((int *)p)[1] == ((int *)q)[1] && ((int *)p)[2] == ((int *)q)[2])

/* ---- scalars of unusual size ---- */
SHAPE(int128_to, 1, 0, 15, AT(__int128) = some)
SHAPE(int128_from, 0, 0, 15, FROM(__int128) = AT(__int128) + 1)
SHAPE(long_double_to, 1, 0, 9, AT(long double) = some)
SHAPE(long_double_from, 0, 0, 9, sink = (int)AT(long double))
SHAPE(long_double_call, 1, 0, 9, AT(long double) = make_long())
SHAPE(long_double_volatile, 1, 0, 9, *(volatile long double *)p = some)
SHAPE(complex_to, 1, 0, 15, AT(_Complex double) = some)
SHAPE(complex_from, 0, 0, 15, FROM(_Complex double) = AT(_Complex double) + 1)
SHAPE(complex_call, 1, 0, 15, AT(_Complex double) = make_complex())
SHAPE(complex_float, 1, 0, 7, AT(_Complex float) = (float)some)
SHAPE(complex_long, 1, 0, 25, AT(_Complex long double) = some)
SHAPE(unaligned_8, 1, 3, 10, typedef long una __attribute__((aligned(1))); *(una *)(p + 3) = some)

/* ---- vectors ---- */
SHAPE(v2_to, 1, 0, 7, AT(v2) = FROM(v2) + 1)
SHAPE(v4_to, 1, 0, 15, AT(v4) = FROM(v4) + 1)
SHAPE(v4_from, 0, 0, 15, FROM(v4) = AT(v4) + 1)
SHAPE(v4_element, 1, 8, 11, ((v4 *)p)[0][2] = (int)some)
SHAPE(v8_to, 1, 0, 31, AT(v8) = FROM(v8) + 1)
SHAPE(v8_from, 0, 0, 31, FROM(v8) = AT(v8) + 1)
SHAPE(v16_to, 1, 0, 63, AT(v16) = FROM(v16) + 1)
SHAPE(v16_from, 0, 0, 63, FROM(v16) = AT(v16) + 1)
SHAPE(v16_shuffle, 0, 0, 63, v16 m = FROM(v16); FROM(v16) = __builtin_shuffle_(AT(v16), m))

/* ---- inline assembly ---- */
SHAPE(asm_to, 1, 0, 3, __asm__("movl $1, %0" : "=m"(AT(int))))
SHAPE(asm_from, 0, 0, 3, int t; __asm__("movl %1, %0" : "=r"(t) : "m"(AT(int))); sink = t)
SHAPE(asm_both, 1, 0, 7, __asm__("incq %0" : "+m"(AT(long))))
SHAPE(asm_locked, 1, 0, 3, __asm__("lock; incl %0" : "+m"(AT(int))))

/* ---- atomics against plain accesses ---- */
SHAPE(atomic_1, 1, 0, 0, __atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST))
SHAPE(atomic_2, 1, 0, 1, __atomic_store_n((short *)p, 1, __ATOMIC_RELEASE))
SHAPE(atomic_4, 0, 0, 3, sink = __atomic_load_n((int *)p, __ATOMIC_ACQUIRE))
SHAPE(atomic_8, 1, 0, 7, atomic_fetch_or((_Atomic long *)p, 1))
SHAPE(atomic_16_store, 1, 0, 15, atomic_store((_Atomic __int128 *)p, some))
SHAPE(atomic_16_load, 0, 0, 15, FROM(__int128) = atomic_load((_Atomic __int128 *)p))
SHAPE(atomic_16_exchange, 1, 0, 15, FROM(__int128) = atomic_exchange((_Atomic __int128 *)p, some))
SHAPE(atomic_16_cas, 1, 0, 15, __int128 e = 0; sink = atomic_compare_exchange_strong((_Atomic __int128 *)p, &e, 7))
SHAPE(atomic_16_add, 1, 0, 15, FROM(__int128) = atomic_fetch_add((_Atomic __int128 *)p, 7))
SHAPE(atomic_struct16, 1, 0, 15, atomic_store((_Atomic struct s16 *)p, make16()))
SHAPE(atomic_struct3, 1, 0, 2, __atomic_store((struct s3 *)p, (struct s3 *)q, __ATOMIC_SEQ_CST))
SHAPE(atomic_struct24, 1, 0, 23, __atomic_store((struct s24 *)p, (struct s24 *)q, __ATOMIC_SEQ_CST))
SHAPE(atomic_struct24_load, 0, 0, 23, __atomic_load((struct s24 *)p, (struct s24 *)q, __ATOMIC_SEQ_CST))
SHAPE(atomic_struct24_swap, 1, 0, 23, struct s24 t = make24();
    __atomic_exchange((struct s24 *)p, &t, (struct s24 *)q, __ATOMIC_SEQ_CST))
SHAPE(atomic_struct24_cas, 1, 0, 23, struct s24 t = make24();
    sink = __atomic_compare_exchange((struct s24 *)p, (struct s24 *)q, &t, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
SHAPE(sync_add, 1, 0, 3, __sync_fetch_and_add((int *)p, 1))

/* ---- the same, on the stack of the thread that made the variable known ---- */
OWN(own_int, 1, 0, 3, int, f.x = (int)some)
OWN(own_int_read, 0, 0, 3, int, sink = f.x)
OWN(own_struct, 1, 0, 39, struct s40, f.x = make40())
OWN(own_field, 1, 32, 39, struct s40, f.x.a[4] = some)
OWN(own_field_read, 0, 8, 15, struct s40, sink = (int)f.x.a[1])
OWN(own_array, 1, 8, 11, struct { int a[10]; }, f.x.a[2] = (int)some)
OWN(own_array_n, 1, 20, 23, struct { int a[10]; }, f.x.a[n_unknown / 8] = (int)some)
OWN(own_array_read, 0, 8, 11, struct { int a[10]; }, sink = f.x.a[2])
OWN(own_loop, 1, 0, 39, struct { int a[10]; }, for (int i = 0; i < 10; i++) f.x.a[i] = (int)some)
OWN(own_copy, 1, 0, 39, struct s40, struct s40 t = make40(); f.x = t)
OWN(own_memset, 1, 0, 39, struct s40, memset(&f.x, 1, 40))
OWN(own_memset_field, 1, 8, 23, struct s40, memset(&f.x.a[1], 1, 16))
OWN(own_arg, 0, 0, 39, struct s40, sink = use40(f.x))
OWN(own_zero, 1, 0, 199, struct s200, f.x = (struct s200){{0}})
OWN(own_long_double, 1, 0, 9, long double, f.x = some)
OWN(own_bits, 1, 0, 0, struct bits, f.x.y = (unsigned)some & 31)
OWN(own_nested, 1, 16, 19, struct { struct { long a; struct { int b[4]; } c; } d; }, f.x.d.c.b[2] = (int)some)
OWN(own_volatile, 1, 8, 11, struct { volatile int a[10]; }, f.x.a[2] = (int)some)
OWN(own_vector, 1, 0, 31, v8, f.x = f.x + (int)some)
OWN(own_strcpy, 1, 0, 5, struct { char a[20]; }, strcpy(f.x.a, "hello"))


/* A variable of the thread, known to another by its address. */
static _Thread_local struct { char before[MARGIN]; struct s40 x; char after[MARGIN]; } own_tls;
TOUCHERS(tls_field, 1, 16, 23)
static NOINLINE void do_tls_field(void *(*fn)(void *)) {
  pthread_t t;
  pthread_create(&t, NULL, fn, &own_tls.x);
  enter();
  own_tls.x.a[2] = some;
  leave();
  pthread_join(t, NULL);
}

ENTRY(tls_field, 1, 16, 23, NULL, do_tls_field)
