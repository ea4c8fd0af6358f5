/* bitcode.c: the bitcode in a program, unit by unit. Runs in the supervisor.
 *
 * `heddle cc --facts` keeps it in each object (src/plugin/llvm_facts.cc), in a section that linkers concatenate. A unit ends where
 * its top-level blocks do: each says how long it is (llvm.org/docs/BitCodeFormat.html). */
#include "abi/facts.h"
#include "static/static.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define MAGIC 0xdec04342u

static uint32_t word_at(const char *p) {
  uint32_t w;
  memcpy(&w, p, 4);
  return w;
}

/* Bits from a position; a block head is within two words of it. */
static uint32_t bits_at(const char *p, size_t n, size_t bit, unsigned count) {
  uint64_t w = 0;
  size_t at = bit / 8, have = n - at < 8 ? n - at : 8;
  memcpy(&w, p + at, have);
  return (uint32_t)(w >> (bit % 8)) & ((1u << count) - 1);
}

static uint32_t vbr_at(const char *p, size_t n, size_t *bit, unsigned width) {
  uint32_t value = 0;
  for (unsigned shift = 0; shift < 32 && *bit / 8 + 8 <= n; shift += width - 1) {
    uint32_t piece = bits_at(p, n, *bit, width);
    *bit += width;
    value |= (piece & ((1u << (width - 1)) - 1)) << shift;
    if (!(piece >> (width - 1))) break;
  }
  return value;
}

/* The bytes of the unit that begins at p; 0: there is none. */
static size_t unit_size(const char *p, size_t n) {
  if (n < 8 || word_at(p) != MAGIC) return 0;
  size_t at = 4;
  while (at + 8 <= n && word_at(p + at) != MAGIC) {
    size_t bit = 8 * at;
    if (bits_at(p, n, bit, 2) != 1) break; /* not a block */
    bit += 2;
    vbr_at(p, n, &bit, 8);
    vbr_at(p, n, &bit, 4);
    size_t length = (bit + 31) / 32 * 4;
    if (length + 4 > n || word_at(p + length) > (n - length - 4) / 4) return 0;
    at = length + 4 + 4ull * word_at(p + length);
  }
  return at;
}

/* What the module exports under the name. */
static void *load(const char *libdir, const char *name, struct hd_err *err) {
  static void *module; /* a module is loaded once and stays */
  char *path = hd_sprintf("%s/heddle_llvm.so", libdir ? libdir : ".");
  if (!module) module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *symbol = module ? dlsym(module, name) : NULL;
  if (!symbol)
    hd_fail(
        err, HD_EENV,
        "facts about the code cannot be read (%s): install llvm-19-dev, build Heddle again, and install it",
        module ? "the module is of another version" : dlerror());
  free(path);
  return symbol;
}

static int read_units(const char *p, size_t n, const char *program, const char *libdir,
                      const struct hd_fact_sink *sink, size_t *units, struct hd_err *err) {
  void *symbol = n ? load(libdir, HD_FACTS_READER, err) : NULL;
  hd_facts_reader *reader;
  memcpy(&reader, &symbol, sizeof reader);
  if (n && !reader) return HD_EENV;
  while (n) {
    size_t size = unit_size(p, n);
    char message[256];
    if (!size)
      return hd_fail(err, HD_EUSAGE,
                     "%s: the bitcode in it is damaged; build it again with heddle cc --facts", program);
    if (reader(p, size, sink, message, sizeof message))
      return hd_fail(err, HD_EUSAGE, "%s: unit %zu: %s; build it with clang-19", program, *units + 1,
                     message);
    ++*units;
    p += size;
    n -= size;
    while (n && !*p) p++, n--; /* between sections */
  }
  return HD_OK;
}

/* Calls f for each section of bitcode. */
static int each_section(const char *program, int (*f)(void *arg, const char *p, size_t n), void *arg) {
  int rc = HD_OK, fd = open(program, O_RDONLY | O_CLOEXEC);
  elf_version(EV_CURRENT);
  Elf *e = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
  size_t names;
  if (e && elf_getshdrstrndx(e, &names) == 0)
    for (Elf_Scn *s = NULL; rc == HD_OK && (s = elf_nextscn(e, s));) {
      GElf_Shdr h;
      const char *name = gelf_getshdr(s, &h) ? elf_strptr(e, names, h.sh_name) : NULL;
      if (!name || strcmp(name, HD_FACTS_SECTION) != 0) continue;
      Elf_Data *d = elf_getdata(s, NULL);
      if (d && d->d_buf) rc = f(arg, d->d_buf, d->d_size);
    }
  if (e) elf_end(e);
  if (fd >= 0) close(fd);
  return rc;
}

struct reading {
  const char *program, *libdir;
  const struct hd_fact_sink *sink;
  size_t *units;
  HD_VEC(struct hd_bitcode) unit; /* copies; owned */
  struct hd_err *err;
};

static int read_section(void *arg, const char *p, size_t n) {
  struct reading *r = arg;
  return read_units(p, n, r->program, r->libdir, r->sink, r->units, r->err);
}

static int copy_units(void *arg, const char *p, size_t n) {
  struct reading *r = arg;
  while (n) {
    size_t size = unit_size(p, n);
    if (!size)
      return hd_fail(r->err, HD_EUSAGE,
                     "%s: the bitcode in it is damaged; build it again with heddle cc --facts", r->program);
    void *copy = memcpy(hd_alloc(size), p, size);
    hd_vec_push(&r->unit, ((struct hd_bitcode){copy, size}));
    p += size;
    n -= size;
    while (n && !*p) p++, n--; /* between sections */
  }
  return HD_OK;
}

int hd_races_read(const char *program, const char *libdir, const struct hd_race_sink *sink, size_t *units,
                  struct hd_err *err) {
  struct reading r = {.program = program, .libdir = libdir, .err = err};
  int rc = each_section(program, copy_units, &r);
  hd_races_reader *reader = NULL;
  void *symbol = NULL;
  char message[256];
  *units = r.unit.n;
  if (rc == HD_OK && r.unit.n && !(symbol = load(libdir, HD_RACES_READER, err))) rc = HD_EENV;
  memcpy(&reader, &symbol, sizeof reader);
  if (rc == HD_OK && r.unit.n && reader(r.unit.v, r.unit.n, sink, message, sizeof message))
    rc = hd_fail(err, HD_EUSAGE, "%s: %s; build it with clang-19", program, message);
  for (size_t i = 0; i < r.unit.n; i++) free((void *)r.unit.v[i].data);
  hd_vec_free(&r.unit);
  return rc;
}

int hd__bitcode_read(const char *program, const char *libdir, const struct hd_fact_sink *sink, size_t *units,
                     struct hd_err *err) {
  struct reading r = {.program = program, .libdir = libdir, .sink = sink, .units = units, .err = err};
  return each_section(program, read_section, &r);
}

static int hash_section(void *arg, const char *p, size_t n) {
  uint64_t *hash = arg;
  *hash = XXH64(p, n, *hash + 1);
  return HD_OK;
}

uint64_t hd__bitcode_hash(const char *file) {
  uint64_t hash = 0;
  each_section(file, hash_section, &hash);
  return hash;
}
