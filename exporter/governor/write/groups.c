#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/governor/write/writer_internal.h"

/* Not less than any class allows, or all that there is. */
static bool may_be_group(const struct writer *writer, int root, unsigned mask, unsigned percent)
{
    const double *least = writer->config.bounds->least;
    char text[8192];
    if (look_text(root, "schemata", text, sizeof text))
        return false;
    unsigned ways = rules_whole(text, "L3:", 16), bandwidth = rules_whole(text, "MB:", 10);
    return !(mask & ~ways) && (mask == ways || __builtin_popcount(mask) >= least[KNOB_WAYS]) &&
           (percent == bandwidth || percent == 100 || percent >= least[KNOB_MBA]);
}

/* In the root group, or in one of ours: nobody else's are touched. */
static bool is_free(const struct writer *writer, int tid)
{
    char path[CLAIM_PATH_MAX], group[64];
    unsigned mask, percent;
    int n = snprintf(path, sizeof path, "%s/%d/cpu_resctrl_groups", writer->config.proc, tid);
    if (n < 0 || (size_t)n >= sizeof path || look_line(AT_FDCWD, path, group, sizeof group))
        return false;
    return strcmp(group, "res:/") == 0 ||
           (strncmp(group, "res:", 4) == 0 && rules_group(group + 4, &mask, &percent));
}

/* Of a container whose ways or bandwidth are claimed; mostly of the same as the last one. */
static bool is_allocated(struct writer *writer, int tid)
{
    for (size_t i = 0; i < writer->n; i++) {
        size_t at = (writer->last_member + i) % writer->n;
        const struct claim *claim = &writer->claims[at];
        if ((claim->knob == KNOB_WAYS || claim->knob == KNOB_MBA) && claim->set[0] &&
            look_is_member(writer, claim, tid, false)) {
            writer->last_member = at;
            return true;
        }
    }
    return false;
}

/* The name of the group that this directory is; "": the root. -ENOENT: it is none of ours. */
static int find_group(int root, const struct order *order, char name[ORDER_NAME_MAX])
{
    struct stat st;
    unsigned mask, percent;
    name[0] = '\0';
    if (fstat(root, &st) || st.st_dev != order->of.file.dev)
        return ORDER_REFUSED;
    if (st.st_ino == order->of.file.ino)
        return 0;
    int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = -ENOENT;
    DIR *listed = fd < 0 ? NULL : fdopendir(fd);
    for (const struct dirent *entry; listed && err && (entry = readdir(listed));) {
        if (!rules_group(entry->d_name, &mask, &percent) ||
            fstatat(root, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
            st.st_ino != order->of.file.ino)
            continue;
        snprintf(name, ORDER_NAME_MAX, "%.*s", ORDER_NAME_MAX - 1, entry->d_name);
        err = 0;
    }
    if (listed)
        closedir(listed);
    else if (fd >= 0)
        close(fd);
    return err;
}

static int write_group(struct writer *writer, int root, const struct order *order)
{
    const char *text = order->of.file.text;
    char name[ORDER_NAME_MAX], number[16];
    unsigned mask = 0, percent = 0;
    uint64_t tid;
    int err = find_group(root, order, name);
    if (err)
        return err;
    bool own = rules_group(name, &mask, &percent);
    bool may = false;
    snprintf(number, sizeof number, "%.*s", (int)strcspn(text, "\n"), text);
    bool alone = strlen(text) == strlen(number) + 1; /* the kernel takes a list, too */
    if (strcmp(order->of.file.name, "schemata") == 0)
        may =
            own && may_be_group(writer, root, mask, percent) && rules_schemata(text, mask, percent);
    else if (strcmp(order->of.file.name, "tasks") == 0)
        may =
            alone && rules_number(number, 10, INT32_MAX, &tid) && tid > 0 &&
            is_free(writer, (int)tid) &&
            (!own || (may_be_group(writer, root, mask, percent) && is_allocated(writer, (int)tid)));
    if (!may)
        return ORDER_REFUSED;
    int group = openat(root, own ? name : ".", O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (group < 0)
        return -errno;
    err = writer_write(writer, group, order->of.file.name, text);
    close(group);
    return err;
}

static int make_group(struct writer *writer, int root, const char *name, bool make)
{
    const struct fswrite *write = writer->config.write;
    unsigned mask, percent;
    if (!rules_group(name, &mask, &percent) || (make && !may_be_group(writer, root, mask, percent)))
        return ORDER_REFUSED;
    int err = make ? write->make_dir(write->context, root, name)
                   : write->remove_dir(write->context, root, name);
    if (!err && (make || writer->groups > 0))
        writer->groups += make ? 1 : -1;
    return err;
}

int groups_obey(struct writer *writer, const struct order *order)
{
    int root = open(writer->config.resctrl, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return ORDER_REFUSED;
    int err = order->kind == ORDER_FILE
                  ? write_group(writer, root, order)
                  : make_group(writer, root, order->of.file.name, order->kind == ORDER_MAKE_GROUP);
    close(root);
    return err;
}
