/* llvm_facts.h: the part of the plug-in for clang that keeps the bitcode of a unit. */
#ifndef HD_PLUGIN_LLVM_FACTS_H
#define HD_PLUGIN_LLVM_FACTS_H

#include <llvm/IR/PassManager.h>

/* Embeds the unit's bitcode in the object, if `heddle cc --facts` asked for it. */
struct KeepBitcode : llvm::PassInfoMixin<KeepBitcode> {
  llvm::PreservedAnalyses run(llvm::Module &m, llvm::ModuleAnalysisManager &);
  static bool isRequired() { return true; }
};

#endif
