#include "exporter/governor/act/actuators/resctrl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/governor/act/cgroup/cgroup_tasks.h"

enum { PASSES = 5 };

/* ---- files ---- */

/* Below the root: "tasks", or "ig_7_50/tasks" of our group for a share. */
static void name_file(const struct resctrl *resctrl, struct resctrl_share share, const char *file,
                      char out[RESCTRL_GROUP_MAX])
{
    if (!resctrl_same_share(share, resctrl->whole))
        resctrl_name_format(share.mask, share.percent, out);
    else
        out[0] = '\0';
    size_t len = strlen(out);
    snprintf(out + len, RESCTRL_GROUP_MAX - len, "%s%s", len ? "/" : "", file);
}

static int read_schemata(const struct resctrl *resctrl, const char *name, struct schemata *out)
{
    char text[RESCTRL_SCHEMATA_MAX];
    size_t len;
    int fd = openat(resctrl->root, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    int err = fsroot_read_fd(fd, text, sizeof text, &len);
    close(fd);
    return err ? err : schemata_parse(text, len, out);
}

static int write_file(const struct resctrl *resctrl, struct resctrl_share share, const char *file,
                      const char *text, size_t len)
{
    const struct fswrite *write = resctrl->env->write;
    char name[RESCTRL_GROUP_MAX];
    name_file(resctrl, share, file, name);
    return write->write_at(write->context, resctrl->root, name, text, len);
}

/* ---- the mount ---- */

/* AMD's bandwidth is in eighths of a GB/s, that of a mount with mba_MBps in MB/s. */
static bool is_percent(const struct schemata_line *mb, uint32_t *percent)
{
    return schemata_value(mb, percent) && *percent > 0 && *percent <= 100;
}

static int take_whole(struct resctrl *resctrl)
{
    struct resctrl_share whole = {.percent = 100};
    struct schemata *schemata = &resctrl->schemata;
    uint32_t percent;
    if (schemata->l3.n > 0 && !schemata_value(&schemata->l3, &whole.mask))
        return -EINVAL;
    schemata->mb.fixed = schemata->mb.n > 0 && !is_percent(&schemata->mb, &percent);
    if (schemata->mb.n > 0 && !schemata->mb.fixed)
        whole.percent = percent;
    resctrl->whole = whole;
    return 0;
}

int resctrl_open(const struct actuator_env *env, struct resctrl *out)
{
    struct resctrl resctrl = {.env = env};
    resctrl.root = fsroot_open(env->fs, FSROOT_RESCTRL, "", O_PATH | O_DIRECTORY);
    if (resctrl.root < 0)
        return -ENODEV;
    int err = read_schemata(&resctrl, "schemata", &resctrl.schemata);
    if (err == -ENOENT || err == -ENOTCONN || err == -EIO)
        err = -ENODEV; /* an empty mount point; one whose file system has ended */
    if (!err)
        err = take_whole(&resctrl);
    if (err)
        close(resctrl.root);
    else
        *out = resctrl;
    return err;
}

/* The kernel's words for it (proc_resctrl_show), whatever is mounted where we look: of a task in
 * the root group it says "res:/". */
bool resctrl_is_nowhere(const struct actuator_env *env)
{
    static const char nowhere[] = "res:\n";
    char text[RESCTRL_GROUP_MAX + 64];
    return fsroot_read(env->fs, FSROOT_PROC, "self/cpu_resctrl_groups", text, sizeof text, NULL) ==
               0 &&
           strncmp(text, nowhere, strlen(nowhere)) == 0;
}

void resctrl_close(struct resctrl *resctrl)
{
    close(resctrl->root);
}

bool resctrl_same_share(struct resctrl_share a, struct resctrl_share b)
{
    return a.mask == b.mask && a.percent == b.percent;
}

/* ---- tasks ---- */

/* -ESRCH: the task has ended. */
static int find_task(const struct resctrl *resctrl, unsigned tid, enum resctrl_state *state,
                     struct resctrl_share *share)
{
    char path[64], text[RESCTRL_GROUP_MAX + 64], group[RESCTRL_GROUP_MAX];
    size_t len;
    snprintf(path, sizeof path, "%u/cpu_resctrl_groups", tid);
    int err = fsroot_read(resctrl->env->fs, FSROOT_PROC, path, text, sizeof text, &len);
    if (err == -ENOENT)
        err = -ESRCH;
    if (!err)
        err = resctrl_group_parse(text, len, group);
    if (err)
        return err;
    *share = resctrl->whole;
    *state = RESCTRL_ROOT;
    if (group[0])
        *state = resctrl_name_parse(group, &share->mask, &share->percent) ? RESCTRL_OURS
                                                                          : RESCTRL_FOREIGN;
    return 0;
}

struct search {
    const struct resctrl *resctrl;
    bool first_only;
    enum resctrl_state state;
    struct resctrl_share share;
};

static int search_task(void *context, unsigned tid)
{
    struct search *search = context;
    int err = find_task(search->resctrl, tid, &search->state, &search->share);
    if (err)
        return err == -ESRCH ? 0 : err;
    return search->first_only || search->state != RESCTRL_ROOT;
}

int resctrl_find(const struct resctrl *resctrl, int cgroup, bool first_only,
                 enum resctrl_state *state, struct resctrl_share *share)
{
    struct search search = {.resctrl = resctrl,
                            .first_only = first_only,
                            .state = RESCTRL_EMPTY,
                            .share = resctrl->whole};
    int err = cgroup_tasks(cgroup, search_task, &search);
    if (err < 0)
        return err;
    *state = search.state;
    *share = search.share;
    return 0;
}

/* ---- groups ---- */

bool resctrl_is_true(const struct resctrl *resctrl, struct resctrl_share share)
{
    char name[RESCTRL_GROUP_MAX];
    struct schemata now;
    uint32_t value;
    if (resctrl_same_share(share, resctrl->whole))
        return true;
    name_file(resctrl, share, "schemata", name);
    if (read_schemata(resctrl, name, &now))
        return false;
    if (resctrl->schemata.l3.n > 0 && (!schemata_value(&now.l3, &value) || value != share.mask))
        return false;
    if (resctrl->schemata.mb.fixed)
        return schemata_same(&now.mb, &resctrl->schemata.mb);
    return resctrl->schemata.mb.n == 0 ||
           (schemata_value(&now.mb, &value) && value == share.percent);
}

/* Our group, which gives what its name says. */
static int make_group(const struct resctrl *resctrl, struct resctrl_share share)
{
    const struct fswrite *write = resctrl->env->write;
    char name[RESCTRL_GROUP_MAX], text[RESCTRL_SCHEMATA_MAX];
    if (resctrl_is_true(resctrl, share))
        return 0;
    resctrl_name_format(share.mask, share.percent, name);
    int err = faccessat(resctrl->root, name, F_OK, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
    if (err == -ENOENT)
        err = write->make_dir(write->context, resctrl->root, name);
    if (err || resctrl_is_true(resctrl, share))
        return err;
    size_t len = schemata_format(&resctrl->schemata, share.mask, share.percent, text);
    err = write_file(resctrl, share, "schemata", text, len);
    if (!err && !resctrl_is_true(resctrl, share))
        err = -EINVAL; /* rounded to what the hardware has */
    return err;
}

struct move {
    const struct resctrl *resctrl;
    struct resctrl_share to;
    unsigned moved;
};

/* A group of ours may have what the root group has now: it is not that. */
static bool is_there(const struct move *move, enum resctrl_state state, struct resctrl_share share)
{
    bool home = resctrl_same_share(move->to, move->resctrl->whole);
    return home ? state == RESCTRL_ROOT
                : state == RESCTRL_OURS && resctrl_same_share(share, move->to);
}

static int move_task(void *context, unsigned tid)
{
    struct move *move = context;
    char text[16];
    enum resctrl_state state;
    struct resctrl_share share;
    int err = find_task(move->resctrl, tid, &state, &share);
    if (!err && state != RESCTRL_FOREIGN && !is_there(move, state, share)) {
        int len = snprintf(text, sizeof text, "%u\n", tid);
        err = write_file(move->resctrl, move->to, "tasks", text, (size_t)len);
        move->moved += !err;
    }
    return err == -ESRCH ? 0 : err;
}

static int move_all(struct move *move, int cgroup)
{
    int err = 0;
    for (int i = 0; i < PASSES && !err; i++) {
        unsigned before = move->moved;
        err = cgroup_tasks(cgroup, move_task, move);
        if (move->moved == before)
            break;
    }
    return err;
}

int resctrl_move(const struct resctrl *resctrl, int cgroup, struct resctrl_share to)
{
    struct move move = {.resctrl = resctrl, .to = to};
    int err = make_group(resctrl, to);
    return err ? err : move_all(&move, cgroup);
}

struct turn {
    struct move move;
    size_t from, seen; /* tasks */
};

static int keep_task(void *context, unsigned tid)
{
    struct turn *turn = context;
    size_t at = turn->seen++;
    if (at < turn->from)
        return 0;
    return at < turn->from + RESCTRL_KEPT ? move_task(&turn->move, tid) : 1;
}

int resctrl_keep(const struct resctrl *resctrl, int cgroup, struct resctrl_share to, size_t *from)
{
    struct turn turn = {.move = {.resctrl = resctrl, .to = to}, .from = *from};
    int err = make_group(resctrl, to);
    if (err)
        return err;
    int result = cgroup_tasks(cgroup, keep_task, &turn);
    *from = result > 0 ? turn.from + RESCTRL_KEPT : 0;
    return result < 0 ? result : 0;
}

/* ---- cgroups below ---- */

static int move_child(void *context, int cgroup)
{
    return move_all(context, cgroup);
}

int resctrl_return_below(const struct resctrl *resctrl, int cgroup, bool *any)
{
    struct move move = {.resctrl = resctrl, .to = resctrl->whole};
    int err = cgroup_each_below(cgroup, move_child, &move);
    *any = move.moved > 0;
    return err;
}

/* ---- what is left over ---- */

static int any_task(void *context, unsigned tid)
{
    (void)context;
    (void)tid;
    return 1;
}

static int sweep_one(const struct resctrl *resctrl, const char *name, bool all)
{
    const struct fswrite *write = resctrl->env->write;
    int group = openat(resctrl->root, name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (group < 0)
        return 0;
    bool empty = cgroup_tasks_in_file(group, "tasks", any_task, NULL) == 0;
    close(group);
    int err = empty || all ? write->remove_dir(write->context, resctrl->root, name) : 0;
    return empty ? 0 : err;
}

int resctrl_sweep(const struct resctrl *resctrl, bool all)
{
    DIR *listed = cgroup_list(resctrl->root);
    uint32_t mask, percent;
    int result = 0;
    if (!listed)
        return 0;
    for (const struct dirent *entry; (entry = readdir(listed));) {
        if (!resctrl_name_parse(entry->d_name, &mask, &percent))
            continue;
        int err = sweep_one(resctrl, entry->d_name, all);
        result = result ? result : err;
    }
    closedir(listed);
    return result;
}
