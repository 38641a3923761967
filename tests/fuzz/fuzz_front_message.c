/* What the server's process may send, and the other two messages: whatever is accepted can be
 * written again, and is the same. */
#include "exporter/front/message.h"
#include "tests/fuzz/fuzz.h"

static void expect_same(const uint8_t *data, size_t size, const char *again, int len)
{
    if (len < 0 || (size_t)len != size || memcmp(data, again, size) != 0)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char again[MESSAGE_MAX];
    struct request_message request;
    struct reply_message reply;
    struct start_message start;
    if (size > MESSAGE_MAX)
        return 0;
    if (request_message_read(data, size, &request) == 0)
        expect_same(data, size, again, request_message_write(&request, again, sizeof again));
    if (reply_message_read(data, size, &reply) == 0)
        expect_same(data, size, again, reply_message_write(&reply, again, sizeof again));
    if (start_message_read(data, size, &start) == 0)
        expect_same(data, size, again, start_message_write(&start, again, sizeof again));
    return 0;
}
