#include "exporter/base/decimal.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 u128;

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

size_t decimal_u64(char out[DECIMAL_SIZE], uint64_t value)
{
    char digits[20];
    char *at = digits + sizeof digits;
    while (value >= 100) {
        at -= 2;
        memcpy(at, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(at, pairs + value * 2, 2);
    } else {
        *--at = (char)('0' + value);
    }
    size_t n = (size_t)(digits + sizeof digits - at);
    memcpy(out, at, n);
    return n;
}

/* Fewest digits: digits x 10^exponent. */
struct shortest {
    uint64_t digits;
    int exponent;
};

enum { LARGEST_POWER = 27 };

/* 5^27 is the largest power of five in 64 bits. */
static uint64_t power_of_five(int exponent)
{
    static const uint64_t powers[LARGEST_POWER + 1] = {
        1,
        5,
        25,
        125,
        625,
        3125,
        15625,
        78125,
        390625,
        1953125,
        9765625,
        48828125,
        244140625,
        1220703125,
        6103515625,
        30517578125,
        152587890625,
        762939453125,
        3814697265625,
        19073486328125,
        95367431640625,
        476837158203125,
        2384185791015625,
        11920928955078125,
        59604644775390625,
        298023223876953125,
        1490116119384765625,
        7450580596923828125,
    };
    return powers[exponent];
}

/*
 * Rounds 'scaled' x 2^-shift to a multiple of 'unit'. Whether the result lies nearer to the double
 * than half way to its neighbours, so that it must read back as it; 'above' and 'below' are the
 * distances to these, scaled alike.
 */
static bool round_to(u128 scaled, int shift, uint64_t unit, uint64_t above, uint64_t below,
                     uint64_t *out)
{
    uint64_t whole = (uint64_t)(scaled >> shift);
    u128 step = (u128)unit << shift;
    u128 rest = ((u128)(whole % unit) << shift) | (scaled & (((u128)1 << shift) - 1));
    *out = whole / unit;
    if (rest * 2 < step)
        return rest * 2 < below;
    ++*out;
    return (step - rest) * 2 < above;
}

static void strip_zeros(struct shortest *out)
{
    while (out->digits % 10000 == 0) {
        out->digits /= 10000;
        out->exponent += 4;
    }
    while (out->digits % 10 == 0) {
        out->digits /= 10;
        out->exponent++;
    }
}

/*
 * For value = m x 2^e with a 53-bit m between about 1e-10 and 1e17: m x 5^k fits in 116 bits, so
 * that seventeen digits, what follows them and the distance to the neighbouring doubles are all
 * exact. False outside that range.
 */
static bool find_shortest(double value, struct shortest *out)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int biased = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1), m = fraction | UINT64_C(1) << 52;
    int e = biased - 1075;
    if (biased < 900 || biased > 1200)
        return false;
    int ten = (int)(((int64_t)(e + 52) * 78913) >> 18); /* floor(log10(2^(e+52))), or one less */
    for (;; ten++) {
        int k = 16 - ten, shift = -(e + k);
        if (k < 0 || k > LARGEST_POWER || shift < 0)
            return false;
        u128 scaled = (u128)m * power_of_five(k);
        if (scaled >> shift >= UINT64_C(100000000000000000)) /* 18 digits */
            continue;
        uint64_t above = power_of_five(k), below = fraction ? above : above / 2;
        if (round_to(scaled, shift, 100, above, below, &out->digits))
            out->exponent = 2 - k;
        else if (round_to(scaled, shift, 10, above, below, &out->digits))
            out->exponent = 1 - k;
        else if (round_to(scaled, shift, 1, above, below, &out->digits))
            out->exponent = -k;
        else
            return false;
        strip_zeros(out);
        return true;
    }
}

static size_t put(char *out, const char *text)
{
    size_t n = strlen(text);
    memcpy(out, text, n);
    return n;
}

/* d.ddde-07 */
static size_t put_exponential(char *out, const char *digits, size_t n, int exponent)
{
    char *at = out;
    *at++ = digits[0];
    if (n > 1) {
        *at++ = '.';
        memcpy(at, digits + 1, n - 1);
        at += n - 1;
    }
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    unsigned magnitude = (unsigned)abs(exponent);
    if (magnitude < 10)
        *at++ = '0';
    return (size_t)(at - out) + decimal_u64(at, magnitude);
}

static size_t put_plain(char *out, const char *digits, size_t n, int exponent)
{
    char *at = out;
    if (exponent < 0) {
        at += put(at, "0.");
        memset(at, '0', (size_t)(-exponent - 1));
        at += -exponent - 1;
        memcpy(at, digits, n);
        return (size_t)(at - out) + n;
    }
    size_t whole = (size_t)exponent + 1;
    if (n <= whole) {
        memcpy(at, digits, n);
        memset(at + n, '0', whole - n);
        return whole;
    }
    memcpy(at, digits, whole);
    at[whole] = '.';
    memcpy(at + whole + 1, digits + whole, n - whole);
    return n + 1;
}

static size_t put_shortest(char *out, const struct shortest *value, int largest)
{
    char digits[DECIMAL_SIZE];
    size_t n = decimal_u64(digits, value->digits);
    int exponent = value->exponent + (int)n - 1;
    return exponent < -4 || exponent >= largest ? put_exponential(out, digits, n, exponent)
                                                : put_plain(out, digits, n, exponent);
}

/* Very small and very large numbers: the library's digits, by trial. */
static size_t put_by_trial(char *out, double value)
{
    char text[DECIMAL_SIZE];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return put(out, text);
}

/* Above this, not every integer is a double. */
#define EXACT_INTEGERS 9007199254740992.0

size_t decimal_double(char out[DECIMAL_SIZE], double value)
{
    struct shortest shortest;
    char *at = out;
    if (!isfinite(value))
        return put(out, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
    if (value < 0) {
        *at++ = '-';
        value = -value;
    }
    if (value < EXACT_INTEGERS && value == (double)(uint64_t)value)
        at += decimal_u64(at, (uint64_t)value);
    else if (find_shortest(value, &shortest))
        at += put_shortest(at, &shortest, 17);
    else
        at += put_by_trial(at, value);
    return (size_t)(at - out);
}

size_t decimal_canonical(char out[DECIMAL_SIZE], double value)
{
    struct shortest shortest;
    if (value == 0)
        return put(out, "0.0");
    if (isfinite(value) && fabs(value) < EXACT_INTEGERS && value == rint(value)) {
        shortest = (struct shortest){(uint64_t)fabs(value), 0};
        strip_zeros(&shortest);
        size_t sign = value < 0;
        if (sign)
            *out = '-';
        size_t n = sign + put_shortest(out + sign, &shortest, 6);
        return fabs(value) < 1e6 ? n + put(out + n, ".0") : n;
    }
    if (find_shortest(fabs(value), &shortest) && value > 0)
        return put_shortest(out, &shortest, 6);
    return decimal_double(out, value);
}
