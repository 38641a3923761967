#include "exporter/containers/names/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
} state_places[] = {
    {"containerd", FORMAT_OCI, "run/containerd/io.containerd.runtime.v2.task/k8s.io/",
     "/config.json"},
    {"containerd", FORMAT_OCI, "run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/",
     "/config.json"},
    {"cri-o", FORMAT_OCI, "run/containers/storage/overlay-containers/", "/userdata/config.json"},
    {"docker", FORMAT_DOCKER, "var/lib/docker/containers/", "/config.v2.json"},
    {"podman", FORMAT_STORAGE_INDEX,
     "var/lib/containers/storage/overlay-containers/containers.json", NULL},
    {"podman", FORMAT_STORAGE_INDEX,
     "run/containers/storage/overlay-containers/volatile-containers.json", NULL},
};

static int parse_state(enum state_format format, const char *text, size_t len, const char *id,
                       struct container_names *out)
{
    switch (format) {
    case FORMAT_OCI:
        return names_parse_oci_config(text, len, out);
    case FORMAT_DOCKER:
        return names_parse_docker_config(text, len, out);
    case FORMAT_STORAGE_INDEX:
        return names_parse_storage_index(text, len, id, out);
    }
    return -EINVAL;
}

static int lookup_place(const struct fsroot *fs, const struct state_place *place, const char *id,
                        struct container_names *out)
{
    char relative[256];
    snprintf(relative, sizeof relative, "%s%s%s", place->folder, place->file ? id : "",
             place->file ? place->file : "");
    char *text = NULL;
    size_t len = 0, size = 0;
    int err = state_read(fs, relative, &text, &len, &size);
    if (!err)
        err = parse_state(place->format, text, len, id, out);
    if (!err)
        out->runtime = place->runtime;
    state_free(text, size);
    return err;
}

static int lookup_runtime(const struct fsroot *fs, const struct cgroup_path_info *info,
                          struct container_names *out)
{
    int result = -ENOENT;
    for (size_t i = 0; i < sizeof state_places / sizeof *state_places; i++) {
        const struct state_place *place = &state_places[i];
        if (*info->runtime && strcmp(info->runtime, place->runtime) != 0)
            continue;
        int err = lookup_place(fs, place, info->id, out);
        if (err == 0)
            return 0;
        if (err != -ENOENT && result != -EINVAL)
            result = err;
    }
    return result;
}

/* ---- the kubelet's logs ---- */

/* Asks 'match' about every name in a folder until it says yes. */
static int find_name(const struct fsroot *fs, const char *folder,
                     bool (*match)(const char *name, const struct cgroup_path_info *info,
                                   struct container_names *out),
                     const struct cgroup_path_info *info, struct container_names *out)
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
    bool found = false;
    while (!found && (entry = readdir(dir)))
        found = match(entry->d_name, info, out);
    closedir(dir);
    return found ? 0 : -ENOENT;
}

static bool match_link(const char *name, const struct cgroup_path_info *info,
                       struct container_names *out)
{
    char id[CONTAINER_ID_LENGTH + 1];
    struct container_names names;
    if (names_parse_log_link(name, strlen(name), &names, id) != 0 ||
        strncmp(id, info->id, strlen(id)) != 0)
        return false;
    *out = names;
    return true;
}

static bool match_pod(const char *name, const struct cgroup_path_info *info,
                      struct container_names *out)
{
    struct container_names names;
    if (names_parse_pod_folder(name, strlen(name), &names) != 0 ||
        strcmp(names.pod_uid, info->pod_uid) != 0)
        return false;
    *out = names;
    return true;
}

static int lookup_logs(const struct fsroot *fs, const struct cgroup_path_info *info,
                       struct container_names *out)
{
    int err = find_name(fs, "var/log/containers", match_link, info, out);
    /* One that runs inside another container is not the kubelet's: it never gets a link. */
    if (err == -ENOENT && *info->pod_uid && !info->inside_container)
        err = find_name(fs, "var/log/pods", match_pod, info, out);
    return err;
}

int names_lookup(const struct fsroot *fs, enum names_mode mode, const struct cgroup_path_info *info,
                 struct container_names *out)
{
    if (mode == NAMES_NONE || !*info->id)
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
    if (!*names.pod_uid)
        snprintf(names.pod_uid, sizeof names.pod_uid, "%s", info->pod_uid);
    *out = names;
    return 0;
}
