#include "tests/unit/support/fake_resctrl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/governor/act/actuators/resctrl_text.h"

#define RESCTRL "sys/fs/resctrl"

/* ---- the files say what there is ---- */

static void say_group(struct fake_resctrl *fake, size_t g)
{
    const struct fake_group *group = &fake->groups[g];
    char path[256], text[512];
    const char *name = g == 0 ? "" : group->name;
    snprintf(path, sizeof path, RESCTRL "/%s/schemata", name);
    snprintf(text, sizeof text, "    L3:0=%x;1=%x\n    MB:0=%3u;1=%3u\n", group->mask, group->mask,
             group->percent, group->percent);
    governor_rig_file(fake->rig, path, text);
    text[0] = '\0';
    for (size_t i = 0; i < FAKE_TASKS; i++)
        if (fake->tasks[i].tid && fake->tasks[i].group == g)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%u\n", fake->tasks[i].tid);
    snprintf(path, sizeof path, RESCTRL "/%s/tasks", name);
    governor_rig_file(fake->rig, path, text);
}

static void say_task(struct fake_resctrl *fake, const struct fake_task *task)
{
    char path[64], text[128];
    snprintf(path, sizeof path, "proc/%u/cpu_resctrl_groups", task->tid);
    snprintf(text, sizeof text, "res:%s\nmon:\n", fake->groups[task->group].name);
    governor_rig_file(fake->rig, path, text);
}

static void say_cgroup(struct fake_resctrl *fake, unsigned container, bool below)
{
    char path[32], text[512] = "";
    snprintf(path, sizeof path, "/%u%s", container, below ? "/child" : "");
    for (size_t i = 0; i < FAKE_TASKS; i++) {
        const struct fake_task *task = &fake->tasks[i];
        if (task->tid && task->container == container && task->below == below)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%u\n", task->tid);
    }
    governor_rig_put(fake->rig, path, "cgroup.threads", text);
}

static void say_container(struct fake_resctrl *fake, unsigned container)
{
    char child[32];
    snprintf(child, sizeof child, "/%u/child", container);
    say_cgroup(fake, container, false);
    if (governor_rig_inode(fake->rig, child))
        say_cgroup(fake, container, true);
}

/* ---- what happens ---- */

static size_t find_group(const struct fake_resctrl *fake, const char *name)
{
    for (size_t g = 0; g < FAKE_GROUPS; g++)
        if (fake->groups[g].name[0] && strcmp(fake->groups[g].name, name) == 0)
            return g;
    return FAKE_GROUPS;
}

static struct fake_task *find_task(struct fake_resctrl *fake, unsigned tid)
{
    for (size_t i = 0; i < FAKE_TASKS; i++)
        if (tid && fake->tasks[i].tid == tid)
            return &fake->tasks[i];
    return NULL;
}

const char *fake_resctrl_group(const struct fake_resctrl *fake, unsigned tid)
{
    for (size_t i = 0; i < FAKE_TASKS; i++)
        if (tid && fake->tasks[i].tid == tid)
            return fake->groups[fake->tasks[i].group].name;
    return NULL;
}

static void put_task(struct fake_resctrl *fake, struct fake_task *task, size_t group)
{
    size_t before = task->group;
    task->group = group;
    say_group(fake, before);
    say_group(fake, group);
    say_task(fake, task);
}

static unsigned add_task(struct fake_resctrl *fake, unsigned container, size_t group)
{
    char path[64];
    for (size_t i = 0; i < FAKE_TASKS; i++) {
        struct fake_task *task = &fake->tasks[i];
        if (task->tid)
            continue;
        *task = (struct fake_task){.tid = ++fake->last_tid, .container = container, .group = group};
        snprintf(path, sizeof path, "proc/%u", task->tid);
        governor_rig_folder(fake->rig, path);
        put_task(fake, task, group);
        say_container(fake, container);
        return task->tid;
    }
    return 0;
}

unsigned fake_resctrl_join(struct fake_resctrl *fake, unsigned container)
{
    return add_task(fake, container, 0);
}

void fake_resctrl_fork(struct fake_resctrl *fake, unsigned container)
{
    for (size_t i = 0; i < FAKE_TASKS; i++)
        if (fake->tasks[i].tid && fake->tasks[i].container == container) {
            add_task(fake, container, fake->tasks[i].group);
            return;
        }
}

void fake_resctrl_end(struct fake_resctrl *fake, unsigned tid)
{
    struct fake_task *task = find_task(fake, tid);
    char path[128];
    if (!task)
        return;
    snprintf(path, sizeof path, "%s/proc/%u/cpu_resctrl_groups", fake->rig->root, tid);
    unlink(path);
    task->tid = 0;
    say_group(fake, task->group);
    say_container(fake, task->container);
}

void fake_resctrl_go(struct fake_resctrl *fake, unsigned tid, unsigned container, bool below)
{
    struct fake_task *task = find_task(fake, tid);
    char child[32];
    if (!task)
        return;
    unsigned before = task->container;
    snprintf(child, sizeof child, "/%u/child", container);
    if (below && !governor_rig_inode(fake->rig, child))
        governor_rig_cgroup(fake->rig, child, "max 100000");
    task->container = container;
    task->below = below;
    say_container(fake, before);
    say_container(fake, container);
}

static int make_group(struct fake_resctrl *fake, const char *name)
{
    size_t n = 0, free_one = FAKE_GROUPS;
    for (size_t g = FAKE_GROUPS; g-- > 0;) {
        n += fake->groups[g].name[0] != '\0';
        if (!fake->groups[g].name[0])
            free_one = g;
    }
    if (find_group(fake, name) < FAKE_GROUPS)
        return -EEXIST;
    if (n >= fake->num_closids || free_one == FAKE_GROUPS)
        return -ENOSPC;
    struct fake_group *group = &fake->groups[free_one];
    snprintf(group->name, sizeof group->name, "%s", name);
    group->mask = 0x7ff;
    group->percent = fake->most_bandwidth;
    char path[256];
    snprintf(path, sizeof path, RESCTRL "/%s", name);
    governor_rig_folder(fake->rig, path);
    say_group(fake, free_one);
    return 0;
}

void fake_resctrl_take(struct fake_resctrl *fake, unsigned container, const char *name)
{
    make_group(fake, name);
    size_t group = find_group(fake, name);
    for (size_t i = 0; i < FAKE_TASKS && group < FAKE_GROUPS; i++)
        if (fake->tasks[i].tid && fake->tasks[i].container == container)
            put_task(fake, &fake->tasks[i], group);
}

void fake_resctrl_take_one(struct fake_resctrl *fake, unsigned tid, const char *name)
{
    make_group(fake, name);
    size_t group = find_group(fake, name);
    struct fake_task *task = find_task(fake, tid);
    if (task && group < FAKE_GROUPS)
        put_task(fake, task, group);
}

void fake_resctrl_set(struct fake_resctrl *fake, const char *name, unsigned mask, unsigned percent)
{
    size_t g = find_group(fake, name);
    if (g == FAKE_GROUPS)
        return;
    fake->groups[g].mask = mask;
    fake->groups[g].percent = percent;
    say_group(fake, g);
}

const struct fake_group *fake_resctrl_of(const struct fake_resctrl *fake, unsigned container)
{
    const struct fake_group *found = NULL;
    for (size_t i = 0; i < FAKE_TASKS; i++) {
        const struct fake_task *task = &fake->tasks[i];
        if (!task->tid || task->container != container || task->below)
            continue;
        if (found && found != &fake->groups[task->group])
            return NULL;
        found = &fake->groups[task->group];
    }
    return found;
}

size_t fake_resctrl_ours(const struct fake_resctrl *fake)
{
    size_t n = 0;
    for (size_t g = 1; g < FAKE_GROUPS; g++)
        n += strncmp(fake->groups[g].name, "ig_", 3) == 0;
    return n;
}

/* ---- what is written ---- */

static bool fails(struct fake_resctrl *fake)
{
    fake->writes++;
    return fake->fail_at && --fake->fail_at == 0;
}

/* The group whose directory this is; FAKE_GROUPS: it is none of resctrl's. */
static size_t group_of(const struct fake_resctrl *fake, int directory)
{
    char link[64], folder[4096], root[128];
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    snprintf(root, sizeof root, "%s/" RESCTRL, fake->rig->root);
    ssize_t n = readlink(link, folder, sizeof folder - 1);
    folder[n > 0 ? n : 0] = '\0';
    if (strncmp(folder, root, strlen(root)) != 0)
        return FAKE_GROUPS;
    const char *name = folder + strlen(root);
    return *name ? find_group(fake, name + 1) : 0;
}

static bool is_ours(const struct fake_resctrl *fake, size_t g)
{
    return strncmp(fake->groups[g].name, "ig_", 3) == 0;
}

static int write_schemata(struct fake_resctrl *fake, size_t g, const char *text, size_t len)
{
    struct schemata schemata;
    unsigned mask, percent;
    if (!is_ours(fake, g))
        fake->wrong++;
    if (schemata_parse(text, len, &schemata) || !schemata_value(&schemata.l3, &mask) ||
        !schemata_value(&schemata.mb, &percent) || !resctrl_mask_is_contiguous(mask) ||
        mask > 0x7ff || percent > fake->most_bandwidth)
        return -EINVAL;
    if (mask & ~fake->groups[0].mask || percent > fake->groups[0].percent)
        fake->wrong++;
    fake->groups[g].mask = mask;
    fake->groups[g].percent = fake->most_bandwidth > 100 ? percent : (percent + 9) / 10 * 10;
    say_group(fake, g);
    return 0;
}

static int write_task(struct fake_resctrl *fake, size_t g, const char *text)
{
    struct fake_task *task = find_task(fake, (unsigned)strtoul(text, NULL, 10));
    if (!task)
        return -ESRCH;
    if (fake->forks > 0) {
        fake->forks--;
        add_task(fake, task->container, task->group);
    }
    if ((g != 0 && !is_ours(fake, g)) || (task->group != 0 && !is_ours(fake, task->group)))
        fake->wrong++;
    put_task(fake, task, g);
    return 0;
}

static int fake_write_at(void *context, int directory, const char *name, const char *text,
                         size_t len)
{
    struct fake_resctrl *fake = context;
    size_t g = group_of(fake, directory);
    const char *slash = strchr(name, '/');
    char group[64];
    if (g == 0 && slash) {
        snprintf(group, sizeof group, "%.*s", (int)(slash - name), name);
        g = find_group(fake, group);
        if (g == FAKE_GROUPS)
            return -ENOENT;
        name = slash + 1;
    }
    if (g == FAKE_GROUPS)
        return fake->rig->write.write_at(fake->rig, directory, name, text, len);
    if (fails(fake))
        return fake->fail_with;
    return strcmp(name, "tasks") == 0 ? write_task(fake, g, text)
                                      : write_schemata(fake, g, text, len);
}

static int fake_make_dir(void *context, int directory, const char *name)
{
    struct fake_resctrl *fake = context;
    if (fails(fake))
        return fake->fail_with;
    if (group_of(fake, directory) != 0 || strncmp(name, "ig_", 3) != 0)
        fake->wrong++;
    return make_group(fake, name);
}

static int fake_remove_dir(void *context, int directory, const char *name)
{
    struct fake_resctrl *fake = context;
    size_t g = find_group(fake, name);
    char path[256];
    if (fails(fake))
        return fake->fail_with;
    if (g == FAKE_GROUPS)
        return -ENOENT;
    if (g == 0 || !is_ours(fake, g))
        fake->wrong++;
    for (size_t i = 0; i < FAKE_TASKS; i++)
        if (fake->tasks[i].tid && fake->tasks[i].group == g)
            put_task(fake, &fake->tasks[i], 0);
    static const char *const files[] = {"/schemata", "/tasks", ""};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/" RESCTRL "/%s%s", fake->rig->root, name, files[i]);
        if (remove(path))
            abort();
    }
    fake->groups[g].name[0] = '\0';
    return 0;
}

static int fake_open_at(void *context, int directory, const char *name, int empty)
{
    struct governor_rig *rig = ((struct fake_resctrl *)context)->rig;
    return rig->write.open_at(rig, directory, name, empty);
}

static int fake_append(void *context, int fd, const char *bytes, size_t len)
{
    struct governor_rig *rig = ((struct fake_resctrl *)context)->rig;
    return rig->write.append(rig, fd, bytes, len);
}

static int fake_rename_at(void *context, int directory, const char *from, const char *to)
{
    struct governor_rig *rig = ((struct fake_resctrl *)context)->rig;
    return rig->write.rename_at(rig, directory, from, to);
}

void fake_resctrl_init(struct fake_resctrl *fake, struct governor_rig *rig)
{
    *fake = (struct fake_resctrl){.rig = rig, .num_closids = 8, .most_bandwidth = 100};
    fake->write = (struct fswrite){.context = fake,
                                   .write_at = fake_write_at,
                                   .open_at = fake_open_at,
                                   .append = fake_append,
                                   .make_dir = fake_make_dir,
                                   .remove_dir = fake_remove_dir,
                                   .rename_at = fake_rename_at};
    fake->env = (struct actuator_env){.fs = &rig->fs, .write = &fake->write};
    fake->groups[0] = (struct fake_group){"/", 0x7ff, 100};
    governor_rig_folder(rig, RESCTRL "/info/L3");
    governor_rig_folder(rig, RESCTRL "/info/MB");
    governor_rig_folder(rig, "proc/self");
    governor_rig_file(rig, "proc/self/cpu_resctrl_groups", "res:/\nmon:\n");
    governor_rig_file(rig, RESCTRL "/info/L3/min_cbm_bits", "1\n");
    governor_rig_file(rig, RESCTRL "/info/MB/min_bandwidth", "10\n");
    governor_rig_file(rig, RESCTRL "/info/MB/bandwidth_gran", "10\n");
    say_group(fake, 0);
}
