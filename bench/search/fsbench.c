/* fsbench.c THREADS: the file system. Each thread takes the lock of its own inode and, if the inode has no
 * block yet, looks for a free one under the blocks' locks. 13 threads have a block of their own to begin at;
 * each thread beyond that meets one other there: 2^(THREADS-13) executions, for 13 < THREADS <= 26. Flanagan
 * and Godefroid (POPL 2005), and `filesystem` in later DPOR papers; Yang (2009), table 6.1.
 *
 * count: 13 strategy=optimal executions=1
 * count: 14 strategy=optimal executions=2
 * count: 16 strategy=optimal executions=8
 * count: 18 strategy=optimal executions=32
 * count: 19 strategy=optimal executions=64
 * count: 22 strategy=optimal executions=512
 * count: 26 strategy=optimal executions=8192
 * clean: 14 */
#include "sizes.h"

enum { INODES = 32, BLOCKS = 26 };

static pthread_mutex_t locki[INODES], lockb[BLOCKS];
static int inode[INODES], busy[BLOCKS];

static void *allocate(void *arg) {
  int i = (int)(intptr_t)arg % INODES;
  pthread_mutex_lock(&locki[i]);
  for (int b = i * 2 % BLOCKS; !inode[i]; b = (b + 1) % BLOCKS) {
    pthread_mutex_lock(&lockb[b]);
    if (!busy[b]) {
      busy[b] = 1;
      inode[i] = b + 1;
    }
    pthread_mutex_unlock(&lockb[b]);
  }
  pthread_mutex_unlock(&locki[i]);
  return 0;
}

MAIN {
  int n = SIZE(1, 14);
  for (int i = 0; i < INODES; i++) pthread_mutex_init(&locki[i], 0);
  for (int i = 0; i < BLOCKS; i++) pthread_mutex_init(&lockb[i], 0);
  for (int i = 0; i < n; i++) start(allocate, i);
  join_all();
  return 0;
}
