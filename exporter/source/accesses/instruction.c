#include "exporter/source/accesses/instruction.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/hash.h"

/* The mask of these is an ordinary vector register. */
static bool has_vector_mask(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
        return true;
    default:
        return false;
    }
}

/* Operands that the decoder gives, but that are no access which retires as a load or a store. */
static bool is_hint(const ZydisDecodedInstruction *instruction)
{
    switch (instruction->meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
    case ZYDIS_CATEGORY_CLWB:
    case ZYDIS_CATEGORY_CLDEMOTE:
        return true;
    default:
        return instruction->mnemonic == ZYDIS_MNEMONIC_CLFLUSH ||
               instruction->mnemonic == ZYDIS_MNEMONIC_INVLPG;
    }
}

static bool is_variable(const ZydisDecodedInstruction *instruction,
                        const ZydisDecodedOperand *operands)
{
    switch (instruction->meta.category) {
    case ZYDIS_CATEGORY_XSAVE:
    case ZYDIS_CATEGORY_XSAVEOPT:
        return true;
    default:
        break;
    }
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_FXSAVE: /* how much of its 512 bytes depends on the mode */
    case ZYDIS_MNEMONIC_FXSAVE64:
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64:
        return true;
    case ZYDIS_MNEMONIC_IRET: /* several registers of different sizes */
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
        return true;
    case ZYDIS_MNEMONIC_ENTER: /* with nesting it copies frame pointers */
        return (operands[1].imm.value.u & 31) != 0;
    case ZYDIS_MNEMONIC_CALL: /* pushes the code segment as well */
        return instruction->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
    default:
        return false;
    }
}

/*
 * The size of the operands in memory that are accessed so. Several of one size (cmps reads two)
 * are as many accesses, of which the sample is one; several sizes cannot be told apart.
 */
static enum access_size operand_size(const ZydisDecodedInstruction *instruction,
                                     const ZydisDecodedOperand *operands, enum access access,
                                     uint32_t *bytes)
{
    ZydisOperandActions wanted =
        access == ACCESS_STORE ? ZYDIS_OPERAND_ACTION_MASK_WRITE : ZYDIS_OPERAND_ACTION_MASK_READ;
    uint32_t bits = 0;
    bool scattered = false;
    for (unsigned i = 0; i < instruction->operand_count; i++) {
        const ZydisDecodedOperand *operand = &operands[i];
        if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || !(operand->actions & wanted))
            continue;
        if (operand->size == 0 || (bits != 0 && bits != operand->size))
            return ACCESS_SIZE_VARIABLE;
        bits = operand->size;
        scattered |= operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB;
    }
    if (bits == 0)
        return ACCESS_SIZE_NO_ACCESS;
    if (is_variable(instruction, operands))
        return ACCESS_SIZE_VARIABLE;
    if (scattered || instruction->avx.mask.mode > ZYDIS_MASK_MODE_DISABLED ||
        has_vector_mask(instruction->mnemonic))
        return ACCESS_SIZE_MASKED;
    if (instruction->attributes &
        (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
        return ACCESS_SIZE_REPEATED;
    *bytes = bits / 8;
    return ACCESS_SIZE_KNOWN;
}

enum access_size access_size(const uint8_t *code, size_t len, bool wide, enum access access,
                             uint32_t *bytes)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZyanStatus status = ZydisDecoderInit(
        &decoder, wide ? ZYDIS_MACHINE_MODE_LONG_64 : ZYDIS_MACHINE_MODE_LONG_COMPAT_32,
        wide ? ZYDIS_STACK_WIDTH_64 : ZYDIS_STACK_WIDTH_32);

    if (ZYAN_SUCCESS(status))
        status = ZydisDecoderDecodeFull(&decoder, code, len, &instruction, operands);
    if (status == ZYDIS_STATUS_NO_MORE_DATA)
        return ACCESS_SIZE_TRUNCATED;
    if (ZYAN_FAILED(status))
        return ACCESS_SIZE_INVALID;
    if (instruction.mnemonic == ZYDIS_MNEMONIC_CLZERO && access == ACCESS_STORE) {
        *bytes = 64; /* a cache line; the decoder shows no operand in memory */
        return ACCESS_SIZE_KNOWN;
    }
    if (is_hint(&instruction))
        return ACCESS_SIZE_NO_ACCESS;
    return operand_size(&instruction, operands, access, bytes);
}

/* An entry may stand in any place of its row. */
enum { WAYS = 4 };

struct code_cache {
    size_t mask; /* rows minus one */
    struct code_size *at;
};

int code_cache_new(size_t entries, struct code_cache **out)
{
    if (entries == 0 || entries > 1u << 24)
        return -EINVAL;
    size_t rows = 1;
    while (rows * WAYS < entries)
        rows *= 2;
    struct code_cache *cache = malloc(sizeof *cache);
    struct code_size *at = calloc(rows * WAYS, sizeof *at);
    if (!cache || !at) {
        free(cache);
        free(at);
        return -ENOMEM;
    }
    *cache = (struct code_cache){.mask = rows - 1, .at = at};
    *out = cache;
    return 0;
}

void code_cache_free(struct code_cache *cache)
{
    if (!cache)
        return;
    free(cache->at);
    free(cache);
}

static struct code_size *row_of(const struct code_cache *cache, uint32_t space, uint64_t ip)
{
    uint64_t mixed = hash_u64(ip ^ (uint64_t)space << 40);
    return &cache->at[(size_t)(mixed >> 32 & cache->mask) * WAYS];
}

static bool is(const struct code_size *entry, uint32_t space, uint64_t ip, enum access access)
{
    return entry->ip == ip && entry->space == space && entry->access == access;
}

const struct code_size *code_cache_find(const struct code_cache *cache, uint32_t space, uint64_t ip,
                                        enum access access)
{
    const struct code_size *row = row_of(cache, space, ip);
    for (size_t i = 0; i < WAYS && space != 0; i++)
        if (is(&row[i], space, ip, access))
            return &row[i];
    return NULL;
}

/* Replaces an older reading of it, otherwise the one that was read the longest ago. */
void code_cache_put(struct code_cache *cache, const struct code_size *entry)
{
    struct code_size *row = row_of(cache, entry->space, entry->ip), *place = &row[0];
    for (size_t i = 0; i < WAYS; i++) {
        if (is(&row[i], entry->space, entry->ip, (enum access)entry->access)) {
            place = &row[i];
            break;
        }
        if (row[i].read_ns < place->read_ns)
            place = &row[i];
    }
    *place = *entry;
}

size_t code_cache_bytes(const struct code_cache *cache)
{
    return (cache->mask + 1) * WAYS * sizeof *cache->at;
}
