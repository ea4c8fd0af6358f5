/* trivial.c: what `heddle check` costs when the program does nothing. */
int main(void) { return 0; }
