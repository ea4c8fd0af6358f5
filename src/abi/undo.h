/* undo.h: an undo log of the tested process's changes to the file system.
 *
 * Before a system call changes something, the runtime appends a record that undoes it. At a restart it undoes all
 * changes, last first; if the process has died, the supervisor does so. The log lies in an area of the shared file. */
#ifndef HD_UNDO_H
#define HD_UNDO_H

#include <stdint.h>
#include <sys/stat.h>

enum hd_undo_kind {
  HD_UNDO_REMOVE = 1, /* a file, folder or link was created */
  HD_UNDO_FILE,       /* the contents of a regular file */
  HD_UNDO_FOLDER,
  HD_UNDO_LINK,   /* a symbolic link; the contents are its target */
  HD_UNDO_RENAME, /* the contents are its new name */
  HD_UNDO_SWAP,   /* two names were exchanged */
  HD_UNDO_META,   /* mode, owner and times */
  HD_UNDO_SOCKET, /* the name of a socket, or of a FIFO; nobody listens there */
  HD_UNDO_FIFO,
  HD_UNDO_ATTRIBUTE, /* an extended attribute; the contents are its name, and its value if it had one */
  HD_UNDO_UNNAMED,   /* the contents of an unlinked file, by descriptor; gone with the process */
};

struct hd_undo_rec {
  uint64_t size; /* of the whole record, a multiple of 8 */
  uint64_t prev; /* offset of the record before, 0: none */
  uint32_t kind;
  uint32_t mode;
  uint32_t uid, gid;
  struct timespec atime, mtime;
  uint64_t path_len, data_len; /* the path with its terminating zero, then the data */
  char path[];
};

struct hd_undo_log {
  uint64_t last; /* offset of the last record, 0: nothing to undo */
  uint64_t used;
};

/* Appends a record, whose data the caller fills in (NULL: no room). It takes effect with hd_undo_commit. */
struct hd_undo_rec *hd_undo_add(struct hd_undo_log *log, unsigned kind, const char *path, uint64_t data_len);
static inline char *hd_undo_data(struct hd_undo_rec *r) { return r->path + r->path_len; }
void hd_undo_commit(struct hd_undo_log *log, const struct hd_undo_rec *r);
/* Drops the last record: its change was not made. */
void hd_undo_drop(struct hd_undo_log *log);
void hd_undo_stat(struct hd_undo_rec *r, const struct stat *st);
/* Restores everything and clears the log. Returns 0, or an errno when something could not be restored; its path (of
 * the first, if several) goes to `what` (may be NULL). pre: no other process changes the log. */
int hd_undo_all(struct hd_undo_log *log, char *what, uint64_t what_size);

#endif
