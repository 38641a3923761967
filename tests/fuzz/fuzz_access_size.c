/* Instruction bytes of another process. The first byte says 32 or 64 bits. */
#include "exporter/source/accesses/instruction.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bool wide = (data[0] & 1u) != 0;
    const uint8_t *code = data + 1;
    size_t len = size - 1 < ACCESS_CODE_BYTES ? size - 1 : ACCESS_CODE_BYTES;
    uint8_t padded[ACCESS_CODE_BYTES + 8];
    memset(padded, 0xcc, sizeof padded);
    memcpy(padded, code, len);

    for (int access = 0; access < ACCESS_KINDS; access++) {
        uint32_t bytes = 0, again = 0;
        enum access_size status = access_size(code, len, wide, (enum access)access, &bytes);
        if ((unsigned)status >= ACCESS_SIZES)
            abort();
        if (status == ACCESS_SIZE_KNOWN ? bytes == 0 || bytes > 108 : bytes != 0)
            abort();
        /* What stands behind a whole instruction changes nothing. */
        if (status != ACCESS_SIZE_TRUNCATED && status != ACCESS_SIZE_INVALID &&
            (access_size(padded, sizeof padded, wide, (enum access)access, &again) != status ||
             again != bytes))
            abort();
    }
    return 0;
}
