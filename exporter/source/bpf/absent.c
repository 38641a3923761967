/* In the place of bpf.c and what it stands on, where the build found no clang, bpftool or libbpf.
 */
#include <errno.h>

#include "exporter/source/bpf/bpf.h"

int bpf_source_new(const struct bpf_config *config, struct source **out, struct verdict *why)
{
    (void)config, (void)out;
    verdict_set(why, REASON_NO_DEVICE, "this program was built without counting by BPF");
    return -ENOSYS;
}

size_t bpf_source_groups(const struct source *source)
{
    (void)source;
    return 0;
}

bool bpf_serves(enum group group)
{
    (void)group;
    return false;
}
