/*
 * How many bytes an instruction writes to, or reads from, memory: for samples that tell where an
 * access went and which instruction made it, but not its size.
 *
 * Pure; the bytes are another process's and may be anything.
 */
#ifndef IE_SOURCE_ACCESSES_INSTRUCTION_H
#define IE_SOURCE_ACCESSES_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/source/sample.h"

/* No instruction is longer. */
enum { ACCESS_CODE_BYTES = 15 };

/*
 * 'code' starts at the sampled instruction pointer; bytes behind the instruction are ignored.
 * 'wide' is false for code of a 32-bit process. *bytes is set with ACCESS_SIZE_KNOWN only: 1 to 64,
 * or 94 and 108 for the x87 state.
 *
 * A locked compare-and-exchange counts whether or not it exchanged: it writes in both cases.
 */
enum access_size access_size(const uint8_t *code, size_t len, bool wide, enum access access,
                             uint32_t *bytes);

#endif
