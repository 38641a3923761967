#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "exporter/containers/names/names.h"
#include "exporter/json/scan.h"

enum { FILE_NAME_MAX = 255 };

static const struct container_names no_names = {.runtime = ""};

/* A member that may be missing or of another type, then it stays "". 0 or a real error. */
static int optional_string(struct json_span object, const char *name, char *out, size_t size)
{
    struct json_span value;
    int err = json_span_member(object, name, &value);
    if (err == 0)
        err = json_span_string(value, out, size);
    return err == -ENOENT ? 0 : err;
}

/* Which members of an object of strings make the names. */
struct label_names {
    const char *namespace_, *pod, *name, *pod_uid, *image, *type;
    const char *sandbox_type; /* the type that says "sandbox" */
};

static int read_labels(struct json_span labels, const struct label_names *names,
                       struct container_names *out)
{
    char type[32] = "";
    *out = no_names;
    int err = optional_string(labels, names->type, type, sizeof type);
    if (!err)
        err = optional_string(labels, names->namespace_, out->namespace_, sizeof out->namespace_);
    if (!err)
        err = optional_string(labels, names->pod, out->pod, sizeof out->pod);
    if (!err)
        err = optional_string(labels, names->name, out->name, sizeof out->name);
    if (!err)
        err = optional_string(labels, names->pod_uid, out->pod_uid, sizeof out->pod_uid);
    if (!err && names->image)
        err = optional_string(labels, names->image, out->image, sizeof out->image);
    if (err)
        return err;
    out->sandbox = strcmp(type, names->sandbox_type) == 0;
    return out->sandbox || (*out->name && *out->pod) ? 0 : -ENOENT;
}

static const struct label_names cri_containerd = {
    .namespace_ = "io.kubernetes.cri.sandbox-namespace",
    .pod = "io.kubernetes.cri.sandbox-name",
    .name = "io.kubernetes.cri.container-name",
    .pod_uid = "io.kubernetes.cri.sandbox-uid",
    .image = "io.kubernetes.cri.image-name",
    .type = "io.kubernetes.cri.container-type",
    .sandbox_type = "sandbox",
};

static const struct label_names cri_o = {
    .namespace_ = "io.kubernetes.pod.namespace",
    .pod = "io.kubernetes.pod.name",
    .name = "io.kubernetes.container.name",
    .pod_uid = "io.kubernetes.pod.uid",
    .image = "io.kubernetes.cri-o.ImageName",
    .type = "io.kubernetes.cri-o.ContainerType",
    .sandbox_type = "sandbox",
};

static const struct label_names cri_docker = {
    .namespace_ = "io.kubernetes.pod.namespace",
    .pod = "io.kubernetes.pod.name",
    .name = "io.kubernetes.container.name",
    .pod_uid = "io.kubernetes.pod.uid",
    .type = "io.kubernetes.docker.type",
    .sandbox_type = "podsandbox",
};

/* A member that must be an object, or be missing. */
static int object_member(struct json_span object, const char *name, struct json_span *out)
{
    struct json_span value;
    int err = json_span_member(object, name, &value);
    if (err)
        return err;
    if (value.at[0] != '{')
        return -ENOENT; /* null, or something that is not ours to judge */
    *out = value;
    return 0;
}

int names_parse_oci_config(const char *json, size_t len, enum names_dialect dialect,
                           struct container_names *out)
{
    struct json_span document, annotations;
    struct container_names names;
    int err = json_span_document(json, len, &document);
    if (!err)
        err = object_member(document, "annotations", &annotations);
    if (err)
        return err;
    err = read_labels(annotations, dialect == DIALECT_CRIO ? &cri_o : &cri_containerd, &names);
    if (!err)
        *out = names;
    return err;
}

int names_parse_docker_config(const char *json, size_t len, bool by_kubelet,
                              struct container_names *out)
{
    struct json_span document, config = {"{}", 2}, labels;
    struct container_names names = no_names;
    int err = json_span_document(json, len, &document);
    if (!err)
        err = object_member(document, "Config", &config);
    if (!err)
        err = object_member(config, "Labels", &labels);
    if (!err)
        err = by_kubelet ? read_labels(labels, &cri_docker, &names) : -ENOENT;
    if (err == -ENOENT) {
        names = no_names;
        err = optional_string(document, "Name", names.name, sizeof names.name);
        if (names.name[0] == '/')
            memmove(names.name, names.name + 1, strlen(names.name));
        if (!err && !*names.name)
            err = -ENOENT;
    }
    if (!err)
        err = optional_string(config, "Image", names.image, sizeof names.image);
    if (!err)
        *out = names;
    return err;
}

/* One container of the index: "names", and "metadata" with JSON of podman's own in a string. */
static int read_storage_entry(struct json_span entry, struct container_names *out)
{
    struct json_span list, name, metadata;
    struct container_names names = no_names;
    struct json_scan scan;
    int err = json_span_member(entry, "names", &list);
    if (err)
        return err;
    json_scan_init(&scan, list.at, list.len);
    if (!json_scan_enter(&scan, JSON_SCAN_ARRAY) || !json_scan_element(&scan))
        return -ENOENT;
    json_scan_value(&scan, &name);
    err = json_span_string(name, names.name, sizeof names.name);
    if (err)
        return err;
    char text[4096];
    struct json_span inner;
    if (json_span_member(entry, "metadata", &metadata) == 0 &&
        json_span_string(metadata, text, sizeof text) == 0 &&
        json_span_document(text, strlen(text), &inner) == 0)
        optional_string(inner, "image-name", names.image, sizeof names.image);
    *out = names;
    return 0;
}

int names_parse_storage_index(const char *json, size_t len, const char *id,
                              struct container_names *out)
{
    struct json_span document, entry;
    struct json_scan scan;
    int err = json_span_document(json, len, &document);
    if (err)
        return err;
    json_scan_init(&scan, document.at, document.len);
    if (!json_scan_enter(&scan, JSON_SCAN_ARRAY))
        return -EINVAL;
    while (json_scan_element(&scan) && json_scan_value(&scan, &entry)) {
        char this[CONTAINER_ID_LENGTH + 2] = "";
        if (entry.at[0] != '{')
            return -EINVAL;
        err = optional_string(entry, "id", this, sizeof this);
        if (err)
            return err;
        if (strcmp(this, id) == 0)
            return read_storage_entry(entry, out);
    }
    return -ENOENT;
}

/* ---- file names ---- */

struct text {
    const char *at;
    size_t len;
};

/* What stands before the first 'separator'; the rest stays in *from. */
static bool cut_front(struct text *from, char separator, struct text *front)
{
    const char *at = memchr(from->at, separator, from->len);
    if (!at)
        return false;
    *front = (struct text){from->at, (size_t)(at - from->at)};
    from->at = at + 1;
    from->len -= front->len + 1;
    return front->len > 0;
}

/* What stands after the last 'separator'. */
static bool cut_back(struct text *from, char separator, struct text *back)
{
    const char *at = memrchr(from->at, separator, from->len);
    if (!at)
        return false;
    *back = (struct text){at + 1, from->len - (size_t)(at - from->at) - 1};
    from->len -= back->len + 1;
    return from->len > 0;
}

static bool copy_text(struct text text, char *out, size_t size)
{
    if (text.len == 0 || text.len >= size || memchr(text.at, '\0', text.len))
        return false;
    memcpy(out, text.at, text.len);
    out[text.len] = '\0';
    return true;
}

int names_parse_pod_folder(const char *file, size_t len, struct container_names *out)
{
    struct container_names names = no_names;
    struct text rest = {file, len}, namespace_, uid;
    if (!cut_front(&rest, '_', &namespace_) || !cut_back(&rest, '_', &uid))
        return -EINVAL;
    if (!copy_text(namespace_, names.namespace_, sizeof names.namespace_) ||
        !copy_text(rest, names.pod, sizeof names.pod) ||
        !copy_text(uid, names.pod_uid, sizeof names.pod_uid))
        return -EINVAL;
    names.pod_only = true;
    *out = names;
    return 0;
}

int names_parse_log_target(const char *path, size_t len, struct container_names *out)
{
    struct container_names names;
    struct text rest = {path, len}, file, name, folder;
    if (!cut_back(&rest, '/', &file) || !cut_back(&rest, '/', &name) ||
        !cut_back(&rest, '/', &folder))
        return -EINVAL;
    if (names_parse_pod_folder(folder.at, folder.len, &names) != 0 ||
        !copy_text(name, names.name, sizeof names.name))
        return -EINVAL;
    names.pod_only = false;
    *out = names;
    return 0;
}

int names_match_log_link(const char *file, size_t len, const struct container_names *names,
                         const char *id)
{
    static const char suffix[] = ".log";
    const size_t suffix_len = sizeof suffix - 1, most = FILE_NAME_MAX - suffix_len;
    char stem[sizeof names->pod + sizeof names->namespace_ + sizeof names->name + 72];
    int before =
        snprintf(stem, sizeof stem, "%s_%s_%s-", names->pod, names->namespace_, names->name);
    if (before < 0 || (size_t)before + CONTAINER_ID_LENGTH >= sizeof stem)
        return -1;
    snprintf(stem + before, sizeof stem - (size_t)before, "%.*s", CONTAINER_ID_LENGTH, id);
    size_t stem_len = strnlen(stem, most);
    if (len != stem_len + suffix_len || memcmp(file, stem, stem_len) != 0 ||
        memcmp(file + stem_len, suffix, suffix_len) != 0)
        return -1;
    return stem_len > (size_t)before ? (int)(stem_len - (size_t)before) : 0;
}
