/* Numbers with units: see units.h. */
#define _POSIX_C_SOURCE 200809L
#include "units.h"

#include "memory.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LIMIT ((uint64_t)1 << 63)

/* A decimal number as written: no sign, no exponent, no hexadecimal, no "nan". */
struct decimal {
    uint64_t whole;
    const char *part; /* the digits that follow the point */
    size_t part_digits;
    bool too_large;
    const char *end; /* after the number and blanks; NULL: no number at all */
};

static struct decimal read_decimal(const char *text)
{
    struct decimal number = {0};
    const char *begin = text;

    for (; isdigit((unsigned char)*text); text++) {
        unsigned digit = (unsigned)(*text - '0');

        if (number.whole > (LIMIT - 1 - digit) / 10)
            number.too_large = true;
        else
            number.whole = number.whole * 10 + digit;
    }
    if (text == begin)
        return number;
    if (*text == '.' && isdigit((unsigned char)text[1])) {
        number.part = text + 1;
        number.part_digits = strspn(number.part, "0123456789");
        text = number.part + number.part_digits;
    }
    while (*text == ' ')
        text++;
    number.end = text;
    return number;
}

/* A digit before those that make part of a whole: (digit * whole + part) / 10.  Rounding down each
 * time gives the same as doing so in the end.  whole is at most 2^60. */
static uint64_t put_digit(uint64_t digit, uint64_t part, uint64_t whole)
{
    return (digit * whole + part) / 10;
}

/* What the digits after the point are of a whole, rounded down. */
static uint64_t part_of(const struct decimal *number, uint64_t whole)
{
    uint64_t part = 0;

    for (size_t i = number->part_digits; i > 0; i--)
        part = put_digit((uint64_t)(number->part[i - 1] - '0'), part, whole);
    return part;
}

/* The factor of a unit; 0 if there is no such unit. */
static uint64_t unit_factor(const char *unit)
{
    static const char letters[] = "kmgtpe";
    const char *found;
    uint64_t base = 1024, factor = 1;

    if (unit[0] == '\0' || strcasecmp(unit, "b") == 0)
        return 1;
    found = strchr(letters, tolower((unsigned char)unit[0]));
    if (found == NULL)
        return 0;
    if (strcasecmp(unit + 1, "b") == 0)
        base = 1000;
    else if (unit[1] != '\0' && strcasecmp(unit + 1, "ib") != 0)
        return 0;
    for (const char *letter = letters; letter <= found; letter++)
        factor *= base;
    return factor;
}

const char *units_parse_bytes(const char *text, uint64_t *bytes)
{
    struct decimal number = read_decimal(text);
    uint64_t factor, part;

    if (number.end == NULL)
        return text[0] == '-' ? "a size cannot be negative"
                              : "it is not a size; write for example 12GiB, 512MiB or 4096";
    factor = unit_factor(number.end);
    if (factor == 0)
        return "unknown unit; known are B, K, M, G, T, P, E, KiB ... and KB ...";
    if (number.part_digits > 0 && factor == 1)
        return "it is not a whole number of bytes; give a unit or a per cent sign";
    part = part_of(&number, factor);
    if (number.too_large || number.whole > (LIMIT - 1 - part) / factor)
        return "it is 2^63 bytes or more";
    *bytes = number.whole * factor + part;
    return NULL;
}

const char *units_parse_count(const char *text, uint64_t *count)
{
    struct decimal number = read_decimal(text);

    if (number.end == NULL || number.part_digits > 0 || *number.end != '\0')
        return text[0] == '-' ? "it cannot be negative" : "it is not a whole number";
    if (number.too_large)
        return "it is 2^63 or more";
    *count = number.whole;
    return NULL;
}

const char *units_parse_positive(const char *text, double *number)
{
    char *end;
    double value;

    /* strtod() takes more than a user means: blanks, hexadecimal, "inf", "nan". */
    if (!isdigit((unsigned char)text[0]) && text[0] != '.')
        return text[0] == '-' ? "it must be greater than 0" : "it is not a number";
    if (text[0] == '0' && tolower((unsigned char)text[1]) == 'x')
        return "it is not a number";
    value = strtod(text, &end);
    if (*end != '\0')
        return "it is not a number";
    if (!isfinite(value))
        return "it is too large";
    if (!(value > 0))
        return "it must be greater than 0";
    *number = value;
    return NULL;
}

const char *units_parse_hertz(const char *text, double *hertz)
{
    size_t length = strspn(text, "0123456789.eE+-");
    double factor, number;
    const char *problem;

    if (text[length] == '\0' || strcasecmp(text + length, "GHz") == 0)
        factor = 1e9;
    else if (strcasecmp(text + length, "MHz") == 0)
        factor = 1e6;
    else
        return "it is not a frequency; write for example 1.5, 1.5GHz or 800MHz";
    problem = units_parse_positive(memory_text("%.*s", (int)length, text), &number);
    if (problem != NULL)
        return problem;
    if (!isfinite(number * factor))
        return "it is too large";
    *hertz = number * factor;
    return NULL;
}

static bool is_zero(const struct decimal *number)
{
    return number->whole == 0 &&
           (number->part_digits == 0 || strspn(number->part, "0") >= number->part_digits);
}

static const char *parse_percent(const char *text, const struct decimal *number, budget *value)
{
    if (number->too_large || number->whole > 1000000)
        return "it is more than a million per cent";
    if (is_zero(number))
        return "a budget must be greater than 0";
    *value = (budget){.text = text, .is_percent = true};
    return NULL;
}

const char *units_parse_budget(const char *text, budget *value)
{
    struct decimal number = read_decimal(text);
    uint64_t bytes;
    const char *problem;

    if (text[0] == '-')
        return "a budget must be greater than 0";
    if (number.end != NULL && strcmp(number.end, "%") == 0)
        return parse_percent(text, &number, value);
    if (number.end == NULL)
        return "it is not a budget; write for example 12GiB or 50%";
    problem = units_parse_bytes(text, &bytes);
    if (problem != NULL)
        return problem;
    if (bytes == 0)
        return "a budget must be greater than 0";
    *value = (budget){.text = text, .bytes = bytes};
    return NULL;
}

uint64_t units_budget_bytes(const budget *value, uint64_t peak_bytes)
{
    struct decimal number;
    uint64_t times, part;

    if (!value->is_percent)
        return value->bytes;
    number = read_decimal(value->text);
    part = put_digit(number.whole % 10, part_of(&number, peak_bytes), peak_bytes);
    part = put_digit(number.whole / 10 % 10, part, peak_bytes);
    times = number.whole / 100;
    if (peak_bytes > 0 && times > (LIMIT - 1 - part) / peak_bytes)
        return LIMIT - 1;
    return times * peak_bytes + part;
}

const char *units_bytes(uint64_t bytes, char text[UNITS_TEXT])
{
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes / 1024;
    unsigned i = 0;

    if (bytes < 1024) {
        snprintf(text, UNITS_TEXT, "%u B", (unsigned)bytes);
        return text;
    }
    while (value >= 1023.995 && i < 5) { /* would be shown as 1024.00 */
        value /= 1024;
        i++;
    }
    snprintf(text, UNITS_TEXT, "%.2f %s", value, names[i]);
    return text;
}
