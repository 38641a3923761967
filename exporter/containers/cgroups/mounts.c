#include "exporter/containers/cgroups/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "exporter/base/fsroot.h"
#include "exporter/base/textbuf.h"

/* ---- a line ---- */

struct word {
    const char *at;
    size_t len;
};

/* The next one of the rest of the line; of length 0 at its end. */
static struct word next_word(const char **text, const char *end)
{
    while (*text < end && **text == ' ')
        ++*text;
    struct word word = {*text, 0};
    while (*text < end && **text != ' ' && **text != '\n')
        ++*text;
    word.len = (size_t)(*text - word.at);
    return word;
}

static bool is(struct word word, const char *text)
{
    return word.len == strlen(text) && memcmp(word.at, text, word.len) == 0;
}

static bool in_list(const char *list, size_t len, const char *wanted)
{
    size_t n = strlen(wanted);
    for (size_t at = 0; at + n <= len; at++) {
        bool begins = at == 0 || list[at - 1] == ',';
        bool ends = at + n == len || list[at + n] == ',';
        if (begins && ends && memcmp(list + at, wanted, n) == 0)
            return true;
    }
    return false;
}

static bool is_octal(const char *text, size_t len)
{
    return len >= 4 && text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' &&
           text[2] <= '7' && text[3] >= '0' && text[3] <= '7';
}

/* Without the kernel's escapes of spaces, tabs, newlines and backslashes. */
static int copy(struct word word, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < word.len; i++) {
        if (n + 1 >= size)
            return -ENAMETOOLONG;
        bool octal = is_octal(word.at + i, word.len - i);
        const char *c = word.at + i;
        char one = octal ? (char)((c[1] - '0') << 6 | (c[2] - '0') << 3 | (c[3] - '0')) : *c;
        if (one == '\0')
            return -EINVAL;
        out[n++] = one;
        i += octal ? 3 : 0;
    }
    out[n] = '\0';
    return 0;
}

static bool read_device(struct word word, struct cgroup_mount *out)
{
    char text[32];
    int used = 0;
    if (copy(word, text, sizeof text) != 0 ||
        sscanf(text, "%9u:%9u%n", &out->major, &out->minor, &used) != 2)
        return false;
    return text[used] == '\0';
}

/* "ID PARENT MAJOR:MINOR ROOT PATH OPTIONS [...] - TYPE SOURCE SUPEROPTIONS" */
int cgroup_mount_parse(const char *text, size_t len, struct cgroup_mount *out)
{
    const char *end = text + len;
    enum { ID, PARENT, DEVICE, ROOT, PATH, OPTIONS, FIELDS };
    struct word field[FIELDS], word;
    for (int i = 0; i < FIELDS; i++)
        if ((field[i] = next_word(&text, end)).len == 0)
            return -EINVAL;
    do {
        word = next_word(&text, end);
    } while (word.len > 0 && !is(word, "-"));
    struct word type = next_word(&text, end);
    (void)next_word(&text, end);
    struct word options = next_word(&text, end);
    struct cgroup_mount mount = {.version = is(type, "cgroup2") ? 2 : 1};
    if (options.len == 0 || !read_device(field[DEVICE], &mount))
        return -EINVAL;
    if (mount.version == 1 && !is(type, "cgroup"))
        return 0;
    mount.writable = !in_list(field[OPTIONS].at, field[OPTIONS].len, "ro") &&
                     !in_list(options.at, options.len, "ro");
    int err = copy(field[PATH], mount.path, sizeof mount.path);
    if (!err)
        err = copy(options, mount.options, sizeof mount.options);
    if (err)
        return err;
    *out = mount;
    return 1;
}

/* ---- all of them ---- */

/* 0, or why what is at its path is not this mount. */
static int reach(const struct cgroup_mount *mount, bool *whole)
{
    struct stat st;
    int fd = open(mount->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int err = fstat(fd, &st) == 0 ? 0 : -errno;
    close(fd);
    if (err)
        return err;
    *whole = st.st_ino == 1; /* of every hierarchy's root */
    return st.st_dev == makedev(mount->major, mount->minor) ? 0 : -ESTALE;
}

typedef void visitor(void *context, const struct cgroup_mount *mount, int unreachable, bool whole);

/* 0, or why the table cannot be read. */
static int walk(visitor *visit, void *context)
{
    struct fsroot own;
    char *line = NULL;
    size_t room = 0;
    struct cgroup_mount mount;
    int err = fsroot_init(&own, NULL, NULL, NULL, NULL);
    if (err)
        return err;
    int fd = fsroot_open(&own, FSROOT_PROC, "self/mountinfo", O_RDONLY);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!file) {
        err = fd < 0 ? fd : -errno;
        if (fd >= 0)
            close(fd);
    }
    for (ssize_t len; file && (len = getline(&line, &room, file)) > 0;) {
        bool whole = false;
        if (cgroup_mount_parse(line, (size_t)len, &mount) == 1) {
            int unreachable = reach(&mount, &whole);
            visit(context, &mount, unreachable, whole);
        }
    }
    free(line);
    if (file)
        fclose(file);
    fsroot_release(&own);
    return err;
}

struct search {
    const char *controller;
    struct cgroup_mount *best;
    bool found, whole;
};

static bool is_better(const struct search *search, const struct cgroup_mount *mount, bool whole)
{
    const struct cgroup_mount *best = search->best;
    if (!search->found)
        return true;
    if (whole != search->whole)
        return whole;
    if (mount->writable != best->writable)
        return mount->writable;
    return strlen(mount->path) < strlen(best->path);
}

static void consider(void *context, const struct cgroup_mount *mount, int unreachable, bool whole)
{
    struct search *search = context;
    const char *controller = search->controller;
    bool wanted = *controller ? mount->version == 1 &&
                                    in_list(mount->options, strlen(mount->options), controller)
                              : mount->version == 2;
    if (!wanted || unreachable || !is_better(search, mount, whole))
        return;
    *search->best = *mount;
    search->found = true;
    search->whole = whole;
}

int cgroup_mounts_find(const char *controller, struct cgroup_mount *out)
{
    struct cgroup_mount best;
    struct search search = {.controller = controller, .best = &best};
    (void)walk(consider, &search);
    if (!search.found)
        return -ENOENT;
    *out = best;
    return 0;
}

static void tell(void *context, const struct cgroup_mount *mount, int unreachable, bool whole)
{
    struct textbuf *out = context;
    textbuf_printf(out, "%s%s at %s", out->len > 0 ? "; " : "",
                   mount->version == 2 ? "v2" : mount->options, mount->path);
    if (unreachable == -ESTALE)
        textbuf_str(out, " (something else is mounted over it)");
    else if (unreachable)
        textbuf_printf(out, " (cannot be reached: %s)", strerror(-unreachable));
    else if (!whole)
        textbuf_str(out, " (a part of it)");
}

void cgroup_mounts_tell(char *out, size_t size)
{
    struct textbuf text;
    static const char more[] = "; ...";
    out[0] = '\0';
    textbuf_init_fixed(&text, out, size - (sizeof more - 1));
    int err = walk(tell, &text);
    if (err)
        textbuf_printf(&text, "not known, as /proc/self/mountinfo cannot be read: %s",
                       strerror(-err));
    else if (text.len == 0)
        textbuf_str(&text, "none");
    if (textbuf_finish(&text))
        strcat(out, more);
}
