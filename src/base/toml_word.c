/* toml_word.c: classifies a bare word of TOML: number, boolean, date, or no value. Runs in the supervisor. */
#include "base/base.h"

#include <ctype.h>
#include <string.h>

static bool is_digit_of(char c, int base) {
  if (base == 16) return isxdigit((unsigned char)c);
  return c >= '0' && c < '0' + base;
}

/* Digits with single underscores between them. Returns their end, or NULL when they are missing or malformed. */
static const char *after_digits(const char *s, int base) {
  if (!is_digit_of(*s, base)) return NULL;
  while (is_digit_of(*s, base) || (*s == '_' && is_digit_of(s[1], base))) s++;
  return s;
}

/* The decimal digits of a number without leading zeros. */
static const char *after_decimal(const char *s) {
  if (*s == '0' && (is_digit_of(s[1], 10) || s[1] == '_')) return NULL;
  return after_digits(s, 10);
}

static bool is_float(const char *s) {
  s += *s == '+' || *s == '-';
  if (strcmp(s, "inf") == 0 || strcmp(s, "nan") == 0) return true;
  const char *rest = after_decimal(s);
  if (!rest || !*rest) return false;
  if (*rest == '.' && !(rest = after_digits(rest + 1, 10))) return false;
  if (*rest == 'e' || *rest == 'E') {
    rest += rest[1] == '+' || rest[1] == '-' ? 2 : 1;
    rest = after_digits(rest, 10);
  }
  return rest && !*rest;
}

int hd__toml_base(const char *s) {
  if (*s != '0') return 10;
  return s[1] == 'x' ? 16 : s[1] == 'o' ? 8 : s[1] == 'b' ? 2 : 10;
}

static bool is_integer(const char *s) {
  int base = hd__toml_base(s);
  const char *rest = base != 10 ? after_digits(s + 2, base) : after_decimal(s + (*s == '+' || *s == '-'));
  return rest && !*rest;
}

/* Matches a pattern in which 'd' stands for a digit. Returns the end, or NULL. */
static const char *match(const char *s, const char *pattern) {
  for (; *pattern; pattern++, s++)
    if (*pattern == 'd' ? !is_digit_of(*s, 10) : *s != *pattern) return NULL;
  return s;
}

static int two(const char *s) { return (s[0] - '0') * 10 + (s[1] - '0'); }

const char *hd__toml_after_date(const char *s) {
  static const char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const char *rest = match(s, "dddd-dd-dd");
  if (!rest) return NULL;
  int year = two(s) * 100 + two(s + 2), month = two(s + 5), day = two(s + 8);
  bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  if (month < 1 || month > 12 || day < 1 || day > days[month - 1] + (month == 2 && leap)) return NULL;
  return rest;
}

static const char *after_time(const char *s) {
  const char *rest = match(s, "dd:dd:dd");
  if (!rest || two(s) > 23 || two(s + 3) > 59 || two(s + 6) > 60) return NULL;
  if (*rest != '.') return rest;
  if (!is_digit_of(*++rest, 10)) return NULL;
  return rest + strspn(rest, "0123456789");
}

static bool is_date(const char *s) {
  const char *rest = after_time(s);
  if (rest) return !*rest;
  rest = hd__toml_after_date(s);
  if (!rest || !*rest) return rest;
  if (!strchr("Tt ", *rest) || !(rest = after_time(rest + 1))) return false;
  if ((*rest == 'Z' || *rest == 'z') && !rest[1]) return true;
  if (*rest != '+' && *rest != '-') return !*rest;
  const char *zone = match(rest + 1, "dd:dd");
  return zone && !*zone && two(rest + 1) <= 23 && two(rest + 4) <= 59;
}

int hd__toml_word(const char *word) {
  if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0) return HD_TOML_BOOLEAN;
  if (is_integer(word)) return HD_TOML_INTEGER;
  if (is_float(word)) return HD_TOML_FLOAT;
  return is_date(word) ? HD_TOML_DATE : -1;
}
