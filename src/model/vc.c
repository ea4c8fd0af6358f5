/* vc.c: vector clocks and the arena they live in. Runs in the tested process. */
#include <sys/mman.h>

#include "model/model.h"

int hd_arena_init(struct hd_arena *a, size_t size)
{
  void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return -1;
  a->base = a->next = p;
  a->end = (char *)p + size;
  return 0;
}

void hd_vc_reserve(struct hd_arena *a, struct hd_vc *v, uint32_t n)
{
  if (n <= v->cap)
    return;
  uint32_t cap = (n + 7) & ~7u;
  if (cap < v->cap * 2)
    cap = v->cap * 2;
  uint32_t *c = hd_arena_get(a, cap * sizeof *c);
  if (!c)
    __builtin_trap();
  for (uint32_t i = 0; i < v->n; i++)
    c[i] = v->c[i];
  v->c = c;
  v->cap = cap;
}

void hd_vc_join(struct hd_arena *a, struct hd_vc *v, const struct hd_vc *w)
{
  if (w->n > v->n) {
    hd_vc_reserve(a, v, w->n);
    for (uint32_t i = v->n; i < w->n; i++)
      v->c[i] = 0;
    v->n = w->n;
  }
  for (uint32_t i = 0; i < w->n; i++)
    if (w->c[i] > v->c[i])
      v->c[i] = w->c[i];
}

void hd_vc_copy(struct hd_arena *a, struct hd_vc *v, const struct hd_vc *w)
{
  hd_vc_reserve(a, v, w->n);
  for (uint32_t i = 0; i < w->n; i++)
    v->c[i] = w->c[i];
  v->n = w->n;
}
