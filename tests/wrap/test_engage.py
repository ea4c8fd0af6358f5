"""One test per wrapped function of memory, streams and the heap: something that exists only because the wrapper is in place.

A case is the body of a thread (`one`, with a second thread `two` beside it or an empty one), the options, and
what must come of it: a kind of finding, or an operation among the events of a finding forced at the end.
"""
import re

from scratch import each
from wrapped import HEAD, kinds, program

# ---- block and string functions: reads and writes of their arguments ----

# name: (call, what a second thread writes, or None when only a write is to be seen; and what it reads)
READS = {
    "getenv": "result = getenv(buf) != 0",
    "secure_getenv": "result = secure_getenv(buf) != 0",
    "setenv": "result = setenv(buf, buf + 1, 1)",
    "unsetenv": "result = unsetenv(buf)",
    "setlocale": "result = setlocale(LC_TIME, buf) != 0",
    "dlopen": "result = dlopen(buf, RTLD_NOW) != 0",
    "sem_open": "result = sem_open(buf, 0) != SEM_FAILED",
    "sem_unlink": "result = sem_unlink(buf)",
    "iconv_open": "result = iconv_open(\"UTF-8\", buf) != (iconv_t)-1",
    "ftok": "result = ftok(buf, 1)",
    "nan": "result = nan(buf) != 0", "nanf": "result = nanf(buf) != 0", "nanl": "result = nanl(buf) != 0",
    "pthread_setaffinity_np": "result = pthread_setaffinity_np(pthread_self(), 8, (cpu_set_t *)buf)",
    "pthread_setschedparam": "result = pthread_setschedparam(pthread_self(), SCHED_OTHER, (struct sched_param *)buf)",
    "pthread_mutex_init": "pthread_mutex_t m; result = pthread_mutex_init(&m, (pthread_mutexattr_t *)buf)",
    "pthread_cond_init": "pthread_cond_t c; result = pthread_cond_init(&c, (pthread_condattr_t *)buf)",
    "fsetpos": "result = fsetpos(nowhere(), (fpos_t *)buf)",
    # The names of programs with _FILE_OFFSET_BITS=64.
    "pwrite64": "result = pwrite64(open(\"/dev/null\", O_WRONLY), buf, n, 0)",
    "pwritev64v2": "struct iovec v = {buf, 8}; pwritev64v2(open(\"/dev/null\", O_WRONLY), &v, 1, 0, 0)",
    "setrlimit64": "result = setrlimit64(RLIM_NLIMITS, (struct rlimit64 *)buf)",
    # Without a lock, and others that few programs use.
    "fputs_unlocked": "result = fputs_unlocked(buf, nowhere())",
    "fputws_unlocked": "result = fputws_unlocked((wchar_t *)buf, nowhere())",
    "syslog": "syslog(LOG_DEBUG, \"%s\", buf)", "openlog": "openlog(buf, 0, LOG_USER); syslog(LOG_DEBUG, \"x\")",
    "vsyslog": "vas(8, \"%s\", buf)",
    "memcpy": "memcpy(other, buf, n)", "memmove": "memmove(other, buf, n)", "mempcpy": "keep = mempcpy(other, buf, n)",
    "memcmp": "result = memcmp(buf, \"hellooooo\", n)", "memchr": "keep = memchr(buf, 'z', n)",
    "strlen": "result = strlen(buf)", "strnlen": "result = strnlen(buf, n)", "strcpy": "strcpy(other, buf)",
    "stpcpy": "keep = stpcpy(other, buf)", "strncpy": "strncpy(other, buf, n)", "strcat": "strcat(other, buf)",
    "strncat": "strncat(other, buf, n)", "strcmp": "result = strcmp(buf, \"hello\")",
    "strncmp": "result = strncmp(buf, \"hello\", n)", "strcasecmp": "result = strcasecmp(buf, \"HELLO\")",
    "strncasecmp": "result = strncasecmp(buf, \"HELLO\", n)", "strchr": "keep = strchr(buf, 'o')",
    "strrchr": "keep = strrchr(buf, 'h')", "strstr": "keep = strstr(buf, \"lo\")", "strdup": "keep = strdup(buf)",
    "strndup": "keep = strndup(buf, n)", "bcopy": "bcopy(buf, other, n)", "bcmp": "result = bcmp(buf, \"hellooooo\", n)",
    "memccpy": "keep = memccpy(other, buf, 'z', n)", "memrchr": "keep = memrchr(buf, 'z', n)",
    "memmem": "keep = memmem(buf, n, \"zz\", 2)", "rawmemchr": "keep = rawmemchr(buf, 'o')",
    "strchrnul": "keep = strchrnul(buf, 'z')", "stpncpy": "keep = stpncpy(other, buf, n)",
    "strspn": "result = strspn(buf, \"helLo\")", "strcspn": "result = strcspn(buf, \"o\")",
    "strpbrk": "keep = strpbrk(buf, \"o\")", "strcasestr": "keep = strcasestr(buf, \"LO\")",
    "strcoll": "result = strcoll(buf, \"hello\")", "strxfrm": "result = strxfrm(0, buf, 0)",
    "fwrite": "result = fwrite(buf, 1, n, nowhere())", "fwrite_unlocked": "result = fwrite_unlocked(buf, 1, n, nowhere())",
    "fputs": "result = fputs(buf, nowhere())", "puts": "result = puts(buf)", "perror": "perror(buf)",
    "fprintf": "result = fprintf(nowhere(), \"%d %s\", 3, buf)", "printf": "result = printf(\"%.*s\\n\", 4, buf)",
    "dprintf": "result = dprintf(fileno(nowhere()), \"%5s\", buf)", "vfprintf": "result = va(3, 0, \"%s\", buf)",
    "vprintf": "result = va(4, 0, \"%f %s\", 1.5, buf)", "vdprintf": "result = va(5, 0, \"%s\", buf)",
    "setsockopt": "result = setsockopt(0, SOL_SOCKET, SO_REUSEADDR, buf, 4)",
    "epoll_ctl": "result = epoll_ctl(0, EPOLL_CTL_ADD, 0, (struct epoll_event *)buf)",
    "atoi": "result = atoi(buf + 3)", "atol": "result = atol(buf + 3)", "atoll": "result = atoll(buf + 3)",
    "atof": "result = atof(buf + 3)", "strtol": "result = strtol(buf + 3, 0, 10)",
    "strtoul": "result = strtoul(buf + 3, 0, 10)", "strtoll": "result = strtoll(buf + 3, 0, 10)",
    "strtoull": "result = strtoull(buf + 3, 0, 10)", "strtoimax": "result = strtoimax(buf + 3, 0, 10)",
    "strtoumax": "result = strtoumax(buf + 3, 0, 10)", "strtod": "result = strtod(buf + 3, 0)",
    "strtof": "result = strtof(buf + 3, 0)", "strtold": "result = strtold(buf + 3, 0)",
    "wcslen": "result = wcslen((wchar_t *)buf)", "wmemcpy": "wmemcpy((wchar_t *)other, (wchar_t *)buf, n)",
    "wmemmove": "wmemmove((wchar_t *)other, (wchar_t *)buf, n)", "wcscmp": "result = wcscmp((wchar_t *)buf, L\"hello\")",
    "wcsncmp": "result = wcsncmp((wchar_t *)buf, L\"hello\", n)", "wcschr": "keep = wcschr((wchar_t *)buf, L'o')",
    "wcsnlen": "result = wcsnlen((wchar_t *)buf, n)", "wmemcmp": "result = wmemcmp((wchar_t *)buf, L\"hellooooo\", n)",
    "wcsncat": "wcsncat((wchar_t *)other, (wchar_t *)buf, n)", "wcsdup": "keep = wcsdup((wchar_t *)buf)",
    "regexec": "regex_t re; regcomp(&re, \"x\", REG_NOSUB); result = regexec(&re, buf, 0, 0, 0); regfree(&re)",
    "setrlimit": "result = setrlimit(RLIM_NLIMITS, (struct rlimit *)buf)",
    "futimens": "result = futimens(-1, (struct timespec *)buf)",
    "msgsnd": "result = msgsnd(-1, buf, 4, 0)", "mq_send": "result = mq_send(-1, buf, 8, 0)",
    "iconv": "iconv_t c = iconv_open(\"UTF-8\", \"ASCII\"); char *i = buf, *o = other; size_t a = 5, b = 64;"
             " result = iconv(c, &i, &a, &o, &b); iconv_close(c)",
    # names of files
    "chdir": "result = chdir(buf)",
    "chmod": "result = chmod(buf, 0600)",
    "chown": "result = chown(buf, 0, 0)",
    "faccessat": "result = faccessat(AT_FDCWD, buf, F_OK, 0)",
    "fchmodat": "result = fchmodat(AT_FDCWD, buf, 0600, 0)",
    "fchownat": "result = fchownat(AT_FDCWD, buf, 0, 0, 0)",
    "fnmatch": "result = fnmatch(buf, \"x\", 0)",
    "fopen64": "keep = fopen64(buf, \"r\")",
    "getxattr": "result = getxattr(buf, \"user.a\", 0, 0)",
    "lchown": "result = lchown(buf, 0, 0)",
    "linkat": "result = linkat(AT_FDCWD, buf, AT_FDCWD, \"none/x\", 0)",
    "listxattr": "result = listxattr(buf, 0, 0)",
    "llistxattr": "result = llistxattr(buf, 0, 0)",
    "lgetxattr": "result = lgetxattr(buf, \"user.a\", 0, 0)",
    "lsetxattr": "result = lsetxattr(buf, \"user.a\", \"\", 0, 0)",
    "removexattr": "result = removexattr(buf, \"user.a\")",
    "lremovexattr": "result = lremovexattr(buf, \"user.a\")",
    "fremovexattr": "result = fremovexattr(-1, buf)",
    "lutimes": "result = lutimes(buf, 0)",
    "open64": "result = open64(buf, O_RDONLY)",
    "openat64": "result = openat64(AT_FDCWD, buf, O_RDONLY)",
    "remove": "result = remove(buf)",
    "rename": "result = rename(buf, \"none/x\")",
    "renameat": "result = renameat(AT_FDCWD, buf, AT_FDCWD, \"none/x\")",
    "renameat2": "result = renameat2(AT_FDCWD, buf, AT_FDCWD, \"none/x\", 0)",
    "rmdir": "result = rmdir(buf)",
    "setxattr": "result = setxattr(buf, \"user.a\", \"\", 0, 0)",
    "shm_unlink": "result = shm_unlink(buf)",
    "sigismember": "result = sigismember((sigset_t *)buf, 3)",
    "symlink": "result = symlink(buf, \"none/x\")",
    "symlinkat": "result = symlinkat(buf, AT_FDCWD, \"none/x\")",
    "truncate": "result = truncate(buf, 0)",
    "truncate64": "result = truncate64(buf, 0)",
    "unlinkat": "result = unlinkat(AT_FDCWD, buf, 0)",
    "utime": "result = utime(buf, 0)",
    "utimensat": "result = utimensat(AT_FDCWD, buf, 0, 0)",
    "utimes": "result = utimes(buf, 0)",
    "fgetxattr": "result = fgetxattr(-1, buf, 0, 0)",
    "fsetxattr": "result = fsetxattr(-1, buf, \"\", 0, 0)",
    "inotify_add_watch": "result = inotify_add_watch(-1, buf, 1)",
    "mkdirat": "result = mkdirat(-1, buf, 0700)",
    "mkfifoat": "result = mkfifoat(-1, buf, 0600)",
    "pwritev": "struct iovec v = {buf, 8}; result = pwritev(-1, &v, 1, 0)",
    "sched_setparam": "result = sched_setparam(-1, (struct sched_param *)buf)",
    "sched_setscheduler": "result = sched_setscheduler(-1, 0, (struct sched_param *)buf)",
    "semop": "result = semop(-1, (struct sembuf *)buf, 1)",
    "semctl": "result = semctl(-1, 0, IPC_SET, buf)",
    "semtimedop": "result = semtimedop(-1, (struct sembuf *)buf, 1, 0)",
    "sendmmsg": "result = sendmmsg(-1, (struct mmsghdr *)buf, 1, 0)",
    "shm_open": "result = shm_open(buf, O_RDONLY, 0)",
    "tcsetattr": "result = tcsetattr(-1, 0, (struct termios *)buf)",
    "wcstod": "result = wcstod((wchar_t *)buf, 0)",
    "wcstol": "result = wcstol((wchar_t *)buf, 0, 10)",
    "wcstoll": "result = wcstoll((wchar_t *)buf, 0, 10)",
    "wcstoul": "result = wcstoul((wchar_t *)buf, 0, 10)",
    "wcstoull": "result = wcstoull((wchar_t *)buf, 0, 10)",
    "index": "keep = index(buf, 'o')",
    "rindex": "keep = rindex(buf, 'h')",
    "strverscmp": "result = strverscmp(buf, \"hello\")",
    "a64l": "result = a64l(buf)",
    "basename": "keep = basename(buf)",
    "getsubopt": "char *s = buf, *v, *t[] = {\"hellp\", 0}; char *q = getsubopt(&s, t, &v) ? 0 : 0; (void)q",
    "argz_create_sep": "char *v; size_t k; argz_create_sep(buf, 'x', &v, &k)",
    "argz_create": "char *a[] = {buf, 0}, *v; size_t k; argz_create(a, &v, &k)",
    "argz_count": "result = argz_count(buf, n)",
    "argz_extract": "char *a[9]; argz_extract(buf, 6, a)",
    "argz_append": "char *v = 0; size_t k = 0; argz_append(&v, &k, buf, n)",
    "argz_add": "char *v = 0; size_t k = 0; argz_add(&v, &k, buf)",
    "argz_add_sep": "char *v = 0; size_t k = 0; argz_add_sep(&v, &k, buf, 'x')",
    "argz_insert": "char *v = 0; size_t k = 0; argz_add(&v, &k, \"a\"); argz_insert(&v, &k, v, buf)",
    "argz_replace": "char *v = 0; size_t k = 0; argz_add(&v, &k, \"a\"); argz_replace(&v, &k, \"a\", buf, 0)",
    "argz_next": "keep = argz_next(buf, 6, buf)",
    "envz_entry": "keep = envz_entry(buf, 6, \"x\")",
    "envz_get": "keep = envz_get(buf, 6, \"x\")",
    "envz_add": "char *v = 0; size_t k = 0; envz_add(&v, &k, \"a\", buf)",
    "envz_merge": "char *v = 0; size_t k = 0; envz_merge(&v, &k, buf, 6, 1)",
    "envz_remove": "char *v = 0; size_t k = 0; envz_add(&v, &k, \"a\", \"b\"); envz_remove(&v, &k, buf)",
    "wordexp": "wordexp_t w; wordexp(buf, &w, WRDE_NOCMD)",
    "fts_open": "char *a[] = {buf, 0}; FTS *t = fts_open(a, FTS_PHYSICAL, 0); fts_close(t)",
    "ftw": "result = ftw(buf, walk, 1)",
    "nftw": "result = nftw(buf, walk4, 1, 0)",
    "if_nametoindex": "result = if_nametoindex(buf)",
    "inet_addr": "result = inet_addr(buf)",
    "inet_network": "result = inet_network(buf)",
    "ether_aton_r": "struct ether_addr e; void *q = ether_aton_r(buf, &e); (void)q",
    "ether_ntoa_r": "char d[32]; ether_ntoa_r((struct ether_addr *)buf, d)",
    "seed48_r": "struct drand48_data t; seed48_r((unsigned short *)buf, &t)",
    "lcong48_r": "struct drand48_data t; lcong48_r((unsigned short *)buf, &t)",
    "getdate_r": "struct tm t; result = getdate_r(buf, &t)",
    "sigisemptyset": "result = sigisemptyset((sigset_t *)buf)",
    "sigorset": "sigset_t d; sigorset(&d, (sigset_t *)buf, (sigset_t *)buf)",
    "sigandset": "sigset_t d; sigandset(&d, (sigset_t *)buf, (sigset_t *)buf)",
    "pthread_attr_getscope": "int v; pthread_attr_getscope((pthread_attr_t *)buf, &v)",
    "pthread_mutexattr_getpshared": "int v; pthread_mutexattr_getpshared((pthread_mutexattr_t *)buf, &v)",
    "pthread_attr_setschedparam": "pthread_attr_t a; pthread_attr_init(&a); pthread_attr_setschedparam(&a, (struct sched_param *)buf)",
    "lfind": "keep = lfind(other, other, (size_t *)buf, 1, order)",
    "warn": "warn(\"%s\", buf)",
    "warnx": "warnx(\"%s\", buf)",
    "psignal": "psignal(3, buf)",
    "vwarn": "vas(0, \"%s\", buf)",
    "vwarnx": "vas(1, \"%s\", buf)",
    "wcsrchr": "keep = wcsrchr((wchar_t *)buf, L'o')",
    "wcsstr": "keep = wcsstr((wchar_t *)buf, L\"lo\")",
    "wcswcs": "keep = wcswcs((wchar_t *)buf, L\"lo\")",
    "wcspbrk": "keep = wcspbrk((wchar_t *)buf, L\"o\")",
    "wcschrnul": "keep = wcschrnul((wchar_t *)buf, L'z')",
    "wcsspn": "result = wcsspn((wchar_t *)buf, L\"h\")",
    "wcscspn": "result = wcscspn((wchar_t *)buf, L\"o\")",
    "wcscoll": "result = wcscoll((wchar_t *)buf, L\"x\")",
    "wcscasecmp": "result = wcscasecmp((wchar_t *)buf, L\"x\")",
    "wcsncasecmp": "result = wcsncasecmp((wchar_t *)buf, L\"x\", n)",
    "wcswidth": "result = wcswidth((wchar_t *)buf, n)",
    "wcsxfrm": "result = wcsxfrm(0, (wchar_t *)buf, 0)",
    "wcpcpy": "wchar_t d[9]; wcpcpy(d, (wchar_t *)buf)",
    "wcpncpy": "wchar_t d[9]; wcpncpy(d, (wchar_t *)buf, 9)",
    "wmemchr": "keep = wmemchr((wchar_t *)buf, L'z', n)",
    "wmempcpy": "wchar_t d[9]; wmempcpy(d, (wchar_t *)buf, n)",
    "wcstok": "wchar_t *at; wcstok(wcsdup(L\"a\"), (wchar_t *)buf, &at)",
    "wcsftime": "wchar_t d[9]; struct tm t = {0}; wcsftime(d, 9, (wchar_t *)buf, &t)",
    "wcstof": "result = wcstof((wchar_t *)buf, 0)",
    "wcstold": "result = wcstold((wchar_t *)buf, 0)",
    "mbrlen": "mbstate_t p = {0}; result = mbrlen(buf + 3, 1, &p)",
    "mbsnrtowcs": "const char *s = buf; wchar_t d[9]; mbsnrtowcs(d, &s, 6, 9, 0)",
    "wcsnrtombs": "const wchar_t *s = (wchar_t *)buf; char d[99]; wcsnrtombs(d, &s, 6, 99, 0)",
    "mbrtoc16": "char16_t d; mbstate_t p = {0}; mbrtoc16(&d, buf + 3, 1, &p)",
    "mbrtoc32": "char32_t d; mbstate_t p = {0}; mbrtoc32(&d, buf + 3, 1, &p)",
    "swprintf": "wchar_t d[99]; swprintf(d, 99, L\"%d %s\", 1, buf)",
    "fwprintf": "fwprintf(nowhere(), L\"%s\", buf)",
    "wprintf": "wprintf(L\"%.*s\", 4, buf)",
    "vswprintf": "vas(2, \"\", buf)",
    "vfwprintf": "vas(3, \"\", buf)",
    "vwprintf": "vas(4, \"\", buf)",
    "syscall_write": "result = syscall(SYS_write, fileno(nowhere()), buf, 8)",
    "syscall_writev": "struct iovec v = {buf, 8}; syscall(SYS_writev, fileno(nowhere()), &v, 1)",
    "syscall_open": "result = syscall(SYS_openat, AT_FDCWD, buf, O_RDONLY)",
    "syscall_mkdir": "result = syscall(SYS_rmdir, buf)",
    "syscall_futex": "static int w; syscall(SYS_futex, &w, FUTEX_WAIT, 0, buf, 0, 0)",
    "syscall_setrlimit": "result = syscall(SYS_prlimit64, 0, RLIMIT_CORE, buf, 0)",
    "pthread_rwlock_timedrdlock": "if (!pthread_rwlock_timedrdlock(&rw, (struct timespec *)buf)) pthread_rwlock_unlock(&rw)",
    "pwritev64": "struct iovec v = {buf, 8}; pwritev64(open(\"/dev/null\", O_WRONLY), &v, 1, 0)",
    "pwritev2": "struct iovec v = {buf, 8}; pwritev2(open(\"/dev/null\", O_WRONLY), &v, 1, 0, 0)",
    "vmsplice": "int p[2]; pipe(p); struct iovec v = {buf, 8}; vmsplice(p[1], &v, 1, 0)",
    "mq_timedsend": "struct timespec t = soon(); result = mq_timedsend(-1, buf, 8, 0, &t)",
    "mq_setattr": "result = mq_setattr(-1, (struct mq_attr *)buf, 0)",
    "creat": "result = creat(buf, 0600)",
    "creat64": "result = creat64(buf, 0600)",
    "mkfifo": "result = mkfifo(buf, 0600)",
    "fcntl64": "result = fcntl64(open(\"/dev/null\", O_WRONLY), F_SETLK64, buf)",
    "prctl": "result = prctl(PR_SET_NAME, buf, 0, 0, 0)",
    "getgrouplist": "gid_t g[99]; int k = 99; getgrouplist(buf, 0, g, &k)",
}
WRITES = {
    "fgetpos": "result = fgetpos(nowhere(), (fpos_t *)buf)",
    "pthread_getaffinity_np": "result = pthread_getaffinity_np(pthread_self(), 8, (cpu_set_t *)buf)",
    "sched_getaffinity": "result = sched_getaffinity(0, 8, (cpu_set_t *)buf)",
    "pthread_getschedparam": "int policy; result = pthread_getschedparam(pthread_self(), &policy, (struct sched_param *)buf)",
    # The names of programs with _FILE_OFFSET_BITS=64.
    "pread64": "result = pread64(open(\"/dev/zero\", O_RDONLY), buf, 8, 0)",
    "preadv64v2": "struct iovec v = {buf, 8}; preadv64v2(open(\"/dev/zero\", O_RDONLY), &v, 1, 0, 0)",
    "mkstemp64": "strcpy(other, \"XXXXXX\"); memcpy(buf, other, 7); result = mkstemp64(buf)",
    "mkostemp64": "strcpy(other, \"XXXXXX\"); memcpy(buf, other, 7); result = mkostemp64(buf, 0)",
    "mkstemps64": "strcpy(other, \"XXXXXX.c\"); memcpy(buf, other, 9); result = mkstemps64(buf, 2)",
    "mkostemps64": "strcpy(other, \"XXXXXX.c\"); memcpy(buf, other, 9); result = mkostemps64(buf, 2, 0)",
    "fstatfs64": "fstatfs64(1, (struct statfs64 *)buf)", "glob64": "result = glob64(\"/*\", 0, 0, (glob64_t *)buf)",
    "scandir64": "result = scandir64(\"/\", (struct dirent64 ***)buf, 0, 0)",
    "prlimit64": "result = prlimit64(0, RLIMIT_NOFILE, 0, (struct rlimit64 *)buf)",
    # Without a lock, and others that few programs use.
    "fgets_unlocked": "keep = fgets_unlocked(buf, n, text())",
    "fgetws_unlocked": "keep = fgetws_unlocked((wchar_t *)buf, 9, fopen(\"/etc/passwd\", \"r\"))",
    "strfmon": "result = strfmon(buf, 64, \"%n\", 12345.0)", "tmpnam": "keep = tmpnam(buf)",
    "memcpy": "memcpy(buf, other, n)", "memmove": "memmove(buf, other, n)", "mempcpy": "keep = mempcpy(buf, other, n)",
    "memset": "memset(buf, 1, n)", "strcpy": "strcpy(buf, other)", "stpcpy": "keep = stpcpy(buf, other)",
    "strncpy": "strncpy(buf, other, n)", "strcat": "buf[0] = 0; strcat(buf, other)",
    "strncat": "buf[0] = 0; strncat(buf, other, n)", "bzero": "bzero(buf, n)", "explicit_bzero": "explicit_bzero(buf, n)",
    "pthread_getattr_np": "pthread_getattr_np(pthread_self(), (pthread_attr_t *)buf)", "bcopy": "bcopy(other, buf, n)",
    "memccpy": "keep = memccpy(buf, other, 'z', n)", "stpncpy": "keep = stpncpy(buf, other, n)",
    "strxfrm": "result = strxfrm(buf, other, n)", "strtok_r": "strtok_r(other, \"o\", (char **)buf)",
    "strsep": "char *s = buf; strsep(&s, \"l\"); strsep(&s, \"l\")",
    "sprintf": "sprintf(buf, \"%d\", 12345)", "snprintf": "snprintf(buf, n, \"%d\", 12345)",
    "vsprintf": "va(0, buf, \"%d\", 12345)", "vsnprintf": "va(1, buf, \"%d\", 12345)",
    "asprintf": "result = asprintf((char **)buf, \"x\")", "vasprintf": "va(2, buf, \"x\")",
    "sscanf": "sscanf(\"12345678\", \"%d\", (int *)buf)", "vsscanf": "va(6, 0, \"%d\", buf)",
    "fscanf": "FILE *f = text(); result = fscanf(f, \"%s\", buf)", "vfscanf": "va(7, 0, \"%ld\", buf)",
    "fread": "result = fread(buf, 1, n, text())", "fread_unlocked": "result = fread_unlocked(buf, 1, n, text())",
    "fgets": "keep = fgets(buf, n, text())", "getline": "size_t k = 0; memset(buf, 0, 8); result = getline((char **)buf, &k, text())",
    "getdelim": "size_t k = 0; memset(buf, 0, 8); result = getdelim((char **)buf, &k, 10, text())",
    "wmemset": "wmemset((wchar_t *)buf, 1, n)", "wmemcpy": "wmemcpy((wchar_t *)buf, (wchar_t *)other, n)",
    "wmemmove": "wmemmove((wchar_t *)buf, (wchar_t *)other, n)", "wcscpy": "wcscpy((wchar_t *)buf, L\"hello\")",
    "wcsncpy": "wcsncpy((wchar_t *)buf, L\"hello\", n)", "wcscat": "*(wchar_t *)buf = 0; wcscat((wchar_t *)buf, L\"hello\")",
    "mbstowcs": "result = mbstowcs((wchar_t *)buf, \"hello\", n)", "wcstombs": "result = wcstombs(buf, L\"hello\", n)",
    "stat": "stat(\"/\", (struct stat *)buf)", "lstat": "lstat(\"/\", (struct stat *)buf)",
    "fstat": "fstat(1, (struct stat *)buf)", "fstatat": "fstatat(AT_FDCWD, \"/\", (struct stat *)buf, 0)",
    "stat64": "stat64(\"/\", (struct stat64 *)buf)", "lstat64": "lstat64(\"/\", (struct stat64 *)buf)",
    "fstat64": "fstat64(1, (struct stat64 *)buf)", "fstatat64": "fstatat64(AT_FDCWD, \"/\", (struct stat64 *)buf, 0)",
    "statx": "statx(AT_FDCWD, \"/\", 0, STATX_ALL, (struct statx *)buf)", "statfs": "statfs(\"/\", (struct statfs *)buf)",
    "fstatfs": "fstatfs(1, (struct statfs *)buf)", "statvfs": "statvfs(\"/\", (struct statvfs *)buf)",
    "getcwd": "keep = getcwd(buf, 4096)", "realpath": "keep = realpath(\"/proc\", buf)",
    "readlink": "result = readlink(\"/proc/self\", buf, 64)",
    "readlinkat": "result = readlinkat(AT_FDCWD, \"/proc/self\", buf, 64)",
    "mkstemp": "strcpy(other, \"XXXXXX\"); memcpy(buf, other, 7); result = mkstemp(buf)",
    "mkdtemp": "strcpy(other, \"XXXXXX\"); memcpy(buf, other, 7); keep = mkdtemp(buf)",
    "pipe": "result = pipe((int *)buf)", "pipe2": "result = pipe2((int *)buf, 0)",
    "socketpair": "result = socketpair(AF_UNIX, SOCK_STREAM, 0, (int *)buf)",
    "getsockname": "int s = socket(AF_UNIX, SOCK_STREAM, 0); socklen_t k = 64; result = getsockname(s, (void *)(buf + 2), &k)",
    "getpeername": "int s[2]; socklen_t k = 64; socketpair(AF_UNIX, SOCK_STREAM, 0, s); result = getpeername(s[0], (void *)(buf + 2), &k)",
    "getsockopt": "int s = socket(AF_UNIX, SOCK_STREAM, 0); socklen_t k = 4; result = getsockopt(s, SOL_SOCKET, SO_TYPE, buf, &k)",
    "wait": "if (!fork()) _exit(0); result = wait((int *)buf)",
    "waitpid": "if (!fork()) _exit(0); result = waitpid(-1, (int *)buf, 0)",
    "uname": "result = uname((struct utsname *)buf)", "gethostname": "result = gethostname(buf, 64)",
    "sysinfo": "result = sysinfo((struct sysinfo *)buf)", "times": "result = times((struct tms *)buf)",
    "getrusage": "result = getrusage(RUSAGE_SELF, (struct rusage *)buf)",
    "getrandom": "result = getrandom(buf, n, 0)", "getentropy": "result = getentropy(buf, n)",
    "clock_getres": "result = clock_getres(CLOCK_REALTIME, (struct timespec *)buf)",
    "clock_gettime": "result = clock_gettime(CLOCK_REALTIME, (struct timespec *)buf)",
    "gettimeofday": "result = gettimeofday((struct timeval *)buf, 0)", "time": "result = time((time_t *)buf)",
    "getitimer": "result = getitimer(ITIMER_REAL, (struct itimerval *)buf)",
    "setitimer": "struct itimerval t = {{0}}; result = setitimer(ITIMER_REAL, &t, (struct itimerval *)buf)",
    "pthread_attr_init": "pthread_attr_init((pthread_attr_t *)buf)",
    "qsort": "qsort(buf, n, 1, order)", "qsort_r": "qsort_r(buf, n, 1, order_r, buf)",
    "localtime_r": "time_t t = 0; localtime_r(&t, (struct tm *)buf)", "gmtime_r": "time_t t = 0; gmtime_r(&t, (struct tm *)buf)",
    "asctime_r": "struct tm t = {.tm_mday = 1}; keep = asctime_r(&t, buf)", "ctime_r": "time_t t = 0; keep = ctime_r(&t, buf)",
    "mktime": "result = mktime((struct tm *)memset(buf, 0, 64))", "timegm": "result = timegm((struct tm *)memset(buf, 0, 64))",
    "strftime": "struct tm t = {.tm_mday = 1}; result = strftime(buf, 64, \"%Y-%m\", &t)",
    "strptime": "keep = strptime(\"2020\", \"%Y\", (struct tm *)buf)",
    "inet_ntop": "char a[4] = {1, 2, 3, 4}; keep = (void *)inet_ntop(AF_INET, a, buf, 64)",
    "inet_pton": "result = inet_pton(AF_INET, \"1.2.3.4\", buf)", "inet_aton": "result = inet_aton(\"1.2.3.4\", (struct in_addr *)buf)",
    "getpwuid_r": "struct passwd p; char b[1024]; result = getpwuid_r(0, &p, b, sizeof b, (struct passwd **)buf)",
    "getpwnam_r": "struct passwd p; char b[1024]; result = getpwnam_r(\"root\", &p, b, sizeof b, (struct passwd **)buf)",
    "regcomp": "regcomp((regex_t *)buf, \"x\", 0)", "frexp": "result = frexp(n, (int *)buf)",
    "modf": "result = modf(n, (double *)buf)", "rand_r": "result = rand_r((unsigned *)buf)",
    "erand48": "result = erand48((unsigned short *)buf)", "nrand48": "result = nrand48((unsigned short *)buf)",
    "jrand48": "result = jrand48((unsigned short *)buf)", "drand48_r": "struct drand48_data d; srand48_r(1, &d); drand48_r(&d, (double *)buf)",
    "lrand48_r": "struct drand48_data d; srand48_r(1, &d); lrand48_r(&d, (long *)buf)", "srand48_r": "srand48_r(1, (struct drand48_data *)buf)",
    "random_r": "struct random_data d = {0}; char st[32]; initstate_r(1, st, 32, &d); random_r(&d, (int32_t *)buf)",
    "pthread_attr_setdetachstate": "pthread_attr_setdetachstate((pthread_attr_t *)buf, 0)",
    "pthread_attr_setstacksize": "pthread_attr_setstacksize((pthread_attr_t *)buf, 1 << 20)",
    "pthread_attr_setguardsize": "pthread_attr_setguardsize((pthread_attr_t *)buf, 4096)",
    "pthread_attr_setstack": "pthread_attr_setstack((pthread_attr_t *)buf, other, 1 << 20)",
    "pthread_attr_destroy": "pthread_attr_destroy((pthread_attr_t *)buf)",
    "pthread_mutexattr_init": "pthread_mutexattr_init((pthread_mutexattr_t *)buf)",
    "pthread_mutexattr_settype": "pthread_mutexattr_settype((pthread_mutexattr_t *)buf, 0)",
    "getaddrinfo": "result = getaddrinfo(\"127.0.0.1\", 0, 0, (struct addrinfo **)buf)",
    "gcvt": "keep = gcvt(123.5, 5, buf)",
    "wcsncat": "*(wchar_t *)buf = 0; wcsncat((wchar_t *)buf, L\"hello\", n)",
    "posix_memalign": "result = posix_memalign((void **)buf, 16, 8)",
    "scandir": "result = scandir(\"/\", (struct dirent ***)buf, 0, 0)", "glob": "result = glob(\"/*\", 0, 0, (glob_t *)buf)",
    "getifaddrs": "result = getifaddrs((struct ifaddrs **)buf)",
    "getrlimit": "result = getrlimit(RLIMIT_NOFILE, (struct rlimit *)buf)",
    "getrlimit64": "result = getrlimit64(RLIMIT_NOFILE, (struct rlimit64 *)buf)",
    "prlimit": "result = prlimit(0, RLIMIT_NOFILE, 0, (struct rlimit *)buf)",
    "sched_getparam": "result = sched_getparam(0, (struct sched_param *)buf)",
    "getresuid": "uid_t a, b; result = getresuid(&a, (uid_t *)buf, &b)",
    "getresgid": "gid_t a, b; result = getresgid(&a, (gid_t *)buf, &b)",
    "wait3": "if (!fork()) _exit(0); result = wait3((int *)buf, 0, 0)",
    "wait4": "if (!fork()) _exit(0); result = wait4(-1, (int *)buf, 0, 0)",
    "waitid": "if (!fork()) _exit(0); result = waitid(P_ALL, 0, (siginfo_t *)buf, WEXITED)",
    "getloadavg": "result = getloadavg((double *)buf, 1)", "confstr": "result = confstr(_CS_PATH, buf, 64)",
    "getdomainname": "result = getdomainname(buf, 64)",
    "fstatvfs": "result = fstatvfs(1, (struct statvfs *)buf)", "statvfs64": "result = statvfs64(\"/\", (struct statvfs64 *)buf)",
    "fstatvfs64": "result = fstatvfs64(1, (struct statvfs64 *)buf)", "statfs64": "result = statfs64(\"/\", (struct statfs64 *)buf)",
    "mkostemp": "strcpy(other, \"XXXXXX\"); memcpy(buf, other, 7); result = mkostemp(buf, 0)",
    "mkstemps": "strcpy(other, \"XXXXXX.c\"); memcpy(buf, other, 9); result = mkstemps(buf, 2)",
    "mkostemps": "strcpy(other, \"XXXXXX.c\"); memcpy(buf, other, 9); result = mkostemps(buf, 2, 0)",
    "accept4": "int s = socket(AF_INET, SOCK_STREAM, 0), k = socket(AF_INET, SOCK_STREAM, 0); struct sockaddr_in a = {.sin_family = AF_INET};"
               " socklen_t z = sizeof a; bind(s, (void *)&a, z); listen(s, 1); getsockname(s, (void *)&a, &z);"
               " connect(k, (void *)&a, z); result = accept4(s, (void *)buf, &z, 0)",
    "epoll_pwait": "int p[2], e = epoll_create1(0); struct epoll_event v = {EPOLLIN}; pipe(p); write(p[1], \"x\", 1);"
                   " epoll_ctl(e, EPOLL_CTL_ADD, p[0], &v); result = epoll_pwait(e, (struct epoll_event *)buf, 1, 0, 0)",
    "msgrcv": "int q = msgget(IPC_PRIVATE, 0600); struct { long t; char c; } v = {1, 'x'}; msgsnd(q, &v, 1, 0);"
              " result = msgrcv(q, buf, 1, 0, 0); msgctl(q, IPC_RMID, 0)",
    "eventfd_read": "result = eventfd_read(eventfd(3, 0), (eventfd_t *)buf)",
    "timerfd_gettime": "result = timerfd_gettime(timerfd_create(CLOCK_MONOTONIC, 0), (struct itimerspec *)buf)",
    "timerfd_settime": "struct itimerspec t = {{0}}; result = timerfd_settime(timerfd_create(CLOCK_MONOTONIC, 0), 0, &t, (void *)buf)",
    "ioctl": "int p[2]; pipe(p); result = ioctl(p[0], FIONREAD, buf)",
    "timer_create": "result = timer_create(CLOCK_MONOTONIC, 0, (timer_t *)buf)",
    "timer_gettime": "timer_t t; timer_create(CLOCK_MONOTONIC, 0, &t); result = timer_gettime(t, (struct itimerspec *)buf)",
    "timer_settime": "timer_t t; struct itimerspec v = {{0}}; timer_create(CLOCK_MONOTONIC, 0, &t);"
                     " result = timer_settime(t, 0, &v, (struct itimerspec *)buf)",
    "timespec_get": "result = timespec_get((struct timespec *)buf, TIME_UTC)",
    "pthread_getcpuclockid": "result = pthread_getcpuclockid(pthread_self(), (clockid_t *)buf)",
    "pthread_mutexattr_gettype": "pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_gettype(&a, (int *)buf)",
    "pthread_mutexattr_destroy": "pthread_mutexattr_destroy((pthread_mutexattr_t *)buf)",
    "pthread_mutexattr_setpshared": "pthread_mutexattr_setpshared((pthread_mutexattr_t *)buf, 0)",
    "pthread_mutexattr_setrobust": "pthread_mutexattr_setrobust((pthread_mutexattr_t *)buf, 0)",
    "pthread_mutexattr_setprotocol": "pthread_mutexattr_setprotocol((pthread_mutexattr_t *)buf, 0)",
    "pthread_condattr_init": "pthread_condattr_init((pthread_condattr_t *)buf)",
    "pthread_condattr_setclock": "pthread_condattr_setclock((pthread_condattr_t *)buf, CLOCK_MONOTONIC)",
    "pthread_rwlockattr_init": "pthread_rwlockattr_init((pthread_rwlockattr_t *)buf)",
    "pthread_rwlockattr_setkind_np": "pthread_rwlockattr_setkind_np((pthread_rwlockattr_t *)buf, 0)",
    "pthread_barrierattr_init": "pthread_barrierattr_init((pthread_barrierattr_t *)buf)",
    "getgrgid_r": "struct group g; char b[1024]; result = getgrgid_r(0, &g, b, sizeof b, (struct group **)buf)",
    "getgrnam_r": "struct group g; char b[1024]; result = getgrnam_r(\"root\", &g, b, sizeof b, (struct group **)buf)",
    "getnameinfo": "struct sockaddr_in a = {.sin_family = AF_INET};"
                   " result = getnameinfo((void *)&a, sizeof a, buf, 64, 0, 0, NI_NUMERICHOST)",
    "mbtowc": "result = mbtowc((wchar_t *)buf, \"a\", 1)", "wctomb": "result = wctomb(buf + 3, L'a')",
    "mbrtowc": "mbstate_t p = {0}; result = mbrtowc((wchar_t *)buf, \"a\", 1, &p)",
    "wcrtomb": "mbstate_t p = {0}; result = wcrtomb(buf + 3, L'a', &p)",
    "frexpf": "result = frexpf(n, (int *)buf)", "frexpl": "result = frexpl(n, (int *)buf)",
    "modff": "result = modff(n, (float *)buf)", "modfl": "result = modfl(n, (long double *)buf)",
    "open_memstream": "size_t k; FILE *f = open_memstream((char **)buf, &k); fputs(\"xyz\", f); fclose(f)",
    "open_wmemstream": "size_t k; FILE *f = open_wmemstream((wchar_t **)buf, &k); fputws(L\"xyz\", f); fclose(f)",
    "fmemopen": "FILE *f = fmemopen(buf, 64, \"w\"); fputs(\"abcdef\", f); fclose(f)",
    "mincore": "result = mincore((void *)((uintptr_t)other & ~4095ul), 4096, (unsigned char *)buf + 3)",
    "remquo": "result = remquo(n, 3, (int *)buf)", "remquof": "result = remquof(n, 3, (int *)buf)",
    "remquol": "result = remquol(n, 3, (int *)buf)", "lgamma_r": "result = lgamma_r(n, (int *)buf)",
    "lgammaf_r": "result = lgammaf_r(n, (int *)buf)", "lgammal_r": "result = lgammal_r(n, (int *)buf)",
    "sincos": "double c; sincos(n, (double *)buf, &c); result = c", "sincosf": "float c; sincosf(n, (float *)buf, &c); result = c",
    "sincosl": "long double c; sincosl(n, (long double *)buf, &c); result = c",
    "srandom_r": "struct random_data *d = (void *)buf; static char st[32];"
              " initstate_r(1, st, 32, d); srandom_r(1, d)",
    "mrand48_r": "struct drand48_data d; srand48_r(1, &d); mrand48_r(&d, (long *)buf)",
    "swab": "swab(other, buf, 8)",
    "sigaction": "result = sigaction(SIGUSR1, 0, (struct sigaction *)buf)",
    "sigprocmask": "result = sigprocmask(SIG_BLOCK, 0, (sigset_t *)buf)",
    "pthread_sigmask": "result = pthread_sigmask(SIG_BLOCK, 0, (sigset_t *)buf)",
    "sigpending": "result = sigpending((sigset_t *)buf)",
    "clock_getcpuclockid": "clock_getcpuclockid(0, (clockid_t *)buf)",
    "mbsrtowcs": "const char *c = \"abc\"; mbsrtowcs((wchar_t *)buf, &c, 4, 0)",
    "pthread_attr_getdetachstate": "pthread_attr_t a; pthread_attr_init(&a); pthread_attr_getdetachstate(&a, (int *)buf)",
    "pthread_attr_getguardsize": "pthread_attr_t a; pthread_attr_init(&a); pthread_attr_getguardsize(&a, (size_t *)buf)",
    "pthread_attr_getschedparam": "pthread_attr_t a; pthread_attr_init(&a); pthread_attr_getschedparam(&a, (struct sched_param *)buf)",
    "pthread_attr_getschedpolicy": "pthread_attr_t a; pthread_attr_init(&a); pthread_attr_getschedpolicy(&a, (int *)buf)",
    "pthread_attr_getstacksize": "pthread_attr_t a; pthread_attr_init(&a); pthread_attr_getstacksize(&a, (size_t *)buf)",
    "sched_rr_get_interval": "sched_rr_get_interval(0, (struct timespec *)buf)",
    "sigaltstack": "sigaltstack(0, (stack_t *)buf)",
    "sigdelset": "sigdelset((sigset_t *)buf, 3)",
    "wcsrtombs": "const wchar_t *c = L\"abcdef\"; wcsrtombs(buf, &c, 7, 0)",
    "strerror_r": "keep = strerror_r(99999, buf, n)",
    "__xpg_strerror_r": "int __xpg_strerror_r(int, char *, size_t); __xpg_strerror_r(3, buf, n)",
    "strfry": "strcpy(buf, \"hello\"); strfry(buf)",
    "memfrob": "memfrob(buf, n)",
    "cfmakeraw": "cfmakeraw((struct termios *)buf)",
    "cfsetispeed": "result = cfsetispeed((struct termios *)buf, B9600)",
    "cfsetospeed": "result = cfsetospeed((struct termios *)buf, B9600)",
    "cfsetspeed": "result = cfsetspeed((struct termios *)buf, B9600)",
    "backtrace": "int backtrace(void **, int); result = backtrace((void **)buf, 3)",
    "getmntent_r": "char t[4096];"
                   " FILE *f = fopen(\"/proc/self/mounts\", \"r\"); result = getmntent_r(f, (void *)buf, t, sizeof t) != 0; fclose(f)",
    "gethostbyname_r": "struct hostent *h; static char t[4096]; int e;"
                       " result = gethostbyname_r(\"127.0.0.1\", (struct hostent *)buf, t, sizeof t, &h, &e)",
    "gethostbyname2_r": "struct hostent *h; static char t[4096]; int e;"
                        " result = gethostbyname2_r(\"127.0.0.1\", AF_INET, (struct hostent *)buf, t, sizeof t, &h, &e)",
    "dirname": "buf[3] = '/'; keep = dirname(buf)",
    "ecvt_r": "int p, q; ecvt_r(1234.5, 6, &p, &q, buf, 32)",
    "fcvt_r": "int p, q; fcvt_r(1234.5, 2, &p, &q, buf, 32)",
    "getsubopt": "char *s = strdup(\"ab\"), *t[] = {\"ab\", 0}; getsubopt(&s, t, (char **)buf)",
    "argz_create": "char *a[] = {\"x\", 0}; size_t k; argz_create(a, (char **)buf, &k)",
    "argz_create_sep": "size_t k; argz_create_sep(\"x\", 0, (char **)buf, &k)",
    "argz_extract": "argz_extract(\"ab\", 3, (char **)buf)",
    "argz_stringify": "argz_stringify(buf, 9, ',')",
    "argz_add": "*(char **)buf = 0; size_t k = 0; argz_add((char **)buf, &k, \"x\")",
    "argz_append": "*(char **)buf = 0; size_t k = 0; argz_append((char **)buf, &k, \"x\", 2)",
    "argz_add_sep": "*(char **)buf = 0; size_t k = 0; argz_add_sep((char **)buf, &k, \"x\", 'y')",
    "argz_delete": "char *v = 0; size_t k = 0; argz_add(&v, &k, \"x\"); *(char **)buf = v; argz_delete((char **)buf, &k, v)",
    "argz_insert": "char *v = 0; size_t k = 0; argz_add(&v, &k, \"x\"); *(char **)buf = v; argz_insert((char **)buf, &k, v, \"y\")",
    "argz_replace": "char *v = 0; size_t k = 0; argz_add(&v, &k, \"x\"); *(char **)buf = v; argz_replace((char **)buf, &k, \"x\", \"yy\", 0)",
    "envz_add": "*(char **)buf = 0; size_t k = 0; envz_add((char **)buf, &k, \"x\", \"y\")",
    "envz_merge": "*(char **)buf = 0; size_t k = 0; envz_merge((char **)buf, &k, \"x=y\", 4, 1)",
    "envz_remove": "char *v = 0; size_t k = 0; envz_add(&v, &k, \"x\", \"y\"); *(char **)buf = v; envz_remove((char **)buf, &k, \"x\")",
    "envz_strip": "char *v = 0; size_t k = 0; envz_add(&v, &k, \"x\", \"y\"); *(char **)buf = v; envz_strip((char **)buf, &k)",
    "wordexp": "wordexp(\"x\", (wordexp_t *)buf, WRDE_NOCMD)",
    "wordfree": "wordexp_t w; wordexp(\"x\", &w, 0); memcpy(buf, &w, sizeof w); wordfree((wordexp_t *)buf)",
    "globfree": "memset(buf, 0, sizeof(glob_t)); globfree((glob_t *)buf)",
    "regfree": "memset(buf, 0, sizeof(regex_t)); regfree((regex_t *)buf)",
    "fts_set": "FTSENT *e = (FTSENT *)(buf + 3 - offsetof(FTSENT, fts_instr)); (void)e; fts_set(0, (FTSENT *)(buf + 2 - offsetof(FTSENT, fts_instr)), FTS_AGAIN)",
    "mktemp": "strcpy(buf, \"XXXXXX\"); keep = mktemp(buf)",
    "tmpnam_r": "keep = tmpnam_r(buf)",
    "regerror": "regex_t x = {0}; regerror(1, &x, buf, 32)",
    "hcreate_r": "memset(buf, 0, sizeof(struct hsearch_data)); hcreate_r(3, (struct hsearch_data *)buf)",
    "hdestroy_r": "memset(buf, 0, sizeof(struct hsearch_data)); hdestroy_r((struct hsearch_data *)buf)",
    "if_indextoname": "result = if_indextoname(1, buf + 2) != 0",
    "ether_ntoa_r": "struct ether_addr e = {0}; ether_ntoa_r(&e, buf)",
    "ether_aton_r": "keep = ether_aton_r(\"1:2:3:4:5:6\", (struct ether_addr *)buf)",
    "initstate_r": "struct random_data t = {0}; initstate_r(1, buf, 64, &t)",
    "setstate_r": "struct random_data t = {0}; char a[64], b[64]; initstate_r(1, a, 64, &t); initstate_r(1, b, 64, &t); memcpy(buf, &t, sizeof t); setstate_r(a, (struct random_data *)buf)",
    "erand48_r": "struct drand48_data t = {0}; double v; erand48_r((unsigned short *)buf, &t, &v)",
    "nrand48_r": "struct drand48_data t = {0}; long v; nrand48_r((unsigned short *)buf, &t, &v)",
    "jrand48_r": "struct drand48_data t = {0}; long v; jrand48_r((unsigned short *)buf, &t, &v)",
    "seed48_r": "unsigned short x[3] = {0}; seed48_r(x, (struct drand48_data *)buf)",
    "lcong48_r": "unsigned short x[7] = {0}; lcong48_r(x, (struct drand48_data *)buf)",
    "sigorset": "sigset_t a; sigemptyset(&a); sigorset((sigset_t *)buf, &a, &a)",
    "sigandset": "sigset_t a; sigemptyset(&a); sigandset((sigset_t *)buf, &a, &a)",
    "pthread_condattr_destroy": "pthread_condattr_destroy((pthread_condattr_t *)buf)",
    "pthread_rwlockattr_destroy": "pthread_rwlockattr_destroy((pthread_rwlockattr_t *)buf)",
    "pthread_condattr_setpshared": "pthread_condattr_setpshared((pthread_condattr_t *)buf, 0)",
    "pthread_barrierattr_setpshared": "pthread_barrierattr_setpshared((pthread_barrierattr_t *)buf, 0)",
    "pthread_attr_setschedpolicy": "pthread_attr_setschedpolicy((pthread_attr_t *)buf, 0)",
    "pthread_attr_setinheritsched": "pthread_attr_setinheritsched((pthread_attr_t *)buf, 0)",
    "pthread_attr_setscope": "pthread_attr_setscope((pthread_attr_t *)buf, 0)",
    "pthread_attr_setschedparam": "struct sched_param p = {0}; pthread_attr_setschedparam((pthread_attr_t *)buf, &p)",
    "pthread_attr_getscope": "pthread_attr_t a; pthread_attr_init(&a); pthread_attr_getscope(&a, (int *)buf)",
    "pthread_mutexattr_getpshared": "pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_getpshared(&a, (int *)buf)",
    "wcsxfrm": "result = wcsxfrm((wchar_t *)buf, L\"hello\", 9)",
    "wcpcpy": "wcpcpy((wchar_t *)buf, L\"hello\")",
    "wcpncpy": "wcpncpy((wchar_t *)buf, L\"hello\", 9)",
    "wmempcpy": "wmempcpy((wchar_t *)buf, L\"hello\", 5)",
    "wcstok": "wchar_t s[] = L\"a b\"; wcstok(s, L\" \", (wchar_t **)buf)",
    "wcsftime": "struct tm t = {0}; wcsftime((wchar_t *)buf, 9, L\"%Y\", &t)",
    "wcstof": "result = wcstof(L\"1\", (wchar_t **)buf)",
    "wcstold": "result = wcstold(L\"1\", (wchar_t **)buf)",
    "mbrlen": "result = mbrlen(\"a\", 1, (mbstate_t *)buf)",
    "mbsnrtowcs": "const char *s = \"abc\"; mbsnrtowcs((wchar_t *)buf, &s, 4, 9, 0)",
    "wcsnrtombs": "const wchar_t *s = L\"abcdef\"; wcsnrtombs(buf, &s, 7, 9, 0)",
    "mbrtoc16": "mbstate_t p = {0}; mbrtoc16((char16_t *)(buf + 2), \"a\", 1, &p)",
    "mbrtoc32": "mbstate_t p = {0}; mbrtoc32((char32_t *)buf, \"a\", 1, &p)",
    "c16rtomb": "mbstate_t p = {0}; c16rtomb(buf + 3, u'a', &p)",
    "c32rtomb": "mbstate_t p = {0}; c32rtomb(buf + 3, U'a', &p)",
    "swprintf": "swprintf((wchar_t *)buf, 9, L\"%d\", 12345)",
    "swscanf": "swscanf(L\"12345678\", L\"%d\", (int *)buf)",
    "fwscanf": "FILE *f = fopen(\"/etc/passwd\", \"r\"); result = fwscanf(f, L\"%s\", buf)",
    "fgetws": "keep = fgetws((wchar_t *)buf, 9, fopen(\"/etc/passwd\", \"r\"))",
    "vswscanf": "vas(5, \"%d\", buf)",
    "vfwscanf": "vas(6, \"%d\", buf)",
    "syscall_read": "result = syscall(SYS_read, open(\"/dev/zero\", O_RDONLY), buf, 8)",
    "syscall_getcwd": "result = syscall(SYS_getcwd, buf, sizeof buf)",
    "syscall_pipe2": "syscall(SYS_pipe2, buf, 0)",
    "syscall_uname": "syscall(SYS_uname, buf)",
    "syscall_clock": "syscall(SYS_clock_getres, 0, buf)",
    "syscall_fstat": "syscall(SYS_fstat, 0, buf)",
    "syscall_getrandom": "syscall(SYS_getrandom, buf, 8, 0)",
    "syscall_sigmask": "syscall(SYS_rt_sigprocmask, 0, 0, buf, 8)",
    "syscall_readv": "struct iovec v = {buf, 8}; syscall(SYS_readv, open(\"/dev/zero\", O_RDONLY), &v, 1)",
    "syscall_getrlimit": "syscall(SYS_prlimit64, 0, RLIMIT_CORE, 0, buf)",
    "syscall_getsockopt": "int k = 4; syscall(SYS_getsockopt, socket(AF_UNIX, SOCK_STREAM, 0), SOL_SOCKET, SO_TYPE, buf, &k)",
    "preadv": "struct iovec v = {buf, 8}; preadv(open(\"/dev/zero\", O_RDONLY), &v, 1, 0)",
    "preadv64": "struct iovec v = {buf, 8}; preadv64(open(\"/dev/zero\", O_RDONLY), &v, 1, 0)",
    "preadv2": "struct iovec v = {buf, 8}; preadv2(open(\"/dev/zero\", O_RDONLY), &v, 1, 0, 0)",
    "recvmmsg": "int p[2]; socketpair(AF_UNIX, SOCK_DGRAM, 0, p); send(p[1], \"12345678\", 8, 0); struct iovec v = {buf, 8}; struct mmsghdr h = {.msg_hdr = {.msg_iov = &v, .msg_iovlen = 1}}; recvmmsg(p[0], &h, 1, 0, 0)",
    "epoll_pwait2": "int p[2], e = epoll_create1(0); pipe(p); struct epoll_event v = {.events = EPOLLOUT}; epoll_ctl(e, EPOLL_CTL_ADD, p[1], &v); epoll_pwait2(e, (struct epoll_event *)buf, 1, 0, 0)",
    "sendfile64": "int p[2]; pipe(p); memset(buf, 0, 8); sendfile64(p[1], open(\"/etc/passwd\", O_RDONLY), (off64_t *)buf, 4)",
    "copy_file_range": "memset(buf, 0, 8); copy_file_range(open(\"/etc/passwd\", O_RDONLY), (off64_t *)buf, memfd_create(\"x\", 0), 0, 4, 0)",
    "getdents64": "result = getdents64(open(\"/\", O_RDONLY), buf, sizeof buf)",
    "readdir_r": "struct dirent *e; readdir_r(opendir(\"/\"), (struct dirent *)buf, &e)",
    "tcgetattr": "tcgetattr(open(\"/dev/ptmx\", O_RDWR | O_NOCTTY), (struct termios *)buf)",
    "msgctl": "result = msgctl(msgget(IPC_PRIVATE, 0600), IPC_STAT, (struct msqid_ds *)buf)",
    "shmctl": "result = shmctl(shmget(IPC_PRIVATE, 4096, 0600), IPC_STAT, (struct shmid_ds *)buf)",
    "getgrouplist": "int k = 9; getgrouplist(\"root\", 0, (gid_t *)buf, &k)",
    "ptsname_r": "ptsname_r(open(\"/dev/ptmx\", O_RDWR | O_NOCTTY), buf, 64)",
    "pthread_attr_getstack": "pthread_attr_t a; size_t k; pthread_getattr_np(pthread_self(), &a); pthread_attr_getstack(&a, (void **)buf, &k)",
    "prctl": "prctl(PR_GET_NAME, buf, 0, 0, 0)",
}


@each(*sorted(READS))
def test_reads(s, name):
    """A write of what the function reads, by another thread, is a race with it; a second reader is none."""
    r, found = kinds(s, program(READS[name], "buf[3] = 'L'"))
    f = s.is_bug(r, ["data-race"])
    s.check(any(w["function"] in ("one", "va", "vas") for w in f["where"]), "the call in `one` is not a place of the finding")
    call = re.sub(r"\bother\b", "mine", READS[name]).replace("keep =", "void *k =").replace("result =", "long r =")
    reader = "char mine[4096] = \"x\"; (void)mine; %s" % call
    r, found = kinds(s, program(reader, reader))
    s.check(not found, "two readers: " + ", ".join(found))


@each(*sorted(WRITES))
def test_writes(s, name):
    """A read of what the function writes, by another thread, is a race with it."""
    r, found = kinds(s, program(WRITES[name], "result = buf[3]"))
    f = s.is_bug(r, ["data-race"])
    s.check(any(w["function"] in ("one", "va", "vas") for w in f["where"]), "the call in `one` is not a place of the finding")
    r, found = kinds(s, program(WRITES[name].replace("buf", "mine").replace("keep", "void *k"), "buf[3] = 'L'",
                                extra="static _Thread_local char mine[4096] __attribute__((aligned(16)));\n"))
    s.check(not found, "into memory of its own: " + ", ".join(found))


# ---- calls of two threads race: for variables of libc's own, which have no lock, or for one result ----

HIDDEN = {
    "getmntent": "FILE *f = setmntent(\"/proc/self/mounts\", \"r\"); getmntent(f); fclose(f)",
    "getnetbyname": "getnetbyname(\"loopback\")", "getnetbyaddr": "getnetbyaddr(127, AF_INET)", "getnetent": "getnetent()",
    "gethostent": "gethostent()", "getservent": "getservent()", "getprotoent": "getprotoent()", "getspnam": "getspnam(\"root\")",
    "getspent": "getspent()", "getfsent": "getfsent()", "getfsspec": "getfsspec(\"a\")", "getfsfile": "getfsfile(\"/\")",
    "getutent": "getutent()", "getutid": "struct utmp u = {.ut_type = BOOT_TIME}; getutid(&u)",
    "getutline": "struct utmp u = {.ut_line = \"a\"}; getutline(&u)", "getutxent": "getutxent()",
    "getutxid": "struct utmpx u = {.ut_type = BOOT_TIME}; getutxid(&u)",
    "getutxline": "struct utmpx u = {.ut_line = \"a\"}; getutxline(&u)", "getusershell": "getusershell()",
    "ether_aton": "ether_aton(\"1:2:3:4:5:6\")", "ether_ntoa": "struct ether_addr a = {{1}}; ether_ntoa(&a)",
    "qecvt": "int a, b; qecvt(1.5, 3, &a, &b)", "qfcvt": "int a, b; qfcvt(1.5, 3, &a, &b)", "getdate": "getdate(\"1\")",
    "tmpnam-2": "tmpnam(0)", "mbrtowc-2": "wchar_t w; mbrtowc(&w, \"a\", 1, 0)", "wcrtomb-2": "char d[16]; wcrtomb(d, L'a', 0)",
    "mblen": "mblen(\"a\", 1)", "mbtowc-2": "wchar_t w; mbtowc(&w, \"a\", 1)", "wctomb-2": "char d[16]; wctomb(d, L'a')",
    "getopt_long_only": "char *a[] = {\"x\", \"-a\", 0}; getopt_long_only(2, a, \"a\", 0, 0)",
    "fgetc_unlocked": "(fgetc_unlocked)(stdin)", "getc_unlocked": "(getc_unlocked)(stdin)", "getchar_unlocked": "(getchar_unlocked)()",
    "fputc_unlocked": "(fputc_unlocked)('x', stdout)", "putc_unlocked": "(putc_unlocked)('x', stdout)",
    "putchar_unlocked": "(putchar_unlocked)('x')", "fflush_unlocked": "fflush_unlocked(stdout)",
    "fgetwc_unlocked": "fgetwc_unlocked(stdin)", "getwc_unlocked": "getwc_unlocked(stdin)",
    "getwchar_unlocked": "getwchar_unlocked()", "fputwc_unlocked": "fputwc_unlocked('x', stdout)",
    "putwc_unlocked": "putwc_unlocked('x', stdout)", "putwchar_unlocked": "putwchar_unlocked('x')",
    "clearerr_unlocked": "(clearerr_unlocked)(stdin)",
    "feof_unlocked": "(feof_unlocked)(stdin); (clearerr_unlocked)(stdin)",
    "ferror_unlocked": "(ferror_unlocked)(stdin); (clearerr_unlocked)(stdin)",
    "strtok": "char s[] = \"a b\"; strtok(s, \" \")", "localtime": "time_t t = 0; localtime(&t)",
    "gmtime": "time_t t = 0; gmtime(&t)", "asctime": "struct tm t = {.tm_mday = 1}; asctime(&t)",
    "ctime": "time_t t = 0; ctime(&t)", "drand48": "drand48()", "lrand48": "lrand48()", "mrand48": "mrand48()",
    "srand48": "srand48(1)", "seed48": "unsigned short s[3] = {1}; seed48(s)", "lcong48": "unsigned short s[7] = {1}; lcong48(s)",
    "getpwuid": "getpwuid(0)", "getpwnam": "getpwnam(\"root\")", "getpwent": "getpwent()", "getgrgid": "getgrgid(0)",
    "getgrnam": "getgrnam(\"root\")", "getgrent": "getgrent()", "gethostbyname": "gethostbyname(\"127.0.0.1\")",
    "gethostbyaddr": "gethostbyaddr(\"\\x7f\\0\\0\\1\", 4, AF_INET)", "readdir": "readdir(folder)", "readdir64": "readdir64(folder)",
    "poll": "static struct pollfd p = {.fd = -1}; poll(&p, 1, 0)",
    "ppoll": "static struct pollfd p = {.fd = -1}; struct timespec t = {0}; ppoll(&p, 1, &t, 0)",
    "select": "static fd_set s; struct timeval t = {0}; select(1, &s, 0, 0, &t)",
    "pselect": "static fd_set s; struct timespec t = {0}; pselect(1, &s, 0, 0, &t, 0)",
    "scanf": "static int v; if (scanf(\"%d\", &v) != 1) v = 1", "vscanf": "static int v; if (va(8, 0, \"%d\", &v) != 1) v = 1",
    "gethostbyname2": "gethostbyname2(\"127.0.0.1\", AF_INET)", "l64a": "l64a(77)",
    "ecvt": "int a, b; ecvt(1.5, 3, &a, &b)", "fcvt": "int a, b; fcvt(1.5, 3, &a, &b)",
    "getopt": "char *a[] = {\"x\", \"-a\", 0}; getopt(2, a, \"a\")",
    "getopt_long": "char *a[] = {\"x\", \"-a\", 0}; getopt_long(2, a, \"a\", 0, 0)", "localeconv": "localeconv()",
    "tsearch": "static void *root; tsearch(\"a\", &root, order)", "tdelete": "static void *root; tdelete(\"a\", &root, order)",
    "hcreate": "hcreate(10)", "hdestroy": "hdestroy()", "hsearch": "ENTRY e = {\"a\", 0}; hsearch(e, ENTER)",
    "hsearch_r": "ENTRY e = {\"a\", 0}, *r; hsearch_r(e, ENTER, &r, &entries)",
    "lsearch": "static char a[8]; static size_t k; lsearch(\"x\", a, &k, 1, order)",
    "insque": "static struct { void *n, *p; } a, b; insque(&a, &b)",
    "remque": "static struct q { struct q *n, *p; } a, b = {&a, &a}; remque(&b)",
    "tfind": "static void *root; tfind(\"a\", &root, order); tsearch(\"b\", &root, order)",
    "setvbuf": "static char b[BUFSIZ]; FILE *f = nowhere(); setvbuf(f, b, _IOFBF, BUFSIZ); fprintf(f, \"%p\", (void *)&f)",
    "setbuf": "static char b[BUFSIZ]; FILE *f = nowhere(); setbuf(f, b); fprintf(f, \"%p\", (void *)&f)",
    "setbuffer": "static char b[BUFSIZ]; FILE *f = nowhere(); setbuffer(f, b, BUFSIZ); fprintf(f, \"%p\", (void *)&f)",
    "lgamma": "result = lgamma(n) * signgam", "lgammaf": "result = lgammaf(n) * signgam",
    "lgammal": "result = lgammal(n) * signgam", "gamma": "result = gamma(n) * signgam", "gammaf": "result = gammaf(n) * signgam",
    "gammal": "result = gammal(n) * signgam",
    "twalk": "static void *root; tsearch(\"b\", &root, order); twalk(root, visit)",
    "wscanf": "static int v; if (wscanf(L\"%d\", &v) != 1) v = 1",
    "vwscanf": "static int v; if (vas(7, \"\", &v) != 1) v = 1",
    "fts_read": "fts_read(tree)",
    "fts_children": "fts_children(tree, 0)",
}


@each(*sorted(HIDDEN))
def test_hidden(s, name):
    # A function of its own each, so that what is static there is shared.
    extra = """static DIR *folder;
static struct hsearch_data entries;
static FTS *tree;
__attribute__((constructor)) static void prepare(void) { tree = fts_open((char *[]){"/etc", 0}, FTS_PHYSICAL, 0); folder = opendir("/"); hcreate(10); hcreate_r(10, &entries); }
"""
    extra += "static void call(void) { %s; }\n" % HIDDEN[name]
    r, found = kinds(s, program("call()", "call()", extra=extra))
    s.is_bug(r, ["data-race"])
    call = "pthread_mutex_lock(&m); call(); pthread_mutex_unlock(&m)"
    r, found = kinds(s, program(call, call, extra=extra))
    s.check(not found, "with a lock: " + ", ".join(found))


# Functions of stdio: each takes the lock of its stream, f, which is a lock of the schedule.
STREAM = {
    "fputc": "fputc('x', f)", "putc": "(putc)('x', f)", "_IO_putc": "_IO_putc('x', f)", "putw": "putw(1, f)",
    "putchar": "stdout = f, putchar('x')", "getchar": "stdin = f, getchar()", "fputwc": "fputwc('x', f)",
    "putwc": "(putwc)('x', f)", "putwchar": "stdout = f, putwchar('x')", "fputws": 'fputws(L"x", f)',
    "fgetc": "fgetc(f)", "getc": "(getc)(f)", "_IO_getc": "_IO_getc(f)", "getw": "getw(f)", "ungetc": "ungetc('x', f)",
    "fgetwc": "fgetwc(f)", "getwc": "(getwc)(f)", "getwchar": "stdin = f, getwchar()", "ungetwc": "ungetwc('x', f)",
    "fseek": "fseek(f, 0, SEEK_SET)", "fseeko": "fseeko(f, 0, SEEK_SET)", "fseeko64": "fseeko64(f, 0, SEEK_SET)",
    "ftell": "ftell(f)", "ftello": "ftello(f)", "ftello64": "ftello64(f)", "fgetpos": "fpos_t at; fgetpos(f, &at)",
    "fgetpos64": "fpos64_t at; fgetpos64(f, &at)", "fsetpos": "fpos_t at = {0}; fsetpos(f, &at)",
    "fsetpos64": "fpos64_t at = {0}; fsetpos64(f, &at)", "setvbuf": "setvbuf(f, 0, _IONBF, 0)", "feof": "(feof)(f)",
    "ferror": "(ferror)(f)", "fwide": "fwide(f, 0)", "freopen": 'freopen("other", "w", f)',
    "freopen64": 'freopen64("other", "w", f)', "rewind": "rewind(f)", "clearerr": "clearerr(f)", "setbuf": "setbuf(f, 0)",
    "setbuffer": "setbuffer(f, 0, 0)", "setlinebuf": "setlinebuf(f)", "fclose": "fclose(f)", "fflush": "fflush(f)",
    "fprintf": 'fprintf(f, "%d", 1)', "fwrite": 'fwrite("x", 1, 1, f)', "fputs": 'fputs("xy", f)',
    "fread": "char c; fread(&c, 1, 1, f)", "fgets": "char c[4]; fgets(c, 4, f)", "fscanf": 'int n; fscanf(f, "%d", &n)',
    "flockfile": "flockfile(f); funlockfile(f)",
    "fwprintf": "fwprintf(f, L\"%d\", 1)",
    "fgetws": "wchar_t c[4]; fgetws(c, 4, f)",
    "fwscanf": "int n; fwscanf(f, L\"%d\", &n)",
}


@each(*sorted(STREAM))
def test_stream(s, name):
    """The thread takes a mutex and the stream; main the same two, in the same order or in the opposite one."""
    text = """#include <wchar.h>
#ifndef _IO_putc /* old names */
int _IO_putc(int c, FILE *f);
int _IO_getc(FILE *f);
#endif
static FILE *f;
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static void *one(void *arg) { pthread_mutex_lock(&own); %s; pthread_mutex_unlock(&own); return arg; }
int main(void) {
  pthread_t t;
  f = fopen("stream", "w+");
  pthread_create(&t, 0, one, 0);
  %s
  pthread_join(t, 0);
  return 0;
}
"""
    wrong = "flockfile(f); pthread_mutex_lock(&own); pthread_mutex_unlock(&own); funlockfile(f);"
    r, found = kinds(s, HEAD + text % (STREAM[name], wrong), "--ignore", "use-after-free")
    s.is_bug(r, ["deadlock"])
    r, found = kinds(s, HEAD + text % (STREAM[name], "pthread_mutex_lock(&own); pthread_mutex_unlock(&own);"))
    s.check(not found, "in the same order: " + ", ".join(found))


# ---- mappings: dropping their contents is a write ----

MAPPINGS = {
    "munmap": "munmap(page, 4096)", "madvise": "madvise(page, 4096, MADV_DONTNEED)",
    "mremap": "mremap(page, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, where)",
    "mmap": "mmap(page, 4096, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)",
    "mmap64": "mmap64(page, 4096, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)",
}
PAGES = """
#include <sys/mman.h>
static char *page, *where;
__attribute__((constructor)) static void make(void) { page = mmap(0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  where = page + 4096; }
"""


@each(*sorted(MAPPINGS))
def test_mapping(s, name):
    r, found = kinds(s, program(MAPPINGS[name], "result = page[3]", extra=PAGES))
    s.is_bug(r, ["data-race"])


# mprotect, brk and sbrk: tests/litmus/state/break.c. Of large mappings mprotect is a reason (tests/cli/test_inexact.py), and
# so is a second shmat; shmdt ends that.


# ---- the heap ----

ALLOC = {
    "malloc": "malloc(20)", "calloc": "calloc(4, 5)", "realloc": "realloc(0, 20)",
    "reallocarray": "reallocarray(0, 4, 5)",
    "aligned_alloc": "aligned_alloc(32, 20)", "memalign": "memalign(32, 20)",
    "posix_memalign": "(posix_memalign(&keep, 32, 20), keep)",
    "strdup": "strdup(\"0123456789012345678\")", "strndup": "strndup(\"0123456789012345678999\", 19)",
}


@each(*sorted(ALLOC))
def test_alloc(s, name):
    """The block ends where it should, is gone when freed, is a leak when forgotten."""
    get = "char *p = %s; assert(p); " % ALLOC[name]
    use = "__attribute__((noinline)) static void poke(char *p, int i) { p[i] = 1; }\n"
    r, _ = kinds(s, program(get + "poke(p, 20); free(p)", extra=use))
    s.is_bug(r, ["heap-overflow"])
    r, _ = kinds(s, program(get + "poke(p, -1); free(p)", extra=use))
    s.is_bug(r, ["heap-overflow"])
    r, _ = kinds(s, program(get + "free(p); poke(p, 3)", extra=use))
    s.is_bug(r, ["use-after-free"])
    r, _ = kinds(s, program(get + "free(p); keep = p; free(keep)", extra=use))
    s.is_bug(r, ["double-free"])
    r, _ = kinds(s, program(get + "poke(p, 19); keep = 0", extra=use), "--leaks")
    f = s.is_bug(r, ["leak"])
    s.same((f["leaked_blocks"], f["leaked_bytes"]), (1, 20), "blocks and bytes")
    r, _ = kinds(s, program(get + "poke(p, 0); poke(p, 19); free(p)", extra=use).replace("keep", "mine").replace(
        "char buf", "static _Thread_local void *mine; char buf").replace("void *mine; long", "long"), "--leaks")
    s.is_clean(r, 3000)


# What a function allocates for its caller: other threads must know of it in some order.
PUBLISHED = {name: "p = " + call for name, call in ALLOC.items() if name != "posix_memalign"}
PUBLISHED.update({
    "posix_memalign": "void *x; posix_memalign(&x, 32, 20); p = x", "wcsdup": "p = (char *)wcsdup(L\"hello\")",
    "asprintf": "asprintf(&p, \"%d\", 12345)", "sscanf": "sscanf(\"hello\", \"%ms\", &p)",
    "fscanf": "fscanf(text(), \"%ms\", &p)", "getline": "size_t k = 0; getline(&p, &k, text())",
    "getdelim": "size_t k = 0; getdelim(&p, &k, 10, text())", "getcwd": "p = getcwd(0, 0)",
    "realpath": "p = realpath(\"/proc\", 0)", "get_current_dir_name": "p = get_current_dir_name()",
    "canonicalize_file_name": "p = canonicalize_file_name(\"/proc\")", "tempnam": "p = tempnam(\"/tmp\", \"x\")",
    "opendir": "p = (char *)opendir(\"/\")", "fdopendir": "p = (char *)fdopendir(open(\"/\", O_RDONLY))",
    "scandir": "struct dirent **d; scandir(\"/\", &d, 0, 0); p = (char *)d[0]",
    "glob": "glob_t g; glob(\"/*\", 0, 0, &g); p = g.gl_pathv[0]",
    "getaddrinfo": "struct addrinfo *a; getaddrinfo(\"127.0.0.1\", 0, 0, &a); p = (char *)a",
})


@each(*sorted(PUBLISHED))
def test_published(s, name):
    """A block is published by an atomic operation that orders nothing, or by one that does."""
    get = "char *p = 0; " + PUBLISHED[name] + "; __atomic_store_n(&keep, p, __ATOMIC_"
    use = "volatile char *p = __atomic_load_n(&keep, __ATOMIC_ACQUIRE); if (p) (void)p[0]"
    r, _ = kinds(s, program(get + "RELAXED)", use))
    s.is_bug(r, ["data-race"])
    r, found = kinds(s, program(get + "RELEASE)", use))
    s.check(not found, "in order: " + ", ".join(found))


def test_malloc_usable_size(s):
    r, _ = kinds(s, program("char *p = malloc(21); size_t k = malloc_usable_size(p); assert(k >= 21);"
                            " for (size_t i = 0; i < k; i++) p[i] = 1; free(p)"))
    s.is_clean(r)


@each("valloc", "pvalloc")
def test_page_aligned(s, name):
    body = "char *p = %s(10); assert(p && ((uintptr_t)p & 4095) == 0); p[9] = 1; free(p)" % name
    r, _ = kinds(s, program(body), "--leaks")
    s.is_clean(r)
