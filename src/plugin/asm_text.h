/* asm_text.h: what the text of inline assembly says about its memory operands. Runs in both compilers. */
#ifndef HD_PLUGIN_ASM_TEXT_H
#define HD_PLUGIN_ASM_TEXT_H

#include <string.h>

static inline bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The word may have the suffix of a size. */
static inline bool has_word(const char *text, const char *word) {
  size_t n = strlen(word);
  for (const char *at = text; (at = strstr(at, word)); at++)
    if ((at == text || !is_alphanumeric(at[-1])) &&
        (!is_alphanumeric(at[n]) || at[n] == 'b' || at[n] == 'w' || at[n] == 'l' || at[n] == 'q'))
      return true;
  return false;
}

static inline bool is_one_move(const char *text) {
  text += strspn(text, " \t\n");
  return !strncmp(text, "mov", 3) && !strpbrk(text, ";\n");
}

/* Its memory operand is relative to the thread pointer: the address alone is not what it accesses. */
static inline bool is_thread_text(const char *text) { return strstr(text, "%fs:") || strstr(text, "%gs:"); }

/* A locked instruction; an exchange with memory is locked even without the prefix. One move that clobbers memory is how a
 * load that acquires, or a store that releases, is written by hand. */
static inline bool is_atomic_text(const char *text, bool clobbers_memory) {
  return has_word(text, "lock") || has_word(text, "xchg") || (clobbers_memory && is_one_move(text));
}

#endif
