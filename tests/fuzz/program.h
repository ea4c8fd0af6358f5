/* program.h: what the random programs of the fuzzer share. A process runs one program only.
 *
 * Every value that a program reads is told to the runtime, with its thread and its number, so the final state of an
 * execution, however it ends, is all that its threads have seen. */
#ifndef PROGRAM_H
#define PROGRAM_H

#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <locale.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include <heddle.h>

void hd_rt_observe(uint64_t value);

/* Not static: the compiler must not conclude what nobody writes. */
uint64_t memory[2], plain[2], guarded[2];
uint32_t flag[2];
uint32_t *heap[2];
pthread_mutex_t mutex[4] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                            PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};
pthread_cond_t cond[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
pthread_once_t once[2] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT};

pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_rwlock_t eager = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
uint64_t shared; /* under the read-write lock */
sem_t semaphore[2];
pthread_barrier_t barrier;
pthread_spinlock_t spinlock;
int channel[2], counter = -1;
int file, spare; /* two numbers of one description */
int locked[2];   /* two more descriptions of that file */
FILE *text;
char *text_at;
size_t text_size;

/* ---- initialisation, process state, libc ---- */

struct {
  sem_t semaphore;
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  pthread_rwlock_t rwlock;
  pthread_barrier_t barrier;
  pthread_key_t key, first_key;
} fresh;

char line[8] = "0", digits[] = "12x";
char *rest = digits;
int number = 3;
struct timespec stamp = {0, -1};
void *joined;

static inline unsigned make_key(void) {
  pthread_key_t key;
  if (pthread_key_create(&key, NULL)) return 1000;
  __atomic_store_n(&fresh.key, key, __ATOMIC_RELEASE);
  return key - fresh.first_key;
}

static inline unsigned first_of(const char *s) { return s ? 1u + (unsigned char)*s : 0; }

static inline size_t cwd_length(void) {
  char path[PATH_MAX];
  return getcwd(path, sizeof path) ? strlen(path) : 0;
}

static inline int ignores(int sig) {
  struct sigaction now;
  sigaction(sig, NULL, &now);
  return now.sa_handler == SIG_IGN;
}

/* ---- cancellation and signals ---- */

uint32_t cleaned, handled;
uint32_t action; /* of the handler */
pthread_t first; /* main */

static inline void cleanup(void *unused) {
  (void)unused;
  __atomic_fetch_add(&cleaned, 1, __ATOMIC_SEQ_CST);
}

static inline void handler(int sig) {
  (void)sig;
  __atomic_fetch_add(&handled, 1, __ATOMIC_SEQ_CST);
  if (action == 1) __atomic_fetch_add((uint32_t *)memory, 1, __ATOMIC_SEQ_CST);
  if (action == 2) sem_post(&semaphore[1]);
  if (action == 3 && !pthread_mutex_trylock(&mutex[0])) pthread_mutex_unlock(&mutex[0]);
}

/* Calls that wait return EINTR. */
static inline void interrupt_calls(void) {
  struct sigaction a = {.sa_handler = handler};
  sigaction(SIGUSR1, &a, NULL);
}

static inline void mask(int how) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGUSR1);
  pthread_sigmask(how, &s, NULL);
}

static inline unsigned pending(void) {
  sigset_t s;
  sigpending(&s);
  return (unsigned)sigismember(&s, SIGUSR1) + 2 * (unsigned)sigismember(&s, SIGUSR2);
}

/* SIGUSR2 is always masked. */
static inline int take_signal(void) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGUSR2);
  struct timespec none = {0, 0};
  int r = sigtimedwait(&s, NULL, &none);
  return r == SIGUSR2;
}

/* What a program may need. Each costs system calls in every execution, most of the time of a search that has nothing else
 * to do. */
enum { NEEDS_FOLDER = 1, NEEDS_CHANNEL = 2, NEEDS_COUNTER = 4, NEEDS_FILE = 8, NEEDS_TEXT = 16, NEEDS_SIGNALS = 32, NEEDS_ALL = 63 };

static inline void prepare_file(void) {
  file = memfd_create("file", 0);
  spare = dup(file);
  char path[40];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  for (int i = 0; i < 2; i++) locked[i] = open(path, O_RDWR);
  if (file < 0 || spare < 0 || locked[1] < 0) abort();
}

static inline void prepare_signals(void) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &s, NULL);
  signal(SIGUSR1, handler);
}

static inline void prepare_only(int needs) {
  if (needs & NEEDS_SIGNALS) prepare_signals();
  first = pthread_self();
  sem_init(&semaphore[0], 0, 1);
  sem_init(&semaphore[1], 0, 0);
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
  sem_init(&fresh.semaphore, 0, 1);
  pthread_barrier_init(&fresh.barrier, NULL, 1);
  if (pthread_key_create(&fresh.first_key, NULL) || pthread_key_delete(fresh.first_key)) abort();
  fresh.key = fresh.first_key;
  if ((needs & NEEDS_FOLDER) && chdir("/")) abort();
  if ((needs & NEEDS_CHANNEL) && pipe(channel)) abort();
  if ((needs & NEEDS_COUNTER) && (counter = eventfd(0, 0)) < 0) abort();
  if (needs & NEEDS_FILE) prepare_file();
  if ((needs & NEEDS_TEXT) && !(text = open_memstream(&text_at, &text_size))) abort();
}

static inline void prepare(void) { prepare_only(NEEDS_ALL); }

#define AT(type, offset) ((type *)((char *)memory + (offset)))
#define VOLATILE(i) (*(volatile uint32_t *)&plain[i])
#define RELAXED __ATOMIC_RELAXED
#define ACQUIRE __ATOMIC_ACQUIRE
#define RELEASE __ATOMIC_RELEASE
#define ACQ_REL __ATOMIC_ACQ_REL
#define SEQ_CST __ATOMIC_SEQ_CST

/* With a second argument a program is quiet: what a thread reads is known to itself alone, in a register or on its stack, and
 * it reports only the value that it has at its end. So threads that have read different values and forgotten them are in one
 * state. */
static int quiet;

/* The value counts as used: what it was read from is read. */
#define KEEP(value)                        \
  ({                                       \
    __asm__ volatile("" : : "r"(value)); \
    (void)0;                               \
  })

/* r: the value read last; n: how many were read. */
#define BODY(number)                 \
  enum { me = number, is_twin = 0 }; \
  uint64_t r = 0, n = 0, all = 0;    \
  (void)r, (void)all
/* Several threads run it: what they read is reported together with all that the same thread has read before. */
#define TWIN(number)                 \
  enum { me = number, is_twin = 1 }; \
  uint64_t r = 0, n = 0, all = 0;    \
  (void)r
#define SEE(value)                                                                                \
  (r = (uint64_t)(value), n++,                                                                  \
   quiet ? KEEP(r)                                                                                \
         : (all = is_twin ? (all ^ r) * 0x2545f4914f6cdd1d + (all >> 29) + n : 0,               \
            hd_rt_observe((r + all) * 0x9e3779b97f4a7c15 + (me << 10 | n) * 0xc2b2ae3d27d4eb4f)))
/* Of memory when all threads are gone: part of the final state. */
#define GONE(value) (SEE(value), quiet ? hd_rt_observe((r + n) * 0x9e3779b97f4a7c15 ^ n) : (void)0)
#define END                                                                                        \
  if (quiet) hd_rt_observe((r * 0x9e3779b97f4a7c15) ^ (me + 1) * 0xc2b2ae3d27d4eb4f)

/* What can be read of up to 8 bytes, as a number; waits for the first. */
static inline uint64_t byte_at(int fd, off_t at) {
  unsigned char c = 0;
  ssize_t n = pread(fd, &c, 1, at);
  return n == 1 ? c : 1000u + (unsigned)n;
}

static inline uint64_t size_of(int fd) {
  struct stat st;
  return fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 1000;
}

static inline uint64_t take(int fd, size_t n) {
  uint64_t value = 0;
  ssize_t got = read(fd, &value, n);
  return got < 0 ? 99 : value * 16 + (uint64_t)got;
}

static inline int ready(int fd, int timeout) {
  struct pollfd p = {fd, POLLIN, 0};
  return poll(&p, 1, timeout);
}

/* ---- named semaphores, the names of a socket, the limit of the size of files ---- */

static inline int open_named(int flags) { return sem_open("/hd_fuzz", flags, 0600, 1) != SEM_FAILED; }

static inline int take_named(void) {
  sem_t *s = sem_open("/hd_fuzz", 0);
  return s == SEM_FAILED ? 9 : sem_trywait(s) == 0;
}

static inline int post_named(void) {
  sem_t *s = sem_open("/hd_fuzz", 0);
  return s == SEM_FAILED ? 9 : sem_post(s) == 0;
}

int plug = -1;

static inline void prepare_socket(void) {
  if ((plug = socket(AF_INET, SOCK_DGRAM, 0)) < 0) abort();
}

static inline int give_name(int (*call)(int, const struct sockaddr *, socklen_t), int port) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  return call(plug, (struct sockaddr *)&a, sizeof a);
}

static inline int has_name(int (*call)(int, struct sockaddr *, socklen_t *)) {
  struct sockaddr_in a = {0};
  socklen_t size = sizeof a;
  return call(plug, (struct sockaddr *)&a, &size) == 0 && a.sin_port != 0;
}

static inline int limit_files(rlim_t most) {
  struct rlimit l;
  getrlimit(RLIMIT_FSIZE, &l);
  l.rlim_cur = most;
  return setrlimit(RLIMIT_FSIZE, &l);
}

static inline void prepare_limit(void) { signal(SIGXFSZ, SIG_IGN); }

/* ---- descriptors that may be full, that are waited for together, timers, ends of threads ---- */

int narrow[2] = {-1, -1}, pair[2] = {-1, -1}, top = -1, poller = -1, timer = -1;
char page[4096];
pthread_key_t ending[2];
uint32_t ended;

static inline void prepare_full(void) {
  int small = 1;
  if (pipe2(narrow, O_NONBLOCK) || fcntl(narrow[1], F_SETPIPE_SZ, 4096) != 4096) abort();
  if ((top = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE)) < 0 || eventfd_write(top, UINT64_MAX - 2)) abort();
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair)) abort();
  if (setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small)) abort();
}

static inline uint64_t take_page(int fd) {
  char own[4096];
  return (uint64_t)read(fd, own, sizeof own);
}

static inline int writable(int fd) {
  struct pollfd p = {fd, POLLOUT, 0};
  return poll(&p, 1, 0);
}

static inline void prepare_epoll(void) {
  struct epoll_event e = {.events = EPOLLIN, .data.u32 = 1};
  if ((poller = epoll_create1(0)) < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, channel[0], &e)) abort();
  e.data.u32 = 2;
  if (epoll_ctl(poller, EPOLL_CTL_ADD, counter, &e)) abort();
}

static inline uint64_t ready_ones(int timeout) {
  struct epoll_event e[2];
  uint64_t all = 0;
  int n = epoll_wait(poller, e, 2, timeout);
  for (int i = 0; i < n; i++) all = all * 4 + e[i].data.u32;
  return all;
}

static inline void prepare_timerfd(void) {
  if ((timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK)) < 0) abort();
}

static inline int set_timer(int ns) {
  struct itimerspec at = {.it_value.tv_nsec = ns};
  return timerfd_settime(timer, 0, &at, NULL);
}

static inline void at_end(void *value) {
  (void)value;
  __atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
}

static inline void prepare_ends(void) {
  if (pthread_key_create(&ending[0], at_end) || pthread_key_create(&ending[1], at_end)) abort();
}

static inline struct timespec *in(int seconds) {
  static _Thread_local struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_sec += seconds;
  return &at;
}

#endif
