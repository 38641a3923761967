#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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
    return n > 0 && (size_t)n < sizeof path &&
           look_line(AT_FDCWD, path, group, sizeof group) == 0 &&
           (strcmp(group, "res:/") == 0 ||
            (strncmp(group, "res:", 4) == 0 && rules_group(group + 4, &mask, &percent)));
}

/* Of a container whose ways or bandwidth are claimed; mostly of the same as the last one. */
static bool is_allocated(struct writer *writer, int tid)
{
    for (size_t i = 0; i < writer->open.n; i++, writer->last_member++) {
        const struct claim *claim = &writer->open.claims[writer->last_member % writer->open.n];
        if ((claim->knob == KNOB_WAYS || claim->knob == KNOB_MBA) && claim->set[0] &&
            thread_is_member(writer, claim, tid, false))
            return true;
    }
    return false;
}

/* One task: the kernel takes a list, too. */
static bool may_be_task(struct writer *writer, const char *text, bool own)
{
    char number[16];
    uint64_t tid;
    snprintf(number, sizeof number, "%.*s", (int)strcspn(text, "\n"), text);
    return strlen(text) == strlen(number) + 1 && rules_number(number, 10, INT32_MAX, &tid) &&
           tid > 0 && is_free(writer, (int)tid) && (!own || is_allocated(writer, (int)tid));
}

static int write_group(struct writer *writer, int root, const struct order *order)
{
    const char *name = order->of.file.name, *text = order->of.file.text;
    const char *slash = strchr(name, '/'), *file = slash ? slash + 1 : name;
    char group[ORDER_NAME_MAX];
    unsigned mask, percent;
    bool may = false;
    snprintf(group, sizeof group, "%.*s", (int)(file - name - (slash != NULL)), name);
    if (slash &&
        !(rules_group(group, &mask, &percent) && may_be_group(writer, root, mask, percent)))
        return ORDER_REFUSED;
    if (strcmp(file, "schemata") == 0)
        may = slash && rules_schemata(text, mask, percent);
    else if (strcmp(file, "tasks") == 0)
        may = may_be_task(writer, text, slash);
    return may ? writer_write(writer, root, order) : ORDER_REFUSED;
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
