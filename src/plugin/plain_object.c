/* plain_object.c: informs the runtime that the module has object files without instrumentation. `heddle cc` links it into
 * the tested program then; elsewhere it does nothing. */
extern void __heddle_plain_object(void (*within)(void)) __attribute__((weak));

__attribute__((constructor)) static void inform(void) {
  if (__heddle_plain_object) __heddle_plain_object(inform);
}
