/* State files, log names, and whose a name is: the first byte chooses the parser, the rest is the
 * text. */
#include <errno.h>
#include <stdio.h>

#include "exporter/containers/container.h"
#include "exporter/containers/names/names.h"
#include "exporter/containers/workload.h"
#include "tests/fuzz/fuzz.h"

static const char id_a[] = "aaaa0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab";

static void check_names(const struct container_names *names)
{
    check(memchr(names->namespace_, '\0', sizeof names->namespace_) != NULL);
    check(memchr(names->pod, '\0', sizeof names->pod) != NULL);
    check(memchr(names->name, '\0', sizeof names->name) != NULL);
    check(memchr(names->pod_uid, '\0', sizeof names->pod_uid) != NULL);
    check(memchr(names->image, '\0', sizeof names->image) != NULL);
    check(names->runtime != NULL);
}

static void check_workload(const struct container *container)
{
    const char *name = *container->pod ? container->pod : container->name;
    size_t len = workload_owner_len(container->pod, container->name);
    check(len <= strlen(name) && (len > 0 || !*name));
    char key[WORKLOAD_KEY_BYTES], again[WORKLOAD_KEY_BYTES];
    size_t n = workload_key(container, key);
    check(n < sizeof key && strlen(key) == n);
    check(workload_key(container, again) == n && memcmp(key, again, n) == 0);
}

/* The text as each of a container's names. */
static void check_workloads(const char *text, size_t len)
{
    char *name = strndup(text, len);
    check(name != NULL);
    check_workload(&(struct container){.namespace_ = "n", .pod = name, .name = "c", .image = "i"});
    check_workload(&(struct container){.namespace_ = "", .pod = "", .name = name, .image = ""});
    check_workload(
        &(struct container){.namespace_ = name, .pod = name, .name = name, .image = name});
    free(name);
}

static int parse(char which, const char *text, size_t len, struct container_names *out)
{
    char link[1024];
    int err;
    switch (which) {
    case 'o':
        return names_parse_oci_config(text, len, DIALECT_CONTAINERD, out);
    case 'c':
        return names_parse_oci_config(text, len, DIALECT_CRIO, out);
    case 'd':
        return names_parse_docker_config(text, len, true, out);
    case 'D':
        return names_parse_docker_config(text, len, false, out);
    case 's':
        return names_parse_storage_index(text, len, id_a, out);
    case 'l':
        err = names_parse_log_target(text, len, out);
        if (err)
            return err;
        check(*out->name && *out->pod && *out->namespace_ && *out->pod_uid);
        snprintf(link, sizeof link, "%.*s", (int)(len < 200 ? len : 200), text);
        check(names_match_log_link(link, strlen(link), out, id_a) == -1);
        snprintf(link, sizeof link, "%s_%s_%s-%s", out->pod, out->namespace_, out->name, id_a);
        strcpy(link + strnlen(link, 251), ".log");
        check(names_match_log_link(link, strlen(link), out, id_a) >= 0);
        return 0;
    default:
        err = names_parse_pod_folder(text, len, out);
        check(err || out->pod_only);
        return err;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct container_names names;
    if (size == 0)
        return 0;
    int err = parse((char)data[0], (const char *)data + 1, size - 1, &names);
    check(err == 0 || err == -EINVAL || err == -ENOENT || err == -ENOMEM);
    if (!err)
        check_names(&names);
    check_workloads((const char *)data + 1, size - 1);
    return 0;
}
