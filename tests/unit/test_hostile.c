/* test_hostile.c: damaged and made-up files for every reader: thousands of them, the same ones each time. `make fuzz`
 * goes on from here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../fuzz/readers.h"

#include <zstd.h>

#define ROUNDS 4000

/* ---- something to damage ---- */

static uint64_t seed = 1;
static uint32_t rnd(uint32_t below) {
  seed = seed * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(seed >> 33) % below;
}

static void locate(void *arg, uint64_t pc, char **file, uint32_t *line, char **function) {
  (void)arg;
  if (pc % 7 == 0) return;
  *file = hd_strdup(pc % 3 ? "a dir/x.c" : "y.c");
  *line = (uint32_t)(pc & 255);
  *function = pc % 5 ? hd_strdup("std::f<int, 3>") : NULL;
}

static char *name(void *arg, uint64_t addr) {
  (void)arg;
  return addr % 16 ? NULL : hd_strdup(addr % 64 ? "counter" : "a=b~c|d%");
}

/* Events of all kinds, most of which make no sense; a recording is never refused. */
static void make_events(struct hd_event *e, size_t n) {
  for (size_t i = 0; i < n; i++) {
    e[i] = (struct hd_event){.op = {.thread = (uint16_t)rnd(5),
                                    .kind = (uint8_t)rnd(HD_OP_COUNT + 1),
                                    .size = rnd(3) ? 1u << rnd(4) : rnd(100000),
                                    .object = rnd(4)   ? 0x1000 + 4 * rnd(40)
                                              : rnd(2) ? rnd(6)
                                                       : UINT64_MAX - rnd(3),
                                    .pc = rnd(5) ? 0x400000 + rnd(30) : 0},
                             .flags = (uint8_t)rnd(256),
                             .choice = (uint16_t)rnd(4),
                             .nchoices = (uint16_t)rnd(4),
                             .value = rnd(3) ? rnd(100) : (uint64_t)rnd(UINT32_MAX) << rnd(33)};
    for (int k = 0; k < 3; k++) e[i].op.payload[k] = rnd(3) ? rnd(10) : UINT64_MAX - rnd(3);
  }
}

static char *make_trace(size_t n, enum hd_tr_format format, size_t *len) {
  struct hd_event *e = hd_alloc(n * sizeof *e);
  make_events(e, n);
  struct hd_tr_recording r = {.event = e, .n = n, .command = "./x 'a b'", .locate = locate, .name = name};
  struct hd_tr_source *s = hd_tr_record(&r);
  char *out;
  FILE *f = open_memstream(&out, len);
  struct hd_err err;
  assert_int_equal(hd_tr_write(s, format, f, "memory", &err), HD_OK);
  fclose(f);
  hd_tr_close(s);
  free(e);
  return out;
}

/* The chunks of a binary trace as feed_chunks takes them. */
static char *unpack(const char *data, size_t len, size_t *out_len) {
  const unsigned char *p = (const unsigned char *)data + HD_TR_MAGIC_LEN + 1;
  struct hd_str b;
  hd_str_init(&b);
  hd_str_addn(&b, "\0\0", 2);
  while (*p != HD_CHUNK_END) {
    int kind = *p++;
    uint64_t size[2] = {0, 0};
    for (int i = 0; i < 2; i++)
      for (unsigned shift = 0;; shift += 7) {
        size[i] |= (uint64_t)(*p & 0x7f) << shift;
        if (!(*p++ & 0x80)) break;
      }
    p += 4;
    char *raw = hd_alloc(size[0]);
    if (size[0] == size[1])
      memcpy(raw, p, size[0]);
    else
      assert_int_equal(ZSTD_decompress(raw, size[0], p, size[1]), size[0]);
    hd_str_addn(&b, raw, size[0]);
    if (kind == HD_CHUNK_TABLES) {
      b.s[0] = (char)size[0];
      b.s[1] = (char)(size[0] >> 8);
    }
    free(raw);
    p += size[1];
  }
  assert_true((const char *)p < data + len);
  *out_len = b.n;
  return hd_str_take(&b);
}

/* ---- damage ---- */

static size_t damage(char *data, size_t len, size_t cap) {
  for (uint32_t times = 1 + rnd(4); times-- && len;) {
    size_t at = rnd((uint32_t)len), n = 1 + rnd(16), to;
    switch (rnd(7)) {
      case 0: data[at] = (char)(data[at] ^ 1 << rnd(8)); break;
      case 1: data[at] = (char)rnd(256); break;
      case 2: data[at] = (char)(rnd(2) ? 0xff : rnd(2) ? 0x7f : 0); break;
      case 3: len = rnd(8) ? len : at; break;
      case 4: /* a piece is missing */
        if (n > len - at) n = len - at;
        memmove(data + at, data + at + n, len - at - n);
        len -= n;
        break;
      case 5: /* a piece comes twice */
        if (len + n > cap || n > len - at) break;
        memmove(data + at + n, data + at, len - at);
        len += n;
        break;
      default: /* a piece of elsewhere */
        to = rnd((uint32_t)len);
        if (n <= len - at && n <= len - to) memmove(data + to, data + at, n);
    }
  }
  return len;
}

/* Feeds it whole, which must be accepted, and damaged. Returns how many of those were accepted. */
static unsigned batter(int kind, const char *data, size_t len, unsigned rounds) {
  unsigned accepted = 0;
  size_t cap = len + 256;
  char *copy = hd_alloc(cap);
  assert_true(feed(kind, data, len));
  for (unsigned i = 0; i < rounds; i++) {
    memcpy(copy, data, len);
    size_t n = damage(copy, len, cap);
    bool damaged = n != len || memcmp(copy, data, len) != 0;
    accepted += feed(kind, copy, n) && damaged;
  }
  free(copy);
  return accepted;
}

static void traces(void **state) {
  (void)state;
  for (int format = HD_TR_TEXT; format <= HD_TR_STD; format++) {
    size_t len;
    char *data = make_trace(60, (enum hd_tr_format)format, &len);
    unsigned accepted = batter(FEED_FILE, data, len, ROUNDS);
    /* Of the binary form nearly all damage is noticed; of text, what is not one name or number for another. */
    assert_in_range(accepted, 0, format == HD_TR_BINARY ? ROUNDS / 100 : ROUNDS - ROUNDS / 5);
    free(data);
  }
}

static void chunks(void **state) {
  (void)state;
  size_t len, n;
  char *data = make_trace(60, HD_TR_BINARY, &len), *raw = unpack(data, len, &n);
  assert_in_range(batter(FEED_CHUNKS, raw, n, ROUNDS), 1, ROUNDS / 2);
  free(raw);
  free(data);
}

static void long_traces(void **state) {
  (void)state;
  size_t len, n;
  char *data = make_trace(FEED_EVENTS - 10, HD_TR_BINARY, &len);
  assert_true(feed(FEED_FILE, data, len));
  free(data);
  data = make_trace(2 * HD_TR_BLOCK + 10, HD_TR_BINARY, &len); /* several blocks */
  struct hd_tr_source *s;
  struct hd_tr_stat st;
  struct hd_err err;
  assert_int_equal(hd_tr_open(feed_copy(data, len), len, "long", &s, &err), HD_OK);
  assert_int_equal(hd_tr_stat(s, &st, &err), HD_OK);
  assert_int_equal(st.events, 2 * HD_TR_BLOCK + 10);
  free(st.thread);
  hd_tr_close(s);
  for (n = len - 1; n > len - 40; n--) {
    assert_int_equal(hd_tr_open(feed_copy(data, n), n, "long", &s, &err), HD_OK);
    assert_int_equal(hd_tr_stat(s, &st, &err), HD_EUSAGE);
    free(st.thread);
    hd_tr_close(s);
  }
  free(data);
}

static void schedules(void **state) {
  (void)state;
  static const char text[] =
      "heddle-schedule 1\nheddle 0.1.0\nstrategy random\nseed 1\nexecution 17\nrestart memory\nmax-length 100000\n"
      "spurious 0\ntimeouts-any 0\nleaks 0\nthread-leaks 0\nexit-status 0\nignore leak,hang\nkind data-race\n"
      "key 8c2f6a0b1d3e4f55\npartial 0\nvisible 4\nvisible 555555558010-555555558028\n"
      "visible 201000000040-201000000048\nsteps 12\n0*5 1*3 2 c1 0*2\nend\n";
  assert_in_range(batter(FEED_SCHEDULE, text, sizeof text - 1, ROUNDS), 1, ROUNDS / 2);
}

static void suppressions(void **state) {
  (void)state;
  static const char text[] = "# ours\ndata-race:worker*\n*:lib/*.c # all\n\n leak : main \n";
  assert_in_range(batter(FEED_SUPPRESSIONS, text, sizeof text - 1, ROUNDS), 1, ROUNDS);
}

static void toml(void **state) {
  (void)state;
  static const char text[] =
      "# project\nbuild = \"make\"\n[defaults]\ntime = '5s'\nall = true\n[[target]]\nname = \"a\\tb \\u00e9\"\n"
      "args = [\"1\", # one\n  '''two''',\n]\nenv.A = \"b\"\nat = {x = 1.5e3, y.z = 1979-05-27T07:32:00Z}\n[[target]]\n"
      "[target.more]\nn = 0xff\n";
  assert_in_range(batter(FEED_TOML, text, sizeof text - 1, ROUNDS), 1, ROUNDS - ROUNDS / 5);
}

/* Counts that are announced and not there, and strings that are referred to a million times, cost no memory. */
static void bombs(void **state) {
  (void)state;
  static const char huge[] = "\xff\xff\xff\xff\x0f"; /* 2^32 - 1 */
  struct hd_str b;
  hd_str_init(&b);
  for (int where = 0; where < 4; where++) {
    hd_str_clear(&b);
    hd_str_addn(&b, "\0\0", 2);
    hd_str_addn(&b, where == 0 ? huge : "\x01", where == 0 ? 5 : 1); /* events */
    hd_str_addn(&b, "\0", 1);
    hd_str_addn(&b, where == 1 ? "\xff\xff\xff\x07" : "\x01", where == 1 ? 4 : 1); /* threads: 2^24 - 1 */
    hd_str_addn(&b, "\x01\x02T0\0\0", 6);
    hd_str_addn(&b, where == 2 ? "\xff\xff\xff\x07" : "\0", where == 2 ? 4 : 1); /* places */
    hd_str_addn(&b, where == 3 ? "\xff\xff\xff\x07" : "\0", where == 3 ? 4 : 1); /* objects */
    b.s[0] = (char)(b.n - 2);
    assert_false(feed(FEED_CHUNKS, b.s, b.n));
  }
  /* A chunk that says it unpacks to a gigabyte. */
  hd_str_clear(&b);
  hd_str_addn(&b, HD_TR_MAGIC "\x03T\x80\x80\x80\x80\x04\x10\0\0\0\0", HD_TR_MAGIC_LEN + 12);
  hd_str_addn(&b, "(\xb5/\xfd\0\0\0\0\0\0\0\0\0\0\0\0", 16);
  assert_false(feed(FEED_FILE, b.s, b.n));
  hd_str_fini(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(traces),    cmocka_unit_test(chunks),       cmocka_unit_test(long_traces),
      cmocka_unit_test(schedules), cmocka_unit_test(suppressions), cmocka_unit_test(toml),
      cmocka_unit_test(bombs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
