#include "exporter/expose/wire.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2 };

size_t wire_varint_size(uint64_t value)
{
    size_t n = 1;
    while (value >>= 7)
        n++;
    return n;
}

char *wire_varint(char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (char)(value | 0x80);
    *at++ = (char)value;
    return at;
}

static char *tag(char *at, unsigned field, unsigned type)
{
    return wire_varint(at, field << 3 | type);
}

char *wire_u64(char *at, unsigned field, uint64_t value)
{
    return wire_varint(tag(at, field, VARINT), value);
}

char *wire_s64(char *at, unsigned field, int64_t value)
{
    return wire_u64(at, field, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

char *wire_double(char *at, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    at = tag(at, field, FIXED64);
    for (size_t i = 0; i < sizeof bits; i++, bits >>= 8)
        *at++ = (char)bits;
    return at;
}

char *wire_bytes(char *at, unsigned field, const char *bytes, size_t n)
{
    at = wire_varint(tag(at, field, LENGTH), n);
    memcpy(at, bytes, n);
    return at + n;
}

char *wire_open(char *at, unsigned field)
{
    return tag(at, field, LENGTH) + 1;
}

char *wire_close(char *start, char *end)
{
    size_t len = (size_t)(end - start), extra = wire_varint_size(len) - 1;
    if (extra > 0)
        memmove(start + extra, start, len);
    wire_varint(start - 1, len);
    return end + extra;
}
