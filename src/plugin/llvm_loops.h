/* llvm_loops.h: the part of the plug-in for clang that keeps waiting loops as they are in the source. */
#ifndef HD_PLUGIN_LLVM_LOOPS_H
#define HD_PLUGIN_LLVM_LOOPS_H

#include <llvm/IR/PassManager.h>

/* Marks the blocks of loops that may wait, and removes the marks of others. */
struct MarkLoops : llvm::PassInfoMixin<MarkLoops> {
  llvm::PreservedAnalyses run(llvm::Function &f, llvm::FunctionAnalysisManager &);
  static bool isRequired() { return true; }
};

/* Removes all marks. */
struct UnmarkLoops : llvm::PassInfoMixin<UnmarkLoops> {
  llvm::PreservedAnalyses run(llvm::Module &m, llvm::ModuleAnalysisManager &);
  static bool isRequired() { return true; }
};

#endif
