/* llvm_symbolic.h: the part of the plug-in for clang that adds symbolic shadows. */
#ifndef HD_PLUGIN_LLVM_SYMBOLIC_H
#define HD_PLUGIN_LLVM_SYMBOLIC_H

#include <llvm/IR/PassManager.h>

/* Adds shadows to every function, if `heddle cc --symbolic` asked for it. After ThreadSanitizer. */
struct SymbolicShadows : llvm::PassInfoMixin<SymbolicShadows> {
  llvm::PreservedAnalyses run(llvm::Module &m, llvm::ModuleAnalysisManager &);
  static bool isRequired() { return true; }
};

#endif
