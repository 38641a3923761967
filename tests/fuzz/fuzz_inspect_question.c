/* What the process that looks into others is asked, and what it answers: whatever is accepted can
 * be written again, and is the same. */
#include "exporter/inspect/question.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t again[QUESTION_BYTES], head[ANSWER_BYTES];
    struct question question, same;
    struct answer answer, reread;
    if (question_read(data, size, &question) == 0) {
        int len = question_write(&question, again);
        if (len < 0 || (size_t)len != size || question_read(again, size, &same) != 0 ||
            same.kind != question.kind || same.number != question.number ||
            same.line.inode != question.line.inode || memcmp(again, data, 56) != 0)
            __builtin_trap();
        if (memcmp(same.line.path, question.line.path, question.line.path_len) != 0)
            __builtin_trap();
    }
    if (answer_read(data, size, &answer) == 0) {
        size_t len = answer_write(&answer, head);
        memcpy(head + ANSWER_HEAD, answer.bytes, answer.len);
        if (len != size || answer_read(head, len, &reread) != 0 || reread.result != answer.result ||
            reread.cpu_ns != answer.cpu_ns)
            __builtin_trap();
    }
    return 0;
}
