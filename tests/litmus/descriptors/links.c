// The attributes of an open file, while another thread changes its names or modes.
// expect: kind=assertion
// argv: link
// where: function=main line=@looks
// expect: kind=assertion
// argv: unlink
// where: function=main line=@looks
// expect: kind=assertion
// argv: rename
// where: function=main line=@looks
// expect: kind=assertion
// argv: mode
// where: function=main line=@looks
// expect: clean executions=20
// argv: none
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *how;
static char folder[] = "links-XXXXXX", a[40], b[40];
static int fd;

static void *changes(void *unused) {
  if (!strcmp(how, "link")) link(a, b);
  if (!strcmp(how, "unlink")) unlink(a);
  if (!strcmp(how, "rename")) rename(b, a);
  if (!strcmp(how, "mode")) fchmod(fd, 0400);
  return unused;
}

int main(int argc, char **argv) {
  struct stat st;
  pthread_t t;
  how = argc > 1 ? argv[1] : "none";
  if (!mkdtemp(folder)) return 0;
  snprintf(a, sizeof a, "%s/a", folder);
  snprintf(b, sizeof b, "%s/b", folder);
  fd = open(a, O_CREAT | O_RDWR, 0600);
  if (!strcmp(how, "rename")) close(open(b, O_CREAT | O_RDWR, 0600));
  pthread_create(&t, NULL, changes, NULL);
  fstat(fd, &st);
  pthread_join(t, NULL);
  unlink(a);
  unlink(b);
  rmdir(folder);
  assert(st.st_nlink == 1 && (st.st_mode & 0777) == 0600); /* @looks */
  return 0;
}
