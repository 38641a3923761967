/* Sizes of accesses, from the instruction: by hand for every form, and as this CPU writes them. */
#include <sys/mman.h>

#include "exporter/source/accesses/instruction.h"
#include "tests/unit/support/unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define CODE(text) text, sizeof(text) - 1

/* Instead of a size. */
enum {
    REPEATED = -ACCESS_SIZE_REPEATED,
    MASKED = -ACCESS_SIZE_MASKED,
    VARIABLE = -ACCESS_SIZE_VARIABLE,
    NONE = -ACCESS_SIZE_NO_ACCESS,
};

enum run { NOT_RUN, RUN_ALWAYS, RUN_SSE4, RUN_AVX, RUN_AVX2, RUN_AVX512 };

struct form {
    const char *text, *code;
    size_t len;
    int size[ACCESS_KINDS]; /* bytes stored, bytes loaded */
    enum run run;           /* writes whatever the registers hold to (%rdi) */
};

static const struct form forms[] = {
    {"mov %al,(%rdi)", CODE("\x88\x07"), {1, NONE}, RUN_ALWAYS},
    {"mov %ax,(%rdi)", CODE("\x66\x89\x07"), {2, NONE}, RUN_ALWAYS},
    {"mov %eax,(%rdi)", CODE("\x89\x07"), {4, NONE}, RUN_ALWAYS},
    {"mov %rax,(%rdi)", CODE("\x48\x89\x07"), {8, NONE}, RUN_ALWAYS},
    {"movb $1,(%rdi)", CODE("\xc6\x07\x01"), {1, NONE}, RUN_ALWAYS},
    {"movw $1,(%rdi)", CODE("\x66\xc7\x07\x01\x00"), {2, NONE}, RUN_ALWAYS},
    {"movl $1,(%rdi)", CODE("\xc7\x07\x01\x00\x00\x00"), {4, NONE}, RUN_ALWAYS},
    {"movq $1,(%rdi)", CODE("\x48\xc7\x07\x01\x00\x00\x00"), {8, NONE}, RUN_ALWAYS},
    {"movabs %al,0x1122334455667788",
     CODE("\xa2\x88\x77\x66\x55\x44\x33\x22\x11"),
     {1, NONE},
     NOT_RUN},
    {"movabs %rax,0x1122334455667788",
     CODE("\x48\xa3\x88\x77\x66\x55\x44\x33\x22\x11"),
     {8, NONE},
     NOT_RUN},
    {"mov %ds,(%rdi)", CODE("\x8c\x1f"), {2, NONE}, RUN_ALWAYS},
    {"movbe %rax,(%rdi)", CODE("\x48\x0f\x38\xf1\x07"), {8, NONE}, NOT_RUN},
    {"movnti %eax,(%rdi)", CODE("\x0f\xc3\x07"), {4, NONE}, RUN_ALWAYS},
    {"movnti %rax,(%rdi)", CODE("\x48\x0f\xc3\x07"), {8, NONE}, RUN_ALWAYS},
    {"movntq %mm0,(%rdi)", CODE("\x0f\xe7\x07"), {8, NONE}, NOT_RUN},
    {"movntps %xmm0,(%rdi)", CODE("\x0f\x2b\x07"), {16, NONE}, RUN_ALWAYS},
    {"movntdq %xmm0,(%rdi)", CODE("\x66\x0f\xe7\x07"), {16, NONE}, RUN_ALWAYS},
    {"vmovntdq %xmm0,(%rdi)", CODE("\xc5\xf9\xe7\x07"), {16, NONE}, RUN_AVX},
    {"vmovntdq %ymm0,(%rdi)", CODE("\xc5\xfd\xe7\x07"), {32, NONE}, RUN_AVX},
    {"vmovntpd %ymm0,(%rdi)", CODE("\xc5\xfd\x2b\x07"), {32, NONE}, RUN_AVX},
    {"vmovntdq %zmm0,(%rdi)", CODE("\x62\xf1\x7d\x48\xe7\x07"), {64, NONE}, RUN_AVX512},
    {"movss %xmm0,(%rdi)", CODE("\xf3\x0f\x11\x07"), {4, NONE}, RUN_ALWAYS},
    {"movsd %xmm0,(%rdi)", CODE("\xf2\x0f\x11\x07"), {8, NONE}, RUN_ALWAYS},
    {"movlps %xmm0,(%rdi)", CODE("\x0f\x13\x07"), {8, NONE}, RUN_ALWAYS},
    {"movhps %xmm0,(%rdi)", CODE("\x0f\x17\x07"), {8, NONE}, RUN_ALWAYS},
    {"movd %xmm0,(%rdi)", CODE("\x66\x0f\x7e\x07"), {4, NONE}, RUN_ALWAYS},
    {"movq %xmm0,(%rdi)", CODE("\x66\x0f\xd6\x07"), {8, NONE}, RUN_ALWAYS},
    {"movups %xmm0,(%rdi)", CODE("\x0f\x11\x07"), {16, NONE}, RUN_ALWAYS},
    {"movdqa %xmm0,(%rdi)", CODE("\x66\x0f\x7f\x07"), {16, NONE}, RUN_ALWAYS},
    {"pextrb $1,%xmm0,(%rdi)", CODE("\x66\x0f\x3a\x14\x07\x01"), {1, NONE}, RUN_SSE4},
    {"pextrw $1,%xmm0,(%rdi)", CODE("\x66\x0f\x3a\x15\x07\x01"), {2, NONE}, RUN_SSE4},
    {"pextrq $1,%xmm0,(%rdi)", CODE("\x66\x48\x0f\x3a\x16\x07\x01"), {8, NONE}, RUN_SSE4},
    {"extractps $1,%xmm0,(%rdi)", CODE("\x66\x0f\x3a\x17\x07\x01"), {4, NONE}, RUN_SSE4},
    {"vmovups %ymm0,(%rdi)", CODE("\xc5\xfc\x11\x07"), {32, NONE}, RUN_AVX},
    {"vmovdqa %ymm0,(%rdi)", CODE("\xc5\xfd\x7f\x07"), {32, NONE}, RUN_AVX},
    {"vextracti128 $1,%ymm0,(%rdi)", CODE("\xc4\xe3\x7d\x39\x07\x01"), {16, NONE}, RUN_AVX2},
    {"vcvtps2ph $0,%xmm0,(%rdi)", CODE("\xc4\xe3\x79\x1d\x07\x00"), {8, NONE}, RUN_AVX2},
    {"vcvtps2ph $0,%ymm0,(%rdi)", CODE("\xc4\xe3\x7d\x1d\x07\x00"), {16, NONE}, RUN_AVX2},
    {"vmovups %zmm0,(%rdi)", CODE("\x62\xf1\x7c\x48\x11\x07"), {64, NONE}, RUN_AVX512},
    {"vmovdqa64 %zmm0,(%rdi)", CODE("\x62\xf1\xfd\x48\x7f\x07"), {64, NONE}, RUN_AVX512},
    {"vmovdqu8 %ymm0,(%rdi)", CODE("\x62\xf1\x7f\x28\x7f\x07"), {32, NONE}, NOT_RUN},
    {"vmovdqu8 %xmm16,(%rdi)", CODE("\x62\xe1\x7f\x08\x7f\x07"), {16, NONE}, NOT_RUN},
    {"vextracti32x4 $1,%zmm0,(%rdi)", CODE("\x62\xf3\x7d\x48\x39\x07\x01"), {16, NONE}, RUN_AVX512},
    {"vextracti64x4 $1,%zmm0,(%rdi)", CODE("\x62\xf3\xfd\x48\x3b\x07\x01"), {32, NONE}, RUN_AVX512},
    {"vpmovdb %zmm0,(%rdi)", CODE("\x62\xf2\x7e\x48\x31\x07"), {16, NONE}, RUN_AVX512},
    {"vpmovqb %zmm0,(%rdi)", CODE("\x62\xf2\x7e\x48\x32\x07"), {8, NONE}, RUN_AVX512},
    {"vpmovqd %zmm0,(%rdi)", CODE("\x62\xf2\x7e\x48\x35\x07"), {32, NONE}, RUN_AVX512},
    {"vpmovwb %zmm0,(%rdi)", CODE("\x62\xf2\x7e\x48\x30\x07"), {32, NONE}, NOT_RUN},
    {"vpmovqw %xmm0,(%rdi)", CODE("\x62\xf2\x7e\x08\x34\x07"), {4, NONE}, NOT_RUN},
    {"vpmovqb %xmm0,(%rdi)", CODE("\x62\xf2\x7e\x08\x32\x07"), {2, NONE}, NOT_RUN},
    {"vpcompressd %zmm0,(%rdi)", CODE("\x62\xf2\x7d\x48\x8b\x07"), {64, NONE}, RUN_AVX512},
    {"kmovw %k1,(%rdi)", CODE("\xc5\xf8\x91\x0f"), {2, NONE}, RUN_AVX512},
    {"kmovq %k1,(%rdi)", CODE("\xc4\xe1\xf8\x91\x0f"), {8, NONE}, NOT_RUN},
    {"vmovups %zmm0,(%rdi){%k1}", CODE("\x62\xf1\x7c\x49\x11\x07"), {MASKED, NONE}, NOT_RUN},
    {"vmovdqu8 %xmm0,(%rdi){%k1}", CODE("\x62\xf1\x7f\x09\x7f\x07"), {MASKED, NONE}, NOT_RUN},
    {"vmovss %xmm0,(%rdi){%k1}", CODE("\x62\xf1\x7e\x09\x11\x07"), {MASKED, NONE}, NOT_RUN},
    {"vpmovdb %zmm0,(%rdi){%k1}", CODE("\x62\xf2\x7e\x49\x31\x07"), {MASKED, NONE}, NOT_RUN},
    {"vpcompressd %zmm0,(%rdi){%k1}", CODE("\x62\xf2\x7d\x49\x8b\x07"), {MASKED, NONE}, NOT_RUN},
    {"vmaskmovps %ymm0,%ymm1,(%rdi)", CODE("\xc4\xe2\x75\x2e\x07"), {MASKED, NONE}, NOT_RUN},
    {"vpmaskmovq %ymm0,%ymm1,(%rdi)", CODE("\xc4\xe2\xf5\x8e\x07"), {MASKED, NONE}, NOT_RUN},
    {"maskmovdqu %xmm0,%xmm1", CODE("\x66\x0f\xf7\xc8"), {MASKED, NONE}, NOT_RUN},
    {"vmaskmovdqu %xmm0,%xmm1", CODE("\xc5\xf9\xf7\xc8"), {MASKED, NONE}, NOT_RUN},
    {"maskmovq %mm0,%mm1", CODE("\x0f\xf7\xc8"), {MASKED, NONE}, NOT_RUN},
    {"vpscatterdd %zmm0,(%rdi,%zmm1){%k1}",
     CODE("\x62\xf2\x7d\x49\xa0\x04\x0f"),
     {MASKED, NONE},
     NOT_RUN},
    {"vpscatterqq %zmm0,(%rdi,%zmm1){%k1}",
     CODE("\x62\xf2\xfd\x49\xa1\x04\x0f"),
     {MASKED, NONE},
     NOT_RUN},
    {"vscatterdps %zmm0,(%rdi,%zmm1){%k1}",
     CODE("\x62\xf2\x7d\x49\xa2\x04\x0f"),
     {MASKED, NONE},
     NOT_RUN},
    {"push %rax", CODE("\x50"), {8, NONE}, NOT_RUN},
    {"pushw %ax", CODE("\x66\x50"), {2, NONE}, NOT_RUN},
    {"push $1", CODE("\x6a\x01"), {8, NONE}, NOT_RUN},
    {"pushq (%rdi)", CODE("\xff\x37"), {8, 8}, NOT_RUN},
    {"pushfq", CODE("\x9c"), {8, NONE}, NOT_RUN},
    {"push %fs", CODE("\x0f\xa0"), {8, NONE}, NOT_RUN},
    {"call .+5", CODE("\xe8\x00\x00\x00\x00"), {8, NONE}, NOT_RUN},
    {"call *%rax", CODE("\xff\xd0"), {8, NONE}, NOT_RUN},
    {"call *(%rdi)", CODE("\xff\x17"), {8, 8}, NOT_RUN},
    {"enter $16,$0", CODE("\xc8\x10\x00\x00"), {8, NONE}, NOT_RUN},
    {"lcall *(%rdi)", CODE("\xff\x1f"), {VARIABLE, VARIABLE}, NOT_RUN},
    {"enter $16,$2", CODE("\xc8\x10\x00\x02"), {VARIABLE, NONE}, NOT_RUN},
    {"stosb", CODE("\xaa"), {1, NONE}, NOT_RUN},
    {"stosw", CODE("\x66\xab"), {2, NONE}, NOT_RUN},
    {"stosl", CODE("\xab"), {4, NONE}, NOT_RUN},
    {"stosq", CODE("\x48\xab"), {8, NONE}, NOT_RUN},
    {"movsb", CODE("\xa4"), {1, 1}, NOT_RUN},
    {"movsl", CODE("\xa5"), {4, 4}, NOT_RUN},
    {"movsq", CODE("\x48\xa5"), {8, 8}, NOT_RUN},
    {"rep stosb", CODE("\xf3\xaa"), {REPEATED, NONE}, NOT_RUN},
    {"rep stosq", CODE("\xf3\x48\xab"), {REPEATED, NONE}, NOT_RUN},
    {"rep movsb", CODE("\xf3\xa4"), {REPEATED, REPEATED}, NOT_RUN},
    {"rep movsq", CODE("\xf3\x48\xa5"), {REPEATED, REPEATED}, NOT_RUN},
    {"xchg %eax,(%rdi)", CODE("\x87\x07"), {4, 4}, RUN_ALWAYS},
    {"xchg %rax,(%rdi)", CODE("\x48\x87\x07"), {8, 8}, RUN_ALWAYS},
    {"lock xadd %rax,(%rdi)", CODE("\xf0\x48\x0f\xc1\x07"), {8, 8}, NOT_RUN},
    {"lock cmpxchg %cl,(%rdi)", CODE("\xf0\x0f\xb0\x0f"), {1, 1}, NOT_RUN},
    {"lock cmpxchg %rcx,(%rdi)", CODE("\xf0\x48\x0f\xb1\x0f"), {8, 8}, NOT_RUN},
    {"lock cmpxchg8b (%rdi)", CODE("\xf0\x0f\xc7\x0f"), {8, 8}, NOT_RUN},
    {"lock cmpxchg16b (%rdi)", CODE("\xf0\x48\x0f\xc7\x0f"), {16, 16}, NOT_RUN},
    {"lock incl (%rdi)", CODE("\xf0\xff\x07"), {4, 4}, NOT_RUN},
    {"add %rax,(%rdi)", CODE("\x48\x01\x07"), {8, 8}, NOT_RUN},
    {"notq (%rdi)", CODE("\x48\xf7\x17"), {8, 8}, RUN_ALWAYS},
    {"shll $3,(%rdi)", CODE("\xc1\x27\x03"), {4, 4}, NOT_RUN},
    {"bts %rax,(%rdi)", CODE("\x48\x0f\xab\x07"), {8, 8}, NOT_RUN},
    {"lock btsl $1,(%rdi)", CODE("\xf0\x0f\xba\x2f\x01"), {4, 4}, NOT_RUN},
    {"movdiri %eax,(%rdi)", CODE("\x0f\x38\xf9\x07"), {4, NONE}, NOT_RUN},
    {"movdiri %rax,(%rdi)", CODE("\x48\x0f\x38\xf9\x07"), {8, NONE}, NOT_RUN},
    {"movdir64b (%rsi),%rdi", CODE("\x66\x0f\x38\xf8\x3e"), {64, 64}, NOT_RUN},
    {"clzero", CODE("\x0f\x01\xfc"), {64, NONE}, NOT_RUN},
    {"fsts (%rdi)", CODE("\xd9\x17"), {4, NONE}, RUN_ALWAYS},
    {"fstpl (%rdi)", CODE("\xdd\x1f"), {8, NONE}, RUN_ALWAYS},
    {"fstpt (%rdi)", CODE("\xdb\x3f"), {10, NONE}, RUN_ALWAYS},
    {"fbstp (%rdi)", CODE("\xdf\x37"), {10, NONE}, RUN_ALWAYS},
    {"fists (%rdi)", CODE("\xdf\x17"), {2, NONE}, RUN_ALWAYS},
    {"fistpll (%rdi)", CODE("\xdf\x3f"), {8, NONE}, RUN_ALWAYS},
    {"fnstcw (%rdi)", CODE("\xd9\x3f"), {2, NONE}, RUN_ALWAYS},
    {"fnstsw (%rdi)", CODE("\xdd\x3f"), {2, NONE}, RUN_ALWAYS},
    {"fnstenv (%rdi)", CODE("\xd9\x37"), {28, NONE}, NOT_RUN},
    {"fnsave (%rdi)", CODE("\xdd\x37"), {108, NONE}, NOT_RUN},
    {"stmxcsr (%rdi)", CODE("\x0f\xae\x1f"), {4, NONE}, RUN_ALWAYS},
    {"setc (%rdi)", CODE("\x0f\x92\x07"), {1, NONE}, RUN_ALWAYS},
    {"popq (%rdi)", CODE("\x8f\x07"), {8, 8}, NOT_RUN},
    {"sidt (%rdi)", CODE("\x0f\x01\x0f"), {10, NONE}, NOT_RUN},
    {"sttilecfg (%rdi)", CODE("\xc4\xe2\x79\x49\x07"), {64, NONE}, NOT_RUN},
    {"xsave (%rdi)", CODE("\x0f\xae\x27"), {VARIABLE, VARIABLE}, NOT_RUN},
    {"xsaveopt (%rdi)", CODE("\x0f\xae\x37"), {VARIABLE, VARIABLE}, NOT_RUN},
    {"xsavec (%rdi)", CODE("\x0f\xc7\x27"), {VARIABLE, NONE}, NOT_RUN},
    {"fxsave (%rdi)", CODE("\x0f\xae\x07"), {VARIABLE, NONE}, NOT_RUN},
    {"fxsave64 (%rdi)", CODE("\x48\x0f\xae\x07"), {VARIABLE, NONE}, NOT_RUN},
    {"tilestored %tmm0,(%rdi,%rax,1)", CODE("\xc4\xe2\x7a\x4b\x04\x07"), {VARIABLE, NONE}, NOT_RUN},
    {"mov (%rdi),%al", CODE("\x8a\x07"), {NONE, 1}, NOT_RUN},
    {"movzwl (%rdi),%eax", CODE("\x0f\xb7\x07"), {NONE, 2}, NOT_RUN},
    {"movslq (%rdi),%rax", CODE("\x48\x63\x07"), {NONE, 4}, NOT_RUN},
    {"mov (%rdi),%rax", CODE("\x48\x8b\x07"), {NONE, 8}, NOT_RUN},
    {"cmp %rax,(%rdi)", CODE("\x48\x39\x07"), {NONE, 8}, NOT_RUN},
    {"pop %rax", CODE("\x58"), {NONE, 8}, NOT_RUN},
    {"ret", CODE("\xc3"), {NONE, 8}, NOT_RUN},
    {"leave", CODE("\xc9"), {NONE, 8}, NOT_RUN},
    {"jmp *(%rdi)", CODE("\xff\x27"), {NONE, 8}, NOT_RUN},
    {"cmpsb", CODE("\xa6"), {NONE, 1}, NOT_RUN},
    {"lodsq", CODE("\x48\xad"), {NONE, 8}, NOT_RUN},
    {"movntdqa (%rdi),%xmm0", CODE("\x66\x0f\x38\x2a\x07"), {NONE, 16}, NOT_RUN},
    {"vmovups (%rdi),%ymm0", CODE("\xc5\xfc\x10\x07"), {NONE, 32}, NOT_RUN},
    {"vmovups (%rdi),%zmm0", CODE("\x62\xf1\x7c\x48\x10\x07"), {NONE, 64}, NOT_RUN},
    {"vaddps (%rdi),%zmm1,%zmm0", CODE("\x62\xf1\x74\x48\x58\x07"), {NONE, 64}, NOT_RUN},
    {"vaddps (%rdi){1to16},%zmm1,%zmm0", CODE("\x62\xf1\x74\x58\x58\x07"), {NONE, 4}, NOT_RUN},
    {"vbroadcasti32x4 (%rdi),%zmm0", CODE("\x62\xf2\x7d\x48\x5a\x07"), {NONE, 16}, NOT_RUN},
    {"fldt (%rdi)", CODE("\xdb\x2f"), {NONE, 10}, NOT_RUN},
    {"ldmxcsr (%rdi)", CODE("\x0f\xae\x17"), {NONE, 4}, NOT_RUN},
    {"repe cmpsb", CODE("\xf3\xa6"), {NONE, REPEATED}, NOT_RUN},
    {"vmovups (%rdi),%zmm0{%k1}{z}", CODE("\x62\xf1\x7c\xc9\x10\x07"), {NONE, MASKED}, NOT_RUN},
    {"vpgatherdd (%rdi,%zmm1),%zmm0{%k1}",
     CODE("\x62\xf2\x7d\x49\x90\x04\x0f"),
     {NONE, MASKED},
     NOT_RUN},
    {"vgatherdps %ymm0,(%rdi,%ymm1),%ymm2",
     CODE("\xc4\xe2\x7d\x92\x14\x0f"),
     {NONE, MASKED},
     NOT_RUN},
    {"vpmaskmovd (%rdi),%ymm1,%ymm0", CODE("\xc4\xe2\x75\x8c\x07"), {NONE, MASKED}, NOT_RUN},
    {"xrstor (%rdi)", CODE("\x0f\xae\x2f"), {NONE, VARIABLE}, NOT_RUN},
    {"fxrstor (%rdi)", CODE("\x0f\xae\x0f"), {NONE, VARIABLE}, NOT_RUN},
    {"iretq", CODE("\x48\xcf"), {NONE, VARIABLE}, NOT_RUN},
    {"nop", CODE("\x90"), {NONE, NONE}, NOT_RUN},
    {"nopw 0x0(%rax,%rax,1)", CODE("\x66\x0f\x1f\x04\x00"), {NONE, NONE}, NOT_RUN},
    {"lea (%rdi),%rax", CODE("\x48\x8d\x07"), {NONE, NONE}, NOT_RUN},
    {"prefetcht0 (%rdi)", CODE("\x0f\x18\x0f"), {NONE, NONE}, NOT_RUN},
    {"prefetchw (%rdi)", CODE("\x0f\x0d\x0f"), {NONE, NONE}, NOT_RUN},
    {"clflush (%rdi)", CODE("\x0f\xae\x3f"), {NONE, NONE}, NOT_RUN},
    {"clflushopt (%rdi)", CODE("\x66\x0f\xae\x3f"), {NONE, NONE}, NOT_RUN},
    {"clwb (%rdi)", CODE("\x66\x0f\xae\x37"), {NONE, NONE}, NOT_RUN},
    {"cldemote (%rdi)", CODE("\x0f\x1c\x07"), {NONE, NONE}, NOT_RUN},
    {"sfence", CODE("\x0f\xae\xf8"), {NONE, NONE}, NOT_RUN},
    {"syscall", CODE("\x0f\x05"), {NONE, NONE}, NOT_RUN},
    {"mov %rax,%rdi", CODE("\x48\x89\xc7"), {NONE, NONE}, NOT_RUN},
    {"vaddps %zmm0,%zmm1,%zmm2", CODE("\x62\xf1\x74\x48\x58\xd0"), {NONE, NONE}, NOT_RUN},
    {"invlpg (%rdi)", CODE("\x0f\x01\x3f"), {NONE, NONE}, NOT_RUN},
};

static void check(const struct form *form, const uint8_t *code, size_t len)
{
    for (int access = 0; access < ACCESS_KINDS; access++) {
        uint32_t bytes = 0;
        enum access_size status = access_size(code, len, true, (enum access)access, &bytes);
        int got = status == ACCESS_SIZE_KNOWN ? (int)bytes : -(int)status;
        if (got != form->size[access])
            fail_msg("%s: %s is %d, not %d", form->text, access_name((enum access)access), got,
                     form->size[access]);
    }
}

TEST(every_form)
{
    for (size_t i = 0; i < COUNT(forms); i++) {
        uint8_t code[ACCESS_CODE_BYTES];
        memset(code, 0xcc, sizeof code);
        memcpy(code, forms[i].code, forms[i].len);
        check(&forms[i], code, sizeof code); /* what follows does not matter */
        check(&forms[i], code, forms[i].len);
    }
}

TEST(a_part_is_truncated)
{
    uint32_t bytes = 77;
    static const uint8_t vector[] = {0x62, 0xf1, 0x7c, 0x48, 0x11, 0x07}; /* vmovups %zmm0,(%rdi) */
    for (size_t len = 0; len < sizeof vector; len++)
        assert_int_equal(access_size(vector, len, true, ACCESS_STORE, &bytes),
                         ACCESS_SIZE_TRUNCATED);
    assert_int_equal(bytes, 77);
}

TEST(no_instruction)
{
    static const uint8_t opcode_06[] = {0x06, 0x90, 0x90}; /* push %es: not in 64-bit code */
    static const uint8_t locked_move[] = {0xf0, 0x89, 0x07};
    static const uint8_t prefixes[15] = {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
                                         0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66};
    uint32_t bytes = 77;
    assert_int_equal(access_size(opcode_06, sizeof opcode_06, true, ACCESS_STORE, &bytes),
                     ACCESS_SIZE_INVALID);
    assert_int_equal(access_size(locked_move, sizeof locked_move, true, ACCESS_STORE, &bytes),
                     ACCESS_SIZE_INVALID);
    assert_int_not_equal(access_size(prefixes, sizeof prefixes, true, ACCESS_STORE, &bytes),
                         ACCESS_SIZE_KNOWN);
    assert_int_equal(bytes, 77);
}

TEST(code_of_32_bit_processes)
{
    static const uint8_t push_es[] = {0x06};
    static const uint8_t push_eax[] = {0x50};
    static const uint8_t inc_move[] = {0x48, 0x89, 0x07}; /* dec %eax; mov %eax,(%edi) */
    uint32_t bytes = 0;
    assert_int_equal(access_size(push_es, 1, false, ACCESS_STORE, &bytes), ACCESS_SIZE_KNOWN);
    assert_int_equal(bytes, 4);
    assert_int_equal(access_size(push_eax, 1, false, ACCESS_STORE, &bytes), ACCESS_SIZE_KNOWN);
    assert_int_equal(bytes, 4);
    assert_int_equal(access_size(inc_move, 3, false, ACCESS_STORE, &bytes), ACCESS_SIZE_NO_ACCESS);
    assert_int_equal(access_size(inc_move, 3, true, ACCESS_STORE, &bytes), ACCESS_SIZE_KNOWN);
    assert_int_equal(bytes, 8);
}

TEST(names_of_accesses)
{
    enum access access;
    for (int i = 0; i < ACCESS_KINDS; i++) {
        assert_int_equal(access_parse(access_name((enum access)i), &access), 0);
        assert_int_equal(access, i);
    }
    assert_string_equal(access_name(ACCESS_STORE), "store");
    assert_int_equal(access_parse("stores", &access), -ENOENT);
}

/* ---- the CPU as the judge ---- */

static bool runs_here(enum run run)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    switch (run) {
    case NOT_RUN:
        return false;
    case RUN_ALWAYS:
        return true;
    case RUN_SSE4:
        return __builtin_cpu_supports("sse4.1") != 0;
    case RUN_AVX:
        return __builtin_cpu_supports("avx") != 0;
    case RUN_AVX2:
        return __builtin_cpu_supports("avx2") != 0;
    case RUN_AVX512:
        return __builtin_cpu_supports("avx512f") != 0;
    }
#endif
    return false;
}

/* Runs the instruction over memory full of 0x00 and of 0xff: a byte that is written differs from
 * one of them. All written bytes are at the start. */
static int written(uint8_t *page, const struct form *form)
{
    _Alignas(64) uint8_t memory[2][256];
    int n = 0;
    memcpy(page, form->code, form->len);
    page[form->len] = 0xc3; /* ret */
    /* Both are filled first: what filling left in a register is then the same for both runs. */
    memset(memory[0], 0, sizeof memory[0]);
    memset(memory[1], 0xff, sizeof memory[1]);
    for (int i = 0; i < 2; i++)
        ((void (*)(void *))(uintptr_t)page)(memory[i]);
    for (size_t i = 0; i < sizeof memory[0]; i++)
        if (memory[0][i] != 0 || memory[1][i] != 0xff)
            n = (int)i + 1;
    return n;
}

TEST(as_this_cpu_writes)
{
    int n = 0;
    uint8_t *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        skip(); /* a hardened kernel */
    for (size_t i = 0; i < COUNT(forms); i++) {
        if (!runs_here(forms[i].run))
            continue;
        int got = written(page, &forms[i]);
        if (got != forms[i].size[ACCESS_STORE])
            fail_msg("%s wrote %d bytes, not %d", forms[i].text, got, forms[i].size[ACCESS_STORE]);
        n++;
    }
    munmap(page, 4096);
    printf("%d of %zu forms ran here\n", n, COUNT(forms));
}
