#include "exporter/containers/names/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STATE_FILE_MAX = 1 << 20 };

/* ---- files of the host ---- */

/*
 * Opens a path below the host's root without leaving it: the host's absolute symbolic links (a
 * docker data root elsewhere) are meant from its own root, not from ours. The last component may
 * not be a link, and opening a FIFO does not wait.
 */
static int host_open(const struct fsroot *fs, const char *relative, int flags)
{
    char root[4096];
    int err = fsroot_path(fs, FSROOT_HOST, "", root, sizeof root);
    if (err)
        return err;
    int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root_fd < 0)
        return -errno;
    const struct open_how how = {
        .flags = (unsigned)(flags | O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC),
        .resolve = RESOLVE_IN_ROOT,
    };
    long fd = syscall(SYS_openat2, root_fd, relative, &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) /* before Linux 5.6; old seccomp profiles */
        fd = openat(root_fd, relative, (int)how.flags);
    int result = fd < 0 ? -errno : (int)fd;
    close(root_fd);
    return result;
}

static int read_all(int fd, char *out, size_t size, size_t *len)
{
    size_t n = 0;
    while (n < size) {
        ssize_t got = read(fd, out + n, size - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        n += (size_t)got;
    }
    *len = n;
    return 0;
}

static void state_free(char *text, size_t size)
{
    if (!text)
        return;
    explicit_bzero(text, size);
    free(text);
}

/* Reads a state file whole. *size is that of the buffer, for state_free. */
static int state_read(const struct fsroot *fs, const char *relative, char **text, size_t *len,
                      size_t *size)
{
    int fd = host_open(fs, relative, 0);
    if (fd == -ELOOP || fd == -ENXIO)
        return -EINVAL; /* a link; a socket or a FIFO */
    if (fd < 0)
        return fd;
    struct stat st;
    int err = fstat(fd, &st) != 0 ? -errno : 0;
    if (!err && (!S_ISREG(st.st_mode) || st.st_size > STATE_FILE_MAX))
        err = -EINVAL;
    char *buffer = NULL;
    size_t n = 0, cap = err ? 0 : (size_t)st.st_size + 4096;
    if (!err && !(buffer = malloc(cap)))
        err = -ENOMEM;
    if (!err)
        err = read_all(fd, buffer, cap, &n);
    if (!err && n == cap)
        err = -EINVAL; /* grows while it is read: not written whole yet */
    close(fd);
    if (err) {
        state_free(buffer, cap);
        return err;
    }
    *text = buffer;
    *len = n;
    *size = cap;
    return 0;
}

/* ---- the runtimes' state ---- */

enum state_format { FORMAT_OCI, FORMAT_DOCKER, FORMAT_STORAGE_INDEX };

static const struct state_place {
    const char *runtime;
    enum state_format format;
    const char *folder; /* the file is folder, id, file; without 'file' it is folder alone */
    const char *file;
    enum names_dialect dialect; /* of FORMAT_OCI */
} state_places[] = {
    {"containerd", FORMAT_OCI, "run/containerd/io.containerd.runtime.v2.task/k8s.io/",
     "/config.json", DIALECT_CONTAINERD},
    {"containerd", FORMAT_OCI, "run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/",
     "/config.json", DIALECT_CONTAINERD},
    {"cri-o", FORMAT_OCI, "run/containers/storage/overlay-containers/", "/userdata/config.json",
     DIALECT_CRIO},
    {"docker", FORMAT_DOCKER, "var/lib/docker/containers/", "/config.v2.json", 0},
    {"podman", FORMAT_STORAGE_INDEX,
     "var/lib/containers/storage/overlay-containers/containers.json", NULL, 0},
    {"podman", FORMAT_STORAGE_INDEX,
     "run/containers/storage/overlay-containers/volatile-containers.json", NULL, 0},
};

static int parse_state(const struct state_place *place, const char *text, size_t len,
                       const struct cgroup_path_info *info, struct container_names *out)
{
    switch (place->format) {
    case FORMAT_OCI:
        return names_parse_oci_config(text, len, place->dialect, out);
    case FORMAT_DOCKER:
        return names_parse_docker_config(text, len, *info->qos_class != '\0', out);
    case FORMAT_STORAGE_INDEX:
        return names_parse_storage_index(text, len, info->id, out);
    }
    return -EINVAL;
}

/* Whether the names are of the pod that the kubelet made the cgroup for; without a pod in the path
 * there is none in the names. */
static bool same_pod(const struct container_names *names, const struct cgroup_path_info *info)
{
    if (!*names->pod_uid && (*names->pod || *names->namespace_ || names->sandbox))
        return false;
    return strcmp(names->pod_uid, info->pod_uid) == 0;
}

static int lookup_place(const struct fsroot *fs, const struct state_place *place,
                        const struct cgroup_path_info *info, struct container_names *out)
{
    const char *id = info->id;
    struct container_names names;
    char relative[256];
    snprintf(relative, sizeof relative, "%s%s%s", place->folder, place->file ? id : "",
             place->file ? place->file : "");
    char *text = NULL;
    size_t len = 0, size = 0;
    int err = state_read(fs, relative, &text, &len, &size);
    if (!err)
        err = parse_state(place, text, len, info, &names);
    state_free(text, size);
    if (!err && !same_pod(&names, info))
        err = -ENOENT;
    if (err)
        return err;
    names.runtime = place->runtime;
    *out = names;
    return 0;
}

static int lookup_runtime(const struct fsroot *fs, const struct cgroup_path_info *info,
                          struct container_names *out)
{
    int result = -ENOENT;
    for (size_t i = 0; i < sizeof state_places / sizeof *state_places; i++) {
        const struct state_place *place = &state_places[i];
        if (*info->runtime && strcmp(info->runtime, place->runtime) != 0)
            continue;
        int err = lookup_place(fs, place, info, out);
        if (err == 0)
            return 0;
        if (err != -ENOENT && result != -EINVAL)
            result = err;
    }
    return result;
}

/* ---- the kubelet's logs ---- */

/* Digits of a cut id that tell it from others. */
enum { CUT_ID_MIN = 12 };

struct search {
    const struct cgroup_path_info *info;
    struct container_names names; /* of the last one that was found */
    size_t whole, cut;            /* links with the container's whole id, and with a cut one */
    size_t pod; /* links that may be any container's of the pod; folders of the pod */
};

static int search_folder(const struct fsroot *fs, const char *folder,
                         void (*consider)(struct search *search, int fd, const char *name),
                         struct search *search)
{
    int fd = host_open(fs, folder, O_DIRECTORY);
    if (fd < 0)
        return fd;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        int err = -errno;
        close(fd);
        return err;
    }
    const struct dirent *entry;
    while (search->whole == 0 && (entry = readdir(dir)))
        consider(search, fd, entry->d_name);
    closedir(dir);
    return 0;
}

/* The only names whose target is worth reading: with the id, or cut. */
static bool may_be_link_of(const char *name, const char *id)
{
    char end[CONTAINER_ID_LENGTH + 8];
    int n = snprintf(end, sizeof end, "-%s.log", id);
    size_t len = strlen(name);
    return len == NAME_MAX || (len > (size_t)n && strcmp(name + len - (size_t)n, end) == 0);
}

/* Reads where the link points to, not what is there: no log is opened. */
static void consider_link(struct search *search, int fd, const char *name)
{
    const struct cgroup_path_info *info = search->info;
    char target[4096];
    struct container_names names;
    if (!may_be_link_of(name, info->id))
        return;
    ssize_t n = readlinkat(fd, name, target, sizeof target);
    if (n < 0 || (size_t)n == sizeof target ||
        names_parse_log_target(target, (size_t)n, &names) != 0 || !same_pod(&names, info))
        return;
    int digits = names_match_log_link(name, strlen(name), &names, info->id);
    if (digits < 0)
        return;
    search->names = names;
    if (digits == CONTAINER_ID_LENGTH)
        search->whole++;
    else if (digits >= CUT_ID_MIN)
        search->cut++;
    else
        search->pod++;
}

static void consider_pod(struct search *search, int fd, const char *name)
{
    (void)fd;
    struct container_names names;
    if (names_parse_pod_folder(name, strlen(name), &names) != 0 || !same_pod(&names, search->info))
        return;
    search->names = names;
    search->pod++;
}

static int lookup_logs(const struct fsroot *fs, const struct cgroup_path_info *info,
                       struct container_names *out)
{
    if (!*info->pod_uid)
        return -ENOENT; /* not the kubelet's */
    struct search search = {.info = info};
    int err = search_folder(fs, "var/log/containers", consider_link, &search);
    bool found = search.whole > 0 || search.cut == 1;
    bool cut = search.cut + search.pod > 0;
    if (!found && !cut && (!err || err == -ENOENT))
        err = search_folder(fs, "var/log/pods", consider_pod, &search);
    if (err)
        return err;
    if (!found && search.cut + search.pod == 0)
        return -ENOENT;
    *out = search.names;
    if (found)
        return 0;
    *out->name = '\0';
    out->pod_only = true;
    out->cut_links = cut;
    return 0;
}

int names_lookup(const struct fsroot *fs, enum names_mode mode, const struct cgroup_path_info *info,
                 struct container_names *out)
{
    if (mode == NAMES_NONE || !*info->id || info->is_claimed)
        return -ENOENT;
    struct container_names names;
    int err = mode == NAMES_LOGS ? -ENOENT : lookup_runtime(fs, info, &names);
    if (err && mode != NAMES_RUNTIME) {
        int by_logs = lookup_logs(fs, info, &names);
        if (by_logs == 0 || err == -ENOENT)
            err = by_logs;
    }
    if (err)
        return err;
    *out = names;
    return 0;
}
