#include "exporter/source/bpf/refusal.h"

#include <errno.h>
#include <string.h>

static void explain_permission(int err, bool knows_cap_bpf, struct verdict *why)
{
    if (knows_cap_bpf)
        verdict_set(why, REASON_NO_PERMISSION,
                    "the kernel takes no BPF program from us (%s): grant CAP_BPF and CAP_PERFMON, "
                    "and allow bpf() in the seccomp profile",
                    strerrorname_np(-err));
    else
        verdict_set(why, REASON_NO_DEVICE,
                    "this kernel has no CAP_BPF (Linux 5.8), and counting by BPF takes 5.14, on "
                    "arm64 5.18: CAP_SYS_ADMIN in its place is of no use");
}

void bpf_refusal(int err, bool knows_cap_bpf, struct verdict *why)
{
    switch (-err) {
    case EPERM:
    case EACCES:
        explain_permission(err, knows_cap_bpf, why);
        return;
    case ENOMEM:
        verdict_set(why, REASON_NO_DEVICE,
                    "no memory for the BPF program's cells: raise the memory limit, or lower "
                    "--containers.max");
        return;
    case EMFILE:
    case ENFILE:
        verdict_set(
            why, REASON_FD_LIMIT,
            "too few file descriptors for the BPF program: raise LimitNOFILE= or ulimit -n");
        return;
    case ENOSYS:
        verdict_set(why, REASON_NO_DEVICE, "this kernel has no bpf() (CONFIG_BPF_SYSCALL)");
        return;
    default:
        verdict_set(why, REASON_NO_DEVICE,
                    "the kernel refuses the BPF program (%s): it takes Linux 5.14 with "
                    "CONFIG_BPF_EVENTS, on arm64 5.18",
                    strerror(-err));
    }
}
