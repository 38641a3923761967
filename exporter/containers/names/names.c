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

#include "exporter/base/array.h"
#include "exporter/base/whole.h"

/* How often something may be done: 'burst' times at once, and then once in refill_ns. */
struct allowance {
    unsigned burst;
    uint64_t refill_ns;
    uint64_t full_ns; /* when all of the burst may be had again; 0: at once */
};

static bool allowance_take(struct allowance *allowance, uint64_t now_ns)
{
    uint64_t full_ns = allowance->full_ns > now_ns ? allowance->full_ns : now_ns;
    if (full_ns - now_ns + allowance->refill_ns > allowance->burst * allowance->refill_ns)
        return false;
    allowance->full_ns = full_ns + allowance->refill_ns;
    return true;
}

/* ---- files below the host's root ---- */

/*
 * Opens a path below the host's root without leaving it: the host's absolute symbolic links (a
 * docker data root elsewhere) are meant from its own root, not from ours. The last component may
 * not be a link, and opening a FIFO does not wait. A descriptor to read, or -errno.
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

/* ---- folders of names ---- */

/*
 * What a folder of the host's holds, as it was when it was read last: so that many who look for
 * something in it do not each read it.
 */

/* Of one folder; the rest is not looked at. */
enum { FOLDER_ENTRIES_MAX = 16384, FOLDER_BYTES_MAX = 4 << 20 };

struct folder_entry {
    const char *name;
    const char *target; /* where a link points to; NULL: no link, or links are not asked for */
};

struct folder {
    const char *path; /* below the host's root; constant */
    bool links;       /* where they point to is asked for, without following them */
    struct allowance readings;
    /* Since the last reading. */
    bool has_read;
    uint64_t read_ns;
    int err;
    size_t *offsets; /* of each entry: a name, then a target, each with its end */
    size_t n, cap;
    char *text;
    size_t text_len, text_cap;
    uint64_t count; /* of readings */
};

/* Whoever starts pods finds it as it is; who makes cgroups without end does not. */
static const struct allowance readings = {.burst = 8, .refill_ns = 500000000};

static void folder_init(struct folder *folder, const char *path, bool links)
{
    *folder = (struct folder){.path = path, .links = links, .readings = readings};
}

static void folder_release(struct folder *folder)
{
    free(folder->offsets);
    free(folder->text);
}

static int add_text(struct folder *folder, const char *text, size_t len)
{
    int err = array_reserve(&folder->text, &folder->text_cap, folder->text_len + len + 1, 1);
    if (err)
        return err;
    memcpy(folder->text + folder->text_len, text, len);
    folder->text[folder->text_len + len] = '\0';
    folder->text_len += len + 1;
    return 0;
}

static int add_entry(struct folder *folder, int fd, const char *name)
{
    char target[PATH_MAX];
    ssize_t len = folder->links ? readlinkat(fd, name, target, sizeof target) : 0;
    if (len < 0 || (size_t)len == sizeof target || memchr(target, '\0', (size_t)len))
        return 0; /* no link, or gone */
    int err = array_reserve(&folder->offsets, &folder->cap, folder->n + 1, sizeof *folder->offsets);
    size_t start = folder->text_len;
    if (!err)
        err = add_text(folder, name, strlen(name));
    if (!err)
        err = add_text(folder, target, (size_t)len);
    if (err)
        return err;
    folder->offsets[folder->n++] = start;
    return 0;
}

static int read_entries(struct folder *folder, DIR *dir)
{
    const struct dirent *entry;
    int err = 0;
    while (!err && folder->n < FOLDER_ENTRIES_MAX && folder->text_len < FOLDER_BYTES_MAX &&
           (entry = readdir(dir)))
        err = add_entry(folder, dirfd(dir), entry->d_name);
    return err;
}

static int read_folder(struct folder *folder, const struct fsroot *fs)
{
    int fd = host_open(fs, folder->path, O_DIRECTORY);
    if (fd < 0)
        return fd;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        int err = -errno;
        close(fd);
        return err;
    }
    int err = read_entries(folder, dir);
    closedir(dir);
    return err;
}

/* Reads it again, if that may be now and was not at this moment. 0 or -errno: then it is empty. */
static int folder_refresh(struct folder *folder, const struct fsroot *fs, uint64_t now_ns)
{
    if (folder->has_read && folder->read_ns == now_ns)
        return folder->err;
    if (!allowance_take(&folder->readings, now_ns))
        return folder->err;
    folder->n = folder->text_len = 0;
    folder->has_read = true;
    folder->read_ns = now_ns;
    folder->count++;
    folder->err = read_folder(folder, fs);
    if (folder->err)
        folder->n = 0;
    return folder->err;
}

/* Valid until it is read again. */
static struct folder_entry folder_at(const struct folder *folder, size_t i)
{
    const char *name = folder->text + folder->offsets[i];
    return (struct folder_entry){name, folder->links ? name + strlen(name) + 1 : NULL};
}

enum { STATE_FILE_MAX = 1 << 20 };

/* All containers of a large node when the exporter starts; then two hundred a second. */
static const struct allowance state_lookups = {.burst = 2048, .refill_ns = 5000000};

struct names {
    const struct fsroot *fs;
    enum names_mode mode;
    struct allowance states;
    struct folder links, pods; /* the kubelet's */
};

int names_new(const struct fsroot *fs, enum names_mode mode, struct names **out)
{
    struct names *names = calloc(1, sizeof *names);
    if (!names)
        return -ENOMEM;
    *names = (struct names){.fs = fs, .mode = mode, .states = state_lookups};
    folder_init(&names->links, "var/log/containers", true);
    folder_init(&names->pods, "var/log/pods", false);
    *out = names;
    return 0;
}

void names_free(struct names *names)
{
    if (!names)
        return;
    folder_release(&names->links);
    folder_release(&names->pods);
    free(names);
}

uint64_t names_readings(const struct names *names)
{
    return names->links.count + names->pods.count;
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
        err = read_whole(fd, buffer, cap, &n);
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

static const struct state_path {
    const char *runtime;
    enum state_format format;
    const char *folder; /* the file is folder, id, file; without 'file' it is folder alone */
    const char *file;
    enum names_dialect dialect; /* of FORMAT_OCI */
} state_paths[] = {
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

static int parse_state(const struct state_path *path, const char *text, size_t len,
                       const struct cgroup_path_info *info, struct container_names *out)
{
    switch (path->format) {
    case FORMAT_OCI:
        return names_parse_oci_config(text, len, path->dialect, out);
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

static int lookup_path(const struct fsroot *fs, const struct state_path *path,
                       const struct cgroup_path_info *info, struct container_names *out)
{
    const char *id = info->id;
    struct container_names names;
    char relative[256];
    snprintf(relative, sizeof relative, "%s%s%s", path->folder, path->file ? id : "",
             path->file ? path->file : "");
    char *text = NULL;
    size_t len = 0, size = 0;
    int err = state_read(fs, relative, &text, &len, &size);
    if (!err)
        err = parse_state(path, text, len, info, &names);
    state_free(text, size);
    if (!err && !same_pod(&names, info))
        err = -ENOENT;
    if (err)
        return err;
    names.runtime = path->runtime;
    *out = names;
    return 0;
}

static int lookup_runtime(const struct fsroot *fs, const struct cgroup_path_info *info,
                          struct container_names *out)
{
    int result = -ENOENT;
    for (size_t i = 0; i < sizeof state_paths / sizeof *state_paths; i++) {
        const struct state_path *path = &state_paths[i];
        if (*info->runtime && strcmp(info->runtime, path->runtime) != 0)
            continue;
        int err = lookup_path(fs, path, info, out);
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

/* The only names whose target is worth reading: with the id, or cut. */
static bool may_be_link_of(const char *name, const char *id)
{
    char end[CONTAINER_ID_LENGTH + 8];
    int n = snprintf(end, sizeof end, "-%s.log", id);
    size_t len = strlen(name);
    return len == NAME_MAX || (len > (size_t)n && strcmp(name + len - (size_t)n, end) == 0);
}

/* By where the link points to, not what is there: no log is opened. */
static void consider_link(struct search *search, const struct folder_entry *link)
{
    const struct cgroup_path_info *info = search->info;
    struct container_names names;
    if (!may_be_link_of(link->name, info->id) ||
        names_parse_log_target(link->target, strlen(link->target), &names) != 0 ||
        !same_pod(&names, info))
        return;
    int digits = names_match_log_link(link->name, strlen(link->name), &names, info->id);
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

static void consider_pod(struct search *search, const struct folder_entry *pod)
{
    struct container_names names;
    if (names_parse_pod_folder(pod->name, strlen(pod->name), &names) != 0 ||
        !same_pod(&names, search->info))
        return;
    search->names = names;
    search->pod++;
}

static int search_folder(const struct names *names, struct folder *folder, uint64_t now_ns,
                         void (*consider)(struct search *search, const struct folder_entry *entry),
                         struct search *search)
{
    int err = folder_refresh(folder, names->fs, now_ns);
    for (size_t i = 0; i < folder->n && search->whole == 0; i++) {
        const struct folder_entry entry = folder_at(folder, i);
        consider(search, &entry);
    }
    return err;
}

static int lookup_logs(struct names *names, const struct cgroup_path_info *info, uint64_t now_ns,
                       struct container_names *out)
{
    if (!*info->pod_uid)
        return -ENOENT; /* not the kubelet's */
    struct search search = {.info = info};
    int err = search_folder(names, &names->links, now_ns, consider_link, &search);
    bool found = search.whole > 0 || search.cut == 1;
    bool cut = search.cut + search.pod > 0;
    if (!found && !cut && (!err || err == -ENOENT))
        err = search_folder(names, &names->pods, now_ns, consider_pod, &search);
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

int names_lookup(struct names *names, const struct cgroup_path_info *info, uint64_t now_ns,
                 struct container_names *out)
{
    if (names->mode == NAMES_NONE || !*info->id || info->is_claimed)
        return -ENOENT;
    struct container_names found;
    int err = -ENOENT;
    if (names->mode != NAMES_LOGS)
        err = allowance_take(&names->states, now_ns) ? lookup_runtime(names->fs, info, &found)
                                                     : -EAGAIN;
    if (err && names->mode != NAMES_RUNTIME) {
        int by_logs = lookup_logs(names, info, now_ns, &found);
        if (by_logs == 0 || err == -ENOENT)
            err = by_logs;
    }
    if (err)
        return err;
    *out = found;
    return 0;
}
