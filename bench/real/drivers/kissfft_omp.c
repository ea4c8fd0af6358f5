/* KISS FFT with OpenMP: a transform of 2 * 4 points in a team of two; forth and back gives what it was. */
#include <kiss_fft.h>
#include <math.h>
#include <omp.h>

int main(void) {
  kiss_fft_cpx in[8], there[8], back[8];
  kiss_fft_cfg forth = kiss_fft_alloc(8, 0, NULL, NULL), home = kiss_fft_alloc(8, 1, NULL, NULL);
  omp_set_num_threads(2);
  for (int i = 0; i < 8; i++) in[i].r = (float)i, in[i].i = 0;
  kiss_fft(forth, in, there);
  kiss_fft(home, there, back);
  for (int i = 0; i < 8; i++)
    if (fabsf(back[i].r / 8 - (float)i) > 1e-3f) return 1;
  kiss_fft_free(forth);
  kiss_fft_free(home);
  return 0;
}
