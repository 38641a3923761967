#include "exporter/source/bpf/task.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

enum { TASK_BYTES_MAX = 1 << 20, POINTER_BITS = CHAR_BIT * (int)sizeof(void *) };

static uint32_t css_set_in(const struct btf *btf)
{
    int id = btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT);
    const struct btf_type *task = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
    for (uint32_t i = 0; task && i < btf_vlen(task); i++) {
        const struct btf_member *member = &btf_members(task)[i];
        const char *name = btf__name_by_offset(btf, member->name_off);
        if (!name || strcmp(name, "cgroups") != 0)
            continue;
        const struct btf_type *type = btf__type_by_id(btf, member->type);
        uint32_t bits = btf_member_bit_offset(task, i);
        bool fits = bits % POINTER_BITS == 0 && bits / CHAR_BIT < TASK_BYTES_MAX;
        return type && btf_is_ptr(type) && fits ? bits / CHAR_BIT : 0;
    }
    return 0;
}

uint32_t bpf_task_css_set(const struct fsroot *fs)
{
    char path[PATH_MAX];
    if (fsroot_path(fs, FSROOT_SYS, "kernel/btf/vmlinux", path, sizeof path) != 0)
        return 0;
    libbpf_set_print(NULL); /* that there is none is no error */
    struct btf *btf = btf__parse(path, NULL);
    if (!btf)
        return 0;
    uint32_t at = css_set_in(btf);
    btf__free(btf);
    return at;
}
