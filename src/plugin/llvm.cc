/* llvm.cc: a plug-in for clang that instruments the accesses which its ThreadSanitizer misses. Runs in clang, just
 * before ThreadSanitizer, and leaves to it whatever it can instrument itself.
 *
 * ThreadSanitizer misses:
 *  1. Accesses whose size is not 1, 2, 4, 8 or 16 bytes: long double, wide vectors, structures in registers.
 *  2. Before LLVM 21, fields and elements of local variables: it checks whether the address of the field is captured,
 *     not that of the variable (llvm pull request 132756).
 *  3. Structures that are passed in memory (byval), which the call copies.
 *  4. Masked accesses, gather and scatter.
 *  5. memcmp and other functions that the code generator or link-time optimisation expands: they get the attribute
 *     nobuiltin, so that the function of the runtime is called.
 *  6. Memory operands of inline assembly: a hook for each. Assembly that may access memory which its operands do not
 *     name is reported to the runtime as opaque, and so is the call of a naked function.
 * And pthread_barrier_wait whose result nobody uses becomes __heddle_barrier_wait.
 *
 * Where the program computes with an address, or compares two for order, a hook gets it: threads that differ in their
 * addresses only are not interchangeable then (runtime/core/family.c).
 *
 * A function with the attribute no_sanitize("thread") is instrumented too, since what it does affects other threads. Its
 * author wants no reports about it: its hooks are silent, enclosed in calls of __heddle_silence. ThreadSanitizer
 * instruments the atomic operations of such a function itself.
 *
 * A function whose name begins with __VERIFIER_atomic_ gets its atomic section early, before it is inlined.
 *
 * The plug-in creates the constructor of an object file, which calls __heddle_init in place of __tsan_init. This
 * informs the runtime that the plug-in processed the file (memory/hooks.c). */
#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>
#if LLVM_VERSION_MAJOR >= 22
#include <llvm/Plugins/PassPlugin.h>
#else
#include <llvm/Passes/PassPlugin.h>
#endif

#include "asm_text.h"
#include "library.h"
#include "llvm_facts.h"
#include "llvm_inline.h"
#include "llvm_loops.h"
#include "llvm_symbolic.h"

using namespace llvm;

namespace {

/* ---- shared memory ---- */

const AllocaInst *variable_of(const Value *address) {
  return dyn_cast<AllocaInst>(getUnderlyingObject(address));
}

bool captured(const Value *p) {
#if LLVM_VERSION_MAJOR >= 21
  return PointerMayBeCaptured(p, true);
#else
  return PointerMayBeCaptured(p, true, true);
#endif
}

bool may_be_shared(const Value *address) {
  if (address->getType()->getPointerAddressSpace() != 0) return false;
  const Value *base = getUnderlyingObject(address);
  if (auto *global = dyn_cast<GlobalVariable>(base)) return !global->isConstant() && !global->hasSection();
  auto *variable = dyn_cast<AllocaInst>(base);
  return !variable || captured(variable);
}

/* ---- calls of the runtime ---- */

uint64_t fixed(TypeSize size) {
#if LLVM_VERSION_MAJOR >= 16
  return size.getFixedValue();
#else
  return size.getFixedSize();
#endif
}

struct Hooks {
  Module &module;
  LLVMContext &context;
  const DataLayout &layout;
  bool silent = false; /* the function wants no reports */

  explicit Hooks(Module &m) : module(m), context(m.getContext()), layout(m.getDataLayout()) {}

  static Type *pointer(IRBuilder<> &b) {
#if LLVM_VERSION_MAJOR >= 17
    return b.getPtrTy();
#else
    return b.getInt8PtrTy();
#endif
  }

  void call(IRBuilder<> &b, StringRef name, ArrayRef<Value *> args) {
    SmallVector<Type *, 5> types;
    for (Value *a : args) types.push_back(a->getType());
    FunctionCallee fn = module.getOrInsertFunction(name, FunctionType::get(b.getVoidTy(), types, false));
    if (silent) silence(b, true);
    CallInst *c = b.CreateCall(fn, args);
    c->setDoesNotThrow();
    if (silent) silence(b, false);
  }

  void silence(IRBuilder<> &b, bool on) {
    FunctionCallee fn = module.getOrInsertFunction("__heddle_silence",
                                                   FunctionType::get(b.getVoidTy(), {b.getInt32Ty()}, false));
    b.CreateCall(fn, {b.getInt32(on)})->setDoesNotThrow();
  }

  void range(IRBuilder<> &b, StringRef name, Value *p, uint64_t size) {
    call(b, name, {b.CreatePointerCast(p, pointer(b)), b.getInt64(size)});
  }
};

/* ---- 1, 2: loads and stores ---- */

bool is_size_of_a_hook(uint64_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

bool is_vtable_access(const Instruction &i) {
  MDNode *tag = i.getMetadata(LLVMContext::MD_tbaa);
  return tag && tag->isTBAAVtableAccess();
}

/* A captured variable, accessed at an address that is itself not captured. */
bool passed_over(const Value *address) {
#if LLVM_VERSION_MAJOR >= 21
  (void)address;
  return false;
#else
  const AllocaInst *variable = variable_of(address);
  return variable && variable != address && captured(variable) && !captured(address);
#endif
}

void show_access(Hooks &hooks, Instruction &i) {
  auto *load = dyn_cast<LoadInst>(&i);
  auto *store = dyn_cast<StoreInst>(&i);
  if (load ? load->isAtomic() : store->isAtomic()) return;
  Value *p = load ? load->getPointerOperand() : store->getPointerOperand();
  Type *type = load ? load->getType() : store->getValueOperand()->getType();
  TypeSize store_size = hooks.layout.getTypeStoreSize(type);
  if (store_size.isScalable() || p->isSwiftError() || p->getType()->getPointerAddressSpace() != 0) return;
  uint64_t size = fixed(store_size);
  bool is_volatile = load ? load->isVolatile() : store->isVolatile();
  if (!is_size_of_a_hook(size)) {
    if (!size || !may_be_shared(p)) return;
    IRBuilder<> b(&i);
    const char *name = is_volatile ? (load ? "__heddle_volatile_read" : "__heddle_volatile_write")
                                   : (load ? "__tsan_read_range" : "__tsan_write_range");
    hooks.range(b, name, p, size);
    return;
  }
  if (hooks.silent ? !may_be_shared(p) : !passed_over(p)) return;
  IRBuilder<> b(&i);
  Value *address = b.CreatePointerCast(p, Hooks::pointer(b));
  if (is_vtable_access(i)) {
    if (load) return hooks.call(b, "__tsan_vptr_read", {address});
    Value *value = store->getValueOperand();
    if (isa<VectorType>(value->getType())) value = b.CreateExtractElement(value, b.getInt32(0));
    if (value->getType()->isIntegerTy()) value = b.CreateIntToPtr(value, Hooks::pointer(b));
    return hooks.call(b, "__tsan_vptr_update", {address, b.CreatePointerCast(value, Hooks::pointer(b))});
  }
  uint64_t alignment = load ? load->getAlign().value() : store->getAlign().value();
  bool aligned = alignment >= 8 || alignment % size == 0;
  hooks.call(b,
             (Twine("__tsan_") + (aligned ? "" : "unaligned_") + (is_volatile ? "volatile_" : "") +
              (load ? "read" : "write") + Twine(size))
                 .str(),
             {address});
}

/* ---- 4: masked accesses ---- */

/* The mask as bits of an integer: lane 0 is the lowest. */
Value *mask_bits(IRBuilder<> &b, Value *mask) {
  unsigned lanes = cast<FixedVectorType>(mask->getType())->getNumElements();
  return b.CreateZExtOrTrunc(b.CreateBitCast(mask, b.getIntNTy(lanes)), b.getInt64Ty());
}

/* The sign bits of the lanes, as in the processor's vector instructions. */
Value *sign_bits(IRBuilder<> &b, Value *mask) {
  auto *type = cast<FixedVectorType>(mask->getType());
  unsigned bits = type->getScalarSizeInBits();
  auto *integers = FixedVectorType::get(b.getIntNTy(bits), type->getNumElements());
  Value *signs = b.CreateICmpSLT(b.CreateBitCast(mask, integers), Constant::getNullValue(integers));
  return mask_bits(b, signs);
}

uint64_t lane_size(Hooks &hooks, Type *vector) {
  return fixed(hooks.layout.getTypeStoreSize(cast<FixedVectorType>(vector)->getElementType()));
}

void show_masked(Hooks &hooks, IRBuilder<> &b, Value *p, Type *vector, Value *bits, bool write) {
  if (!may_be_shared(p)) return;
  hooks.call(b, write ? "__heddle_masked_write" : "__heddle_masked_read",
             {b.CreatePointerCast(p, Hooks::pointer(b)), b.getInt64(lane_size(hooks, vector)), bits});
}

/* Each lane has an address. */
void show_lanes(Hooks &hooks, IRBuilder<> &b, Value *pointers, Type *vector, Value *bits, bool write) {
  unsigned lanes = cast<FixedVectorType>(vector)->getNumElements();
  for (unsigned i = 0; i < lanes; i++) {
    Value *p = b.CreatePointerCast(b.CreateExtractElement(pointers, b.getInt32(i)), Hooks::pointer(b));
    Value *bit = b.CreateAnd(b.CreateLShr(bits, b.getInt64(i)), b.getInt64(1));
    hooks.call(b, write ? "__heddle_masked_write" : "__heddle_masked_read",
               {p, b.getInt64(lane_size(hooks, vector)), bit});
  }
}

void show_vector_intrinsic(Hooks &hooks, IntrinsicInst &i) {
  IRBuilder<> b(&i);
  switch (i.getIntrinsicID()) {
    case Intrinsic::masked_load:
      show_masked(hooks, b, i.getArgOperand(0), i.getType(), mask_bits(b, i.getArgOperand(i.arg_size() - 2)),
                  false);
      return;
    case Intrinsic::masked_store:
      show_masked(hooks, b, i.getArgOperand(1), i.getArgOperand(0)->getType(),
                  mask_bits(b, i.getArgOperand(i.arg_size() - 1)), true);
      return;
    case Intrinsic::masked_gather:
      show_lanes(hooks, b, i.getArgOperand(0), i.getType(), mask_bits(b, i.getArgOperand(i.arg_size() - 2)),
                 false);
      return;
    case Intrinsic::masked_scatter:
      show_lanes(hooks, b, i.getArgOperand(1), i.getArgOperand(0)->getType(),
                 mask_bits(b, i.getArgOperand(i.arg_size() - 1)), true);
      return;
    case Intrinsic::masked_expandload:
    case Intrinsic::masked_compressstore: {
      /* As many consecutive lanes as bits are set. */
      bool write = i.getIntrinsicID() == Intrinsic::masked_compressstore;
      Type *vector = write ? i.getArgOperand(0)->getType() : i.getType();
      Value *bits = mask_bits(b, i.getArgOperand(write ? 2 : 1));
      Value *n = b.CreateUnaryIntrinsic(Intrinsic::ctpop, bits);
      Value *p = i.getArgOperand(write ? 1 : 0);
      if (may_be_shared(p))
        hooks.call(b, write ? "__tsan_write_range" : "__tsan_read_range",
                   {b.CreatePointerCast(p, Hooks::pointer(b)),
                    b.CreateMul(n, b.getInt64(lane_size(hooks, vector)))});
      return;
    }
    default: break;
  }
  /* The processor's own, which implement the AVX intrinsics. */
  StringRef name = i.getCalledFunction() ? i.getCalledFunction()->getName() : "";
  if (!name.consume_front("llvm.x86.")) return;
  if (name.contains(".maskload.")) {
    show_masked(hooks, b, i.getArgOperand(0), i.getType(), sign_bits(b, i.getArgOperand(1)), false);
  } else if (name.contains(".maskstore.")) {
    show_masked(hooks, b, i.getArgOperand(0), i.getArgOperand(2)->getType(), sign_bits(b, i.getArgOperand(1)),
                true);
  } else if (name.find("sse2.maskmov.dqu") == 0) {
    show_masked(hooks, b, i.getArgOperand(2), i.getArgOperand(0)->getType(), sign_bits(b, i.getArgOperand(1)),
                true);
  } else if (name.contains(".ldu.dq")) {
    if (may_be_shared(i.getArgOperand(0)))
      hooks.range(b, "__tsan_read_range", i.getArgOperand(0),
                  fixed(hooks.layout.getTypeStoreSize(i.getType())));
  } else if ((name.contains(".gather") || name.contains(".scatter")) && !name.contains("pf")) {
    hooks.call(b, "__heddle_asm_opaque", {});
  }
}

/* ---- 6: inline assembly ---- */

bool clobbers_memory(const InlineAsm::ConstraintInfoVector &constraints) {
  for (const InlineAsm::ConstraintInfo &c : constraints)
    for (const std::string &code : c.Codes)
      if (c.Type == InlineAsm::isClobber && code == "{memory}") return true;
  return false;
}

void show_asm(Hooks &hooks, CallBase &call, InlineAsm *assembly) {
  StringRef text = assembly->getAsmString();
  if (text.empty() || is_thread_text(text.str().c_str())) return; /* empty: a barrier for the compiler */
  const InlineAsm::ConstraintInfoVector constraints = assembly->ParseConstraints();
  bool clobbers = clobbers_memory(constraints), pointer = false;
  bool atomic = is_atomic_text(text.str().c_str(), clobbers);
  unsigned arg = 0;
  IRBuilder<> b(&call);
  SmallPtrSet<Value *, 4> seen;
  for (const InlineAsm::ConstraintInfo &c : constraints) {
    bool output = c.Type == InlineAsm::isOutput;
    if (c.Type != InlineAsm::isInput && !output) continue;
    if (output && !c.isIndirect) continue; /* a result */
    unsigned n = arg++;
    Value *operand = call.getArgOperand(n);
    if (!operand->getType()->isPointerTy()) continue;
    if (!c.isIndirect) {
      pointer = true;
      continue;
    }
#if LLVM_VERSION_MAJOR < 15
    Type *type = operand->getType()->getPointerElementType();
#else
    Type *type = call.getParamElementType(n);
#endif
    if (!type || !type->isSized() || !may_be_shared(operand)) continue;
    if (atomic && !seen.insert(operand).second) continue;
    uint64_t size = fixed(hooks.layout.getTypeStoreSize(type));
    hooks.range(b,
                atomic   ? "__heddle_asm_atomic"
                : output ? "__heddle_asm_write"
                         : "__heddle_asm_read",
                operand, size);
  }
  if (clobbers && pointer) hooks.call(b, "__heddle_asm_opaque", {});
}

/* ---- 3, 5: calls ---- */

/* ThreadSanitizer of LLVM 14 turns them into calls of memcpy, memmove and memset, which link-time optimisation turns
 * back into intrinsics. */
bool show_block(Hooks &hooks, IntrinsicInst &i) {
  auto *block = dyn_cast<MemIntrinsic>(&i);
  if (!block) return false;
  auto *copy = dyn_cast<MemTransferInst>(block);
  auto *set = dyn_cast<MemSetInst>(block);
  if (!may_be_shared(block->getRawDest()) && !(copy && may_be_shared(copy->getRawSource()))) return true;
  if (block->getDestAddressSpace() != 0 || (copy && copy->getSourceAddressSpace() != 0)) return true;
  IRBuilder<> b(&i);
  Value *to = b.CreatePointerCast(block->getRawDest(), Hooks::pointer(b));
  Value *size = b.CreateZExtOrTrunc(block->getLength(), b.getInt64Ty());
  if (set)
    hooks.call(b, "__tsan_memset", {to, b.CreateZExt(set->getValue(), b.getInt32Ty()), size});
  else
    hooks.call(b, isa<MemMoveInst>(block) ? "__tsan_memmove" : "__tsan_memcpy",
               {to, b.CreatePointerCast(copy->getRawSource(), Hooks::pointer(b)), size});
  i.eraseFromParent();
  return true;
}

/* Whether the call may be to a memory function of the C library, which the code generator and link-time optimisation
 * can expand. */
bool is_library_function(const CallBase &call) {
  const Function *callee = call.getCalledFunction();
  if (!callee || !callee->isDeclaration()) return false;
  for (const Use &a : call.args())
    if (a->getType()->isPointerTy()) return true;
  return false;
}

/* The callee gets a copy, so the address is not captured. The attribute must be set before any pass checks captures.
 * */
void copies_capture_nothing(Function &f) {
  for (Instruction &i : instructions(f)) {
    auto *call = dyn_cast<CallBase>(&i);
    for (unsigned n = 0; call && n < call->arg_size(); n++) {
      if (!call->isByValArgument(n)) continue;
#if LLVM_VERSION_MAJOR >= 21
      call->addParamAttr(n, Attribute::getWithCaptureInfo(f.getContext(), CaptureInfo::none()));
#else
      call->addParamAttr(n, Attribute::NoCapture);
#endif
    }
  }
}

/* Which thread gets the serial value of a barrier need not be explored where nobody uses the result. */
void show_unused(CallBase &call) {
  const Function *callee = call.getCalledFunction();
  if (!callee || !callee->isDeclaration() || callee->getName() != "pthread_barrier_wait" || !call.use_empty())
    return;
  call.setCalledFunction(
      call.getModule()->getOrInsertFunction("__heddle_barrier_wait", call.getFunctionType()));
}

void show_call(Hooks &hooks, CallBase &call) {
  if (auto *assembly = dyn_cast<InlineAsm>(call.getCalledOperand())) return show_asm(hooks, call, assembly);
  if (auto *intrinsic = dyn_cast<IntrinsicInst>(&call)) {
    if (!show_block(hooks, *intrinsic)) show_vector_intrinsic(hooks, *intrinsic);
    return;
  }
  const Function *callee = call.getCalledFunction();
  if (callee && callee->hasFnAttribute(Attribute::Naked)) {
    IRBuilder<> b(&call);
    hooks.call(b, "__heddle_asm_opaque", {});
  }
  if (is_library_function(call)) call.addFnAttr(Attribute::NoBuiltin);
  show_unused(call);
  for (unsigned i = 0; i < call.arg_size(); i++) {
    if (!call.isByValArgument(i)) continue;
    Value *p = call.getArgOperand(i);
    uint64_t size = fixed(hooks.layout.getTypeAllocSize(call.getParamByValType(i)));
    if (!size || !may_be_shared(p)) continue;
    IRBuilder<> b(&call);
    hooks.range(b, "__tsan_read_range", p, size);
  }
}

/* ---- addresses ---- */

/* Whether both point into one object, as far as the function shows. */
bool same_object(Value *p, Value *q) {
  SmallPtrSet<Value *, 8> bases[2];
  Value *from[2] = {p, q};
  for (unsigned side = 0; side < 2; side++) {
    SmallVector<Value *, 8> todo = {from[side]};
    SmallPtrSet<Value *, 16> seen;
    while (!todo.empty() && seen.size() < 32) {
      Value *v = todo.pop_back_val()->stripPointerCasts();
      if (!seen.insert(v).second) continue;
      bases[side].insert(v);
      if (auto *element = dyn_cast<GetElementPtrInst>(v)) todo.push_back(element->getPointerOperand());
      if (auto *phi = dyn_cast<PHINode>(v)) todo.append(phi->op_begin(), phi->op_end());
    }
  }
  for (Value *v : bases[0])
    if (!isa<Constant>(v) && bases[1].count(v)) return true;
  return false;
}

/* The pointer, also where it is used as a number; null: it is none. */
Value *pointer_of(Value *v) {
  if (v->getType()->isPointerTy()) return v;
  auto *number = dyn_cast<PtrToIntInst>(v);
  return number ? number->getPointerOperand() : nullptr;
}

/* A use of an address as a number that is the same wherever a thread's memory lies: an equality, an offset within the
 * page, a difference of pointers; or one that is a matter of representation. Differences of the language are divided
 * by the size of an element. */
bool is_neutral(const User *user, const PtrToIntInst *number) {
  if (isa<IntToPtrInst>(user)) return true;
  if (auto *store = dyn_cast<StoreInst>(user)) return store->isAtomic();
  if (isa<AtomicRMWInst>(user) || isa<AtomicCmpXchgInst>(user)) return true;
  if (auto *compare = dyn_cast<ICmpInst>(user))
    return compare->isEquality() ||
           (pointer_of(compare->getOperand(0)) && pointer_of(compare->getOperand(1)));
  if (auto *narrow = dyn_cast<TruncInst>(user)) return narrow->getType()->getIntegerBitWidth() <= 12;
  auto *op = dyn_cast<BinaryOperator>(user);
  if (!op) return false;
  Value *other = op->getOperand(op->getOperand(0) == number);
  if (op->getOpcode() == Instruction::And) {
    auto *mask = dyn_cast<ConstantInt>(other);
    return mask && mask->getValue().ult(4096);
  }
  if (op->getOpcode() == Instruction::URem) {
    auto *alignment = dyn_cast<ConstantInt>(other);
    return alignment && alignment->getValue().isPowerOf2() && alignment->getValue().ule(4096);
  }
  auto *minus = dyn_cast<PtrToIntInst>(other);
  if (op->getOpcode() != Instruction::Sub || !minus) return false;
  if (same_object(const_cast<PtrToIntInst *>(number)->getPointerOperand(), minus->getPointerOperand()))
    return true;
  for (const User *u : op->users()) {
    auto *scaled = dyn_cast<PossiblyExactOperator>(u);
    if (!scaled || !scaled->isExact()) return false;
  }
  return true;
}

/* An integer that is loaded from a local variable in which a pointer was stored (a union). */
bool is_punned(const LoadInst &load) {
  if (!load.getType()->isIntegerTy(64)) return false;
  const AllocaInst *variable = variable_of(load.getPointerOperand());
  if (!variable) return false;
  if (variable->getAllocatedType()->isPointerTy()) return true;
  SmallVector<const User *, 8> todo(variable->user_begin(), variable->user_end());
  for (unsigned i = 0; i < todo.size() && i < 64; i++) {
    if (auto *store = dyn_cast<StoreInst>(todo[i])) {
      if (store->getValueOperand()->getType()->isPointerTy() &&
          variable_of(store->getPointerOperand()) == variable)
        return true;
    } else if (isa<GetElementPtrInst>(todo[i]) || isa<BitCastInst>(todo[i])) {
      todo.append(todo[i]->user_begin(), todo[i]->user_end());
    }
  }
  return false;
}

/* A copy of a pointer variable into one of another type. */
bool is_punned(const MemTransferInst &copy) {
  auto *size = dyn_cast<ConstantInt>(copy.getLength());
  const AllocaInst *from = variable_of(copy.getRawSource()), *to = variable_of(copy.getRawDest());
  return size && size->equalsInt(8) && from && to && from->getAllocatedType()->isPointerTy() &&
         !to->getAllocatedType()->isPointerTy();
}

void show_address(Hooks &hooks, Instruction &i) {
  static const char one[] = "__heddle_address";
  if (auto *number = dyn_cast<PtrToIntInst>(&i)) {
    IRBuilder<> b(&i);
    if (isa<Constant>(number->getPointerOperand()) || number->getType()->isVectorTy()) return;
    for (const User *user : number->users())
      if (!is_neutral(user, number))
        return hooks.call(b, one, {b.CreatePointerCast(number->getPointerOperand(), Hooks::pointer(b))});
  } else if (auto *compare = dyn_cast<ICmpInst>(&i)) {
    Value *p = pointer_of(compare->getOperand(0)), *q = pointer_of(compare->getOperand(1));
    if (!compare->isRelational() || !p || !q || same_object(p, q)) return;
    IRBuilder<> b(&i);
    hooks.call(b, "__heddle_addresses",
               {b.CreatePointerCast(p, Hooks::pointer(b)), b.CreatePointerCast(q, Hooks::pointer(b))});
  } else if (auto *load = dyn_cast<LoadInst>(&i)) {
    if (!is_punned(*load)) return;
    IRBuilder<> b(i.getNextNode());
    hooks.call(b, one, {b.CreateIntToPtr(&i, Hooks::pointer(b))});
  } else if (auto *copy = dyn_cast<MemTransferInst>(&i)) {
    if (!is_punned(*copy)) return;
    IRBuilder<> b(&i);
    auto *from = const_cast<AllocaInst *>(variable_of(copy->getRawSource()));
    hooks.call(b, one,
               {b.CreatePointerCast(b.CreateLoad(from->getAllocatedType(), from), Hooks::pointer(b))});
  }
}

#if LLVM_VERSION_MAJOR < 15
/* The number of a thread-local variable is a constant there. */
void show_constant(Hooks &hooks, Instruction &i) {
  for (const Use &u : i.operands()) {
    auto *number = dyn_cast<ConstantExpr>(u);
    if (!number || number->getOpcode() != Instruction::PtrToInt) continue;
    auto *variable = dyn_cast<GlobalVariable>(getUnderlyingObject(number->getOperand(0)));
    if (!variable || !variable->isThreadLocal()) continue;
    IRBuilder<> b(isa<PHINode>(i) ? &*i.getParent()->getFirstInsertionPt() : &i);
    hooks.call(b, "__heddle_address", {b.CreatePointerCast(variable, Hooks::pointer(b))});
  }
}
#else
void show_constant(Hooks &, Instruction &) {}
#endif

void show_addresses(Hooks &hooks, Function &f) {
  SmallVector<Instruction *, 16> uses;
  for (Instruction &i : instructions(f)) show_constant(hooks, i);
  for (Instruction &i : instructions(f))
    if (isa<PtrToIntInst>(i) || isa<ICmpInst>(i) || isa<LoadInst>(i) || isa<MemTransferInst>(i))
      uses.push_back(&i);
  for (Instruction *i : uses) show_address(hooks, *i);
}

/* ---- the passes ---- */

/* A naked function has no frame, and nothing but assembly. */
bool instrumented(const Function &f) { return !f.isDeclaration() && !f.hasFnAttribute(Attribute::Naked); }

struct ShowAccesses : PassInfoMixin<ShowAccesses> {
  PreservedAnalyses run(Module &m, ModuleAnalysisManager &) {
    static const char name[] = "tsan.module_ctor"; /* ThreadSanitizer uses an existing one */
    if (m.getFunction(name)) return PreservedAnalyses::all();
    Hooks hooks(m);
    for (Function &f : m) {
      if (!instrumented(f)) continue;
      hooks.silent = !f.hasFnAttribute(Attribute::SanitizeThread);
      f.removeFnAttr(Attribute::DisableSanitizerInstrumentation); /* of its atomic operations */
      copies_capture_nothing(f);
      show_addresses(hooks, f);
      SmallVector<Instruction *, 64> accesses;
      for (Instruction &i : instructions(f))
        if ((isa<LoadInst>(i) || isa<StoreInst>(i) || isa<CallBase>(i)) && !i.getMetadata("nosanitize"))
          accesses.push_back(&i);
      for (Instruction *i : accesses) {
        if (auto *call = dyn_cast<CallBase>(i))
          show_call(hooks, *call);
        else
          show_access(hooks, *i);
      }
    }
    hooks.silent = false;
    Function *constructor = Function::Create(FunctionType::get(Type::getVoidTy(hooks.context), false),
                                             GlobalValue::InternalLinkage, name, m);
    constructor->setDoesNotThrow();
    IRBuilder<> b(BasicBlock::Create(hooks.context, "", constructor));
    hooks.call(b, "__heddle_init", {});
    b.CreateRetVoid();
    appendToGlobalCtors(m, constructor, 0);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

struct AtomicByName : PassInfoMixin<AtomicByName> {
  PreservedAnalyses run(Module &m, ModuleAnalysisManager &) {
    Hooks hooks(m);
    bool changed = false;
    for (Function &f : m) {
      StringRef name = f.getName();
      if (!instrumented(f) || !name.consume_front("__VERIFIER_atomic_") || name == "begin" || name == "end")
        continue;
      for (BasicBlock &block : f) {
        Instruction *end = block.getTerminator();
        if (!isa<ReturnInst>(end) && !isa<ResumeInst>(end)) continue;
        IRBuilder<> b(end);
        hooks.call(b, "hd_rt_atomic_end", {});
      }
      IRBuilder<> b(&*f.getEntryBlock().getFirstInsertionPt());
      if (DISubprogram *where = f.getSubprogram())
        b.SetCurrentDebugLocation(DILocation::get(hooks.context, where->getScopeLine(), 0, where));
      hooks.call(b, "hd_rt_atomic_begin", {});
      changed = true;
    }
    return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

/* The C++ library looks 16 times before it waits for an atomic variable (bits/atomic_wait.h). When another thread runs between
 * two of them makes no difference but to the count: it looks once. */
struct LookOnce : PassInfoMixin<LookOnce> {
  PreservedAnalyses run(Module &m, ModuleAnalysisManager &) {
    bool changed = false;
    for (Function &f : m) {
      if (!instrumented(f) || f.getName().find(HD_LIBRARY_SPINS) != 0) continue;
      for (Instruction &i : instructions(f)) {
        auto *compare = dyn_cast<ICmpInst>(&i);
        auto *limit = compare ? dyn_cast<ConstantInt>(compare->getOperand(1)) : nullptr;
        if (!limit || compare->getPredicate() != CmpInst::ICMP_SLT ||
            limit->getZExtValue() != HD_LIBRARY_ROUNDS)
          continue;
        compare->setOperand(1, ConstantInt::get(limit->getType(), 1));
        changed = true;
      }
    }
    return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "heddle", "1", [](PassBuilder &builder) {
            builder.registerPipelineStartEPCallback(
                [&builder](ModulePassManager &passes, OptimizationLevel level) {
                  passes.addPass(KeepBitcode());
                  passes.addPass(AtomicByName());
                  passes.addPass(LookOnce());
                  bool optimizes = level != OptimizationLevel::O0;
                  if (optimizes) passes.addPass(createModuleToFunctionPassAdaptor(MarkLoops()));
                  /* Registered here, it comes after ThreadSanitizer, which clang registers in between. */
                  builder.registerOptimizerLastEPCallback([optimizes](ModulePassManager &last, auto...) {
                    last.addPass(SymbolicShadows());
                    if (!optimizes) return;
                    last.addPass(InlineChecks());
                    last.addPass(createModuleToFunctionPassAdaptor(MarkLoops()));
                  });
                });
            builder.registerPeepholeEPCallback(
                [](FunctionPassManager &passes, auto...) { passes.addPass(MarkLoops()); });
            builder.registerOptimizerLastEPCallback([](ModulePassManager &passes, auto...) {
              passes.addPass(UnmarkLoops());
              passes.addPass(ShowAccesses());
            });
          }};
}
