#include "tests/simnode/recording/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/simnode/recording/record.h"

enum { PATH_SIZE = 4096, PERIOD_US = 100000 };

struct tree {
    const struct scenario *scenario;
    char *root;    /* of the hierarchy */
    double *cores; /* by container; INFINITY: no quota */
};

/* --- making --- */

static int make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';

        int err = mkdir(path, 0777) != 0 && errno != EEXIST ? -errno : 0;

        if (slash)
            *slash = '/';
        if (err || !slash)
            return err;
    }
}

static int write_file(const char *folder, const char *name, const char *text)
{
    char path[PATH_SIZE + 64];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    if (!file)
        return -errno;
    bool bad = fprintf(file, "%s\n", text) < 0;
    return fclose(file) != 0 || bad ? -EIO : 0;
}

static void path_of(const struct tree *tree, size_t container, char out[PATH_SIZE])
{
    char cgroup[200];

    record_cgroup(tree->scenario, container, cgroup, sizeof(cgroup));
    snprintf(out, PATH_SIZE, "%s%s", tree->root, cgroup);
}

static void cpu_list(const struct container_spec *spec, char *out, size_t size)
{
    size_t used = 0;

    *out = '\0';
    for (size_t i = 0; i < spec->n_cpus && used < size; i++)
        used +=
            (size_t)snprintf(out + used, size - used, "%s%" PRId64, i ? "," : "", spec->cpus[i]);
}

static int make_cgroup(const struct tree *tree, size_t container)
{
    char path[PATH_SIZE], cpus[2048];

    path_of(tree, container, path);
    cpu_list(&tree->scenario->containers[container], cpus, sizeof(cpus));
    int err = make_folders(path);
    if (!err)
        err = write_file(path, "cpu.max", "max 100000");
    if (!err)
        err = write_file(path, "cpu.weight", "1");
    return err ? err : write_file(path, "cpuset.cpus.effective", cpus);
}

int tree_new(const struct scenario *scenario, const char *folder, struct tree **out)
{
    struct tree *tree = calloc(1, sizeof(*tree));
    int err = -ENOMEM;

    if (!tree)
        return err;
    tree->scenario = scenario;
    tree->cores = calloc(scenario->n_containers, sizeof(*tree->cores));
    if (!tree->cores || asprintf(&tree->root, "%s/cgroup", folder) < 0)
        goto out;
    err = mkdir(folder, 0777) != 0 ? -errno : make_folders(tree->root);
    if (!err)
        err = write_file(tree->root, "cgroup.controllers", "cpuset cpu");
    for (size_t i = 0; !err && i < scenario->n_containers; i++) {
        tree->cores[i] = INFINITY;
        err = make_cgroup(tree, i);
    }
out:
    if (err)
        tree_free(tree);
    else
        *out = tree;
    return err;
}

void tree_free(struct tree *tree)
{
    if (!tree)
        return;
    free(tree->root);
    free(tree->cores);
    free(tree);
}

/* --- following --- */

/* "max 100000" or "150000 100000". */
static bool read_cores(const char *path, double *cores)
{
    char text[64] = "";
    uint64_t quota, period;
    FILE *file = fopen(path, "re");
    bool read = file && fgets(text, sizeof(text), file);

    if (file)
        fclose(file);
    if (!read)
        return false;
    if (strncmp(text, "max ", 4) == 0) {
        *cores = INFINITY;
        return true;
    }
    if (sscanf(text, "%" SCNu64 " %" SCNu64, &quota, &period) != 2 || period != PERIOD_US ||
        quota == 0)
        return false;
    *cores = (double)quota / (double)period;
    return true;
}

int tree_apply(struct tree *tree, struct simnode *node)
{
    char path[PATH_SIZE], file[PATH_SIZE + 16];
    int err = 0;

    for (size_t i = 0; !err && i < tree->scenario->n_containers; i++) {
        double cores = tree->cores[i];

        path_of(tree, i, path);
        snprintf(file, sizeof(file), "%s/cpu.max", path);
        if (!read_cores(file, &cores) || cores == tree->cores[i])
            continue;
        err = simnode_set_quota(node, i, cores);
        if (!err)
            tree->cores[i] = cores;
    }
    return err;
}

double tree_cores(const struct tree *tree, size_t container)
{
    return fmin(tree->cores[container], (double)tree->scenario->containers[container].n_cpus);
}
