/* paths.c: locates the files that belong to this `heddle`.
 *
 * Runs in the supervisor. Nothing is fixed at build time: an installation can be moved or copied as a
 * whole. root is the folder of the binary (its parent when that folder is called bin), and the library
 * folder is root/lib/heddle, in the build tree as in an installation. */
#include "session/command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *hd_libdir(void) {
  static char dir[HD_PATH_MAX];
  if (dir[0]) return dir;

  char exe[HD_PATH_MAX - 16];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (n <= 0 || n == (ssize_t)sizeof exe - 1) return NULL;
  exe[n] = '\0';

  char *slash = strrchr(exe, '/');
  if (!slash) return NULL;
  *slash = '\0'; /* "" is the root of the file system, and stays right below */
  slash = strrchr(exe, '/');
  if (slash && strcmp(slash, "/bin") == 0) *slash = '\0';
  snprintf(dir, sizeof dir, "%s/lib/heddle", exe);
  return dir;
}
