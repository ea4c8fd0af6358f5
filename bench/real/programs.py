"""The programs of bench/real/real.py: how each is built, what is run, and what is expected.

A step is a shell command, run in an empty folder, with `heddle-cc` and `heddle-c++` on the path, SRC the source as
it was unpacked (never changed) and DRIVERS our drivers. A check is a search; its label is the command that is
run."""
import os
from collections import namedtuple

Program = namedtuple("Program", "name package needs steps checks")
Check = namedtuple("Check", "label command stdin options expect suppressions")

CLEAN = ("clean",)
UNFINISHED = ("clean", "bounded")  # so large that a time limit may end the search
BUG = ("bug",)


def check(label, expect, *options, suppressions=None):
    command, _, stdin = label.partition(" < ")
    words = command.split()
    return Check(label, ["./" + words[0], *words[1:]], stdin or os.devnull, list(options), expect, suppressions)


FLAGS = "-g -O1"
# Their shared variables are volatile or plain, and ordered by fences in assembly: by design, see the page.
BY_DESIGN = ("--ignore", "data-race")

UV = ["src/" + f for f in ("fs-poll idna inet random strscpy strtok threadpool timer uv-common uv-data-getter-setters "
                           "version").split()]
UV += ["src/unix/" + f for f in (
    "async core dl fs getaddrinfo getnameinfo loop loop-watcher pipe poll process proctitle random-devurandom "
    "random-getrandom random-sysctl-linux signal stream tcp thread tty udp epoll linux-core linux-inotify "
    "linux-syscalls procfs-exepath").split()]
# What the queue, the pool and the threads need of GLib, directly or not.
GLIB = ["glib/" + f for f in (
    "garcbox garray gasyncqueue gbitlock gbytes gcharset gconvert gdir genviron gerror gfileutils "
    "ggettext ghash ghostutils giochannel giounix gjournal-private glib-init glib-unix glist gmain gmem "
    "gmessages gpattern gpoll gprintf gqsort gquark gqueue grand grcbox grefcount gshell gslice gslist "
    "gspawn gstdio gstrfuncs gstring gtestutils gthread-posix gthread gthreadpool gtimer gtranslit "
    "gunidecomp guniprop guri gutf8 gutils gvariant-core gvariant-serialiser gvariant gvarianttype "
    "gvarianttypeinfo gwakeup").split()]
GLIB += ["glib/libcharset/localcharset"]

PROGRAMS = [
    Program(
        "zstd", "libzstd", [],
        ['heddle-cc %s -DZSTD_MULTITHREAD -I"$SRC"/lib -I"$SRC"/lib/common "$DRIVERS"/zstd_pool.c '
         '"$SRC"/lib/common/pool.c "$SRC"/lib/common/threading.c "$SRC"/lib/common/zstd_common.c '
         '"$SRC"/lib/common/error_private.c "$SRC"/lib/common/debug.c -o zstd_pool' % FLAGS,
         'heddle-cc %s -DZSTD_MULTITHREAD -DZSTD_DISABLE_ASM -I"$SRC"/lib "$DRIVERS"/zstd_mt.c "$SRC"/lib/common/*.c '
         '"$SRC"/lib/compress/*.c "$SRC"/lib/decompress/*.c -o zstd_mt' % FLAGS],
        [check("zstd_pool 2", CLEAN), check("zstd_pool 2 resize", CLEAN), check("zstd_pool 3", UNFINISHED),
         check("zstd_mt", UNFINISHED)]),
    Program(
        "ck", "ck", [],
        ['CC=gcc "$SRC"/configure --use-cc-builtins',
         'heddle-cc %s -DCK_USE_CC_BUILTINS=1 -Iinclude -I"$SRC"/include "$DRIVERS"/ck_containers.c '
         '-o ck_containers' % FLAGS],
        [check("ck_containers ring", BUG)]
        + [check("ck_containers " + c, CLEAN, *BY_DESIGN)
           for c in "ring ring-mpmc fifo stack ticket rwlock sequence".split()]
        + [check("ck_containers mcs", UNFINISHED, *BY_DESIGN)]),
    Program(
        "liburcu", "liburcu", [],
        ['"$SRC"/configure CC=gcc --disable-shared -q',
         # The guard of the header with assembly is defined, and the one with the compiler's builtins included.
         'heddle-cc %s -DRCU_MB -D_URCU_ARCH_UATOMIC_X86_H -include urcu/uatomic/gcc.h -Iinclude -I"$SRC"/include '
         '-I"$SRC"/src "$DRIVERS"/urcu_containers.c "$SRC"/src/urcu.c "$SRC"/src/urcu-pointer.c "$SRC"/src/wfcqueue.c '
         '"$SRC"/src/wfstack.c "$SRC"/src/lfstack.c "$SRC"/src/rculfqueue.c "$SRC"/src/compat_arch.c '
         '"$SRC"/src/compat_futex.c -o urcu_containers' % FLAGS],
        [check("urcu_containers " + c, CLEAN, *BY_DESIGN) for c in "wfcqueue wfstack lfstack rcu".split()]
        + [check("urcu_containers rcu-early", BUG, *BY_DESIGN),
           check("urcu_containers rculfqueue", UNFINISHED, *BY_DESIGN)]),
    Program(
        "libuv", "libuv1", [],
        ['heddle-cc %s -D_GNU_SOURCE -I"$SRC"/include -I"$SRC"/src "$DRIVERS"/libuv_pool.c %s -o libuv_pool -ldl'
         % (FLAGS, " ".join('"$SRC"/%s.c' % f for f in UV))],
        [check("libuv_pool work", UNFINISHED), check("libuv_pool cancel", UNFINISHED),
         check("libuv_pool async", CLEAN)]),
    Program(
        "xz", "xz-utils", ["make"],
        ['"$SRC"/configure CC=heddle-cc CFLAGS="%s" --disable-shared --disable-xz --disable-xzdec --disable-lzmadec '
         '--disable-lzmainfo --disable-scripts --disable-doc --disable-nls --disable-assembler '
         '--disable-symbol-versions --disable-microlzma --disable-lzip-decoder --enable-encoders=lzma1,lzma2 '
         '--enable-decoders=lzma1,lzma2 --enable-checks=crc32 -q' % FLAGS,
         'make -s -C src/liblzma',
         'heddle-cc %s -I"$SRC"/src/liblzma/api "$DRIVERS"/xz_mt.c src/liblzma/.libs/liblzma.a -o xz_mt' % FLAGS],
        [check("xz_mt encode", UNFINISHED), check("xz_mt decode", BUG),
         check("xz_mt decode", UNFINISHED, suppressions="xz.supp")]),
    Program(
        "pbzip2", "pbzip2", ["bzip2"],
        ['heddle-c++ %s -D_LARGEFILE64_SOURCE -D_FILE_OFFSET_BITS=64 -DUSE_STACKSIZE_CUSTOMIZATION "$SRC"/pbzip2.cpp '
         '"$SRC"/BZ2StreamScanner.cpp "$SRC"/ErrorContext.cpp -o pbzip2 -lbz2' % FLAGS,
         'seq 20000 > text && (head -n 9999 text | bzip2; tail -n +10000 text | bzip2) > two.bz2'],
        [check("pbzip2 -kf -p2 -b1 -1 text", UNFINISHED), check("pbzip2 -dc -p2 < two.bz2", UNFINISHED)]),
    Program(
        "sqlite3", "sqlite3", ["make", "tclsh"],
        ['"$SRC"/configure CC=gcc -q --disable-tcl', 'make -s sqlite3.c',
         'heddle-cc %s -DSQLITE_THREADSAFE=1 -DSQLITE_OMIT_LOAD_EXTENSION -I. "$DRIVERS"/sqlite_threads.c sqlite3.c '
         '-o sqlite_threads -lm' % FLAGS],
        [check("sqlite_threads serialized", CLEAN), check("sqlite_threads memory", UNFINISHED),
         check("sqlite_threads file", UNFINISHED), check("sqlite_threads initialize", BUG),
         check("sqlite_threads initialize", BUG, suppressions="sqlite.supp")]),
    Program(
        "glib", "glib2.0", ["meson", "ninja", "pkg-config"],
        # Only its configuration is made: config.h and glibconfig.h. What of GLib uses these libraries is not built.
        ['mkdir pc && for l in libpcre2-8 libffi zlib; do printf "Name: $l\\nDescription: $l\\nVersion: 11\\n" '
         '> pc/$l.pc; done && CC=gcc PKG_CONFIG_PATH="$PWD"/pc meson setup made "$SRC" --wrap-mode=nodownload '
         '-Dselinux=disabled -Dlibmount=disabled -Dtests=false -Dnls=disabled -Dxattr=false -Dman=false',
         'heddle-cc %s -w -fno-strict-aliasing -D_GNU_SOURCE -DGLIB_COMPILATION -DG_LOG_DOMAIN=\\"GLib\\" '
         '-DGLIB_CHARSETALIAS_DIR=\\"\\" -Imade -Imade/glib -I"$SRC" -I"$SRC"/glib "$DRIVERS"/glib_queue.c %s '
         '-o glib_queue' % (FLAGS, " ".join('"$SRC"/%s.c' % f for f in GLIB))],
        [check("glib_queue " + c, CLEAN) for c in "order timeout ref lock".split()]
        + [check("glib_queue " + c, UNFINISHED) for c in "pop push pool".split()]
        + [check("glib_queue " + c, BUG) for c in "length unlocked unref".split()]),
]
