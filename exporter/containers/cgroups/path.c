#include "exporter/containers/cgroups/path.h"

#include <string.h>

/* A piece of the path; not terminated. */
struct piece {
    const char *at;
    size_t len;
};

static bool piece_is(struct piece piece, const char *text)
{
    return piece.len == strlen(text) && memcmp(piece.at, text, piece.len) == 0;
}

static bool piece_has_prefix(struct piece piece, const char *prefix)
{
    size_t len = strlen(prefix);
    return piece.len >= len && memcmp(piece.at, prefix, len) == 0;
}

static bool piece_cut_suffix(struct piece *piece, const char *suffix)
{
    size_t len = strlen(suffix);
    if (piece->len < len || memcmp(piece->at + piece->len - len, suffix, len) != 0)
        return false;
    piece->len -= len;
    return true;
}

/* Runtimes write ids and UIDs in lower case. */
static bool is_hex(struct piece piece)
{
    for (size_t i = 0; i < piece.len; i++) {
        char c = piece.at[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
    }
    return true;
}

static bool is_id(struct piece piece)
{
    return piece.len == CONTAINER_ID_LENGTH && is_hex(piece);
}

/* What stands before the id in a component, and which runtime writes it. */
static const struct {
    const char *prefix;
    const char *runtime;
} id_prefixes[] = {
    {"cri-containerd-", "containerd"},
    {"nerdctl-", "containerd"},
    {"crio-", "cri-o"},
    {"docker-", "docker"},
    {"libpod-", "podman"},
    {"libpod-payload-", "podman"},
};

static const char *runtime_of_prefix(struct piece prefix)
{
    for (size_t i = 0; i < sizeof id_prefixes / sizeof *id_prefixes; i++) {
        if (piece_is(prefix, id_prefixes[i].prefix))
            return id_prefixes[i].runtime;
    }
    return NULL;
}

/* Splits a component into the container's id and its runtime ("" when only the id stands there).
 * crio-conmon-<id>.scope and the like are monitors, not containers: their prefix is unknown. */
static bool component_is_container(struct piece component, struct piece *id, const char **runtime)
{
    piece_cut_suffix(&component, ".scope");
    if (component.len < CONTAINER_ID_LENGTH)
        return false;
    struct piece prefix = {component.at, component.len - CONTAINER_ID_LENGTH};
    *id = (struct piece){component.at + prefix.len, CONTAINER_ID_LENGTH};
    if (!is_id(*id))
        return false;
    *runtime = "";
    if (prefix.len == 0)
        return true;
    if (prefix.at[prefix.len - 1] == ':') {
        /* "<slice>:cri-containerd:<id>": a systemd-style path given to a cgroupfs-style runtime. */
        const char *colon = memrchr(prefix.at, ':', prefix.len - 1);
        const char *name = colon ? colon + 1 : prefix.at;
        struct piece middle = {name, (size_t)(prefix.at + prefix.len - 1 - name)};
        if (piece_is(middle, "cri-containerd"))
            *runtime = "containerd";
        else if (piece_is(middle, "crio"))
            *runtime = "cri-o";
        else if (piece_is(middle, "docker"))
            *runtime = "docker";
        return true;
    }
    *runtime = runtime_of_prefix(prefix);
    return *runtime != NULL;
}

/* 8-4-4-4-12 with dashes or underscores, or a static pod's 32 digits. */
static bool copy_uid(struct piece text, char out[37])
{
    static const size_t groups[] = {8, 4, 4, 4, 12};
    if (text.len == 32 && is_hex(text)) {
        memcpy(out, text.at, text.len);
        out[text.len] = '\0';
        return true;
    }
    if (text.len != 36)
        return false;
    char copy[37];
    size_t at = 0;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        if (g > 0) {
            if (text.at[at] != '-' && text.at[at] != '_')
                return false;
            copy[at++] = '-';
        }
        if (!is_hex((struct piece){text.at + at, groups[g]}))
            return false;
        memcpy(copy + at, text.at + at, groups[g]);
        at += groups[g];
    }
    copy[at] = '\0';
    memcpy(out, copy, sizeof copy);
    return true;
}

/* "pod<UID>", or the end of a slice's name: "...-pod<UID>". */
static bool component_pod_uid(struct piece component, char out[37])
{
    if (piece_has_prefix(component, "pod") &&
        copy_uid((struct piece){component.at + 3, component.len - 3}, out))
        return true;
    for (size_t i = component.len; i-- > 0;) {
        struct piece rest = {component.at + i, component.len - i};
        if (piece_has_prefix(rest, "-pod"))
            return copy_uid((struct piece){rest.at + 4, rest.len - 4}, out);
    }
    return false;
}

/* Whether one of the dash-separated words of a slice's name is this one. */
static bool has_word(struct piece name, const char *word)
{
    size_t start = 0;
    for (size_t i = 0; i <= name.len; i++) {
        if (i < name.len && name.at[i] != '-')
            continue;
        if (piece_is((struct piece){name.at + start, i - start}, word))
            return true;
        start = i + 1;
    }
    return false;
}

/* The kubelet's folders: kubepods, its quality-of-service classes, and pods. */
static void read_kubelet_component(struct piece component, struct cgroup_path_info *out)
{
    const char *colon = memchr(component.at, ':', component.len);
    if (colon)
        component.len = (size_t)(colon - component.at);
    bool slice = piece_cut_suffix(&component, ".slice");
    if (slice ? has_word(component, "kubepods") : piece_is(component, "kubepods"))
        out->qos_class = "guaranteed";
    if (!*out->qos_class)
        return;
    if (slice ? has_word(component, "burstable") : piece_is(component, "burstable"))
        out->qos_class = "burstable";
    else if (slice ? has_word(component, "besteffort") : piece_is(component, "besteffort"))
        out->qos_class = "besteffort";
    component_pod_uid(component, out->pod_uid);
}

/* "user@1000.service". Root's own is no tenant's. */
static bool is_users_manager(struct piece component)
{
    return piece_has_prefix(component, "user@") && piece_cut_suffix(&component, ".service") &&
           !piece_is(component, "user@0");
}

static void read_component(struct piece parent, struct piece component,
                           struct cgroup_path_info *out)
{
    struct piece id;
    const char *runtime;
    bool match = component_is_container(component, &id, &runtime);
    if (match && is_id(component) && piece_is(parent, "libpod_parent"))
        match = false;
    bool again = match && *out->id && memcmp(out->id, id.at, id.len) == 0;
    if (*out->id)
        out->inside_container = true;
    out->is_claimed |= out->inside_container || out->is_delegated;
    out->is_delegated = is_users_manager(component);
    out->is_container = match && !again;
    if (!out->is_claimed && (!match || memchr(component.at, ':', component.len)))
        read_kubelet_component(component, out);
    if (!out->is_container)
        return;
    memcpy(out->id, id.at, id.len);
    out->id[id.len] = '\0';
    out->runtime = runtime;
}

void cgroup_path_parse(const char *path, size_t len, struct cgroup_path_info *out)
{
    *out = (struct cgroup_path_info){.runtime = "", .qos_class = ""};
    struct piece parent = {NULL, 0};
    for (size_t start = 0, i = 0; i <= len; i++) {
        if (i < len && path[i] != '/')
            continue;
        struct piece component = {path + start, i - start};
        start = i + 1;
        if (component.len == 0)
            continue;
        read_component(parent, component, out);
        if (out->is_container && !*out->runtime && parent.at && piece_is(parent, "docker"))
            out->runtime = "docker";
        parent = component;
    }
}
