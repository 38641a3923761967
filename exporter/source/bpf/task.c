#include "exporter/source/bpf/task.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { STRUCT_BYTES_MAX = 1 << 20, WORD = sizeof(uint64_t) };

/* A member, and where it is. */
struct member {
    const struct btf_type *type;
    uint32_t at;
};

/* False: there is none of that name, or it is not at a whole multiple of so many bytes. */
static bool member_of(const struct btf *btf, const struct btf_type *in, const char *name,
                      uint32_t align, struct member *out)
{
    for (uint32_t i = 0; in && btf_is_composite(in) && i < btf_vlen(in); i++) {
        const struct btf_member *member = &btf_members(in)[i];
        const char *found = btf__name_by_offset(btf, member->name_off);
        uint32_t bits = btf_member_bit_offset(in, i), bytes = bits / CHAR_BIT;
        if (!found || strcmp(found, name) != 0)
            continue;
        *out = (struct member){btf__type_by_id(btf, member->type), bytes};
        return out->type && bits % (align * CHAR_BIT) == 0 && bytes < STRUCT_BYTES_MAX;
    }
    return false;
}

static const struct btf_type *struct_of(const struct btf *btf, const char *name)
{
    int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);
    return id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
}

static uint32_t pointer_at(const struct btf *btf, const struct btf_type *in, const char *name)
{
    struct member member;
    return member_of(btf, in, name, sizeof(void *), &member) && btf_is_ptr(member.type) ? member.at
                                                                                        : 0;
}

/* The program reads both at once. */
static uint32_t waits_at(const struct btf *btf, const struct btf_type *task)
{
    struct member info, runs, waited;
    bool known = member_of(btf, task, "sched_info", WORD, &info) &&
                 member_of(btf, info.type, "pcount", WORD, &runs) &&
                 member_of(btf, info.type, "run_delay", WORD, &waited);
    return known && waited.at == runs.at + WORD ? info.at + runs.at : 0;
}

static void find_queue(const struct btf *btf, const struct btf_type *task, struct bpf_task *out)
{
    struct member entity, count;
    if (!member_of(btf, task, "se", WORD, &entity) ||
        !member_of(btf, struct_of(btf, "cfs_rq"), "throttle_count", sizeof(uint32_t), &count))
        return;
    uint32_t at = pointer_at(btf, entity.type, "cfs_rq");
    out->cfs_rq_at = at ? entity.at + at : 0;
    out->throttle_count_at = at ? count.at : 0;
}

/* What a program is handed at a switch: (bool preempt, prev, next), and since Linux 5.18 the state
 * of prev, which its first releases had in the second place. Before these is one of the kernel's
 * own. */
static bool is_told_state(const struct btf *btf)
{
    enum { ARGUMENTS = 5, NEXT = 3 };
    int id = btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
    const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
    type = type ? btf__type_by_id(btf, type->type) : NULL;
    type = type && btf_is_ptr(type) ? btf__type_by_id(btf, type->type) : NULL;
    if (!type || !btf_is_func_proto(type) || btf_vlen(type) != ARGUMENTS)
        return false;
    const struct btf_type *next = btf__type_by_id(btf, btf_params(type)[NEXT].type);
    const struct btf_type *prev = btf__type_by_id(btf, btf_params(type)[NEXT - 1].type);
    return next && btf_is_ptr(next) && prev && btf_is_ptr(prev);
}

void bpf_task_find(const struct fsroot *fs, struct bpf_task *out)
{
    char path[PATH_MAX];
    struct member state;
    *out = (struct bpf_task){0};
    if (fsroot_path(fs, FSROOT_SYS, "kernel/btf/vmlinux", path, sizeof path) != 0)
        return;
    libbpf_set_print(NULL); /* that there is none is no error */
    struct btf *btf = btf__parse(path, NULL);
    if (!btf)
        return;
    const struct btf_type *task = struct_of(btf, "task_struct");
    out->css_set_at = pointer_at(btf, task, "cgroups");
    out->waits_at = waits_at(btf, task);
    out->state_argument = is_told_state(btf);
    if (member_of(btf, task, "__state", sizeof(uint32_t), &state))
        out->state_at = state.at;
    find_queue(btf, task, out);
    btf__free(btf);
}
