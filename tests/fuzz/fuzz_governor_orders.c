/* A decider that asks for anything: whatever comes, no file but the container's own quota is
 * written, with nothing beyond its claim's limits, and the journal can be read by whoever comes
 * next.
 *
 * Each order is one that would be obeyed, of which the input changes some bytes: a byte says which,
 * one how many, and then, for each, two the place and one the byte. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/governor/act/actuators/quota.h"
#include "exporter/governor/act/journal/journal_lines.h"
#include "exporter/governor/write/writer.h"
#include "tests/fuzz/fuzz.h"

#define WORKER "/" ZEROS ZEROS ZEROS ZEROS
#define ZEROS "0000000000000000"

static char journal[1 << 20], root[64];
static size_t journal_len;
static struct stat worker, root_stat;

/* ---- what would be written ---- */

static int write_at(void *context, int directory, const char *name, const char *text, size_t len)
{
    struct stat st;
    struct quota quota;
    char line[64] = "";
    check(fstat(directory, &st) == 0 && st.st_ino == worker.st_ino);
    if (strcmp(name, "cpu.max.burst") == 0) {
        check(strcmp(text, "0\n") == 0);
        return 0;
    }
    check(strcmp(name, "cpu.max") == 0 && len == strlen(text) && len < sizeof line);
    memcpy(line, text, len);
    check(line[len - 1] == '\n');
    line[len - 1] = '\0';
    check(quota_parse_v2(line, &quota) == 0 && quota.period_us == 100000);
    check(quota.quota_us >= 100000 && quota.quota_us <= 400000);
    return 0;
}

static int open_at(void *context, int directory, const char *name, int empty)
{
    check(empty && strcmp(name, "journal.new") == 0);
    journal_len = 0;
    return open("/dev/null", O_WRONLY | O_CLOEXEC);
}

static int append(void *context, int fd, const char *bytes, size_t len)
{
    if (journal_len + len > sizeof journal)
        return -ENOSPC;
    memcpy(journal + journal_len, bytes, len);
    journal_len += len;
    return 0;
}

static int never(void *context, int directory, const char *name)
{
    abort();
}

static int rename_at(void *context, int directory, const char *from, const char *to)
{
    check(strcmp(from, "journal.new") == 0 && strcmp(to, "journal") == 0);
    return 0;
}

static int get_affinity(void *context, int tid, cpu_set_t *out)
{
    CPU_ZERO(out);
    return 0;
}

static int set_affinity(void *context, int tid, const cpu_set_t *cpus)
{
    abort();
}

static const struct fswrite writes = {.write_at = write_at,
                                      .open_at = open_at,
                                      .append = append,
                                      .make_dir = never,
                                      .remove_dir = never,
                                      .rename_at = rename_at,
                                      .get_affinity = get_affinity,
                                      .set_affinity = set_affinity};

/* ---- a node with one container ---- */

static void put(const char *path, const char *text)
{
    char name[256];
    snprintf(name, sizeof name, "%s%s", root, path);
    FILE *file = fopen(name, "we");
    check(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void make_node(void)
{
    char path[256];
    snprintf(root, sizeof root, "%s/orders-XXXXXX", "/dev/shm");
    check(mkdtemp(root) != NULL);
    snprintf(path, sizeof path, "%s" WORKER, root);
    check(mkdir(path, 0700) == 0 && stat(path, &worker) == 0 && stat(root, &root_stat) == 0);
    put("/cpu.max", "max 100000\n");
    put(WORKER "/cpu.max", "400000 100000\n");
}

static void remove_node(void)
{
    char path[256];
    static const char *const files[] = {"/cpu.max", WORKER "/cpu.max", WORKER, ""};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s%s", root, files[i]);
        remove(path);
    }
}

/* ---- orders ---- */

static void make_order(enum order_kind kind, struct order *out)
{
    memset(out, 0, sizeof *out);
    out->kind = kind;
    if (kind == ORDER_CLAIM) {
        struct claim *claim = &out->of.claim;
        claim->id = 1;
        strcpy(claim->path, WORKER);
        strcpy(claim->container, "a/b/c");
        strcpy(claim->original, "400000 100000");
        claim->dev = worker.st_dev;
        claim->ino = worker.st_ino;
        claim->root_dev = root_stat.st_dev;
        claim->root_ino = root_stat.st_ino;
        claim->least = 1;
        claim->most = 4;
    } else if (kind == ORDER_INTEND || kind == ORDER_RELEASE) {
        out->of.change.claim = 1;
        strcpy(out->of.change.from, "400000 100000");
        strcpy(out->of.change.to, "150000 100000");
    } else if (kind == ORDER_THREAD) {
        out->of.thread.tid = 1;
    } else {
        out->of.file.dev = worker.st_dev;
        out->of.file.ino = worker.st_ino;
        strcpy(out->of.file.name, kind == ORDER_FILE ? "cpu.max" : "ig_7_50");
        strcpy(out->of.file.text, "150000 100000\n");
    }
}

static const uint8_t *next_order(const uint8_t *at, const uint8_t *end, struct order *out)
{
    make_order((enum order_kind)(at[0] % (ORDER_KINDS + 1)), out);
    size_t changes = at[1] % 8;
    for (at += 2; changes > 0 && end - at >= 3; changes--, at += 3)
        ((uint8_t *)out)[((size_t)at[0] << 8 | at[1]) % sizeof *out] = at[2];
    return at;
}

static void check_journal(void)
{
    struct journal_claims claims = {0};
    size_t line;
    const char *why;
    check(journal_read(journal, journal_len, "boot", &claims, &line, &why) == 0 && !claims.torn);
    for (size_t i = 0; i < claims.n; i++) {
        check(strcmp(claims.claims[i].path, WORKER) == 0);
        check(claims.claims[i].least >= 1 && claims.claims[i].most <= 4.001);
        check(strcmp(claims.claims[i].original, "400000 100000") == 0);
    }
    journal_claims_release(&claims);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct order order;
    const struct writer_bounds bounds = {.least = {1, 1e9, 1e9, 1e9}};
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const uint8_t *at = data, *end = data + size;
    struct writer *writer = NULL;
    if (!root[0]) {
        make_node();
        atexit(remove_node);
    }
    const struct writer_config config = {
        .bounds = &bounds,
        .write = &writes,
        .version = 2,
        .quotas = root,
        .hierarchy = root,
        .resctrl = "",
        .proc = "",
        .file = {.write = &writes, .directory = -1, .fd = nowhere, .boot_id = "boot"}};
    check(nowhere >= 0 && writer_new(&config, &writer) == 0);
    make_order(ORDER_COMPACT, &order);
    check(writer_obey(writer, &order) == 0);
    while (end - at >= 2) {
        at = next_order(at, end, &order);
        writer_obey(writer, &order);
    }
    check_journal();
    writer_free(writer);
    close(nowhere);
    return 0;
}
