#include "exporter/containers/cgroups/hierarchy.h"

#include <dirent.h>
#include <errno.h>
#include <libcgroup.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "exporter/containers/cgroups/mounts.h"

static const char perf_event[] = "perf_event";

static bool has_file(const char *folder, const char *name)
{
    char path[4096 + 64];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0;
}

/* Only v2 has this file, and has it at its root too. */
static bool is_v2(const char *folder)
{
    return has_file(folder, "cgroup.controllers");
}

static bool is_v1(const char *folder)
{
    return !is_v2(folder) && has_file(folder, "tasks");
}

static int set_path(struct cgroup_hierarchy *out, int version, const char *folder,
                    const char *below, const char *controller)
{
    struct cgroup_hierarchy found = {.version = version, .cgroups = SIZE_MAX};
    int n = snprintf(found.path, sizeof found.path, "%s%s%s", folder, *below ? "/" : "", below);
    if (n < 0 || (size_t)n >= sizeof found.path)
        return -ENAMETOOLONG;
    while (n > 1 && found.path[n - 1] == '/')
        found.path[--n] = '\0';
    snprintf(found.controller, sizeof found.controller, "%s", controller);
    *out = found;
    return 0;
}

/* ---- a path was given ---- */

static bool in_list(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, word, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
    }
    return false;
}

/* CONTROLLER/, or a folder of controllers that are mounted together, "net_cls,perf_event/". */
static bool find_v1_folder(const char *path, const char *controller, char name[256])
{
    DIR *dir = opendir(path);
    if (!dir)
        return false;
    const struct dirent *entry;
    bool found = false;
    while (!found && (entry = readdir(dir))) {
        char below[4096 + 320];
        snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        found = in_list(entry->d_name, controller) && is_v1(below);
        if (found)
            snprintf(name, 256, "%s", entry->d_name);
    }
    closedir(dir);
    return found;
}

static int find_below(const char *path, struct cgroup_hierarchy *out, char *error,
                      size_t error_size)
{
    char name[256], unified[4096 + 16];
    snprintf(unified, sizeof unified, "%s/unified", path);
    if (is_v2(path))
        return set_path(out, 2, path, "", "");
    if (find_v1_folder(path, perf_event, name))
        return set_path(out, 1, path, name, "");
    if (is_v2(unified))
        return set_path(out, 2, path, "unified", "");
    if (is_v1(path))
        return set_path(out, 1, path, "", "");
    snprintf(error, error_size,
             "%s: no cgroup hierarchy there can count; expected a cgroup v2 mount, or perf_event/ "
             "or unified/ below it",
             path);
    return -ENOENT;
}

/* ---- what is mounted ---- */

/* By default libcgroup prints its complaints on stderr. */
static void discard_message(void *userdata, int level, const char *format, va_list args)
{
    (void)userdata;
    (void)level;
    (void)format;
    (void)args;
}

/*
 * The name by which libcgroup walks the hierarchy from this very mount; else it is walked without.
 * libcgroup takes the first mount in its table, whether or not anybody can reach it. v2 stands
 * there under the name of each controller it offers, or as "cgroup" when it offers none;
 * perf_event, which v2 always has, is not among them.
 */
static void ask_libcgroup(struct cgroup_hierarchy *hierarchy)
{
    struct cgroup_mount_point mount;
    void *iterator = NULL;
    cgroup_set_logger(discard_message, CGROUP_LOG_ERROR, NULL);
    if (cgroup_init() != 0)
        return;
    int ret = cgroup_get_controller_begin(&iterator, &mount);
    for (; ret == 0; ret = cgroup_get_controller_next(&iterator, &mount)) {
        bool named = hierarchy->version == 2 || strcmp(mount.name, perf_event) == 0;
        if (!named || strcmp(mount.path, hierarchy->path) != 0 ||
            strlen(mount.name) >= sizeof hierarchy->controller)
            continue;
        strcpy(hierarchy->controller, mount.name);
        break;
    }
    cgroup_get_controller_end(&iterator);
}

/* Under v1 the kernel's table of controllers has the number. Under v2 only the root's statistics
 * are right: the table does not count perf_event before it was used. */
static size_t count_cgroups(const struct cgroup_hierarchy *hierarchy)
{
    size_t n = SIZE_MAX;
    if (hierarchy->version == 2) {
        char path[sizeof hierarchy->path + 16];
        snprintf(path, sizeof path, "%s/cgroup.stat", hierarchy->path);
        FILE *file = fopen(path, "re");
        if (file && fscanf(file, "nr_descendants %zu", &n) != 1)
            n = SIZE_MAX;
        if (file)
            fclose(file);
        return n;
    }
    void *iterator = NULL;
    struct controller_data data;
    int ret = cgroup_get_all_controller_begin(&iterator, &data);
    for (; ret == 0; ret = cgroup_get_all_controller_next(&iterator, &data)) {
        if (strcmp(data.name, perf_event) == 0 && data.num_cgroups > 0)
            n = (size_t)data.num_cgroups;
    }
    if (iterator)
        cgroup_get_all_controller_end(&iterator);
    return n;
}

static int find_mounted(struct cgroup_hierarchy *out, char *error, size_t error_size)
{
    struct cgroup_mount mount;
    char found[384];
    int err = cgroup_mounts_find(perf_event, &mount);
    if (err || !is_v1(mount.path))
        err = cgroup_mounts_find("", &mount);
    if (!err)
        err = set_path(out, mount.version, mount.path, "", "");
    if (err) {
        cgroup_mounts_tell(found, sizeof found);
        snprintf(error, error_size,
                 "no cgroup hierarchy that can count: wanted is cgroup v2, or v1 perf_event (mount "
                 "one, or set --path.cgroupfs); mounted: %s",
                 found);
        return -ENOENT;
    }
    ask_libcgroup(out);
    out->cgroups = count_cgroups(out);
    return 0;
}

int cgroup_hierarchy_find(const struct fsroot *fs, struct cgroup_hierarchy *out, char *error,
                          size_t error_size)
{
    if (fs->path[FSROOT_CGROUP])
        return find_below(fs->path[FSROOT_CGROUP], out, error, error_size);
    return find_mounted(out, error, error_size);
}

/* ---- other hierarchies ---- */

static int mount_below(const char *path, const char *controller, char *out, size_t size)
{
    char name[256] = "";
    int n = -1;
    if (*controller ? find_v1_folder(path, controller, name) : is_v2(path))
        n = snprintf(out, size, "%s%s%s", path, *name ? "/" : "", name);
    else if (!*controller) {
        char unified[4096 + 16];
        snprintf(unified, sizeof unified, "%s/unified", path);
        if (is_v2(unified))
            n = snprintf(out, size, "%s", unified);
    }
    return n >= 0 && (size_t)n < size ? 0 : -ENOENT;
}

static int mount_of_table(const char *controller, char *out, size_t size)
{
    struct cgroup_mount mount;
    int err = cgroup_mounts_find(controller, &mount);
    if (err || strlen(mount.path) >= size)
        return -ENOENT;
    snprintf(out, size, "%s", mount.path);
    return 0;
}

int cgroup_mount_find(const struct fsroot *fs, const char *controller, char *out, size_t size)
{
    const char *given = fs->path[FSROOT_CGROUP];
    int err =
        given ? mount_below(given, controller, out, size) : mount_of_table(controller, out, size);
    if (err)
        out[0] = '\0';
    return err;
}
