/* llvm_inline.h: the part of the plug-in for clang that comes after ThreadSanitizer. */
#ifndef HD_PLUGIN_LLVM_INLINE_H
#define HD_PLUGIN_LLVM_INLINE_H

#include <llvm/IR/PassManager.h>

/* Replaces calls of hooks by an inline test and a call where that fails. */
struct InlineChecks : llvm::PassInfoMixin<InlineChecks> {
  llvm::PreservedAnalyses run(llvm::Module &m, llvm::ModuleAnalysisManager &);
  static bool isRequired() { return true; }
};

#endif
