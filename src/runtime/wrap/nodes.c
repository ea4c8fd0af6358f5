/* nodes.c: nodes of std::list, std::map and std::set, which libstdc++ links and unlinks in code of its own. Runs in
 * the tested process.
 *
 * The headers of libstdc++ leave this work to functions of its shared library, which is not instrumented: two
 * threads that insert into one map would race unseen. These functions do the same and report every access to the
 * runtime. Trees are red-black trees as in Cormen, Leiserson, Rivest, Stein, Introduction to Algorithms, chapter
 * 13, with the two mirror images of each case as one, and with libstdc++'s header node: its parent is the root, its
 * left and right are the first and the last node, and it is red, which no root is. Like those of wrap/exception.c,
 * the functions have the symbol versions of the originals, and have no effect with -static-libstdc++. */
#include "runtime/core/core.h"
#include "runtime/core/spin.h"
#include "runtime/memory/memory.h"

struct links {
  struct links *next, *prev;
};

struct node {
  uint32_t red_0; /* 0: red, 1: black */
  struct node *parent;
  struct node *side[2]; /* left, right */
};
enum { RED, BLACK };

/* Report the access, as instrumented code would. A race may have made a cycle of the nodes, and then the loop that follows
 * it waits. */
static inline void reads(uint64_t addr, uint64_t size, uint64_t pc) {
  if (!hot.active) return;
  if ((hd__cell(addr)->wpc & HD_CELL_VISIBLE) || rt.watched)
    hd_arch_watched_read_here(addr, size, 0, pc);
  else
    hd__access_slow(addr, size, 0, pc);
}

static inline void writes(uint64_t addr, uint64_t size, uint64_t pc) {
  if (hot.active) hd__access_slow(addr, size, HD_A_WRITE, pc);
}

#define GET(field) (reads((uint64_t) & (field), sizeof(field), pc), (field))
#define PUT(field, value)                            \
  do {                                               \
    writes((uint64_t) & (field), sizeof(field), pc); \
    (field) = (value);                               \
  } while (0)

/* ---- lists ---- */

HD_EXPORT void hd_rt_list_hook(struct links *me, struct links *at);
HD_STANDS_FOR(hd_rt_list_hook, "_ZNSt8__detail15_List_node_base7_M_hookEPS0_@GLIBCXX_3.4.15");
HD_AS_PROGRAM void hd_rt_list_hook(struct links *me, struct links *at) {
  uint64_t pc = HD_CALLER;
  struct links *before = GET(at->prev);
  PUT(me->next, at);
  PUT(me->prev, before);
  PUT(before->next, me);
  PUT(at->prev, me);
}

HD_EXPORT void hd_rt_list_unhook(struct links *me);
HD_STANDS_FOR(hd_rt_list_unhook, "_ZNSt8__detail15_List_node_base9_M_unhookEv@GLIBCXX_3.4.15");
HD_AS_PROGRAM void hd_rt_list_unhook(struct links *me) {
  uint64_t pc = HD_CALLER;
  struct links *next = GET(me->next), *prev = GET(me->prev);
  PUT(prev->next, next);
  PUT(next->prev, prev);
}

/* Moves [first, last) to the place before me. */
HD_EXPORT void hd_rt_list_transfer(struct links *me, struct links *first, struct links *last);
HD_STANDS_FOR(hd_rt_list_transfer, "_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_@GLIBCXX_3.4.15");
HD_AS_PROGRAM void hd_rt_list_transfer(struct links *me, struct links *first, struct links *last) {
  uint64_t pc = HD_CALLER;
  if (me == last) return;
  struct links *before_first = GET(first->prev), *end = GET(last->prev), *before_me = GET(me->prev);
  PUT(end->next, me);
  PUT(before_first->next, last);
  PUT(before_me->next, first);
  PUT(me->prev, end);
  PUT(last->prev, before_first);
  PUT(first->prev, before_me);
}

HD_EXPORT void hd_rt_list_reverse(struct links *me);
HD_STANDS_FOR(hd_rt_list_reverse, "_ZNSt8__detail15_List_node_base10_M_reverseEv@GLIBCXX_3.4.15");
HD_AS_PROGRAM void hd_rt_list_reverse(struct links *me) {
  uint64_t pc = HD_CALLER;
  struct links *l = me;
  do {
    struct links *next = GET(l->next), *prev = GET(l->prev);
    PUT(l->next, prev);
    PUT(l->prev, next);
    l = next;
  } while (l != me);
}

/* Makes the neighbours of a list's head, which was copied from `was`, point to it. */
HD_AS_PROGRAM static void adopt(struct links *head, const struct links *was, uint64_t pc) {
  struct links *next = GET(head->next), *prev = GET(head->prev);
  if (next == was) {
    PUT(head->next, head);
    PUT(head->prev, head);
    return;
  }
  PUT(next->prev, head);
  PUT(prev->next, head);
}

HD_EXPORT void hd_rt_list_swap(struct links *x, struct links *y);
HD_STANDS_FOR(hd_rt_list_swap, "_ZNSt8__detail15_List_node_base4swapERS0_S1_@GLIBCXX_3.4.15");
HD_AS_PROGRAM void hd_rt_list_swap(struct links *x, struct links *y) {
  uint64_t pc = HD_CALLER;
  struct links a = {GET(x->next), GET(x->prev)}, b = {GET(y->next), GET(y->prev)};
  PUT(x->next, b.next);
  PUT(x->prev, b.prev);
  PUT(y->next, a.next);
  PUT(y->prev, a.prev);
  adopt(x, y, pc);
  adopt(y, x, pc);
}

/* ---- trees ---- */

HD_AS_PROGRAM static struct node *outermost(struct node *n, int side, uint64_t pc) {
  for (struct node *c; (c = GET(n->side[side]));) n = c;
  return n;
}

HD_AS_PROGRAM static bool is_black(struct node *n, uint64_t pc) { return !n || GET(n->red_0) == BLACK; }

/* Puts `with` where n is, below n's parent. */
HD_AS_PROGRAM static void replace(struct node *n, struct node *with, struct node *head, uint64_t pc) {
  struct node *up = GET(n->parent);
  if (GET(head->parent) == n)
    PUT(head->parent, with);
  else
    PUT(up->side[GET(up->side[0]) != n], with);
}

/* n goes down to the side, its child of the other side comes up. */
HD_AS_PROGRAM static void rotate(struct node *n, int side, struct node *head, uint64_t pc) {
  struct node *up = GET(n->side[!side]), *inner = GET(up->side[side]);
  PUT(n->side[!side], inner);
  if (inner) PUT(inner->parent, n);
  PUT(up->parent, GET(n->parent));
  replace(n, up, head, pc);
  PUT(up->side[side], n);
  PUT(n->parent, up);
}

HD_EXPORT void hd_rt_tree_insert(bool left, struct node *n, struct node *p, struct node *head);
HD_STANDS_FOR(hd_rt_tree_insert,
              "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_@GLIBCXX_3.4");
HD_AS_PROGRAM void hd_rt_tree_insert(bool left, struct node *n, struct node *p, struct node *head) {
  uint64_t pc = HD_CALLER;
  int side = !left;
  PUT(n->parent, p);
  PUT(n->side[0], NULL);
  PUT(n->side[1], NULL);
  PUT(n->red_0, RED);
  PUT(p->side[side], n);
  if (p == head) { /* the tree was empty */
    PUT(head->parent, n);
    PUT(head->side[!side], n);
  } else if (GET(head->side[side]) == p) {
    PUT(head->side[side], n);
  }
  while (n != GET(head->parent) && !is_black(p = GET(n->parent), pc)) {
    struct node *pp = GET(p->parent);
    int s = GET(pp->side[0]) != p;
    struct node *uncle = GET(pp->side[!s]);
    if (!is_black(uncle, pc)) {
      PUT(p->red_0, BLACK);
      PUT(uncle->red_0, BLACK);
      PUT(pp->red_0, RED);
      n = pp;
      continue;
    }
    if (GET(p->side[!s]) == n) {
      rotate(p, s, head, pc);
      struct node *was = p;
      p = n;
      n = was;
    }
    PUT(p->red_0, BLACK);
    PUT(pp->red_0, RED);
    rotate(pp, !s, head, pc);
  }
  struct node *root = GET(head->parent);
  PUT(root->red_0, BLACK);
}

/* Below p, at n (which may be NULL), a black node is missing. */
HD_AS_PROGRAM static void restore_black(struct node *n, struct node *p, struct node *head, uint64_t pc) {
  while (n != GET(head->parent) && is_black(n, pc)) {
    int s = GET(p->side[0]) != n;
    struct node *w = GET(p->side[!s]);
    if (!is_black(w, pc)) {
      PUT(w->red_0, BLACK);
      PUT(p->red_0, RED);
      rotate(p, s, head, pc);
      w = GET(p->side[!s]);
    }
    if (is_black(GET(w->side[0]), pc) && is_black(GET(w->side[1]), pc)) {
      PUT(w->red_0, RED);
      n = p;
      p = GET(p->parent);
      continue;
    }
    if (is_black(GET(w->side[!s]), pc)) {
      struct node *inner = GET(w->side[s]);
      PUT(inner->red_0, BLACK);
      PUT(w->red_0, RED);
      rotate(w, !s, head, pc);
      w = GET(p->side[!s]);
    }
    PUT(w->red_0, GET(p->red_0));
    PUT(p->red_0, BLACK);
    struct node *outer = GET(w->side[!s]);
    PUT(outer->red_0, BLACK);
    rotate(p, s, head, pc);
    break;
  }
  if (n) PUT(n->red_0, BLACK);
}

HD_EXPORT struct node *hd_rt_tree_erase(struct node *z, struct node *head);
HD_STANDS_FOR(hd_rt_tree_erase, "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_@GLIBCXX_3.4");
HD_AS_PROGRAM struct node *hd_rt_tree_erase(struct node *z, struct node *head) {
  uint64_t pc = HD_CALLER;
  struct node *l = GET(z->side[0]), *r = GET(z->side[1]), *n, *p;
  uint32_t removed = GET(z->red_0);
  if (l && r) { /* its successor takes its place and colour */
    struct node *y = outermost(r, 0, pc);
    n = GET(y->side[1]);
    p = y == r ? y : GET(y->parent);
    removed = GET(y->red_0);
    if (y != r) {
      if (n) PUT(n->parent, p);
      PUT(p->side[0], n);
      PUT(y->side[1], r);
      PUT(r->parent, y);
    }
    PUT(y->side[0], l);
    PUT(l->parent, y);
    replace(z, y, head, pc);
    PUT(y->parent, GET(z->parent));
    PUT(y->red_0, GET(z->red_0));
  } else {
    n = l ? l : r;
    p = GET(z->parent);
    if (n) PUT(n->parent, p);
    replace(z, n, head, pc);
    for (int s = 0; s < 2; s++)
      if (GET(head->side[s]) == z) PUT(head->side[s], n ? outermost(n, s, pc) : p);
  }
  if (removed == BLACK) restore_black(n, p, head, pc);
  return z;
}

/* The next node on that side; after the last one, the header. */
HD_AS_PROGRAM static struct node *neighbour(struct node *n, int side, uint64_t pc) {
  struct node *p = GET(n->side[side]);
  if (p) return outermost(p, !side, pc);
  p = GET(n->parent);
  while (n == GET(p->side[side])) {
    n = p;
    p = GET(p->parent);
  }
  return side && GET(n->side[1]) == p ? n
                                      : p; /* a root without right child that is the last: n is the header */
}

#define STEPS(what, body)                                                                            \
  HD_EXPORT struct node *hd_rt_tree_##what(struct node *n);                                          \
  HD_EXPORT struct node *hd_rt_tree_c##what(struct node *n);                                         \
  HD_STANDS_FOR(hd_rt_tree_##what, "_ZSt18_Rb_tree_" #what "PSt18_Rb_tree_node_base@GLIBCXX_3.4");   \
  HD_STANDS_FOR(hd_rt_tree_c##what, "_ZSt18_Rb_tree_" #what "PKSt18_Rb_tree_node_base@GLIBCXX_3.4"); \
  HD_AS_PROGRAM struct node *hd_rt_tree_##what(struct node *n) { return body(n, HD_CALLER); }        \
  HD_AS_PROGRAM struct node *hd_rt_tree_c##what(struct node *n) { return body(n, HD_CALLER); }

HD_AS_PROGRAM static struct node *after(struct node *n, uint64_t pc) { return neighbour(n, 1, pc); }

HD_AS_PROGRAM static struct node *before(struct node *n, uint64_t pc) {
  struct node *p = GET(n->parent);
  if (!is_black(n, pc) && GET(p->parent) == n) return GET(n->side[1]); /* the header: the last one */
  return neighbour(n, 0, pc);
}

STEPS(increment, after)
STEPS(decrement, before)
