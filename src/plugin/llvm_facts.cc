/* llvm_facts.cc: keeps the bitcode of a unit in its object, for src/static. Runs in clang.
 *
 * It is the bitcode of the front end: the pass comes first of all. The section is one of our own. Objects with the
 * compiler's section for that (-fembed-bitcode) are taken for link-time optimisation by ar and ld, which load a plug-in of
 * whatever LLVM is the system's. */
#include "llvm_facts.h"

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <cstdlib>
#include <string>

#include "abi/facts.h"

using namespace llvm;

PreservedAnalyses KeepBitcode::run(Module &m, ModuleAnalysisManager &) {
  if (!getenv(HD_FACTS_ENV)) return PreservedAnalyses::all();
  std::string bytes;
  {
    raw_string_ostream out(bytes);
    WriteBitcodeToFile(m, out);
  }
  Constant *data = ConstantDataArray::getString(m.getContext(), bytes, false);
  auto *g = new GlobalVariable(m, data->getType(), true, GlobalValue::PrivateLinkage, data, "heddle.facts");
  g->setSection(HD_FACTS_SECTION);
  g->setAlignment(Align(4));
  appendToUsed(m, {g}); /* also with -Wl,--gc-sections */
  return PreservedAnalyses::none();
}
