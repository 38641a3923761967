/* Why the kernel takes no program: in words that say what to do. */
#include "exporter/source/bpf/set.h"
#include "tests/unit/support/unit.h"

TEST(test_words)
{
    static const struct {
        int err;
        bool knows_cap_bpf;
        enum reason reason;
        const char *words;
    } cases[] = {
        {-EPERM, true, REASON_NO_PERMISSION, "(EPERM): grant CAP_BPF and CAP_PERFMON"},
        {-EACCES, true, REASON_NO_PERMISSION, "(EACCES): grant CAP_BPF and CAP_PERFMON"},
        /* SYS_ADMIN would do there, but for the rest that is missing. */
        {-EPERM, false, REASON_NO_DEVICE, "CAP_SYS_ADMIN in its place is of no use"},
        {-ENOMEM, true, REASON_NO_DEVICE, "raise the memory limit, or lower --containers.max"},
        {-EMFILE, true, REASON_FD_LIMIT, "too few file descriptors"},
        {-ENOSYS, true, REASON_NO_DEVICE, "CONFIG_BPF_SYSCALL"},
        /* There is no such tracepoint, or no program of tracepoints. */
        {-ENOENT, true, REASON_NO_DEVICE, "Linux 5.14 with CONFIG_BPF_EVENTS"},
        {-EINVAL, true, REASON_NO_DEVICE,
         "(Invalid argument): it takes Linux 5.14 with CONFIG_BPF_EVENTS, on arm64 5.18"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct verdict why;
        bpf_refusal(cases[i].err, cases[i].knows_cap_bpf, &why);
        assert_int_equal(why.reason, cases[i].reason);
        assert_non_null(strstr(why.words, cases[i].words));
    }
}
