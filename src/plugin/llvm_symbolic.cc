/* llvm_symbolic.cc: symbolic shadows (abi/shadowed.h). Runs in clang, after ThreadSanitizer.
 *
 * Every integer and pointer that may depend on an input gets a shadow, a word: the number of an expression, or 0. What computes
 * shadows is left out where it cannot matter:
 *  1. A value that no load, argument or call feeds has no shadow (find_tainted).
 *  2. Operations of a block are taken together: one test whether any of their inputs is symbolic decides whether the hooks
 *     are called (flush). A group ends where something needs a result: a store, a call, a branch, or a division, whose
 *     condition must be known before it traps.
 *  3. Loads, stores and calls test one word of the runtime, which says whether anything is symbolic at all.
 *
 * What has no expression makes its symbolic operands concrete (concretise): floating point, vectors, integers of more than 64
 * bits, inline assembly. Nothing is dropped silently: a condition that is missing would make a search wrong. */
#include "llvm_symbolic.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>
#include <llvm/Analysis/ValueTracking.h>

#include <cstdlib>

#include "abi/shadowed.h"

using namespace llvm;

#if LLVM_VERSION_MAJOR >= 19

namespace {

enum Op : uint32_t {
#define HD_EXPR(NAME, text, arity, result) NAME,
#include "model/exprs.def"
#undef HD_EXPR
};
enum Why : uint32_t {
#define HD_SYMBOLIC_WHY(NAME, text) WHY_##NAME,
#include "model/symbolic.def"
#undef HD_SYMBOLIC_WHY
};

enum : uint32_t {
#define HD_CHARACTER(name) CHARACTER_##name,
#include "abi/characters.def"
#undef HD_CHARACTER
  NO_CHARACTER
};

using Shadows = SmallVector<Value *, 2>;

bool begins(StringRef name, StringRef prefix) { return name.consume_front(prefix); }

struct Shadower {
  Module &module;
  LLVMContext &context;
  const DataLayout &layout;
  IntegerType *word, *wide;
  PointerType *pointer;
  Constant *state, *zero;
  MDNode *unlikely;

  Function *function = nullptr;
  DenseMap<Value *, Shadows> shadow;
  DenseSet<const Value *> tainted;
  SmallVector<Instruction *, 16> pending;
  SmallPtrSet<const Value *, 16> is_pending;
  AllocaInst *pointers = nullptr; /* for the hook `called` */

  explicit Shadower(Module &m)
      : module(m), context(m.getContext()), layout(m.getDataLayout()), word(Type::getInt32Ty(context)),
        wide(Type::getInt64Ty(context)), pointer(PointerType::get(context, 0)) {
    state = m.getOrInsertGlobal(HD_SHADOWED_SYMBOL, Type::getInt8Ty(context));
    zero = ConstantInt::get(word, 0);
    unlikely = MDBuilder(context).createBranchWeights(1, 1 << 20);
  }

  /* ---- values that have shadows ---- */

  static bool is_scalar(Type *t) {
    if (auto *i = dyn_cast<IntegerType>(t)) return i->getBitWidth() <= 64;
    return t->isPointerTy() && t->getPointerAddressSpace() == 0;
  }
  static unsigned parts(Type *t) {
    if (is_scalar(t)) return 1;
    auto *s = dyn_cast<StructType>(t);
    if (s && s->getNumElements() <= HD_SHADOWED_RESULTS) return s->getNumElements();
    auto *a = dyn_cast<ArrayType>(t);
    if (a && a->getNumElements() <= HD_SHADOWED_RESULTS) return (unsigned)a->getNumElements();
    return 0;
  }
  static unsigned width(Type *t) { return t->isPointerTy() ? 64 : t->getIntegerBitWidth(); }
  static bool in_memory(Type *t) { return is_scalar(t) && width(t) % 8 == 0; }
  static unsigned bytes(Type *t) { return width(t) / 8; }

  Value *shadow_of(Value *v, unsigned part = 0) {
    auto it = shadow.find(v);
    return it == shadow.end() || part >= it->second.size() || !it->second[part] ? zero : it->second[part];
  }
  void set_shadow(Value *v, Value *s) { shadow[v] = {s}; }

  static bool is_hook(StringRef name) {
    return (begins(name, "__tsan_") && !begins(name, "__tsan_atomic") && !begins(name, "__tsan_mem")) ||
           begins(name, "__heddle_") || begins(name, "__sanitizer_");
  }
  static StringRef callee_name(const CallBase &call) {
    const auto *f = dyn_cast<Function>(call.getCalledOperand()->stripPointerCasts());
    return f ? f->getName() : StringRef();
  }
  /* Functions of the library that are known to return nothing that depends on an input. */
  static bool returns_nothing_symbolic(StringRef name) {
    return begins(name, "pthread_") ||
           StringSwitch<bool>(name)
               .Cases("malloc", "calloc", "realloc", "free", "printf", "puts", "putchar", true)
               .Cases("fprintf", "usleep", "sleep", "sched_yield", "__errno_location", true)
               .Cases("memcpy", "memmove", "memset", "__assert_fail", "abort", "exit", true)
               .Default(false);
  }

  static bool passes_through(Intrinsic::ID id) {
    return id == Intrinsic::expect || id == Intrinsic::ssa_copy || id == Intrinsic::launder_invariant_group ||
           id == Intrinsic::strip_invariant_group;
  }
  static bool is_followed(const IntrinsicInst &i) {
    switch (i.getIntrinsicID()) {
      case Intrinsic::smin:
      case Intrinsic::smax:
      case Intrinsic::umin:
      case Intrinsic::umax:
      case Intrinsic::abs:
      case Intrinsic::bswap:
      case Intrinsic::ctpop:
      case Intrinsic::ctlz:
      case Intrinsic::cttz:
      case Intrinsic::bitreverse:
      case Intrinsic::usub_sat:
      case Intrinsic::ptrmask:
      case Intrinsic::sadd_with_overflow:
      case Intrinsic::uadd_with_overflow:
      case Intrinsic::ssub_with_overflow:
      case Intrinsic::usub_with_overflow:
      case Intrinsic::smul_with_overflow:
      case Intrinsic::umul_with_overflow: return is_scalar(i.getArgOperand(0)->getType());
      case Intrinsic::fshl:
      case Intrinsic::fshr: return is_scalar(i.getType()) && isa<ConstantInt>(i.getArgOperand(2));
      default: return passes_through(i.getIntrinsicID()) && is_scalar(i.getType());
    }
  }

  /* Whether an expression of the operands is the value's. */
  static bool is_operation(const Instruction &i) {
    if (auto *intrinsic = dyn_cast<IntrinsicInst>(&i)) return is_followed(*intrinsic);
    if (isa<ExtractValueInst>(i))
      return parts(i.getOperand(0)->getType()) && is_scalar(i.getType()) &&
             cast<ExtractValueInst>(i).getNumIndices() == 1;
    if (isa<InsertValueInst>(i))
      return parts(i.getType()) && is_scalar(i.getOperand(1)->getType()) &&
             cast<InsertValueInst>(i).getNumIndices() == 1;
    if (!is_scalar(i.getType())) return false;
    if (isa<BinaryOperator>(i) || isa<SelectInst>(i) || isa<FreezeInst>(i) || isa<GetElementPtrInst>(i))
      return true;
    if (isa<ICmpInst>(i)) return is_scalar(i.getOperand(0)->getType());
    if (isa<CastInst>(i)) return is_scalar(i.getOperand(0)->getType());
    return false;
  }

  bool is_source(const Instruction &i) {
    if (!parts(i.getType())) return false;
    if (auto *load = dyn_cast<LoadInst>(&i)) {
      if (!in_memory(i.getType())) return false;
      /* the address may be symbolic */
      return !constant_object(*load) || !isa<Constant>(load->getPointerOperand());
    }
    auto *call = dyn_cast<CallBase>(&i);
    if (!call || isa<IntrinsicInst>(i) || call->isInlineAsm()) return false;
    StringRef name = callee_name(*call);
    return !is_hook(name) && !returns_nothing_symbolic(name);
  }

  void find_tainted(Function &f) {
    for (Argument &a : f.args())
      if (is_scalar(a.getType()) && !a.hasByValAttr() && !a.hasStructRetAttr() &&
          a.getArgNo() < HD_SHADOWED_ARGS)
        tainted.insert(&a);
    for (Instruction &i : instructions(f))
      if (is_source(i)) tainted.insert(&i);
    for (bool changed = true; changed;) {
      changed = false;
      for (Instruction &i : instructions(f)) {
        if (tainted.count(&i)) continue;
        bool phi = isa<PHINode>(i) && parts(i.getType());
        if (!phi && !is_operation(i)) continue;
        bool any = false;
        for (const Use &u : i.operands()) any |= tainted.count(u.get()) != 0;
        if (any) changed |= tainted.insert(&i).second;
      }
    }
  }

  /* ---- code ---- */

  Value *field(IRBuilder<> &b, size_t offset) {
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), state, offset);
  }
  Value *load_word(IRBuilder<> &b, size_t offset) {
    return b.CreateAlignedLoad(word, field(b, offset), Align(4));
  }
  void store_word(IRBuilder<> &b, size_t offset, Value *v) {
    b.CreateAlignedStore(v, field(b, offset), Align(4));
  }

  Value *hook(IRBuilder<> &b, const Twine &name, Type *result, ArrayRef<Value *> args) {
    SmallVector<Type *, 8> types;
    for (Value *a : args) types.push_back(a->getType());
    FunctionCallee f = module.getOrInsertFunction(("__heddle_symbolic_" + name).str(),
                                                  FunctionType::get(result, types, false));
    if (auto *fn = dyn_cast<Function>(f.getCallee())) fn->addFnAttr(Attribute::NonLazyBind);
    CallInst *c = b.CreateCall(f, args);
    c->setDoesNotThrow();
    c->addFnAttr(Attribute::NoMerge);
    return c;
  }

  Value *number(IRBuilder<> &b, Value *v) {
    return v->getType()->isPointerTy() ? b.CreatePtrToInt(v, wide) : b.CreateZExt(v, wide);
  }
  Value *id(uint32_t v) { return ConstantInt::get(word, v); }

  Instruction *when(Value *condition, Instruction *before) {
    return SplitBlockAndInsertIfThen(condition, before->getIterator(), false, unlikely);
  }
  Instruction *when_symbolic(Value *s, Instruction *before) {
    IRBuilder<> b(before);
    return when(b.CreateICmpNE(s, zero), before);
  }
  Instruction *when_active(Instruction *before) {
    IRBuilder<> b(before);
    return when(b.CreateICmpNE(load_word(b, offsetof(struct hd_shadowed, active)), zero), before);
  }
  /* The value that `made` has where that code ran; 0 elsewhere. */
  Value *merge(Value *made, Instruction *then, Instruction *after) {
    BasicBlock *tail = after->getParent(), *part = then->getParent();
    PHINode *phi = PHINode::Create(made->getType(), 2, "", tail->begin());
    for (BasicBlock *pred : predecessors(tail)) phi->addIncoming(pred == part ? made : zero, pred);
    return phi;
  }

  void concretise(Value *v, Why why, Instruction *before) {
    for (unsigned part = 0; part < parts(v->getType()); part++) {
      if (!tainted.count(v)) return;
      Value *s = shadow_of(v, part);
      if (s == zero) continue;
      Instruction *then = when_symbolic(s, before);
      IRBuilder<> b(then);
      b.SetCurrentDebugLocation(before->getDebugLoc());
      hook(b, "concrete", b.getVoidTy(), {s, id(why)});
    }
  }

  /* The same, unless `silent` says that it makes no difference. */
  void write_out(Value *v, Value *silent, Instruction *before) {
    if (!tainted.count(v) || shadow_of(v) == zero) return;
    IRBuilder<> b(before);
    Value *s = b.CreateSelect(b.CreateICmpEQ(silent, zero), shadow_of(v), zero);
    Instruction *then = when_symbolic(s, before);
    b.SetInsertPoint(then);
    b.SetCurrentDebugLocation(before->getDebugLoc());
    hook(b, "concrete", b.getVoidTy(), {s, id(WHY_CALL)});
  }

  void use_address(Value *p, uint64_t size, Instruction *before) {
    Value *s = tainted.count(p) ? shadow_of(p) : zero;
    if (s == zero) return;
    Instruction *then = when_symbolic(s, before);
    IRBuilder<> b(then);
    b.SetCurrentDebugLocation(before->getDebugLoc());
    hook(b, "address", b.getVoidTy(), {s, number(b, p), b.getInt64(size)});
  }

  /* ---- groups of operations ---- */

  Value *binary(IRBuilder<> &b, uint32_t what, unsigned w, Value *sa, Value *sb, Value *va, Value *vb) {
    if (sa == zero && sb == zero) return zero;
    return hook(b, "binary", word, {id(what | w << 16), sa, sb, va, vb});
  }
  Value *cast_to(IRBuilder<> &b, Op op, unsigned from, unsigned to, Value *s) {
    return s == zero || from == to ? s : hook(b, "cast", word, {id(op | from << 8 | to << 16), s});
  }
  Value *choose(IRBuilder<> &b, unsigned w, Value *sc, Value *sa, Value *sb, Value *c, Value *va, Value *vb) {
    if (sc == zero) return b.CreateSelect(c, sa, sb);
    Value *what = b.CreateOr(id(w), b.CreateShl(b.CreateZExt(c, word), 16));
    return hook(b, "select", word, {what, sc, sa, sb, va, vb});
  }

  Value *bits(IRBuilder<> &b, hd_shadowed_bits which, unsigned w, Value *s) {
    return s == zero ? zero : hook(b, "bits", word, {id(which | w << 16), s});
  }

  static uint32_t operation_of(unsigned opcode) {
    switch (opcode) {
      case Instruction::Add: return ADD;
      case Instruction::Sub: return SUB;
      case Instruction::Mul: return MUL;
      case Instruction::UDiv: return UDIV;
      case Instruction::SDiv: return SDIV;
      case Instruction::URem: return UREM;
      case Instruction::SRem: return SREM;
      case Instruction::And: return AND;
      case Instruction::Or: return OR;
      case Instruction::Xor: return XOR;
      case Instruction::Shl: return SHL;
      case Instruction::LShr: return LSHR;
      case Instruction::AShr: return ASHR;
      default: return NONE;
    }
  }
  static uint32_t comparison_of(CmpInst::Predicate p) {
    const uint32_t no = HD_SHADOWED_NOT, swap = HD_SHADOWED_SWAP;
    switch (p) {
      case CmpInst::ICMP_EQ: return EQ;
      case CmpInst::ICMP_NE: return EQ | no;
      case CmpInst::ICMP_ULT: return ULT;
      case CmpInst::ICMP_ULE: return ULE;
      case CmpInst::ICMP_UGT: return ULT | swap;
      case CmpInst::ICMP_UGE: return ULE | swap;
      case CmpInst::ICMP_SLT: return SLT;
      case CmpInst::ICMP_SLE: return SLE;
      case CmpInst::ICMP_SGT: return SLT | swap;
      default: return SLE | swap;
    }
  }

  Value *element_address(IRBuilder<> &b, GetElementPtrInst &gep) {
    MapVector<Value *, APInt> index;
    APInt offset(64, 0);
    if (!gep.collectOffset(layout, 64, index, offset)) return zero;
    Value *s = shadow_of(gep.getPointerOperand()), *v = number(b, gep.getPointerOperand());
    for (auto &i : index) {
      unsigned w = width(i.first->getType());
      Value *si = cast_to(b, w < 64 ? SEXT : EXTRACT, w, 64, shadow_of(i.first));
      Value *vi = b.CreateSExtOrTrunc(i.first, wide), *scale = b.getInt64(i.second.getZExtValue());
      si = binary(b, MUL, 64, si, zero, vi, scale);
      vi = b.CreateMul(vi, scale);
      s = binary(b, ADD, 64, s, si, v, vi);
      v = b.CreateAdd(v, vi);
    }
    return binary(b, ADD, 64, s, zero, v, b.getInt64(offset.getZExtValue()));
  }

  Shadows intrinsic(IRBuilder<> &b, IntrinsicInst &i) {
    Value *x = i.getArgOperand(0), *sx = shadow_of(x), *vx = number(b, x);
    unsigned w = width(x->getType());
    Value *y = i.arg_size() > 1 ? i.getArgOperand(1) : x, *sy = shadow_of(y);
    Value *vy = is_scalar(y->getType()) ? number(b, y) : vx;
    auto pick = [&](Op less, bool swap) -> Shadows {
      Value *c = binary(b, less | (swap ? HD_SHADOWED_SWAP : 0), w, sx, sy, vx, vy);
      Value *first = b.CreateICmpEQ(&i, x);
      return {c == zero ? zero : choose(b, w, c, sx, sy, first, vx, vy)};
    };
    switch (i.getIntrinsicID()) {
      case Intrinsic::smin: return pick(SLE, false);
      case Intrinsic::smax: return pick(SLE, true);
      case Intrinsic::umin: return pick(ULE, false);
      case Intrinsic::umax: return pick(ULE, true);
      case Intrinsic::abs: {
        Value *c = binary(b, SLT, w, sx, zero, vx, b.getInt64(0));
        Value *minus = binary(b, SUB, w, zero, sx, b.getInt64(0), vx);
        Value *negative = b.CreateICmpSLT(x, Constant::getNullValue(x->getType()));
        return {choose(b, w, c, minus, sx, negative, b.CreateNeg(vx), vx)};
      }
      case Intrinsic::usub_sat: {
        Value *c = binary(b, ULT, w, sx, sy, vx, vy), *minus = binary(b, SUB, w, sx, sy, vx, vy);
        return {choose(b, w, c, zero, minus, b.CreateICmpULT(vx, vy), b.getInt64(0), b.CreateSub(vx, vy))};
      }
      case Intrinsic::bswap: return {hook(b, "bswap", word, {id(w), sx})};
      case Intrinsic::ctpop: return {bits(b, HD_SHADOWED_COUNT, w, sx)};
      case Intrinsic::ctlz: return {bits(b, HD_SHADOWED_LEADING, w, sx)};
      case Intrinsic::cttz: return {bits(b, HD_SHADOWED_TRAILING, w, sx)};
      case Intrinsic::bitreverse: return {bits(b, HD_SHADOWED_REVERSE, w, sx)};
      case Intrinsic::ptrmask: return {binary(b, AND, 64, sx, sy, vx, vy)};
      case Intrinsic::fshl:
      case Intrinsic::fshr: {
        uint64_t n = cast<ConstantInt>(i.getArgOperand(2))->getZExtValue() % w;
        if (i.getIntrinsicID() == Intrinsic::fshr) n = w - n;
        if (n % w == 0) return {n ? sy : sx};
        Value *high = binary(b, SHL, w, sx, zero, vx, b.getInt64(n)),
              *low = binary(b, LSHR, w, sy, zero, vy, b.getInt64(w - n));
        return {binary(b, OR, w, high, low, b.CreateShl(vx, n), b.CreateLShr(vy, w - n))};
      }
      case Intrinsic::sadd_with_overflow:
      case Intrinsic::uadd_with_overflow:
      case Intrinsic::ssub_with_overflow:
      case Intrinsic::usub_with_overflow:
      case Intrinsic::smul_with_overflow:
      case Intrinsic::umul_with_overflow: {
        auto &o = cast<WithOverflowInst>(i);
        uint32_t op = operation_of(o.getBinaryOp());
        Value *r = binary(b, op, w, sx, sy, vx, vy);
        uint32_t what = op | w << 16 | (o.isSigned() ? HD_SHADOWED_NOT : 0);
        return {r, r == zero ? zero : hook(b, "overflow", word, {id(what), sx, sy, vx, vy})};
      }
      default: return {sx};
    }
  }

  Shadows operation(IRBuilder<> &b, Instruction &i) {
    if (auto *in = dyn_cast<IntrinsicInst>(&i)) return intrinsic(b, *in);
    if (auto *e = dyn_cast<ExtractValueInst>(&i))
      return {shadow_of(e->getAggregateOperand(), e->getIndices()[0])};
    if (auto *in = dyn_cast<InsertValueInst>(&i)) {
      Shadows s;
      for (unsigned part = 0; part < parts(i.getType()); part++)
        s.push_back(part == in->getIndices()[0] ? shadow_of(in->getInsertedValueOperand())
                                                : shadow_of(in->getAggregateOperand(), part));
      return s;
    }
    if (auto *gep = dyn_cast<GetElementPtrInst>(&i)) return {element_address(b, *gep)};
    if (isa<FreezeInst>(i)) return {shadow_of(i.getOperand(0))};
    if (auto *select = dyn_cast<SelectInst>(&i)) {
      Value *c = select->getCondition(), *x = select->getTrueValue(), *y = select->getFalseValue();
      return {choose(b, width(i.getType()), shadow_of(c), shadow_of(x), shadow_of(y), c, number(b, x),
                     number(b, y))};
    }
    Value *x = i.getOperand(0), *sx = shadow_of(x);
    unsigned from = width(x->getType()), to = width(i.getType());
    if (isa<CastInst>(i))
      return {cast_to(b, isa<SExtInst>(i) ? SEXT : to > from ? ZEXT : EXTRACT, from, to, sx)};
    Value *y = i.getOperand(1), *sy = shadow_of(y);
    if (auto *cmp = dyn_cast<ICmpInst>(&i))
      return {binary(b, comparison_of(cmp->getPredicate()), from, sx, sy, number(b, x), number(b, y))};
    return {binary(b, operation_of(i.getOpcode()), to, sx, sy, number(b, x), number(b, y))};
  }

  /* Shadows of the operations that are pending, before that instruction. */
  void flush(Instruction *before) {
    if (pending.empty()) return;
    SmallSetVector<Value *, 8> inputs;
    for (Instruction *i : pending)
      for (Value *v : i->operands()) {
        if (is_pending.count(v)) continue;
        for (unsigned part = 0; part < std::max(1u, parts(v->getType())); part++)
          if (shadow_of(v, part) != zero) inputs.insert(shadow_of(v, part));
      }
    if (!inputs.empty()) {
      IRBuilder<> b(before);
      Value *any = nullptr;
      for (Value *s : inputs) any = any ? b.CreateOr(any, s) : s;
      Instruction *then = when_symbolic(any, before);
      b.SetInsertPoint(then);
      for (Instruction *i : pending) {
        b.SetCurrentDebugLocation(i->getDebugLoc());
        shadow[i] = operation(b, *i);
      }
      for (Instruction *i : pending) {
        Shadows out;
        bool outside = false;
        for (const User *u : i->users()) outside |= !is_pending.count(u);
        for (Value *s : shadow[i]) out.push_back(s == zero || !outside ? zero : merge(s, then, before));
        shadow[i] = out;
      }
    }
    pending.clear();
    is_pending.clear();
  }

  /* ---- instructions ---- */

  /* A global constant that is loaded from. */
  GlobalVariable *constant_object(const LoadInst &i) {
    auto *g = dyn_cast<GlobalVariable>(const_cast<Value *>(getUnderlyingObject(i.getPointerOperand())));
    return g && g->isConstant() ? g : nullptr;
  }
  /* The shadow of what is loaded from a table of constants; elsewhere the address becomes concrete. */
  Value *look_up(LoadInst &i, GlobalVariable *g) {
    Value *p = i.getPointerOperand(), *s = tainted.count(p) ? shadow_of(p) : zero;
    if (s == zero) return zero;
    bool known = g && g->hasDefinitiveInitializer() && !g->isThreadLocal();
    Instruction *then = when_symbolic(s, &i);
    IRBuilder<> b(then);
    b.SetCurrentDebugLocation(i.getDebugLoc());
    Value *base = known ? b.CreatePtrToInt(g, wide) : b.getInt64(0);
    uint64_t room = known ? layout.getTypeAllocSize(g->getValueType()).getFixedValue() : 0;
    return merge(hook(b, "table", word, {s, number(b, p), id(bytes(i.getType())), base, b.getInt64(room)}),
                 then, &i);
  }

  void visit_load(LoadInst &i) {
    Type *t = i.getType();
    uint64_t size = layout.getTypeStoreSize(t).getKnownMinValue();
    auto *g = constant_object(i);
    Value *found = zero;
    if (in_memory(t))
      found = look_up(i, g);
    else
      use_address(i.getPointerOperand(), size, &i);
    if (g) {
      if (found != zero) set_shadow(&i, found);
      return;
    }
    Instruction *next = i.getNextNode(), *then = when_active(next);
    IRBuilder<> b(then);
    b.SetCurrentDebugLocation(i.getDebugLoc());
    Value *p = number(b, i.getPointerOperand());
    if (in_memory(t)) {
      Value *loaded = merge(hook(b, "load", word, {p, id(bytes(t)), number(b, &i)}), then, next);
      b.SetInsertPoint(next);
      set_shadow(&i, found == zero ? loaded : b.CreateSelect(b.CreateICmpEQ(found, zero), loaded, found));
    } else
      hook(b, "lose", b.getVoidTy(), {p, b.getInt64(size), id(t->isFPOrFPVectorTy() ? WHY_FLOAT : WHY_WIDE)});
  }

  void visit_store(StoreInst &i) {
    Value *v = i.getValueOperand();
    Type *t = v->getType();
    uint64_t size = layout.getTypeStoreSize(t).getKnownMinValue();
    use_address(i.getPointerOperand(), size, &i);
    if (!in_memory(t)) concretise(v, WHY_WIDE, &i);
    Instruction *then = when_active(&i);
    IRBuilder<> b(then);
    b.SetCurrentDebugLocation(i.getDebugLoc());
    Value *p = number(b, i.getPointerOperand());
    if (in_memory(t))
      hook(b, "store", b.getVoidTy(), {p, id(bytes(t)), shadow_of(v), number(b, v)});
    else
      hook(b, "clear", b.getVoidTy(), {p, b.getInt64(size)});
  }

  /* The runtime copies expressions itself; the intrinsics are instructions. */
  void visit_block(CallBase &i, bool set) {
    Value *to = i.getArgOperand(0), *from = i.getArgOperand(1), *n = i.getArgOperand(2);
    use_address(to, 1, &i);
    if (!set) use_address(from, 1, &i);
    concretise(n, WHY_SIZE, &i);
    if (!set && !isa<MemTransferInst>(i)) return;
    Instruction *then = when_active(i.getNextNode());
    IRBuilder<> b(then);
    b.SetCurrentDebugLocation(i.getDebugLoc());
    hook(b, set ? "set" : "copy", b.getVoidTy(),
         {number(b, to), set ? shadow_of(from) : number(b, from), b.CreateZExtOrTrunc(n, wide)});
  }

  /* __tsan_atomic32_fetch_add and the like. */
  void visit_atomic(CallBase &i, StringRef name) {
    unsigned bits = 0;
    if (!name.consume_front("__tsan_atomic") || name.consumeInteger(10, bits) || !name.consume_front("_"))
      return; /* a fence */
    if (bits > 64) {
      use_address(i.getArgOperand(0), bits / 8, &i);
      Instruction *then = when_active(&i);
      IRBuilder<> b(then);
      b.SetCurrentDebugLocation(i.getDebugLoc());
      hook(b, "lose", b.getVoidTy(), {number(b, i.getArgOperand(0)), b.getInt64(bits / 8), id(WHY_WIDE)});
      return;
    }
    Value *p = i.getArgOperand(0);
    unsigned size = bits / 8;
    use_address(p, size, &i);
    Instruction *next = i.getNextNode();
    Instruction *then = when_active(next);
    IRBuilder<> b(then);
    b.SetCurrentDebugLocation(i.getDebugLoc());
    Value *at = number(b, p);
    if (name == "load") {
      set_shadow(&i, merge(hook(b, "atomic_load", word, {at, id(size), number(b, &i)}), then, next));
    } else if (name == "store") {
      Value *v = i.getArgOperand(1);
      hook(b, "atomic_store", b.getVoidTy(), {at, id(size), shadow_of(v), number(b, v)});
    } else if (name == "compare_exchange_val") {
      Value *x = i.getArgOperand(1), *y = i.getArgOperand(2);
      set_shadow(&i, merge(hook(b, "atomic_cas", word,
                                {at, id(size), shadow_of(x), shadow_of(y), number(b, x), number(b, y),
                                 number(b, &i)}),
                           then, next));
    } else {
      uint32_t what = StringSwitch<uint32_t>(name)
                          .Case("exchange", 0)
                          .Case("fetch_add", ADD)
                          .Case("fetch_sub", SUB)
                          .Case("fetch_and", AND)
                          .Case("fetch_or", OR)
                          .Case("fetch_xor", XOR)
                          .Case("fetch_nand", AND | HD_SHADOWED_NOT)
                          .Default(~0u);
      if (what == ~0u) report_fatal_error("heddle: an atomic operation that symbolic shadows do not know");
      Value *v = i.getArgOperand(1);
      set_shadow(&i, merge(hook(b, "atomic_update", word,
                                {at, id(size), id(what), shadow_of(v), number(b, v), number(b, &i)}),
                           then, next));
    }
  }

  /* What was returned before, to code without shadows, is lost. */
  void drop_result(Instruction *before) {
    IRBuilder<> b(before);
    Instruction *then = when_symbolic(load_word(b, offsetof(struct hd_shadowed, result)), before);
    b.SetInsertPoint(then);
    b.SetCurrentDebugLocation(before->getDebugLoc());
    hook(b, "dropped", b.getVoidTy(), {});
  }

  static bool is_shadowed(const Function &f) {
    return !f.isDeclaration() && !f.hasFnAttribute(Attribute::Naked);
  }

  Instruction *after_call(CallBase &i) {
    auto *invoke = dyn_cast<InvokeInst>(&i);
    return invoke ? &*invoke->getNormalDest()->getFirstInsertionPt() : i.getNextNode();
  }

  /* isalpha and the like. */
  bool visit_character(CallBase &i, StringRef name) {
    uint32_t which = StringSwitch<uint32_t>(name)
#define HD_CHARACTER(function) .Case(#function, CHARACTER_##function)
#include "abi/characters.def"
#undef HD_CHARACTER
                         .Default(NO_CHARACTER);
    if (which == NO_CHARACTER || i.arg_size() != 1 || !i.getType()->isIntegerTy(32) || isa<InvokeInst>(i) ||
        !i.getArgOperand(0)->getType()->isIntegerTy(32))
      return false;
    Value *v = i.getArgOperand(0), *s = shadow_of(v);
    if (s == zero) return true;
    Instruction *next = i.getNextNode(), *then = when_symbolic(s, next);
    IRBuilder<> b(then);
    b.SetCurrentDebugLocation(i.getDebugLoc());
    set_shadow(&i, merge(hook(b, "character", word, {id(which), s, v, &i}), then, next));
    return true;
  }

  /* Functions that write to a stream or descriptor: what is written to standard output or error makes no difference to the
   * program, if the length that they may return does not either. */
  struct Output {
    const char *name;
    int stream; /* argument; -1: standard output */
    int format; /* argument, -1: none */
    uint32_t how;
    bool returns_it; /* the result depends on what is written */
  };
  static const Output *output_of(const CallBase &i, StringRef name) {
    static const Output all[] = {
        {"printf", -1, 0, HD_SHADOWED_TEXT, true},
        {"__printf_chk", -1, 1, HD_SHADOWED_TEXT, true},
        {"fprintf", 0, 1, HD_SHADOWED_TEXT, true},
        {"__fprintf_chk", 0, 2, HD_SHADOWED_TEXT, true},
        {"putchar", -1, -1, HD_SHADOWED_TEXT, true},
        {"fputc", 1, -1, HD_SHADOWED_TEXT, true},
        {"putc", 1, -1, HD_SHADOWED_TEXT, true},
        {"puts", -1, -1, HD_SHADOWED_TEXT, false},
        {"fputs", 1, -1, HD_SHADOWED_TEXT, false},
        {"fwrite", 3, -1, HD_SHADOWED_BLOCK, false},
        {"write", 0, -1, HD_SHADOWED_BLOCK | HD_SHADOWED_DESCRIPTOR, false},
    };
    for (const Output &o : all) {
      if (name != o.name || (o.returns_it && !i.use_empty())) continue;
      if (std::max(o.stream, o.format) >= (int)i.arg_size()) return nullptr;
      StringRef format;
      if (o.format >= 0 &&
          (!getConstantStringInfo(i.getArgOperand((unsigned)o.format), format) || !only_prints(format)))
        return nullptr;
      return &o;
    }
    return nullptr;
  }
  /* Whether the format has no %n, and no precision that is an argument. */
  static bool only_prints(StringRef format) {
    for (size_t at = format.find('%'); at != StringRef::npos; at = format.find('%', at + 2)) {
      size_t what = format.find_first_not_of("0123456789-+ #'.hlqjztL", at + 1);
      if (what == StringRef::npos || StringRef("n*$").contains(format[what])) return false;
    }
    return true;
  }
  /* A word that is not 0 if the output may depend on inputs. */
  Value *begin_output(CallBase &i, const Output &o) {
    Instruction *then = when_active(&i);
    IRBuilder<> b(then);
    b.SetCurrentDebugLocation(i.getDebugLoc());
    Value *stream = o.stream < 0 ? b.getInt64(0)
                                 : b.CreateZExtOrTrunc(number(b, i.getArgOperand((unsigned)o.stream)), wide);
    return merge(hook(b, "output", word, {stream, id(o.how)}), then, &i);
  }
  /* Whether the argument is only written: a number or a character. */
  static bool is_written(const CallBase &i, const Output &o, unsigned k) {
    if (!i.getArgOperand(k)->getType()->isIntegerTy()) return false;
    if (o.format >= 0) return (int)k > o.format;
    return StringRef(o.name).contains("put") && k == 0;
  }

  void visit_call(CallBase &i) {
    const Output *output = isa<InvokeInst>(i) || i.isMustTailCall() ? nullptr : output_of(i, callee_name(i));
    Value *silent = output ? begin_output(i, *output) : nullptr;
    auto *target = dyn_cast<Function>(i.getCalledOperand()->stripPointerCasts());
    bool tail = i.isMustTailCall();
    if (!target) concretise(i.getCalledOperand(), WHY_CALLEE, &i);
    unsigned fixed = i.getFunctionType()->getNumParams(), n = 0;
    SmallVector<Value *, 8> passed(HD_SHADOWED_ARGS, zero), given;
    for (unsigned k = 0; k < i.arg_size(); k++) {
      Value *v = i.getArgOperand(k);
      if (i.isByValArgument(k)) {
        Instruction *then = when_active(&i);
        IRBuilder<> b(then);
        b.SetCurrentDebugLocation(i.getDebugLoc());
        hook(b, "lose", b.getVoidTy(),
             {number(b, v), b.getInt64(layout.getTypeAllocSize(i.getParamByValType(k))), id(WHY_OTHER)});
        continue;
      }
      if (v->getType()->isPointerTy() && given.size() < 8 && !isa<Function>(v)) given.push_back(v);
      if (output && is_written(i, *output, k)) {
        write_out(v, silent, &i);
      } else if (k < fixed && k < HD_SHADOWED_ARGS && !tail && is_scalar(v->getType())) {
        passed[k] = shadow_of(v);
        n = k + 1;
      } else {
        concretise(v, WHY_CALL, &i);
      }
    }
    bool local = target && is_shadowed(*target) && !target->isInterposable();
    if (!tail) {
      Instruction *then = when_active(&i);
      IRBuilder<> b(then);
      for (unsigned k = 0; k < n; k++) store_word(b, offsetof(struct hd_shadowed, arg) + 4 * k, passed[k]);
      b.CreateAlignedStore(b.CreatePtrToInt(i.getCalledOperand(), wide),
                           field(b, offsetof(struct hd_shadowed, callee)), Align(8));
    }
    bool wants = tainted.count(&i);
    if (wants) drop_result(&i);
    if (tail || (i.isTerminator() && !isa<InvokeInst>(i))) return;
    if (i.doesNotReturn()) return;
    Instruction *next = after_call(i);
    if (output) {
      Instruction *then = when_symbolic(silent, next);
      IRBuilder<> b(then);
      b.SetCurrentDebugLocation(i.getDebugLoc());
      hook(b, "written", b.getVoidTy(), {});
    }
    if (!local) {
      IRBuilder<> b(next);
      Value *left = b.CreateAlignedLoad(wide, field(b, offsetof(struct hd_shadowed, callee)), Align(8));
      Instruction *then = when(b.CreateICmpNE(left, b.getInt64(0)), next);
      b.SetInsertPoint(then);
      b.SetCurrentDebugLocation(i.getDebugLoc());
      for (unsigned k = 0; k < given.size(); k++)
        b.CreateStore(number(b, given[k]), b.CreateConstInBoundsGEP1_64(wide, pointers, k));
      hook(b, "called", b.getVoidTy(), {id((uint32_t)given.size()), pointers});
    }
    if (!wants) return;
    Shadows s;
    for (unsigned part = 0; part < parts(i.getType()); part++) {
      IRBuilder<> b(next);
      b.SetCurrentDebugLocation(i.getDebugLoc());
      Value *r = load_word(b, offsetof(struct hd_shadowed, result) + 4 * part);
      Value *v = is_scalar(i.getType()) ? &i : b.CreateExtractValue(&i, {part});
      if (!is_scalar(v->getType())) {
        s.push_back(zero);
        continue;
      }
      Instruction *then = when_symbolic(r, next);
      b.SetInsertPoint(then);
      s.push_back(merge(hook(b, "result", word, {id(part), number(b, v)}), then, next));
    }
    shadow[&i] = s;
  }

  void visit_branch(Value *condition, Instruction *i) {
    Value *s = tainted.count(condition) ? shadow_of(condition) : zero;
    if (s == zero) return;
    IRBuilder<> b(when_symbolic(s, i));
    b.SetCurrentDebugLocation(i->getDebugLoc());
    hook(b, "branch", b.getVoidTy(), {s});
  }

  void visit_switch(SwitchInst &i) {
    Value *v = i.getCondition(), *s = tainted.count(v) ? shadow_of(v) : zero;
    if (s == zero || !is_scalar(v->getType())) return;
    SmallVector<uint64_t, 16> values;
    for (auto &c : i.cases()) values.push_back(c.getCaseValue()->getZExtValue());
    Constant *data = ConstantDataArray::get(context, values);
    auto *table =
        new GlobalVariable(module, data->getType(), true, GlobalValue::PrivateLinkage, data, "heddle.cases");
    IRBuilder<> b(when_symbolic(s, &i));
    b.SetCurrentDebugLocation(i.getDebugLoc());
    hook(b, "switch", b.getVoidTy(), {s, id(width(v->getType())), id((uint32_t)values.size()), table});
  }

  void visit_return(ReturnInst &i) {
    Value *v = i.getReturnValue();
    if (!v || !parts(v->getType())) return;
    drop_result(&i);
    IRBuilder<> b(&i);
    for (unsigned part = 0; part < parts(v->getType()); part++)
      if (shadow_of(v, part) != zero)
        store_word(b, offsetof(struct hd_shadowed, result) + 4 * part, shadow_of(v, part));
  }

  static bool is_ignored(const Instruction &i) {
    if (i.getMetadata("nosanitize")) return true;
    if (isa<DbgInfoIntrinsic>(i) || isa<LifetimeIntrinsic>(i) || isa<PHINode>(i) || isa<LandingPadInst>(i))
      return true;
    if (isa<UnreachableInst>(i) || isa<ResumeInst>(i)) return true;
    if (auto *br = dyn_cast<BranchInst>(&i)) return br->isUnconditional();
    if (auto *in = dyn_cast<IntrinsicInst>(&i)) {
      switch (in->getIntrinsicID()) {
        case Intrinsic::assume:
        case Intrinsic::annotation:
        case Intrinsic::var_annotation:
        case Intrinsic::invariant_start:
        case Intrinsic::invariant_end:
        case Intrinsic::is_constant:
        case Intrinsic::objectsize:
        case Intrinsic::stacksave:
        case Intrinsic::stackrestore:
        case Intrinsic::vastart:
        case Intrinsic::vaend:
        case Intrinsic::vacopy:
        case Intrinsic::trap: return true;
        default: return false;
      }
    }
    auto *call = dyn_cast<CallBase>(&i);
    return call && is_hook(callee_name(*call));
  }

  void visit(Instruction &i) {
    if (is_operation(i) && !is_ignored(i)) {
      if (!tainted.count(&i)) return;
      pending.push_back(&i);
      is_pending.insert(&i);
      unsigned op = i.getOpcode();
      if (op == Instruction::UDiv || op == Instruction::SDiv || op == Instruction::URem ||
          op == Instruction::SRem)
        flush(&i);
      return;
    }
    if (i.isTerminator()) flush(&i);
    if (is_ignored(i)) return;
    bool needs = false;
    for (const Use &u : i.operands()) needs |= is_pending.count(u.get()) != 0;
    if (needs) flush(&i);
    if (auto *load = dyn_cast<LoadInst>(&i)) return visit_load(*load);
    if (auto *store = dyn_cast<StoreInst>(&i)) return visit_store(*store);
    if (auto *ret = dyn_cast<ReturnInst>(&i)) return visit_return(*ret);
    if (auto *br = dyn_cast<BranchInst>(&i)) return visit_branch(br->getCondition(), &i);
    if (auto *sw = dyn_cast<SwitchInst>(&i)) return visit_switch(*sw);
    if (auto *call = dyn_cast<CallBase>(&i)) {
      StringRef name = callee_name(*call);
      if (isa<MemSetInst>(i) || name == "__tsan_memset" || name == "memset") return visit_block(*call, true);
      if (isa<MemTransferInst>(i) || name == "__tsan_memcpy" || name == "__tsan_memmove" ||
          name == "memcpy" || name == "memmove")
        return visit_block(*call, false);
      if (begins(name, "__tsan_atomic")) return visit_atomic(*call, name);
      if (visit_character(*call, name)) return;
      if (!isa<IntrinsicInst>(i) && !call->isInlineAsm()) return visit_call(*call);
    }
    if (auto *select = dyn_cast<SelectInst>(&i)) visit_branch(select->getCondition(), &i);
    auto *call = dyn_cast<CallBase>(&i);
    Why why = call && call->isInlineAsm() ? WHY_ASSEMBLY
              : isa<AllocaInst>(i)        ? WHY_SIZE
              : isa<CastInst>(i)          ? WHY_FLOAT
                                          : WHY_OTHER;
    for (const Use &u : i.operands())
      if (!(isa<SelectInst>(i) && u.getOperandNo() == 0)) concretise(u.get(), why, &i);
  }

  /* ---- functions ---- */

  /* An alloca in the entry block would become dynamic if the block were split before it. */
  static Instruction *gather_variables(Function &f) {
    BasicBlock &entry = f.getEntryBlock();
    SmallVector<AllocaInst *, 16> variables;
    for (Instruction &i : entry)
      if (auto *a = dyn_cast<AllocaInst>(&i))
        if (isa<ConstantInt>(a->getArraySize())) variables.push_back(a);
    Instruction *first = &*entry.getFirstInsertionPt();
    for (AllocaInst *a : variables)
      if (a != first)
        a->moveBefore(first);
      else
        first = first->getNextNode();
    return first;
  }

  void enter(Function &f, Instruction *first) {
    IRBuilder<> b(first);
    if (DISubprogram *where = f.getSubprogram())
      b.SetCurrentDebugLocation(DILocation::get(context, where->getScopeLine(), 0, where));
    Value *callee = b.CreateAlignedLoad(wide, field(b, offsetof(struct hd_shadowed, callee)), Align(8));
    Instruction *then = when(b.CreateICmpNE(callee, b.getInt64(0)), first);
    b.SetInsertPoint(then);
    hook(b, "enter", b.getVoidTy(), {b.CreatePtrToInt(&f, wide)});
    SmallVector<std::pair<Argument *, Value *>, 8> made;
    for (Argument &a : f.args())
      if (tainted.count(&a) && !a.use_empty())
        made.push_back({&a, load_word(b, offsetof(struct hd_shadowed, taken) + 4 * a.getArgNo())});
    for (auto &m : made) set_shadow(m.first, merge(m.second, then, first));
  }

  /* A flag of one bit, as the compiler makes them of variables that have two values, is a byte in memory. */
  void use_bytes(Function &f) {
    SmallVector<Instruction *, 16> narrow;
    for (Instruction &i : instructions(f)) {
      auto *store = dyn_cast<StoreInst>(&i);
      Type *t = store ? store->getValueOperand()->getType() : i.getType();
      if ((store || isa<LoadInst>(i)) && t->isIntegerTy() && width(t) < 64 && width(t) % 8)
        narrow.push_back(&i);
    }
    for (Instruction *i : narrow) {
      auto *store = dyn_cast<StoreInst>(i);
      Type *t = store ? store->getValueOperand()->getType() : i->getType();
      Type *whole =
          Type::getIntNTy(f.getContext(), 8 * (unsigned)layout.getTypeStoreSize(t).getKnownMinValue());
      IRBuilder<> b(i);
      if (store) {
        b.CreateAlignedStore(b.CreateZExt(store->getValueOperand(), whole), store->getPointerOperand(),
                             store->getAlign(), store->isVolatile());
      } else {
        auto *load = cast<LoadInst>(i);
        Value *v =
            b.CreateAlignedLoad(whole, load->getPointerOperand(), load->getAlign(), load->isVolatile());
        i->replaceAllUsesWith(b.CreateTrunc(v, t));
      }
      i->eraseFromParent();
    }
  }

  /* What comes after a call that may throw gets a block of its own: code is added there. pre: there are no phis of shadows yet,
   * which have no incoming values until the end. */
  static void split_after_invokes(Function &f) {
    SmallVector<InvokeInst *, 16> all;
    for (BasicBlock &block : f)
      if (auto *invoke = dyn_cast<InvokeInst>(block.getTerminator()))
        if (!invoke->getNormalDest()->getSinglePredecessor()) all.push_back(invoke);
    for (InvokeInst *i : all) SplitEdge(i->getParent(), i->getNormalDest());
  }

  bool run(Function &f) {
    function = &f;
    shadow.clear();
    tainted.clear();
    use_bytes(f);
    split_after_invokes(f);
    find_tainted(f);
    Instruction *first = gather_variables(f);
    IRBuilder<> b(&*f.getEntryBlock().getFirstInsertionPt());
    pointers = b.CreateAlloca(wide, b.getInt32(8));
    SmallVector<Instruction *, 256> all;
    SmallVector<PHINode *, 32> phis;
    ReversePostOrderTraversal<Function *> order(&f);
    for (BasicBlock *block : order)
      for (Instruction &i : *block)
        if (&i != pointers) all.push_back(&i);
    for (Instruction *i : all) {
      auto *phi = dyn_cast<PHINode>(i);
      if (!phi || !tainted.count(phi)) continue;
      Shadows s;
      for (unsigned part = 0; part < parts(phi->getType()); part++)
        s.push_back(PHINode::Create(word, phi->getNumIncomingValues(), "", phi->getIterator()));
      shadow[phi] = s;
      phis.push_back(phi);
    }
    enter(f, first);
    for (Instruction *i : all) visit(*i);
    for (PHINode *phi : phis)
      for (unsigned part = 0; part < shadow[phi].size(); part++)
        for (unsigned k = 0; k < phi->getNumIncomingValues(); k++)
          cast<PHINode>(shadow[phi][part])
              ->addIncoming(shadow_of(phi->getIncomingValue(k), part), phi->getIncomingBlock(k));
    if (pointers->use_empty()) pointers->eraseFromParent();
    return true;
  }
};

} // namespace

PreservedAnalyses SymbolicShadows::run(Module &m, ModuleAnalysisManager &) {
  static const char name[] = "heddle.symbolic_ctor";
  if (!getenv(HD_SHADOWED_ENV) || m.getFunction(name)) return PreservedAnalyses::all();
  Shadower shadower(m);
  SmallVector<Function *, 64> functions;
  for (Function &f : m)
    if (Shadower::is_shadowed(f) && f.getName() != "tsan.module_ctor") functions.push_back(&f);
  for (Function *f : functions) shadower.run(*f);
  LLVMContext &context = m.getContext();
  Function *constructor = Function::Create(FunctionType::get(Type::getVoidTy(context), false),
                                           GlobalValue::InternalLinkage, name, m);
  constructor->setDoesNotThrow();
  IRBuilder<> b(BasicBlock::Create(context, "", constructor));
  b.CreateCall(m.getOrInsertFunction("__heddle_symbolic_init", FunctionType::get(b.getVoidTy(), false)));
  b.CreateRetVoid();
  appendToGlobalCtors(m, constructor, 0);
  return PreservedAnalyses::none();
}

#else

PreservedAnalyses SymbolicShadows::run(Module &, ModuleAnalysisManager &) { return PreservedAnalyses::all(); }

#endif
