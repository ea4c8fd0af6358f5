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

MEMCACHED = ("memcached hash jenkins_hash murmur3_hash slabs items assoc thread daemon stats_prefix util cache bipbuffer "
             "base64 logger crawler itoa_ljust slab_automove authfile restart proto_text proto_bin storage extstore crc32c "
             "slab_automove_extstore").split()


def cmake(options):
    """Configures for a static library."""
    return ('cmake -S "$SRC" -B . -DCMAKE_C_COMPILER=heddle-cc -DCMAKE_CXX_COMPILER=heddle-c++ -DBUILD_SHARED_LIBS=OFF '
            '-DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="%s" -DCMAKE_CXX_FLAGS="%s" %s' % (FLAGS, FLAGS, options))


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
    Program(
        "tinyproxy", "tinyproxy", [],
        ['CC=gcc "$SRC"/configure -q --disable-manpage_support',
         'heddle-cc %s -w -DHAVE_CONFIG_H -DNDEBUG -DSYSCONFDIR=\'"."\' -DLOCALSTATEDIR=\'"."\' '
         '-DTINYPROXY_STATFILE=\'""\' -Dmain=tinyproxy_main -I. -I"$SRC" -I"$SRC"/src -c "$SRC"/src/*.c' % FLAGS,
         'heddle-cc %s "$DRIVERS"/tinyproxy_daemon.c *.o -o tinyproxy_daemon' % FLAGS],
        [check("tinyproxy_daemon", BUG), check("tinyproxy_daemon", BUG, *BY_DESIGN)]),
    Program(
        "memcached", "memcached", [],
        ['CC=gcc "$SRC"/configure -q --disable-docs --disable-coverage',
         'heddle-cc %s -w -DHAVE_CONFIG_H -DNDEBUG -Dmain=memcached_main -I. -I"$SRC" -c %s'
         % (FLAGS, " ".join('"$SRC"/%s.c' % f for f in MEMCACHED)),
         'heddle-cc %s "$DRIVERS"/memcached_daemon.c *.o -o memcached_daemon -levent' % FLAGS],
        [check("memcached_daemon", BUG), check("memcached_daemon", UNFINISHED, *BY_DESIGN)]),
    Program(
        "mimalloc", "mimalloc", [],
        ['heddle-cc %s -w -DNDEBUG -I"$SRC"/include "$DRIVERS"/mimalloc_own.c "$SRC"/src/static.c -o mimalloc_own' % FLAGS,
         'heddle-cc %s -w -DNDEBUG -DMI_MALLOC_OVERRIDE -DOVERRIDE -I"$SRC"/include "$DRIVERS"/mimalloc_own.c '
         '"$SRC"/src/static.c -o mimalloc_override' % FLAGS],
        [check("mimalloc_own", UNFINISHED), check("mimalloc_override", UNFINISHED)]),
    Program(
        "jemalloc", "jemalloc", ["autoconf"],
        ['cp -r "$SRC" tree && cd tree && autoconf && ./configure CC=gcc -q --with-jemalloc-prefix=je_ --disable-cxx '
         '--disable-initial-exec-tls --disable-doc --with-malloc-conf=narenas:1,background_thread:false',
         'rm tree/src/zone.c && heddle-cc %s -w -DNDEBUG -D_GNU_SOURCE -DJEMALLOC_NO_PRIVATE_NAMESPACE -Itree/include '
         '"$DRIVERS"/jemalloc_own.c tree/src/*.c -o jemalloc_own -lm' % FLAGS],
        [check("jemalloc_own", BUG), check("jemalloc_own", UNFINISHED, *BY_DESIGN)]),
    Program(
        "civetweb", "civetweb", [],
        ['heddle-cc %s -w -DNO_SSL -DNO_CGI -DNDEBUG -Dmain=civetweb_main -I"$SRC"/include -c "$SRC"/src/civetweb.c '
         '"$SRC"/src/main.c' % FLAGS,
         'heddle-cc %s "$DRIVERS"/civetweb_daemon.c *.o -o civetweb_daemon -ldl' % FLAGS],
        [check("civetweb_daemon", BUG), check("civetweb_daemon", UNFINISHED, *BY_DESIGN)]),
    Program(
        "microsocks", "microsocks", [],
        ['heddle-cc %s -w -Dmain=microsocks_main -c "$SRC"/sockssrv.c "$SRC"/server.c "$SRC"/sblist.c "$SRC"/sblist_delete.c'
         % FLAGS,
         'heddle-cc %s "$DRIVERS"/microsocks_daemon.c *.o -o microsocks_daemon' % FLAGS],
        [check("microsocks_daemon", BUG), check("microsocks_daemon", UNFINISHED, *BY_DESIGN)]),
    Program(
        "mosquitto", "mosquitto", [],
        ['heddle-cc %s -w -DVERSION=\'"2"\' -DWITH_BROKER -DWITH_EPOLL -DWITH_BRIDGE -DWITH_PERSISTENCE -DWITH_SYS_TREE '
         '-Dmain=mosquitto_main -I"$SRC" -I"$SRC"/include -I"$SRC"/lib -I"$SRC"/src -I"$SRC"/deps -c $(find "$SRC"/src -name "*.c" ! -name "plugin_de*") '
         '%s' % (FLAGS, " ".join('"$SRC"/lib/%s.c' % f for f in (
             "alias_mosq memory_mosq misc_mosq net_mosq packet_datatypes packet_mosq property_mosq send_connect send_disconnect "
             "send_mosq send_publish send_subscribe send_unsubscribe strings_mosq time_mosq tls_mosq utf8_mosq util_mosq "
             "util_topic will_mosq handle_ping handle_pubackcomp handle_pubrec handle_pubrel handle_suback handle_unsuback"
         ).split())),
         'heddle-cc %s "$DRIVERS"/mosquitto_daemon.c *.o -o mosquitto_daemon -ldl -lm' % FLAGS],
        [check("mosquitto_daemon", UNFINISHED)]),
    Program(
        "libmicrohttpd", "libmicrohttpd", [],
        ['CC=gcc "$SRC"/configure -q --disable-https --disable-doc --disable-examples --disable-curl',
         'heddle-cc %s -w -D_GNU_SOURCE -I. -I"$SRC"/src/include -I"$SRC"/src/microhttpd "$DRIVERS"/microhttpd_pool.c %s '
         '-o microhttpd_pool' % (FLAGS, " ".join('"$SRC"/src/microhttpd/%s.c' % f for f in (
             "connection reason_phrase daemon internal memorypool mhd_mono_clock sysfdsetsize mhd_str mhd_send mhd_sockets "
             "mhd_itc mhd_compat response mhd_threads postprocessor tsearch").split()))],
        [check("microhttpd_pool", BUG), check("microhttpd_pool", UNFINISHED, *BY_DESIGN)]),
    Program(
        "cpp-httplib", "cpp-httplib", [],
        ['heddle-c++ %s -w -std=c++17 -I"$SRC" "$DRIVERS"/httplib_server.cpp -o httplib_server' % FLAGS],
        [check("httplib_server", UNFINISHED)]),
    Program(
        "lmdb", "lmdb", [],
        ['heddle-cc %s -w -DNDEBUG -I"$SRC"/libraries/liblmdb "$DRIVERS"/lmdb_env.c "$SRC"/libraries/liblmdb/mdb.c '
         '"$SRC"/libraries/liblmdb/midl.c -o lmdb_env' % FLAGS],
        [check("lmdb_env", BUG), check("lmdb_env", UNFINISHED, *BY_DESIGN)]),
    Program(
        "kissfft", "kissfft", [],
        ['heddle-cc %s -w -fopenmp -I"$SRC" "$DRIVERS"/kissfft_omp.c "$SRC"/kiss_fft.c -o kissfft_omp -lm' % FLAGS],
        [check("kissfft_omp", UNFINISHED)]),
    Program(
        "htslib", "htslib", [],
        ['touch config.h && heddle-cc %s -w -I. -I"$SRC" "$DRIVERS"/htslib_pool.c "$SRC"/thread_pool.c -o htslib_pool' % FLAGS],
        [check("htslib_pool", UNFINISHED), check("htslib_pool cancel", UNFINISHED)]),
    Program(
        "libcds", "libcds", [],
        ['heddle-c++ %s -w -std=c++17 -I"$SRC" "$DRIVERS"/libcds_queue.cpp "$SRC"/src/init.cpp "$SRC"/src/hp.cpp "$SRC"/src/dhp.cpp '
         '"$SRC"/src/thread_data.cpp "$SRC"/src/topology_linux.cpp "$SRC"/src/urcu_gp.cpp "$SRC"/src/urcu_sh.cpp -o libcds_queue'
         % FLAGS],
        [check("libcds_queue queue", UNFINISHED), check("libcds_queue stack", BUG),
         check("libcds_queue stack", UNFINISHED, *BY_DESIGN)]),
    Program(
        "boost", "boost1.81", [],
        ['heddle-c++ %s -w -std=c++17 -DBOOST_USE_UCONTEXT -DBOOST_USE_TSAN -DBOOST_CONTEXT_NO_LIB $(printf " -I%%s" "$SRC"/libs/*/include '
         '"$SRC"/libs/numeric/*/include) "$DRIVERS"/boost_fiber.cpp "$SRC"/libs/context/src/fiber.cpp "$SRC"/libs/context/src/posix/stack_traits.cpp -o boost_fiber' % FLAGS,
         'heddle-c++ %s -w -std=c++17 $(printf " -I%%s" "$SRC"/libs/*/include "$SRC"/libs/numeric/*/include) '
         '"$DRIVERS"/lockfree_containers.cpp -o lockfree_containers' % FLAGS,
         'heddle-c++ %s -w -std=c++20 $(printf " -I%%s" "$SRC"/libs/*/include "$SRC"/libs/numeric/*/include) '
         '"$DRIVERS"/asio_coroutine.cpp -o asio_coroutine' % FLAGS],
        [check("boost_fiber", UNFINISHED), check("boost_fiber careless", BUG)]
        + [check("lockfree_containers " + c, BUG) for c in "queue stack".split()]
        + [check("lockfree_containers " + c, UNFINISHED, *BY_DESIGN) for c in "queue stack".split()]
        + [check("lockfree_containers ring", UNFINISHED)]
        + [check("asio_coroutine", UNFINISHED)]),
    Program(
        "nng", "nng", ["cmake", "make"],
        [cmake('-DNNG_TESTS=OFF -DNNG_TOOLS=OFF') + ' && make -s nng',
         'heddle-cc %s -DNNG_STATIC_LIB -I"$SRC"/include "$DRIVERS"/nng_reqrep.c libnng.a -o nng_reqrep' % FLAGS],
        [check("nng_reqrep", BUG, "--strategy", "pct"), check("nng_reqrep", UNFINISHED, *BY_DESIGN)]),
    Program(
        "leveldb", "leveldb", ["cmake", "make"],
        [cmake('-DLEVELDB_BUILD_TESTS=OFF -DLEVELDB_BUILD_BENCHMARKS=OFF -DHAVE_SNAPPY=OFF') + ' && make -s leveldb',
         'heddle-c++ %s -I"$SRC"/include "$DRIVERS"/leveldb_store.cpp libleveldb.a -o leveldb_store' % FLAGS],
        [check("leveldb_store", UNFINISHED)]),
    Program(
        "abseil", "abseil", ["cmake", "make"],
        [cmake('-DCMAKE_CXX_STANDARD=17') + ' && make -s synchronization',
         'heddle-c++ %s -w -std=c++17 -I"$SRC" "$DRIVERS"/absl_mutex.cpp -Wl,--start-group $(find . -name "*.a") '
         '-Wl,--end-group -o absl_mutex' % FLAGS],
        [check("absl_mutex " + c, UNFINISHED) for c in "count await readers".split()]
        + [check("absl_mutex careless", BUG)]),
    Program(
        "apr", "apr", ["make"],
        ['"$SRC"/configure CC=heddle-cc CFLAGS="%s -w" --disable-shared -q && make -s' % FLAGS,
         'heddle-cc %s -w -D_GNU_SOURCE -Iinclude -I"$SRC"/include "$DRIVERS"/apr_pools.c .libs/libapr-1.a -o apr_pools '
         '-lcrypt $(grep -q "^#define HAVE_UUID_H 1" include/arch/unix/apr_private.h && echo -luuid)' % FLAGS],
        [check("apr_pools", BUG), check("apr_pools", UNFINISHED, *BY_DESIGN)]),
    Program(
        "dnsmasq", "dnsmasq", ["make"],
        ['cp -r "$SRC" tree && make -s -C tree CC=heddle-cc CFLAGS="%s -w"' % FLAGS,
         'cd tree/src && objcopy --redefine-sym main=dnsmasq_main dnsmasq.o && heddle-cc %s -w "$DRIVERS"/dnsmasq_daemon.c *.o '
         '-o ../../dnsmasq_daemon' % FLAGS],
        [check("dnsmasq_daemon", UNFINISHED)]),
    Program(
        "libev", "libev", [],
        ['CC=gcc "$SRC"/configure -q',
         'heddle-cc %s -w -I. -I"$SRC" "$DRIVERS"/libev_loop.c "$SRC"/ev.c -o libev_loop -lm' % FLAGS],
        [check("libev_loop", BUG), check("libev_loop", UNFINISHED, *BY_DESIGN)]),
    Program(
        "hiredis", "hiredis", ["make"],
        ['cp -r "$SRC" tree && make -s -C tree CC=heddle-cc OPTIMIZATION="-O1 -w" libhiredis.a',
         'heddle-cc %s -w -Itree "$DRIVERS"/hiredis_threads.c tree/libhiredis.a -o hiredis_threads' % FLAGS],
        [check("hiredis_threads", CLEAN)]),
    Program(
        "c-ares", "c-ares", ["cmake", "ninja"],
        [cmake("-G Ninja -DCARES_STATIC=ON -DCARES_SHARED=OFF -DCARES_BUILD_TOOLS=OFF") + " && ninja",
         'heddle-cc %s -w -I"$SRC"/include -I. "$DRIVERS"/cares_two.c lib/libcares.a -o cares_two' % FLAGS],
        [check("cares_two", UNFINISHED)]),
]
