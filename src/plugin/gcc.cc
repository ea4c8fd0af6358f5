/* gcc.cc: a plug-in for GCC that instruments the accesses which its thread instrumentation misses. Runs in cc1,
 * cc1plus and lto1, just before the pass "tsan", and leaves to that pass whatever it can instrument itself.
 *
 * "tsan" instruments assignments only. Other accesses to memory:
 *  1. f(*p) with a structure: becomes tmp = *p; f(tmp).
 *  2. *p = f() with a structure: becomes tmp = f(); *p = tmp. Objects that must not be copied (C++) are built in
 *     place by the callee, through a pointer, which "tsan" sees there.
 *  3. Memory and string functions, which are expanded inline after "tsan": become calls of functions unknown to GCC,
 *     which the runtime defines.
 *  4. Intrinsics of the processor with a pointer (masked accesses, stores past the cache): a hook for each that is
 *     known, others are reported to the runtime as opaque.
 *  5. Memory operands of inline assembly: a hook for each. Assembly that may access memory which its operands do not
 *     name is reported to the runtime as opaque, and so is the call of a naked function.
 *  6. pthread_barrier_wait whose result nobody uses: becomes __heddle_barrier_wait, since which thread gets the serial
 *     value need not be explored then.
 *  7. Where the program computes with an address, or compares two for order, a hook gets it: threads that differ in
 *     their addresses only are not interchangeable then (runtime/core/family.c).
 * Memory that "tsan" treats as private to the thread (a local variable whose address does not escape) is not
 * instrumented.
 *
 * A function with the attribute no_sanitize("thread") is instrumented too, since what it does affects other threads. Its
 * author wants no reports about it: its hooks are silent. The attribute is removed before "tsan", and a pass after it
 * encloses the hooks in calls of __heddle_silence.
 *
 * A function whose name begins with __VERIFIER_atomic_ gets its atomic section early, before it is inlined.
 *
 * The constructor of an object file calls __heddle_init in place of __tsan_init, which informs the runtime that the
 * plug-in processed the file (memory/hooks.c). */
// clang-format off: the order matters, GCC's headers do not include each other
#include "gcc-plugin.h"
#include "plugin-version.h"
#include "tree.h"
#include "stringpool.h"
#include "attribs.h"
#include "gimple.h"
#include "gimple-iterator.h"
#include "gimplify.h"
#include "gimplify-me.h"
#include "tree-pass.h"
#include "ssa.h"
#include "cgraph.h"
#include "context.h"
#include "tree-cfg.h"
#include "asan.h"
#include "fold-const.h"
#include "tree-dfa.h"
#include "tree-ssa-loop-ivopts.h"
#include "builtins.h"
#include "varasm.h"

#include "asm_text.h"
#include "library.h"
// clang-format on
#include <string.h>

int plugin_is_GPL_compatible;

/* ---- shared memory ---- */

/* As in "tsan" (tsan.cc, instrument_expr). */
static bool may_be_shared(tree expr) {
  tree base = get_base_address(expr);
  if (!base) return true;
  if (DECL_P(base) && !is_global_var(base)) {
    struct pt_solution escaped;
    memset(&escaped, 0, sizeof escaped);
    escaped.escaped = 1;
    escaped.ipa_escaped = flag_ipa_pta != 0;
    if (!pt_solution_includes(&escaped, base) || !may_be_aliased(base)) return false;
  }
  if (TREE_READONLY(base) || TREE_CODE(base) == STRING_CST || CONSTANT_CLASS_P(base)) return false;
  return !(VAR_P(base) && DECL_HARD_REGISTER(base));
}

static bool in_memory(tree expr) {
  if (TREE_CODE(expr) == SSA_NAME || CONSTANT_CLASS_P(expr) || TREE_CODE(expr) == CONSTRUCTOR) return false;
  return DECL_P(expr) || handled_component_p(expr) || TREE_CODE(expr) == MEM_REF ||
         TREE_CODE(expr) == TARGET_MEM_REF;
}

/* Whether a value of the type may be copied and has a known size. */
static bool copyable(tree type) {
  return !TREE_ADDRESSABLE(type) && COMPLETE_TYPE_P(type) && TYPE_SIZE_UNIT(type) &&
         TREE_CODE(TYPE_SIZE_UNIT(type)) == INTEGER_CST && !integer_zerop(TYPE_SIZE_UNIT(type));
}

static bool pointer_may_be_shared(tree p) {
  return TREE_CODE(p) != ADDR_EXPR || may_be_shared(TREE_OPERAND(p, 0));
}

/* ---- functions of the runtime ---- */

static tree declare(const char *name, tree type) {
  tree decl = build_fn_decl(name, type);
  TREE_NOTHROW(decl) = 1;
  DECL_ARTIFICIAL(decl) = 1;
  return decl;
}

static void insert_call(gimple_stmt_iterator *gsi, location_t where, tree fn, unsigned n, tree a = NULL_TREE,
                        tree b = NULL_TREE, tree c = NULL_TREE, tree d = NULL_TREE) {
  gcall *call = gimple_build_call(fn, n, a, b, c, d);
  gimple_set_location(call, where);
  gimple_call_set_nothrow(call, true);
  gsi_insert_before(gsi, call, GSI_SAME_STMT);
}

/* ---- 1, 2: structures as arguments and results ---- */

static void separate_arguments(gimple_stmt_iterator *gsi, gcall *call) {
  for (unsigned i = 0; i < gimple_call_num_args(call); i++) {
    tree arg = gimple_call_arg(call, i);
    if (!in_memory(arg) || !copyable(TREE_TYPE(arg)) || !may_be_shared(arg)) continue;
    tree tmp = create_tmp_var(TYPE_MAIN_VARIANT(TREE_TYPE(arg)), "hd_arg");
    gassign *copy = gimple_build_assign(tmp, unshare_expr(arg));
    gimple_set_location(copy, gimple_location(call));
    gsi_insert_before(gsi, copy, GSI_SAME_STMT);
    gimple_call_set_arg(call, i, tmp);
    update_stmt(call);
  }
}

static bool separate_result(gimple_stmt_iterator *gsi, gcall *call) {
  tree lhs = gimple_call_lhs(call);
  if (!lhs || !in_memory(lhs) || !copyable(TREE_TYPE(lhs)) || !may_be_shared(lhs) ||
      gimple_call_noreturn_p(call))
    return false;
  tree type = TYPE_MAIN_VARIANT(TREE_TYPE(lhs));
  tree tmp = is_gimple_reg_type(type) ? make_ssa_name(type) : create_tmp_var(type, "hd_result");
  gassign *copy = gimple_build_assign(unshare_expr(lhs), tmp);
  gimple_set_location(copy, gimple_location(call));
  gimple_call_set_lhs(call, tmp);
  if (TREE_CODE(tmp) == SSA_NAME) SSA_NAME_DEF_STMT(tmp) = call;
  update_stmt(call);
  if (!stmt_ends_bb_p(call)) {
    gsi_insert_after(gsi, copy, GSI_NEW_STMT); /* and the iterator skips it */
    return false;
  }
  edge next = find_fallthru_edge(gimple_bb(call)->succs);
  if (next) gsi_insert_on_edge(next, copy);
  return next != NULL;
}

/* ---- 3: memory and string functions ---- */

/* A mask of the arguments that point to accessed memory; 0: not such a function. */
static unsigned pointers_of(enum built_in_function code) {
  switch (code) {
    case BUILT_IN_MEMSET:
    case BUILT_IN_MEMSET_CHK:
    case BUILT_IN_BZERO:
    case BUILT_IN_MEMCHR:
    case BUILT_IN_STRLEN:
    case BUILT_IN_STRNLEN:
    case BUILT_IN_STRCHR:
    case BUILT_IN_STRRCHR:
    case BUILT_IN_INDEX:
    case BUILT_IN_RINDEX:
    case BUILT_IN_STRDUP:
    case BUILT_IN_STRNDUP: return 1;
    case BUILT_IN_MEMCPY:
    case BUILT_IN_MEMCPY_CHK:
    case BUILT_IN_MEMMOVE:
    case BUILT_IN_MEMMOVE_CHK:
    case BUILT_IN_MEMPCPY:
    case BUILT_IN_MEMPCPY_CHK:
    case BUILT_IN_BCOPY:
    case BUILT_IN_MEMCMP:
    case BUILT_IN_MEMCMP_EQ:
    case BUILT_IN_BCMP:
    case BUILT_IN_STRCPY:
    case BUILT_IN_STRCPY_CHK:
    case BUILT_IN_STPCPY:
    case BUILT_IN_STPCPY_CHK:
    case BUILT_IN_STRNCPY:
    case BUILT_IN_STRNCPY_CHK:
    case BUILT_IN_STPNCPY:
    case BUILT_IN_STPNCPY_CHK:
    case BUILT_IN_STRCAT:
    case BUILT_IN_STRCAT_CHK:
    case BUILT_IN_STRNCAT:
    case BUILT_IN_STRNCAT_CHK:
    case BUILT_IN_STRCMP:
    case BUILT_IN_STRCMP_EQ:
    case BUILT_IN_STRNCMP:
    case BUILT_IN_STRNCMP_EQ:
    case BUILT_IN_STRCASECMP:
    case BUILT_IN_STRNCASECMP:
    case BUILT_IN_STRSTR:
    case BUILT_IN_STRPBRK:
    case BUILT_IN_STRSPN:
    case BUILT_IN_STRCSPN: return 3;
    /* Formatted output, of which strings may be copied inline; numbers that are stored. */
    case BUILT_IN_SPRINTF:
    case BUILT_IN_SPRINTF_CHK:
    case BUILT_IN_SNPRINTF:
    case BUILT_IN_SNPRINTF_CHK:
    case BUILT_IN_VSPRINTF:
    case BUILT_IN_VSPRINTF_CHK:
    case BUILT_IN_VSNPRINTF:
    case BUILT_IN_VSNPRINTF_CHK:
    case BUILT_IN_POSIX_MEMALIGN:
      CASE_FLT_FN(BUILT_IN_FREXP)
          : CASE_FLT_FN(BUILT_IN_MODF)
          : CASE_FLT_FN(BUILT_IN_REMQUO)
          : CASE_FLT_FN(BUILT_IN_SINCOS)
          : case BUILT_IN_LGAMMA_R : case BUILT_IN_LGAMMAF_R : case BUILT_IN_LGAMMAL_R : return ~0u;
    default: return 0;
  }
}

/* The name of an equivalent function unknown to GCC; NULL: the function's own. */
static const char *unknown_name(enum built_in_function code) {
  switch (code) {
    case BUILT_IN_MEMCPY: return "__tsan_memcpy";
    case BUILT_IN_MEMMOVE: return "__tsan_memmove";
    case BUILT_IN_MEMSET: return "__tsan_memset";
    default: return NULL;
  }
}

static void make_unknown(gcall *call) {
  tree fn = gimple_call_fndecl(call);
  if (!fn || !fndecl_built_in_p(fn, BUILT_IN_NORMAL)) return;
  enum built_in_function code = DECL_FUNCTION_CODE(fn);
  unsigned pointers = pointers_of(code);
  bool shared = false;
  for (unsigned i = 0; i < 32 && i < gimple_call_num_args(call); i++)
    if ((pointers >> i & 1) && POINTER_TYPE_P(TREE_TYPE(gimple_call_arg(call, i))) &&
        pointer_may_be_shared(gimple_call_arg(call, i)))
      shared = true;
  if (!shared) return;
  /* The program's own definition is instrumented like all its functions. */
  struct cgraph_node *node = cgraph_node::get(fn);
  if (node && node->definition) return;
  const char *name = unknown_name(code);
  if (!name) name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(fn));
  tree same = declare(name, TREE_TYPE(fn));
  SET_DECL_ASSEMBLER_NAME(same, get_identifier(name));
  gimple_call_set_fndecl(call, same);
  gimple_call_reset_alias_info(
      call); /* computed for the built-in: variables that it copies seemed to be unused */
  update_stmt(call);
}

/* ---- 6: results that nobody uses ---- */

static void show_unused(gcall *call) {
  tree fn = gimple_call_fndecl(call);
  if (!fn || gimple_call_lhs(call) || !TREE_PUBLIC(fn) || !DECL_EXTERNAL(fn)) return;
  if (strcmp(IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(fn)), "pthread_barrier_wait") != 0) return;
  tree same = declare("__heddle_barrier_wait", TREE_TYPE(fn));
  SET_DECL_ASSEMBLER_NAME(same, get_identifier("__heddle_barrier_wait"));
  TREE_NOTHROW(same) = TREE_NOTHROW(fn);
  gimple_call_set_fndecl(call, same);
  gimple_call_reset_alias_info(call);
  update_stmt(call);
}

/* ---- 4: intrinsics of the processor ---- */

static tree hook_type(unsigned n) {
  switch (n) {
    case 0: return build_function_type_list(void_type_node, NULL_TREE);
    case 2: return build_function_type_list(void_type_node, ptr_type_node, size_type_node, NULL_TREE);
    case 3:
      return build_function_type_list(void_type_node, ptr_type_node, size_type_node, size_type_node,
                                      NULL_TREE);
    default:
      return build_function_type_list(void_type_node, ptr_type_node, size_type_node, ptr_type_node,
                                      size_type_node, NULL_TREE);
  }
}

static tree size_of(tree type) { return fold_convert(size_type_node, TYPE_SIZE_UNIT(type)); }

/* A hook for the lanes of `vector` at p that the mask selects: a vector whose sign bits count, or an integer with a
 * bit per lane. */
static void masked_hook(gimple_stmt_iterator *gsi, location_t where, tree p, tree vector, tree mask,
                        bool write) {
  tree lane = size_of(TREE_TYPE(vector));
  if (!VECTOR_TYPE_P(TREE_TYPE(mask))) {
    tree bits = force_gimple_operand_gsi(
        gsi, fold_convert(size_type_node, fold_convert(unsigned_type_for(TREE_TYPE(mask)), mask)), true,
        NULL_TREE, true, GSI_SAME_STMT);
    insert_call(gsi, where, declare(write ? "__heddle_masked_write" : "__heddle_masked_read", hook_type(3)),
                3, p, lane, bits);
    return;
  }
  tree tmp = create_tmp_var(TREE_TYPE(mask), "hd_mask");
  TREE_ADDRESSABLE(tmp) = 1;
  gsi_insert_before(gsi, gimple_build_assign(tmp, mask), GSI_SAME_STMT);
  insert_call(gsi, where, declare(write ? "__heddle_signed_write" : "__heddle_signed_read", hook_type(4)), 4,
              p, lane, build_fold_addr_expr(tmp), size_of(TREE_TYPE(mask)));
}

static bool has(const char *name, const char *part) { return strstr(name, part) != NULL; }

static void show_intrinsic(gimple_stmt_iterator *gsi, gcall *call) {
  tree fn = gimple_call_fndecl(call);
  if (!fn || !fndecl_built_in_p(fn, BUILT_IN_MD) || !DECL_NAME(fn)) return;
  const char *name = IDENTIFIER_POINTER(DECL_NAME(fn));
  unsigned n = gimple_call_num_args(call), at = n;
  for (unsigned i = 0; i < n && at == n; i++)
    if (POINTER_TYPE_P(TREE_TYPE(gimple_call_arg(call, i)))) at = i;
  if (at == n || has(name, "prefetch") || has(name, "clflush") || has(name, "clwb") || has(name, "monitor"))
    return;
  tree p = gimple_call_arg(call, at), result = TREE_TYPE(TREE_TYPE(fn));
  location_t where = gimple_location(call);
  if (!pointer_may_be_shared(p)) return;
  bool write = VOID_TYPE_P(result);
  tree value = write ? TREE_TYPE(gimple_call_arg(call, at == 0 && n > 1 ? 1 : 0)) : result;
  tree last = gimple_call_arg(call, n - 1);
  if (has(name, "movnt") || has(name, "lddqu")) {
    insert_call(gsi, where, declare(write ? "__tsan_write_range" : "__tsan_read_range", hook_type(2)), 2, p,
                size_of(value));
  } else if (has(name, "maskload") && n == 2 && VECTOR_TYPE_P(result)) {
    masked_hook(gsi, where, p, result, last, false);
  } else if (has(name, "maskstore") && n == 3) {
    masked_hook(gsi, where, p, TREE_TYPE(last), gimple_call_arg(call, 1), true);
  } else if (has(name, "maskmov") && n == 3) {
    masked_hook(gsi, where, p, TREE_TYPE(gimple_call_arg(call, 0)), gimple_call_arg(call, 1), true);
  } else if ((has(name, "_load") || has(name, "_store")) && has(name, "_mask") && n == 3 &&
             VECTOR_TYPE_P(value)) {
    masked_hook(gsi, where, p, value, last, write);
  } else {
    insert_call(gsi, where, declare("__heddle_asm_opaque", hook_type(0)), 0);
  }
}

/* ---- 5: inline assembly ---- */

static bool clobbers_memory(gasm *stmt) {
  for (unsigned i = 0; i < gimple_asm_nclobbers(stmt); i++)
    if (!strcmp(TREE_STRING_POINTER(TREE_VALUE(gimple_asm_clobber_op(stmt, i))), "memory")) return true;
  return false;
}

static void asm_operand(gimple_stmt_iterator *gsi, gasm *stmt, tree operand, const char *hook) {
  if (!in_memory(operand) || !copyable(TREE_TYPE(operand)) || !may_be_shared(operand) ||
      may_be_nonaddressable_p(operand))
    return;
  tree address = build_fold_addr_expr(unshare_expr(operand));
  address = force_gimple_operand_gsi(gsi, address, true, NULL_TREE, true, GSI_SAME_STMT);
  insert_call(gsi, gimple_location(stmt), declare(hook, hook_type(2)), 2, address,
              size_of(TREE_TYPE(operand)));
}

/* The same place, volatile or not. */
static bool is_output(gasm *stmt, tree operand) {
  for (unsigned i = 0; i < gimple_asm_noutputs(stmt); i++)
    if (operand_equal_p(TREE_VALUE(gimple_asm_output_op(stmt, i)), operand,
                        OEP_ADDRESS_OF | OEP_MATCH_SIDE_EFFECTS))
      return true;
  return false;
}

static tree asm_part(const char *constraint, tree value) {
  tree text = build_string((int)strlen(constraint) + 1, constraint);
  return build_tree_list(build_tree_list(NULL_TREE, text), value);
}

/* Variables that live in a given register (register long n asm("r10")): a call would overwrite those between their
 * assignment and the assembly. They are kept elsewhere until then; empty assembly hides from the optimiser that it is
 * the same value, since it takes the assignment back for redundant. */
static void keep_registers(gimple_stmt_iterator *gsi, gasm *stmt, vec<tree> *kept) {
  for (unsigned i = 0; i < gimple_asm_ninputs(stmt); i++) {
    tree var = TREE_VALUE(gimple_asm_input_op(stmt, i)), type = TREE_TYPE(var);
    if (!VAR_P(var) || !DECL_HARD_REGISTER(var) || (!INTEGRAL_TYPE_P(type) && !POINTER_TYPE_P(type)))
      continue;
    tree value = create_tmp_var(type, "hd_register"), hidden = create_tmp_var(type, "hd_register");
    gsi_insert_before(gsi, gimple_build_assign(value, var), GSI_SAME_STMT);
    vec<tree, va_gc> *in = NULL, *out = NULL;
    vec_safe_push(in, asm_part("0", value));
    vec_safe_push(out, asm_part("=r", hidden));
    gsi_insert_before(gsi, gimple_build_asm_vec("", in, out, NULL, NULL), GSI_SAME_STMT);
    kept->safe_push(var);
    kept->safe_push(hidden);
  }
}

static void restore_registers(gimple_stmt_iterator *gsi, const vec<tree> &kept) {
  for (unsigned i = 0; i < kept.length(); i += 2)
    gsi_insert_before(gsi, gimple_build_assign(kept[i], kept[i + 1]), GSI_SAME_STMT);
}

static void show_asm(gimple_stmt_iterator *gsi, gasm *stmt) {
  const char *text = gimple_asm_string(stmt);
  if (!text || !*text || is_thread_text(text)) return; /* empty: a barrier for the compiler */
  auto_vec<tree> kept;
  keep_registers(gsi, stmt, &kept);
  bool clobbers = clobbers_memory(stmt), pointer = false;
  bool atomic = is_atomic_text(text, clobbers);
  for (unsigned i = 0; i < gimple_asm_ninputs(stmt); i++) {
    tree operand = TREE_VALUE(gimple_asm_input_op(stmt, i));
    if (POINTER_TYPE_P(TREE_TYPE(operand))) pointer = true;
    if (!atomic || !is_output(stmt, operand))
      asm_operand(gsi, stmt, operand, atomic ? "__heddle_asm_atomic" : "__heddle_asm_read");
  }
  for (unsigned i = 0; i < gimple_asm_noutputs(stmt); i++) {
    tree link = gimple_asm_output_op(stmt, i);
    tree operand = TREE_VALUE(link);
    if (!in_memory(operand)) continue;
    asm_operand(gsi, stmt, operand, atomic ? "__heddle_asm_atomic" : "__heddle_asm_write");
  }
  if (clobbers && pointer)
    insert_call(gsi, gimple_location(stmt), declare("__heddle_asm_opaque", hook_type(0)), 0);
  restore_registers(gsi, kept);
}

/* A naked function has no frame, so nothing can be inserted there. */
static bool is_naked(tree fn) { return fn && lookup_attribute("naked", DECL_ATTRIBUTES(fn)); }

static void show_naked(gimple_stmt_iterator *gsi, gcall *call) {
  if (is_naked(gimple_call_fndecl(call)))
    insert_call(gsi, gimple_location(call), declare("__heddle_asm_opaque", hook_type(0)), 0);
}

/* ---- 7: addresses ---- */

/* Everything that the pointer may be derived from by adding to it. */
static void add_bases(tree p, hash_set<tree> *bases) {
  if (bases->elements() > 32 || bases->add(p) || TREE_CODE(p) != SSA_NAME) return;
  gimple *stmt = SSA_NAME_DEF_STMT(p);
  if (gphi *phi = dyn_cast<gphi *>(stmt)) {
    for (unsigned i = 0; i < gimple_phi_num_args(phi); i++) add_bases(gimple_phi_arg_def(phi, i), bases);
  } else if (is_gimple_assign(stmt)) {
    enum tree_code code = gimple_assign_rhs_code(stmt);
    if (code == POINTER_PLUS_EXPR || code == SSA_NAME ||
        (CONVERT_EXPR_CODE_P(code) && POINTER_TYPE_P(TREE_TYPE(gimple_assign_rhs1(stmt)))))
      add_bases(gimple_assign_rhs1(stmt), bases);
  }
}

/* Whether both point into one object, as far as the function shows. */
static bool same_object(tree p, tree q) {
  hash_set<tree> of_p, of_q;
  add_bases(p, &of_p);
  add_bases(q, &of_q);
  for (hash_set<tree>::iterator i = of_p.begin(); i != of_p.end(); ++i)
    if (TREE_CODE(*i) == SSA_NAME && of_q.contains(*i)) return true;
  return false;
}

static bool is_order(enum tree_code code) {
  return code == LT_EXPR || code == LE_EXPR || code == GT_EXPR || code == GE_EXPR;
}

/* The pointer, also where it is used as a number; NULL: it is none. */
static tree pointer_of(tree value) {
  if (POINTER_TYPE_P(TREE_TYPE(value))) return value;
  gimple *stmt = TREE_CODE(value) == SSA_NAME ? SSA_NAME_DEF_STMT(value) : NULL;
  if (!stmt || !is_gimple_assign(stmt) || !CONVERT_EXPR_CODE_P(gimple_assign_rhs_code(stmt)))
    return NULL_TREE;
  tree from = gimple_assign_rhs1(stmt);
  return POINTER_TYPE_P(TREE_TYPE(from)) ? from : NULL_TREE;
}

/* Whether two pointers are compared: for equality, or for order, which has a hook of its own. */
static bool compares(enum tree_code code, tree a, tree b) {
  return code == EQ_EXPR || code == NE_EXPR || (is_order(code) && pointer_of(a) && pointer_of(b));
}

/* A use of an address as a number that is the same wherever a thread's memory lies: an equality, an offset within the
 * page; or one that is a matter of representation. */
static bool is_neutral(gimple *use, tree number) {
  if (is_gimple_debug(use)) return true;
  if (gcond *cond = dyn_cast<gcond *>(use))
    return compares(gimple_cond_code(cond), gimple_cond_lhs(cond), gimple_cond_rhs(cond));
  if (gcall *call = dyn_cast<gcall *>(use)) {
    tree fn = gimple_call_fndecl(call);
    return fn && DECL_NAME(fn) && !strncmp(IDENTIFIER_POINTER(DECL_NAME(fn)), "__atomic_", 9);
  }
  if (!is_gimple_assign(use)) return false;
  enum tree_code code = gimple_assign_rhs_code(use);
  tree to = gimple_assign_lhs(use);
  if (TREE_CODE_CLASS(code) == tcc_comparison)
    return compares(code, gimple_assign_rhs1(use), gimple_assign_rhs2(use));
  if (CONVERT_EXPR_CODE_P(code)) return POINTER_TYPE_P(TREE_TYPE(to));
  if (code != BIT_AND_EXPR) return false;
  tree mask = gimple_assign_rhs1(use) == number ? gimple_assign_rhs2(use) : gimple_assign_rhs1(use);
  return TREE_CODE(mask) == INTEGER_CST && wi::ltu_p(wi::to_wide(mask), 4096);
}

static bool is_neutral(tree number) {
  imm_use_iterator each;
  gimple *use;
  bool neutral = TREE_CODE(number) == SSA_NAME;
  if (!neutral) return false;
  FOR_EACH_IMM_USE_STMT(use, each, number) neutral = neutral && is_neutral(use, number);
  return neutral;
}

/* An integer that is read where the program may have stored a pointer: a member of a union with one, or a pointer
 * variable, looked at as something else. */
static bool is_punned(tree expr) {
  if (!INTEGRAL_TYPE_P(TREE_TYPE(expr)) || TYPE_PRECISION(TREE_TYPE(expr)) != 64) return false;
  if (TREE_CODE(expr) == COMPONENT_REF) {
    tree whole = TREE_TYPE(TREE_OPERAND(expr, 0));
    if (TREE_CODE(whole) != UNION_TYPE) return false;
    for (tree field = TYPE_FIELDS(whole); field; field = DECL_CHAIN(field))
      if (TREE_CODE(field) == FIELD_DECL && POINTER_TYPE_P(TREE_TYPE(field))) return true;
    return false;
  }
  if (TREE_CODE(expr) == VIEW_CONVERT_EXPR) return POINTER_TYPE_P(TREE_TYPE(TREE_OPERAND(expr, 0)));
  if (TREE_CODE(expr) != MEM_REF || TREE_CODE(TREE_OPERAND(expr, 0)) != ADDR_EXPR) return false;
  return POINTER_TYPE_P(TREE_TYPE(TREE_OPERAND(TREE_OPERAND(expr, 0), 0)));
}

static tree address_hook(unsigned n) {
  tree type = n == 1 ? build_function_type_list(void_type_node, ptr_type_node, NULL_TREE)
                     : build_function_type_list(void_type_node, ptr_type_node, ptr_type_node, NULL_TREE);
  return declare(n == 1 ? "__heddle_address" : "__heddle_addresses", type);
}

static void show_order(gimple_stmt_iterator *gsi, enum tree_code code, tree a, tree b) {
  tree p = is_order(code) ? pointer_of(a) : NULL_TREE, q = is_order(code) ? pointer_of(b) : NULL_TREE;
  if (!p || !q || same_object(p, q)) return;
  insert_call(gsi, gimple_location(gsi_stmt(*gsi)), address_hook(2), 2, p, q);
}

/* memcpy(&number, &pointer, sizeof pointer) */
static void show_copy(gimple_stmt_iterator *gsi, gcall *call) {
  if (!gimple_call_builtin_p(call, BUILT_IN_MEMCPY)) return;
  tree to = gimple_call_arg(call, 0), from = gimple_call_arg(call, 1);
  if (TREE_CODE(to) != ADDR_EXPR || TREE_CODE(from) != ADDR_EXPR) return;
  tree pointer = TREE_OPERAND(from, 0);
  if (!POINTER_TYPE_P(TREE_TYPE(pointer)) || POINTER_TYPE_P(TREE_TYPE(TREE_OPERAND(to, 0)))) return;
  tree value = make_ssa_name(TREE_TYPE(pointer));
  gsi_insert_before(gsi, gimple_build_assign(value, unshare_expr(pointer)), GSI_SAME_STMT);
  insert_call(gsi, gimple_location(call), address_hook(1), 1, value);
}

static void show_addresses(gimple_stmt_iterator *gsi) {
  gimple *stmt = gsi_stmt(*gsi);
  if (gcond *cond = dyn_cast<gcond *>(stmt)) {
    show_order(gsi, gimple_cond_code(cond), gimple_cond_lhs(cond), gimple_cond_rhs(cond));
  } else if (gcall *call = dyn_cast<gcall *>(stmt)) {
    show_copy(gsi, call);
  } else if (is_gimple_assign(stmt)) {
    enum tree_code code = gimple_assign_rhs_code(stmt);
    tree from = gimple_assign_rhs1(stmt), to = gimple_assign_lhs(stmt);
    if (is_order(code)) {
      show_order(gsi, code, from, gimple_assign_rhs2(stmt));
    } else if (CONVERT_EXPR_CODE_P(code) && POINTER_TYPE_P(TREE_TYPE(from)) &&
               INTEGRAL_TYPE_P(TREE_TYPE(to))) {
      if (!is_neutral(to)) insert_call(gsi, gimple_location(stmt), address_hook(1), 1, from);
    } else if (TREE_CODE(to) == SSA_NAME && gimple_assign_single_p(stmt) && is_punned(from)) {
      tree value = make_ssa_name(ptr_type_node);
      gimple *call = gimple_build_call(address_hook(1), 1, value);
      gimple_set_location(call, gimple_location(stmt));
      gsi_insert_after(gsi, gimple_build_assign(value, NOP_EXPR, to), GSI_NEW_STMT);
      gsi_insert_after(gsi, call, GSI_NEW_STMT);
    }
  }
}

/* ---- functions that want no reports ---- */

static const char silent_name[] = "heddle silent"; /* an attribute that no program can spell */

/* Whether "tsan" would pass over the function because of its attributes. */
static bool is_excluded(function *fun) {
  return (flag_sanitize & SANITIZE_THREAD) && !sanitize_flags_p(SANITIZE_THREAD, fun->decl) &&
         !is_naked(fun->decl);
}

static void include_silently(tree decl) {
  tree old = lookup_attribute("no_sanitize", DECL_ATTRIBUTES(decl));
  if (!old) return;
  tree flags = TREE_VALUE(old);
  unsigned HOST_WIDE_INT left = TREE_INT_CST_LOW(flags) & ~(unsigned HOST_WIDE_INT)SANITIZE_THREAD;
  tree rest = remove_attribute("no_sanitize", copy_list(DECL_ATTRIBUTES(decl)));
  if (left) rest = tree_cons(get_identifier("no_sanitize"), build_int_cst(TREE_TYPE(flags), left), rest);
  DECL_ATTRIBUTES(decl) = tree_cons(get_identifier(silent_name), NULL_TREE, rest);
}

/* Whether the call is a hook of an access. Atomic operations are not silent: they order memory, as with clang. */
static bool is_hook(gcall *call) {
  tree fn = gimple_call_fndecl(call);
  if (!fn) return false;
  const char *name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(fn));
  if (*name == '*') name++;
  if (!strncmp(name, "__heddle_", 9)) return true;
  return !strncmp(name, "__tsan_", 7) && strncmp(name, "__tsan_func_", 12) &&
         strncmp(name, "__tsan_atomic", 13);
}

static unsigned silence(function *fun) {
  basic_block bb;
  FOR_EACH_BB_FN(bb, fun) {
    for (gimple_stmt_iterator gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
      gcall *call = dyn_cast<gcall *>(gsi_stmt(gsi));
      if (!call || !is_hook(call)) continue;
      tree fn =
          declare("__heddle_silence", build_function_type_list(void_type_node, integer_type_node, NULL_TREE));
      insert_call(&gsi, gimple_location(call), fn, 1, integer_one_node);
      gcall *end = gimple_build_call(fn, 1, integer_zero_node);
      gimple_set_location(end, gimple_location(call));
      gimple_call_set_nothrow(end, true);
      gsi_insert_after(&gsi, end, GSI_NEW_STMT);
    }
  }
  return 0;
}

/* ---- the passes ---- */

static unsigned show_accesses(function *fun) {
  bool on_edges = false;
  basic_block bb;
  FOR_EACH_BB_FN(bb, fun) {
    for (gimple_stmt_iterator gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
      show_addresses(&gsi);
      gimple *stmt = gsi_stmt(gsi);
      if (gasm *assembly = dyn_cast<gasm *>(stmt)) show_asm(&gsi, assembly);
      gcall *call = dyn_cast<gcall *>(stmt);
      if (!call || (gimple_call_internal_p(call) && !gimple_call_internal_p(call, IFN_VA_ARG))) continue;
      if (!gimple_call_internal_p(call)) {
        make_unknown(call);
        show_unused(call);
        show_intrinsic(&gsi, call);
        show_naked(&gsi, call);
        separate_arguments(&gsi, call);
      }
      on_edges |= separate_result(&gsi, call);
    }
  }
  if (on_edges) gsi_commit_edge_inserts();
  return 0;
}

namespace {

const pass_data show_data = {GIMPLE_PASS, "heddle", OPTGROUP_NONE,  TV_NONE, PROP_ssa | PROP_cfg, 0,
                             0,           0,        TODO_update_ssa};

class show_pass : public gimple_opt_pass {
public:
  explicit show_pass(bool optimized) : gimple_opt_pass(show_data, g), for_optimized(optimized) {}
  opt_pass *clone() override { return new show_pass(for_optimized); }
  bool gate(function *) override {
    return (flag_sanitize & SANITIZE_THREAD) && (optimize > 0) == for_optimized;
  }
  unsigned execute(function *fun) override {
    if (is_excluded(fun)) include_silently(fun->decl);
    return is_naked(fun->decl) ? 0 : show_accesses(fun);
  }

private:
  bool for_optimized; /* "tsan" is for optimised functions, "tsan0" for the others */
};

const pass_data silence_data = {
    GIMPLE_PASS, "heddle_silence", OPTGROUP_NONE, TV_NONE, PROP_ssa | PROP_cfg, 0, 0, 0, TODO_update_ssa};

class silence_pass : public gimple_opt_pass {
public:
  silence_pass() : gimple_opt_pass(silence_data, g) {}
  opt_pass *clone() override { return new silence_pass; }
  bool gate(function *fun) override { return lookup_attribute(silent_name, DECL_ATTRIBUTES(fun->decl)); }
  unsigned execute(function *fun) override { return silence(fun); }
};

/* ---- functions that are atomic by name ---- */

const pass_data section_data = {GIMPLE_PASS, "heddle_section", OPTGROUP_NONE, TV_NONE, PROP_cfg, 0, 0, 0, 0};

class section_pass : public gimple_opt_pass {
public:
  section_pass() : gimple_opt_pass(section_data, g) {}
  bool gate(function *fun) override {
    static const char prefix[] = "__VERIFIER_atomic_";
    if (!DECL_NAME(fun->decl)) return false;
    const char *name = IDENTIFIER_POINTER(DECL_NAME(fun->decl));
    if (strncmp(name, prefix, sizeof prefix - 1)) return false;
    name += sizeof prefix - 1;
    return (flag_sanitize & SANITIZE_THREAD) && strcmp(name, "begin") && strcmp(name, "end");
  }
  unsigned execute(function *fun) override {
    edge e;
    edge_iterator ei;
    FOR_EACH_EDGE(e, ei, EXIT_BLOCK_PTR_FOR_FN(fun)->preds) {
      gimple_stmt_iterator gsi = gsi_last_bb(e->src);
      if (gsi_end_p(gsi) || gimple_code(gsi_stmt(gsi)) != GIMPLE_RETURN) continue;
      insert_call(&gsi, gimple_location(gsi_stmt(gsi)), declare("hd_rt_atomic_end", hook_type(0)), 0);
    }
    gcall *begin = gimple_build_call(declare("hd_rt_atomic_begin", hook_type(0)), 0);
    gimple_set_location(begin, DECL_SOURCE_LOCATION(fun->decl));
    gsi_insert_on_edge_immediate(single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(fun)), begin);
    return 0;
  }
};

/* ---- loops that only pass time ---- */

/* The C++ library looks 16 times before it waits for an atomic variable (bits/atomic_wait.h). When another thread runs between
 * two of them makes no difference but to the count: it looks once. */
const pass_data patience_data = {
    GIMPLE_PASS, "heddle_patience", OPTGROUP_NONE, TV_NONE, PROP_cfg, 0, 0, 0, 0};

class patience_pass : public gimple_opt_pass {
public:
  patience_pass() : gimple_opt_pass(patience_data, g) {}
  bool gate(function *fun) override {
    return (flag_sanitize & SANITIZE_THREAD) && DECL_NAME(fun->decl) &&
           !strcmp(IDENTIFIER_POINTER(DECL_NAME(fun->decl)), "__atomic_spin") &&
           !strncmp(IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(fun->decl)), HD_LIBRARY_SPINS,
                    sizeof HD_LIBRARY_SPINS - 1);
  }
  unsigned execute(function *fun) override {
    basic_block bb;
    FOR_EACH_BB_FN(bb, fun) {
      gimple_stmt_iterator last = gsi_last_bb(bb);
      gcond *cond = gsi_end_p(last) ? NULL : dyn_cast<gcond *>(gsi_stmt(last));
      if (cond && gimple_cond_code(cond) == LE_EXPR &&
          integer_equal(gimple_cond_rhs(cond), HD_LIBRARY_ROUNDS - 1))
        gimple_cond_set_rhs(cond, build_zero_cst(TREE_TYPE(gimple_cond_rhs(cond))));
    }
    return 0;
  }

private:
  static bool integer_equal(tree t, unsigned n) {
    return TREE_CODE(t) == INTEGER_CST && compare_tree_int(t, n) == 0;
  }
};

/* ---- loops that may wait ---- */

bool accesses_volatile(function *fun) {
  basic_block bb;
  FOR_EACH_BB_FN(bb, fun)
  for (gimple_stmt_iterator i = gsi_start_bb(bb); !gsi_end_p(i); gsi_next(&i))
    if (is_gimple_assign(gsi_stmt(i)) && gimple_has_volatile_ops(gsi_stmt(i))) return true;
  return false;
}

/* GCC copies the head of a loop before it. Where that reads a volatile variable, the loop's first round would not be like those that
 * follow, for the runtime (runtime/core/spin.c): more classes than the source has. It does not copy atomic accesses or calls. */
void keep_heads(void *gate, void *) {
  bool *runs = (bool *)gate;
  if (*runs && (flag_sanitize & SANITIZE_THREAD) && current_pass && !strcmp(current_pass->name, "ch"))
    *runs = !accesses_volatile(cfun);
}

} // namespace

static void rename_init(void *, void *) {
  initialize_sanitizer_builtins();
  tree init = builtin_decl_implicit(BUILT_IN_TSAN_INIT);
  if (init) set_builtin_user_assembler_name(init, "__heddle_init");
}

int plugin_init(struct plugin_name_args *info, struct plugin_gcc_version *version) {
  /* Interfaces do not change within one version of GCC; `heddle cc` compares versions, too. */
  if (strcmp(version->basever, gcc_version.basever)) return 1;
  struct register_pass_info late = {new show_pass(true), "tsan", 0, PASS_POS_INSERT_BEFORE};
  struct register_pass_info late_O0 = {new show_pass(false), "tsan0", 0, PASS_POS_INSERT_BEFORE};
  struct register_pass_info after = {new silence_pass, "tsan", 0, PASS_POS_INSERT_AFTER};
  struct register_pass_info after_O0 = {new silence_pass, "tsan0", 0, PASS_POS_INSERT_AFTER};
  struct register_pass_info early = {new section_pass, "cfg", 1, PASS_POS_INSERT_AFTER};
  struct register_pass_info patience = {new patience_pass, "cfg", 1, PASS_POS_INSERT_AFTER};
  register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &late);
  register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &late_O0);
  register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &after);
  register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &after_O0);
  register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &early);
  register_callback(info->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &patience);
  register_callback(info->base_name, PLUGIN_OVERRIDE_GATE, keep_heads, NULL);
  register_callback(info->base_name, PLUGIN_START_UNIT, rename_init, NULL);
  return 0;
}
