#include "exporter/source/event/encode.h"

#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What every scheme gets: the text after its prefix, and the whole text for messages. */
struct job {
    const struct fsroot *fs;
    const char *text;
    const char *rest;
    struct encoded_event event;
    struct verdict *why;
};

static const char devices[] = "bus/event_source/devices";

__attribute__((format(printf, 4, 5))) static int fail(struct job *job, int err, enum reason reason,
                                                      const char *format, ...)
{
    char words[sizeof job->why->words];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    verdict_set(job->why, reason, "event \"%s\": %s", job->text, words);
    return err;
}

/* Text that no CPU and no kernel could understand. */
#define malformed(job, ...) fail((job), -EINVAL, REASON_UNSUPPORTED_CPU, __VA_ARGS__)
/* Well-formed, but this machine has no such thing. */
#define absent(job, ...) fail((job), -ENOENT, REASON_NO_DEVICE, __VA_ARGS__)

static int parse_hex_offset(const char *text, uint64_t *out)
{
    char *end;
    if (strncmp(text, "0x", 2) != 0 || text[2] == '\0')
        return -EINVAL;
    errno = 0;
    uint64_t value = strtoull(text + 2, &end, 16);
    /* strtoull takes signs and a second 0x; an offset has neither. */
    if (errno || *end || strspn(text + 2, "0123456789abcdefABCDEF") != strlen(text + 2))
        return -EINVAL;
    *out = value;
    return 0;
}

/* The kernel's number of a PMU that sysfs names. */
static int pmu_type(struct job *job, const char *name, uint32_t *out)
{
    char path[160];
    uint64_t type;
    snprintf(path, sizeof path, "%s/%s/type", devices, name);
    int err = fsroot_read_u64(job->fs, FSROOT_SYS, path, &type);
    if (err == -ENOENT)
        return absent(job, "this machine has no PMU \"%s\" in %s/%s", name,
                      job->fs->path[FSROOT_SYS], devices);
    if (err || type > UINT32_MAX)
        return absent(job, "the type of PMU \"%s\" cannot be read (%s)", name,
                      strerror(err ? -err : ERANGE));
    *out = (uint32_t)type;
    return 0;
}

static int encode_uprobe(struct job *job)
{
    const char *colon = strrchr(job->rest, ':');
    uint64_t offset;
    if (!colon || colon == job->rest || parse_hex_offset(colon + 1, &offset))
        return malformed(job, "write uprobe:PATH:0xOFFSET, the offset in the file");
    uint32_t type;
    int err = pmu_type(job, "uprobe", &type);
    if (err)
        return err;
    char *path = strndup(job->rest, (size_t)(colon - job->rest));
    if (!path)
        return fail(job, -ENOMEM, REASON_NO_DEVICE, "out of memory");
    job->event.path = path;
    job->event.software = true;
    job->event.attr.type = type;
    job->event.attr.config1 = (uint64_t)(uintptr_t)path;
    job->event.attr.config2 = offset;
    return 0;
}

static const struct {
    const char *name;
    uint64_t config;
} software_events[] = {
    {"cpu-clock", PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock", PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", PERF_COUNT_SW_PAGE_FAULTS},
    {"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS},
    {"minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS},
    {"dummy", PERF_COUNT_SW_DUMMY},
    {"cgroup-switches", PERF_COUNT_SW_CGROUP_SWITCHES},
};

static int encode_software(struct job *job)
{
    for (size_t i = 0; i < sizeof software_events / sizeof *software_events; i++) {
        if (strcmp(job->rest, software_events[i].name) == 0) {
            job->event.attr.type = PERF_TYPE_SOFTWARE;
            job->event.attr.config = software_events[i].config;
            job->event.software = true;
            return 0;
        }
    }
    return malformed(job,
                     "unknown software event; known events are cpu-clock, task-clock, page-faults, "
                     "minor-faults, major-faults, context-switches, cpu-migrations, ...");
}

static int encode_tracepoint(struct job *job)
{
    static const char *const trees[] = {"kernel/tracing", "kernel/debug/tracing"};
    const char *colon = strchr(job->rest, ':');
    if (!colon || !pmu_name_valid(job->rest, (size_t)(colon - job->rest)) ||
        !pmu_name_valid(colon + 1, strlen(colon + 1)))
        return malformed(job, "write tracepoint:SYSTEM:NAME, e.g. tracepoint:sched:sched_switch");
    int err = -ENOENT;
    for (size_t i = 0; i < sizeof trees / sizeof *trees && err; i++) {
        char path[256];
        int n = snprintf(path, sizeof path, "%s/events/%.*s/%s/id", trees[i],
                         (int)(colon - job->rest), job->rest, colon + 1);
        uint64_t id;
        if (n < 0 || (size_t)n >= sizeof path)
            return malformed(job, "the name is too long");
        err = fsroot_read_u64(job->fs, FSROOT_SYS, path, &id);
        if (!err)
            job->event.attr.config = id;
    }
    if (err)
        return absent(job,
                      "no such tracepoint (%s): mount tracefs at %s/kernel/tracing and check the "
                      "name there under events/",
                      strerror(-err), job->fs->path[FSROOT_SYS]);
    job->event.attr.type = PERF_TYPE_TRACEPOINT;
    job->event.software = true;
    return 0;
}

static int add_terms(struct job *job, const char *pmu, const char *terms, size_t len, bool nested);

/* config=, config1=, config2= need no format file. */
static int config_word(const char *name)
{
    static const char *const names[PMU_CONFIG_WORDS] = {"config", "config1", "config2"};
    for (int i = 0; i < PMU_CONFIG_WORDS; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return -1;
}

static int add_term(struct job *job, const char *pmu, const struct pmu_term *term, bool nested)
{
    struct perf_event_attr *attr = &job->event.attr;
    uint64_t words[PMU_CONFIG_WORDS] = {attr->config, attr->config1, attr->config2};
    char path[192], text[512];
    size_t len;
    int word = config_word(term->name);

    snprintf(path, sizeof path, "%s/%s/format/%s", devices, pmu, term->name);
    if (word >= 0) {
        words[word] = term->value;
    } else if (fsroot_read(job->fs, FSROOT_SYS, path, text, sizeof text, &len) == 0) {
        struct pmu_field field;
        if (pmu_field_parse(text, len, &field))
            return absent(job, "cannot parse the kernel's format of \"%s\"", term->name);
        if (pmu_field_deposit(&field, term->value, words))
            return malformed(job, "%s=0x%llx has more bits than PMU \"%s\" accepts", term->name,
                             (unsigned long long)term->value, pmu);
    } else {
        snprintf(path, sizeof path, "%s/%s/events/%s", devices, pmu, term->name);
        if (nested || term->has_value ||
            fsroot_read(job->fs, FSROOT_SYS, path, text, sizeof text, &len))
            return absent(job, "PMU \"%s\" has no term \"%s\"; see its format folder in %s/%s/%s",
                          pmu, term->name, job->fs->path[FSROOT_SYS], devices, pmu);
        while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
            len--;
        return add_terms(job, pmu, text, len, true);
    }
    attr->config = words[0];
    attr->config1 = words[1];
    attr->config2 = words[2];
    return 0;
}

static int add_terms(struct job *job, const char *pmu, const char *terms, size_t len, bool nested)
{
    struct pmu_term term;
    int more;
    while ((more = pmu_term_next(&terms, &len, &term)) > 0) {
        int err = add_term(job, pmu, &term, nested);
        if (err)
            return err;
    }
    return more < 0 ? malformed(job, "write terms as name=value, separated by commas; values are "
                                     "decimal or 0x hexadecimal")
                    : 0;
}

/* PMUs whose events the kernel's own code counts. */
static bool pmu_is_software(const char *name)
{
    static const char *const names[] = {"software", "tracepoint", "uprobe",
                                        "kprobe",   "breakpoint", "msr"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int encode_pmu(struct job *job)
{
    const char *slash = strchr(job->rest, '/');
    size_t len = strlen(job->rest);
    char name[64];
    if (!slash || slash == job->rest + len - 1 || job->rest[len - 1] != '/' ||
        !pmu_name_valid(job->rest, (size_t)(slash - job->rest)) ||
        (size_t)(slash - job->rest) >= sizeof name)
        return malformed(job, "write pmu:NAME/term=value,.../");
    memcpy(name, job->rest, (size_t)(slash - job->rest));
    name[slash - job->rest] = '\0';
    int err = pmu_type(job, name, &job->event.attr.type);
    if (err)
        return err;
    job->event.software = pmu_is_software(name);
    return add_terms(job, name, slash + 1, (size_t)(job->rest + len - 1 - (slash + 1)), false);
}

static int pfm_status; /* written once, inside pthread_once */

static void init_pfm(void)
{
    pfm_status = pfm_initialize() == PFM_SUCCESS ? 0 : -ENOSYS;
}

/* Initialises libpfm4 once for the process. 0 or -ENOSYS. */
static int encode_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_pfm);
    return pfm_status;
}

static int pfm_failure(struct job *job, int result)
{
    switch (result) {
    case PFM_ERR_NOTFOUND:
        return fail(
            job, -ENOENT, REASON_UNSUPPORTED_CPU,
            "libpfm4 knows no such event for this CPU; its tool showevtinfo lists the events");
    case PFM_ERR_UMASK:
    case PFM_ERR_ATTR:
    case PFM_ERR_ATTR_VAL:
    case PFM_ERR_ATTR_SET:
    case PFM_ERR_FEATCOMB:
        return malformed(job, "libpfm4 knows the event but not this unit mask or attribute (%s)",
                         pfm_strerror(result));
    case PFM_ERR_NOTSUPP:
        return fail(job, -ENOENT, REASON_NO_PMU, "libpfm4 finds no such PMU on this machine");
    default:
        return malformed(job, "libpfm4: %s", pfm_strerror(result));
    }
}

static int encode_pfm(struct job *job)
{
    struct perf_event_attr attr = {.size = sizeof attr};
    pfm_perf_encode_arg_t arg = {.size = sizeof arg, .attr = &attr};
    if (encode_init())
        return fail(job, -ENOENT, REASON_NO_PMU, "libpfm4 does not start on this machine");
    int result = pfm_get_os_event_encoding(job->rest, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
    if (result != PFM_SUCCESS)
        return pfm_failure(job, result);
    job->event.attr.type = attr.type;
    job->event.attr.config = attr.config;
    job->event.attr.config1 = attr.config1;
    job->event.attr.config2 = attr.config2;
    job->event.attr.precise_ip = attr.precise_ip;
    /* Exclusions that the text asked for. libpfm4's own default of leaving guests out is not
     * taken over: a virtual machine in a container is that container's load. */
    job->event.attr.exclude_user = attr.exclude_user;
    job->event.attr.exclude_kernel = attr.exclude_kernel;
    job->event.software = attr.type == PERF_TYPE_SOFTWARE || attr.type == PERF_TYPE_TRACEPOINT;
    return 0;
}

static const struct {
    const char *prefix;
    int (*encode)(struct job *job);
} schemes[] = {
    {"uprobe:", encode_uprobe}, {"software:", encode_software}, {"tracepoint:", encode_tracepoint},
    {"pmu:", encode_pmu},       {"pfm:", encode_pfm},           {"", encode_pfm},
};

int encode_event(const struct fsroot *fs, const char *text, struct encoded_event *out,
                 struct verdict *why)
{
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t prefix = strlen(schemes[i].prefix);
        if (strncmp(text, schemes[i].prefix, prefix) != 0)
            continue;
        struct job job = {.fs = fs, .text = text, .rest = text + prefix, .why = why};
        job.event.attr.size = sizeof job.event.attr;
        int err = schemes[i].encode(&job);
        if (err)
            encoded_event_release(&job.event);
        else
            *out = job.event;
        return err;
    }
    return -EINVAL;
}

void encoded_event_release(struct encoded_event *event)
{
    free(event->path);
    *event = (struct encoded_event){.path = NULL};
}

/* ---- terms of a PMU ---- */

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

bool pmu_name_valid(const char *text, size_t len)
{
    if (len == 0 || text[0] == '.')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!name_char(text[i]))
            return false;
    return true;
}

static int digit_value(char c, unsigned base)
{
    int value = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : 16;
    return value < (int)base ? value : -1;
}

/* Decimal or 0x hexadecimal, the whole of the text. */
static int parse_value(const char *text, size_t len, uint64_t *out)
{
    unsigned base = 10;
    uint64_t value = 0;
    if (len > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        text += 2;
        len -= 2;
    }
    if (len == 0)
        return -EINVAL;
    for (size_t i = 0; i < len; i++) {
        int digit = digit_value(text[i], base);
        if (digit < 0 || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return -EINVAL;
    }
    *out = value;
    return 0;
}

int pmu_term_next(const char **text, size_t *len, struct pmu_term *out)
{
    if (*len == 0)
        return 0;
    const char *comma = memchr(*text, ',', *len);
    size_t term = comma ? (size_t)(comma - *text) : *len;
    const char *equals = memchr(*text, '=', term);
    size_t name = equals ? (size_t)(equals - *text) : term;
    struct pmu_term parsed = {.value = 1, .has_value = equals != NULL};

    if (!pmu_name_valid(*text, name) || name >= sizeof parsed.name)
        return -EINVAL;
    memcpy(parsed.name, *text, name);
    if (equals && parse_value(equals + 1, term - name - 1, &parsed.value))
        return -EINVAL;
    if (comma && term + 1 == *len)
        return -EINVAL; /* a comma with nothing after it */
    *text += term + (comma ? 1 : 0);
    *len -= term + (comma ? 1 : 0);
    *out = parsed;
    return 1;
}

static int parse_bit(const char **p, const char *end, uint8_t *out)
{
    unsigned value = 0;
    const char *start = *p;
    while (*p < end && **p >= '0' && **p <= '9') {
        value = value * 10 + (unsigned)(**p - '0');
        if (value > 63)
            return -EINVAL;
        (*p)++;
    }
    *out = (uint8_t)value;
    return *p > start ? 0 : -EINVAL;
}

static int parse_ranges(const char *p, const char *end, struct pmu_field *field)
{
    for (;;) {
        if (field->n == PMU_FIELD_RANGES)
            return -EINVAL;
        uint8_t low, high;
        if (parse_bit(&p, end, &low))
            return -EINVAL;
        high = low;
        if (p < end && *p == '-') {
            p++;
            if (parse_bit(&p, end, &high) || high < low)
                return -EINVAL;
        }
        field->range[field->n].low = low;
        field->range[field->n].high = high;
        field->n++;
        if (p == end)
            return 0;
        if (*p++ != ',')
            return -EINVAL;
    }
}

int pmu_field_parse(const char *text, size_t len, struct pmu_field *out)
{
    static const char *const words[PMU_CONFIG_WORDS] = {"config:", "config1:", "config2:"};
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
        len--;
    for (int i = 0; i < PMU_CONFIG_WORDS; i++) {
        size_t prefix = strlen(words[i]);
        if (len <= prefix || memcmp(text, words[i], prefix) != 0)
            continue;
        struct pmu_field field = {.word = i};
        int err = parse_ranges(text + prefix, text + len, &field);
        if (!err)
            *out = field;
        return err;
    }
    return -EINVAL;
}

int pmu_field_deposit(const struct pmu_field *field, uint64_t value,
                      uint64_t words[PMU_CONFIG_WORDS])
{
    uint64_t set = 0, clear = 0, rest = value;
    for (size_t i = 0; i < field->n; i++) {
        unsigned width = field->range[i].high - field->range[i].low + 1u;
        uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
        set |= (rest & mask) << field->range[i].low;
        clear |= mask << field->range[i].low;
        rest = width == 64 ? 0 : rest >> width;
    }
    if (rest)
        return -ERANGE;
    words[field->word] = (words[field->word] & ~clear) | set;
    return 0;
}
