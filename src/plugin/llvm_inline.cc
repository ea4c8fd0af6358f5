/* llvm_inline.cc: the fast path of a hook, inlined into the program. Runs in clang, after ThreadSanitizer.
 *
 * A call of __tsan_read4(p) becomes
 *
 *     tag = the running thread's;
 *     if (tag && the cell of p does not have this access) __tsan_read4(p);
 *
 * The test is the one at the beginning of the hook (runtime/memory/hooks.c), so a call that is left out would have
 * returned at once. Everything else still happens in the hook, with the caller's registers and stack as they are at any
 * call: what recognises waiting loops and compares states looks at them.
 *
 * The tag is tested first since there is no shadow memory while the program is not under control. The code is position
 * independent, and refers to one symbol of the runtime (abi/inline.h). */
#include "llvm_inline.h"

#include <llvm/ADT/StringSwitch.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/KnownBits.h>

#include "abi/inline.h"

using namespace llvm;

namespace {

/* StringRef::startswith has another name since LLVM 18. */
bool begins(StringRef name, StringRef prefix) { return name.consume_front(prefix); }

/* A hook that has a fast path. */
struct Hook {
  unsigned size; /* 0: none */
  bool write;
  bool updated = false; /* a read of what the same basic block writes after it */
};

Hook hook_of(StringRef name) {
  if (!name.consume_front("__tsan_")) return {0, false};
  bool write = name.consume_front("write");
  if (!write && !name.consume_front("read")) return {0, false};
  return {
      StringSwitch<unsigned>(name).Case("1", 1).Case("2", 2).Case("4", 4).Case("8", 8).Case("16", 16).Default(
          0),
      write};
}

struct Inliner {
  Module &module;
  LLVMContext &context;
  const DataLayout &layout;
  Constant *tag_address;
  MDNode *likely, *unlikely;

  explicit Inliner(Module &m) : module(m), context(m.getContext()), layout(m.getDataLayout()) {
    Type *byte = Type::getInt8Ty(context);
    Constant *hot = m.getOrInsertGlobal(HD_INLINE_SYMBOL, byte);
    Constant *at =
        ConstantExpr::getGetElementPtr(byte, hot, ConstantInt::get(Type::getInt64Ty(context), HD_INLINE_TAG));
    tag_address = ConstantExpr::getPointerCast(at, word_pointer());
    MDBuilder weights(context);
    likely = weights.createBranchWeights(1 << 20, 1);
    unlikely = weights.createBranchWeights(1, 1 << 20);
  }

  PointerType *word_pointer() {
#if LLVM_VERSION_MAJOR >= 17
    return PointerType::get(context, 0);
#else
    return Type::getInt64PtrTy(context);
#endif
  }

  Value *load_word(IRBuilder<> &b, Value *cell, unsigned offset) {
    Value *at = b.CreateIntToPtr(b.CreateAdd(cell, b.getInt64(HD_SHADOW_BASE + offset)), word_pointer());
    return b.CreateAlignedLoad(b.getInt64Ty(), at, Align(8));
  }

  /* The bits of the bytes, where they depend on the address. */
  Value *mask(IRBuilder<> &b, Value *address, Value *p, unsigned size) {
    uint64_t bytes = (1u << size) - 1;
    if (size >= 8) return b.getInt64(0xff);
    KnownBits known = computeKnownBits(p, layout);
    if (known.getBitWidth() >= 3 && ((known.Zero | known.One).getLoBits(3).getZExtValue() & 7) == 7)
      return b.getInt64((bytes << (known.One.getZExtValue() & 7)) & 0xff);
    if (size == 4)
      return b.CreateSelect(b.CreateICmpEQ(b.CreateAnd(address, b.getInt64(4)), b.getInt64(0)),
                            b.getInt64(0x0f), b.getInt64(0xf0));
    return b.CreateShl(b.getInt64(bytes), b.CreateAnd(address, b.getInt64(7)));
  }

  /* Leaves `from` for `hit` if the word has the access, else for a new block, which is returned. */
  BasicBlock *test(BasicBlock *from, Value *cell, unsigned offset, Value *care, Value *wanted,
                   BasicBlock *hit, BasicBlock *miss, MDNode *weights) {
    IRBuilder<> b(from);
    Value *word = load_word(b, cell, offset);
    if (care) word = b.CreateAnd(word, care);
    b.CreateCondBr(b.CreateICmpEQ(word, wanted), hit, miss, weights);
    return miss;
  }

  BasicBlock *block_before(BasicBlock *b) { return BasicBlock::Create(context, "", b->getParent(), b); }

  void inline_hook(CallInst *call, Hook hook) {
    BasicBlock *head = call->getParent();
    BasicBlock *tail = head->splitBasicBlock(call->getNextNode());
    BasicBlock *miss = head->splitBasicBlock(call);
    BasicBlock *active = block_before(miss);
    head->getTerminator()->eraseFromParent();
    call->addFnAttr(Attribute::NoMerge); /* its address says which access it is */
    IRBuilder<> b(head);
    b.SetCurrentDebugLocation(call->getDebugLoc());
    Value *tag = b.CreateAlignedLoad(b.getInt64Ty(), tag_address, Align(8));
    b.CreateCondBr(b.CreateICmpNE(tag, b.getInt64(0)), active, tail, likely);

    b.SetInsertPoint(active);
    Value *p = call->getArgOperand(0);
    Value *address = b.CreatePtrToInt(p, b.getInt64Ty());
    const uint64_t offsets = ((1ull << HD_SHADOW_BITS) - 8) << (HD_CELL_SHIFT - 3);
    Value *cell = b.CreateAnd(b.CreateShl(address, HD_CELL_SHIFT - 3), b.getInt64(offsets));
    Value *bits = mask(b, address, p, hook.size);
    Value *care = hook.size >= 8 ? nullptr : b.CreateOr(bits, b.getInt64(~0xffull));
    Value *wanted = b.CreateOr(tag, bits);
    BasicBlock *at = active;
    if (hook.size == 16) {
      BasicBlock *second = block_before(miss);
      if (hook.write) {
        at = test(at, cell, HD_CELL_WRITE, nullptr, wanted, second, miss, likely);
      } else {
        BasicBlock *or_written = block_before(miss);
        at = test(at, cell, HD_CELL_READ, nullptr, wanted, second, or_written, nullptr);
        test(at, cell, HD_CELL_WRITE, nullptr, wanted, second, miss, likely);
      }
      at = second;
      b.SetInsertPoint(at);
      cell = b.CreateAdd(cell, b.getInt64(1 << HD_CELL_SHIFT));
    }
    /* Of what the thread itself has written in this segment, the write is known, and no read. */
    if (hook.updated) {
      at = test(at, cell, HD_CELL_WRITE, care, wanted, tail, block_before(miss), likely);
      test(at, cell, HD_CELL_READ, care, wanted, tail, miss, likely);
      return;
    }
    if (!hook.write) at = test(at, cell, HD_CELL_READ, care, wanted, tail, block_before(miss), nullptr);
    test(at, cell, HD_CELL_WRITE, care, wanted, tail, miss, likely);
  }

  /* An alloca in the entry block would become dynamic if the block were split before it. */
  static void gather_variables(Function &f) {
    BasicBlock &entry = f.getEntryBlock();
    Instruction *first = &*entry.getFirstInsertionPt();
    SmallVector<AllocaInst *, 16> variables;
    for (Instruction &i : entry)
      if (auto *a = dyn_cast<AllocaInst>(&i))
        if (isa<ConstantInt>(a->getArraySize()) && a != first) variables.push_back(a);
    for (AllocaInst *a : variables) a->moveBefore(first);
  }

  static bool same_address(CallInst *a, CallInst *b) {
    return a->getArgOperand(0)->stripPointerCasts() == b->getArgOperand(0)->stripPointerCasts();
  }

  /* Whether a loop may wait by an atomic or volatile access. LLVM has peeled the first round of such a loop, and the code
   * generator puts the two calls together again, as long as nothing is in its way: then the round is one for the runtime,
   * too, and not a step of its own. */
  static bool may_wait(Function &f) {
    DominatorTree dominators(f);
    LoopInfo loops(dominators);
    for (Instruction &i : instructions(f)) {
      auto *call = dyn_cast<CallInst>(&i);
      const Function *callee = call ? call->getCalledFunction() : nullptr;
      if (!callee || !loops.getLoopFor(i.getParent())) continue;
      StringRef name = callee->getName();
      if (begins(name, "__tsan_atomic") || begins(name, "__tsan_volatile")) return true;
    }
    return false;
  }

  bool run(Function &f) {
    if (may_wait(f)) return false;
    SmallVector<std::pair<CallInst *, Hook>, 64> calls;
    for (Instruction &i : instructions(f)) {
      auto *call = dyn_cast<CallInst>(&i);
      const Function *callee = call ? call->getCalledFunction() : nullptr;
      if (!callee || !callee->isDeclaration()) continue;
      Hook hook = hook_of(callee->getName());
      if (!hook.size) continue;
      if (hook.write)
        for (auto c = calls.rbegin(); c != calls.rend() && c->first->getParent() == call->getParent(); c++)
          c->second.updated |=
              !c->second.write && c->second.size == hook.size && same_address(c->first, call);
      calls.push_back({call, hook});
    }
    if (calls.empty()) return false;
    gather_variables(f);
    for (auto &c : calls) inline_hook(c.first, c.second);
    return true;
  }
};

} // namespace

PreservedAnalyses InlineChecks::run(Module &m, ModuleAnalysisManager &) {
  /* Hooks are called without a detour through the procedure linkage table, like everything else (-fno-plt). Not those that
   * a loop waits by: LLVM peels its first round, and the code generator puts the two calls together again only if they
   * are the same instruction. */
  for (Function &f : m) {
    StringRef name = f.getName();
    if (f.isDeclaration() && (begins(name, "__tsan_") || begins(name, "__heddle_")) &&
        !begins(name, "__tsan_atomic") && !begins(name, "__tsan_volatile"))
      f.addFnAttr(Attribute::NonLazyBind);
  }
  Inliner inliner(m);
  bool changed = false;
  for (Function &f : m)
    if (!f.isDeclaration() && !f.hasFnAttribute(Attribute::Naked) &&
        !f.hasFnAttribute(Attribute::OptimizeNone) && !f.hasMinSize())
      changed |= inliner.run(f);
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}
