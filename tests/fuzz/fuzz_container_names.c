/* State files and log names: the first byte chooses the parser, the rest is the text. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/containers/names/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char id_a[] = "aaaa0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab";

static void check(bool condition)
{
    if (!condition)
        abort();
}

static void check_names(const struct container_names *names)
{
    check(memchr(names->namespace_, '\0', sizeof names->namespace_) != NULL);
    check(memchr(names->pod, '\0', sizeof names->pod) != NULL);
    check(memchr(names->name, '\0', sizeof names->name) != NULL);
    check(memchr(names->pod_uid, '\0', sizeof names->pod_uid) != NULL);
    check(memchr(names->image, '\0', sizeof names->image) != NULL);
    check(names->runtime != NULL);
}

static int parse(char which, const char *text, size_t len, struct container_names *out)
{
    char id[CONTAINER_ID_LENGTH + 1] = "";
    int err;
    switch (which) {
    case 'o':
        return names_parse_oci_config(text, len, out);
    case 'd':
        return names_parse_docker_config(text, len, out);
    case 's':
        return names_parse_storage_index(text, len, id_a, out);
    case 'l':
        err = names_parse_log_link(text, len, out, id);
        check(err || (strlen(id) >= 12 && *out->name && *out->pod && *out->namespace_));
        return err;
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
    return 0;
}
