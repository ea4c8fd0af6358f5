/* llvm_loops.cc: keeps loops that may wait as they are in the source. Runs in clang, among the optimisations.
 *
 * LLVM duplicates the head of a loop (rotation), its first rounds (peeling), or parts of it (jump threading). Where the
 * copies read what the loop waits for, the first round is not like those that follow, for the runtime
 * (runtime/core/spin.c) and so for the search: more classes than the source has. Convergent code is not duplicated in
 * these ways, but may be inlined. So blocks of a loop that may wait get some: assembly without instructions. It is
 * removed while accesses are instrumented, and comes back for the code generator, which duplicates the ends of blocks.
 *
 * A loop may wait if it has an atomic or volatile access, or a call that may access memory of others. As long as
 * functions are not inlined, that is nearly every call; once they are, the marks of loops that only compute are
 * removed. */
#include "llvm_loops.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

using namespace llvm;

namespace {

const char mark_text[] = "# heddle: a loop that may wait";

bool is_mark(const Instruction &i) {
  auto *call = dyn_cast<CallBase>(&i);
  auto *assembly = call ? dyn_cast<InlineAsm>(call->getCalledOperand()) : nullptr;
  return assembly && assembly->getAsmString() == mark_text;
}

void mark(BasicBlock &block) {
  LLVMContext &context = block.getContext();
  InlineAsm *text = InlineAsm::get(FunctionType::get(Type::getVoidTy(context), false), mark_text, "", true);
  IRBuilder<> b(&*block.getFirstInsertionPt());
  CallInst *call = b.CreateCall(text, {});
  call->addFnAttr(Attribute::Convergent);
  call->addFnAttr(Attribute::NoUnwind);
  call->addFnAttr(Attribute::WillReturn);
  call->setOnlyAccessesInaccessibleMemory();
}

/* A hook of something else than an atomic or volatile access. */
bool is_hook(const CallBase &call) {
  const Function *callee = call.getCalledFunction();
  StringRef name = callee ? callee->getName() : "";
  if (name.consume_front("__heddle_")) return true;
  return name.consume_front("__tsan_") && !name.consume_front("atomic") && !name.consume_front("volatile");
}

/* Whether a loop may wait by it. */
bool synchronizes(const Instruction &i) {
  if (i.isAtomic() || i.isVolatile()) return true;
  auto *call = dyn_cast<CallBase>(&i);
  return call && !isa<IntrinsicInst>(call) && !call->onlyAccessesInaccessibleMemory() &&
         call->mayReadOrWriteMemory() && !call->hasFnAttr(Attribute::NoSync) && !is_hook(*call);
}

bool unmark(Function &f, function_ref<bool(const BasicBlock &)> keep) {
  SmallVector<Instruction *, 8> marks;
  for (Instruction &i : instructions(f))
    if (is_mark(i) && !keep(*i.getParent())) marks.push_back(&i);
  for (Instruction *i : marks) i->eraseFromParent();
  return !marks.empty();
}

} // namespace

PreservedAnalyses MarkLoops::run(Function &f, FunctionAnalysisManager &) {
  if (f.hasFnAttribute(Attribute::OptimizeNone)) return PreservedAnalyses::all();
  DominatorTree dominators(f);
  LoopInfo loops(dominators);
  SmallPtrSet<const BasicBlock *, 16> wanted;
  for (Loop *loop : loops.getLoopsInPreorder()) {
    for (BasicBlock *block : loop->blocks())
      if (any_of(*block, synchronizes)) {
        wanted.insert(block);
        wanted.insert(loop->getHeader());
      }
  }
  bool changed = unmark(f, [&](const BasicBlock &block) { return wanted.count(&block); });
  for (BasicBlock &block : f)
    if (wanted.count(&block) && none_of(block, is_mark) && block.getFirstInsertionPt() != block.end()) {
      mark(block);
      changed = true;
    }
  if (!changed) return PreservedAnalyses::all();
  PreservedAnalyses kept;
  kept.preserveSet<CFGAnalyses>();
  return kept;
}

PreservedAnalyses UnmarkLoops::run(Module &m, ModuleAnalysisManager &) {
  bool changed = false;
  for (Function &f : m) changed |= unmark(f, [](const BasicBlock &) { return false; });
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}
