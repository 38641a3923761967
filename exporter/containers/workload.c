#include "exporter/containers/workload.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "exporter/base/hash.h"
#include "exporter/containers/container.h"

#define DIGITS "0123456789"
#define HEX DIGITS "abcdef"
#define BASE36 DIGITS "abcdefghijklmnopqrstuvwxyz"
#define TEMPLATE_HASH "bcdf456789"
#define RANDOM "bcdfghjklmnpqrstvwxz2456789"
#define SEPARATORS "-_.@:"

enum {
    RANDOM_LEN = 5,
    POD_NAME_MAX = 63, /* of generated ones */
    UUID_LEN = 36,
    RUNTIME_ID_LEN = 64,
    SWARM_ID_LEN = 25,
    NO_LIMIT = 1 << 30,
};

static bool is_of(char c, const char *set)
{
    return c && strchr(set, c);
}

/* Where the bytes of the set begin that the first 'end' of the name end in. */
static size_t run_start(const char *name, size_t end, const char *set)
{
    while (end > 0 && is_of(name[end - 1], set))
        end--;
    return end;
}

/* ---- pods ---- */

/* The name less a dash and min to max bytes of the set, if it ends in that; something is left. */
static size_t less_component(const char *name, size_t end, const char *set, size_t min, size_t max)
{
    size_t start = run_start(name, end, set);
    bool fits = end - start >= min && end - start <= max;
    return fits && start > 1 && name[start - 1] == '-' ? start - 1 : end;
}

/* Words that Kubernetes could have drawn, but people write. */
static bool is_word(const char *five)
{
    static const char words[][RANDOM_LEN + 1] = {
        "btrfs", "cvmfs", "dhcpd", "httpd", "https", "ldaps", "lldpd",
        "mssql", "nfsv4", "pgsql", "smtpd", "snmpd", "sshfs", "tftpd",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memcmp(words[i], five, RANDOM_LEN) == 0)
            return true;
    return false;
}

static size_t less_random(const char *name, size_t end)
{
    size_t left = less_component(name, end, RANDOM, RANDOM_LEN, RANDOM_LEN);
    return left < end && !is_word(&name[left + 1]) ? left : end;
}

/* The name was too long for its tail, which stands where the API server cut it. */
static bool is_cut(const char *name, size_t len)
{
    return len == POD_NAME_MAX && run_start(name, len, RANDOM) <= len - RANDOM_LEN &&
           !is_word(&name[len - RANDOM_LEN]);
}

static size_t less_cut_tail(const char *name, size_t end)
{
    size_t left = less_component(name, end, TEMPLATE_HASH, 1, 10);
    return left < end ? left : less_component(name, end, DIGITS, 1, NO_LIMIT);
}

static size_t pod_owner_len(const char *name)
{
    size_t len = strlen(name);
    size_t drawn = less_random(name, len);
    if (drawn == len && is_cut(name, len))
        return less_cut_tail(name, len - RANDOM_LEN);
    if (drawn == len)
        return less_component(name, len, DIGITS, 1, NO_LIMIT);
    size_t left = less_component(name, drawn, TEMPLATE_HASH, 6, 10);
    if (left < drawn)
        return left;
    size_t numbered = less_component(name, drawn, DIGITS, 1, 5);
    left = less_component(name, numbered, DIGITS, 6, NO_LIMIT);
    return left < drawn ? left : less_random(name, drawn);
}

/* ---- outside Kubernetes ---- */

/* The length without the type of a systemd unit. */
static size_t unit_stem_len(const char *name, size_t len)
{
    static const char *const types[] = {".service", ".scope", ".slice"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t n = strlen(types[i]);
        if (len > n && memcmp(&name[len - n], types[i], n) == 0)
            return len - n;
    }
    return len;
}

/* Whether the first 'len' bytes are of this form, as scanf reads it. */
static bool is_form(const char *name, size_t len, const char *form)
{
    int n = 0;
    (void)sscanf(name, form, &n);
    return n > 0 && (size_t)n == len;
}

/* Up to the dash, of what systemd-run and logind name. */
static size_t less_transient(const char *name, size_t stem)
{
    static const char *const forms[] = {
        "run-%*[0-9]%n",     "run-u%*[0-9]%n",     "run-p%*[0-9]-i%*[0-9]%n",
        "session-%*[0-9]%n", "session-c%*[0-9]%n",
    };
    bool is_transient = stem == sizeof "run-r" - 1 + 32 && is_form(name, stem, "run-r%*[0-9a-f]%n");
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        is_transient |= is_form(name, stem, forms[i]);
    return is_transient ? strcspn(name, "-") : stem;
}

static bool is_uuid(const char *text)
{
    for (size_t i = 0; i < UUID_LEN; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !is_of(text[i], HEX))
            return false;
    }
    return true;
}

/* Whether a separator and something before it stand in front of the last n bytes. */
static bool stands_apart(const char *name, size_t end, size_t n)
{
    return end > n + 1 && is_of(name[end - n - 1], SEPARATORS);
}

static size_t less_generated(const char *name, size_t end)
{
    if (end >= UUID_LEN && is_uuid(&name[end - UUID_LEN]))
        return end - UUID_LEN;
    size_t n_hex = end - run_start(name, end, HEX);
    if (n_hex == RUNTIME_ID_LEN)
        return end;
    if (n_hex >= 12 && (n_hex == end || stands_apart(name, end, n_hex)))
        return end - n_hex;
    if (end - run_start(name, end, BASE36) == SWARM_ID_LEN &&
        stands_apart(name, end, SWARM_ID_LEN) && name[end - SWARM_ID_LEN - 1] == '.')
        return end - SWARM_ID_LEN;
    size_t n_digits = end - run_start(name, end, DIGITS);
    return n_digits >= 6 ? end - n_digits : end;
}

static size_t plain_owner_len(const char *name)
{
    size_t len = strlen(name), stem = unit_stem_len(name, len);
    if (is_form(name, stem, "user-%*[0-9]%n") || is_form(name, stem, "user@%*[0-9]%n"))
        return len;
    size_t left = less_transient(name, stem);
    if (left == stem)
        left = less_generated(name, stem);
    if (left == stem)
        return len;
    left = run_start(name, left, SEPARATORS);
    return left ? left : len;
}

size_t workload_owner_len(const char *pod, const char *container_name)
{
    return *pod ? pod_owner_len(pod) : plain_owner_len(container_name);
}

/* ---- the key ---- */

/* "registry:5000/team/app:1.2@sha256:..." up to "app". Of an image that has no name but its digest,
 * "sha256". */
size_t workload_image_len(const char *image)
{
    size_t len = strcspn(image, "@");
    for (size_t i = len; i > 0 && image[i - 1] != '/'; i--)
        if (image[i - 1] == ':')
            len = i - 1;
    return len;
}

struct field {
    const char *text;
    size_t len;
};

/* The same in every process: it is stored, and nobody gains by two workloads that look like one. */
static struct siphash_key hash_fields(const struct field *fields, size_t n)
{
    struct siphash_key hash = {0};
    for (size_t i = 0; i < n; i++) {
        hash.k0 = siphash(&hash, fields[i].text, fields[i].len);
        hash.k1 = siphash(&hash, fields[i].text, fields[i].len);
    }
    return hash;
}

static size_t put(char out[WORKLOAD_KEY_BYTES], size_t len, char c)
{
    if (len < WORKLOAD_KEY_BYTES - 1)
        out[len] = c;
    return len + 1;
}

size_t workload_key(const struct container *container, char out[WORKLOAD_KEY_BYTES])
{
    enum { N_FIELDS = 4, LEN_MAX = WORKLOAD_KEY_BYTES - 1, HASH_LEN = 1 + 32 };
    const char *pod = container->pod, *name = container->name;
    size_t owner = workload_owner_len(pod, name), len = 0;
    const struct field fields[N_FIELDS] = {
        {container->namespace_, strlen(container->namespace_)},
        {*pod ? pod : name, owner},
        {name, *pod ? strlen(name) : owner},
        {container->image, workload_image_len(container->image)},
    };
    for (size_t i = 0; i < N_FIELDS; i++) {
        if (i > 0)
            len = put(out, len, '\x1f');
        for (size_t k = 0; k < fields[i].len; k++) {
            char c = fields[i].text[k];
            len = put(out, len, (unsigned char)c < ' ' ? '?' : c);
        }
    }
    if (len > LEN_MAX) {
        const struct siphash_key hash = hash_fields(fields, N_FIELDS);
        snprintf(&out[LEN_MAX - HASH_LEN], HASH_LEN + 1, "\x1e%016" PRIx64 "%016" PRIx64, hash.k0,
                 hash.k1);
        return LEN_MAX;
    }
    out[len] = '\0';
    return len;
}
