#include "tests/unit/support/fake_threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/governor/terms/cpus.h"

enum { LONG_AGO = 100 };
#define BORN_LATER UINT64_C(1000000000000000)

static void parse(const char *text, cpu_set_t *out)
{
    if (strcmp(text, CPUS_ALL) == 0)
        memset(out, 0xff, sizeof *out);
    else if (cpus_parse(text, out))
        abort();
}

static void allowed_of(const struct fake_threads *fake, const char *path, cpu_set_t *out)
{
    char where[256], text[256];
    snprintf(where, sizeof where, "cgroup%s/cpuset.cpus.effective", path);
    if (!governor_rig_text(fake->rig, where, text, sizeof text))
        governor_rig_text(fake->rig, "sys/devices/system/cpu/online", text, sizeof text);
    parse(text, out);
}

static void cpus_of(const struct fake_threads *fake, const struct fake_thread *thread,
                    cpu_set_t *out)
{
    cpu_set_t allowed;
    allowed_of(fake, thread->path, &allowed);
    CPU_AND(out, &thread->asked, &allowed);
    if (CPU_COUNT(out) == 0)
        *out = allowed;
}

/* ---- files ---- */

static void write_cgroup(const struct fake_threads *fake, const char *path)
{
    char where[256], text[1024] = "";
    size_t len = 0;
    for (size_t i = 0; i < FAKE_THREADS; i++)
        if (fake->threads[i].tid && strcmp(fake->threads[i].path, path) == 0)
            len += (size_t)snprintf(text + len, sizeof text - len, "%d\n", fake->threads[i].tid);
    snprintf(where, sizeof where, "cgroup%s/cgroup.threads", path);
    governor_rig_file(fake->rig, where, text);
}

static void write_stat(const struct fake_threads *fake, const struct fake_thread *thread)
{
    char where[64], text[256];
    snprintf(where, sizeof where, "proc/%d", thread->tid);
    governor_rig_folder(fake->rig, where);
    snprintf(where, sizeof where, "proc/%d/stat", thread->tid);
    snprintf(text, sizeof text, "%d (a b) S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0 0\n",
             thread->tid, (unsigned long long)thread->start);
    governor_rig_file(fake->rig, where, text);
}

/* ---- threads ---- */

struct fake_thread *fake_threads_find(struct fake_threads *fake, int tid)
{
    for (size_t i = 0; i < FAKE_THREADS && tid; i++)
        if (fake->threads[i].tid == tid)
            return &fake->threads[i];
    return NULL;
}

static struct fake_thread *add(struct fake_threads *fake, const char *path, uint64_t start)
{
    for (size_t i = 0; i < FAKE_THREADS; i++) {
        struct fake_thread *thread = &fake->threads[i];
        if (thread->tid)
            continue;
        *thread = (struct fake_thread){.tid = ++fake->last_tid, .start = start};
        snprintf(thread->path, sizeof thread->path, "%s", path);
        write_stat(fake, thread);
        write_cgroup(fake, path);
        return thread;
    }
    return NULL;
}

int fake_threads_join(struct fake_threads *fake, const char *path, const char *cpus)
{
    struct fake_thread *thread = add(fake, path, LONG_AGO);
    if (!thread)
        return 0;
    parse(cpus, &thread->asked);
    thread->original = thread->asked;
    return thread->tid;
}

int fake_threads_fork(struct fake_threads *fake, int parent)
{
    const struct fake_thread *of = fake_threads_find(fake, parent);
    struct fake_thread *thread = of ? add(fake, of->path, BORN_LATER + (uint64_t)parent) : NULL;
    if (!thread)
        return 0;
    thread->asked = of->asked;
    thread->original = of->original;
    return thread->tid;
}

void fake_threads_end(struct fake_threads *fake, int tid)
{
    struct fake_thread *thread = fake_threads_find(fake, tid);
    char path[160], file[256];
    if (!thread)
        return;
    snprintf(path, sizeof path, "%s", thread->path);
    thread->tid = 0;
    write_cgroup(fake, path);
    snprintf(file, sizeof file, "%s/proc/%d/stat", fake->rig->root, tid);
    remove(file);
}

void fake_threads_reuse(struct fake_threads *fake, int tid, const char *path)
{
    struct fake_thread *thread = fake_threads_find(fake, tid);
    if (!thread)
        return;
    fake_threads_end(fake, tid);
    thread->tid = tid;
    thread->start += 1000;
    memset(&thread->asked, 0xff, sizeof thread->asked);
    thread->original = thread->asked;
    snprintf(thread->path, sizeof thread->path, "%s", path);
    write_stat(fake, thread);
    write_cgroup(fake, path);
}

void fake_threads_go(struct fake_threads *fake, int tid, const char *path)
{
    struct fake_thread *thread = fake_threads_find(fake, tid);
    char from[160];
    if (!thread)
        return;
    snprintf(from, sizeof from, "%s", thread->path);
    snprintf(thread->path, sizeof thread->path, "%s", path);
    write_cgroup(fake, from);
    write_cgroup(fake, path);
}

void fake_threads_take(struct fake_threads *fake, int tid, const char *cpus)
{
    struct fake_thread *thread = fake_threads_find(fake, tid);
    if (!thread)
        return;
    parse(cpus, &thread->asked);
    thread->original = thread->asked;
}

void fake_threads_cpuset(struct fake_threads *fake, const char *path, const char *cpus)
{
    governor_rig_put(fake->rig, path, "cpuset.cpus.effective", cpus);
}

void fake_threads_cpus(struct fake_threads *fake, int tid, char out[CLAIM_TEXT_MAX])
{
    const struct fake_thread *thread = fake_threads_find(fake, tid);
    cpu_set_t cpus;
    out[0] = '\0';
    if (!thread)
        return;
    cpus_of(fake, thread, &cpus);
    cpus_format(&cpus, out, CLAIM_TEXT_MAX);
}

bool fake_threads_is_original(struct fake_threads *fake, int tid)
{
    const struct fake_thread *thread = fake_threads_find(fake, tid);
    cpu_set_t cpus, allowed, original;
    if (!thread)
        return true;
    allowed_of(fake, thread->path, &allowed);
    cpus_of(fake, thread, &cpus);
    CPU_AND(&original, &thread->original, &allowed);
    if (CPU_COUNT(&original) == 0)
        original = allowed;
    return CPU_EQUAL(&cpus, &original) != 0;
}

/* ---- what the kernel does ---- */

static struct fake_threads *of_rig(void *rig)
{
    return ((struct governor_rig *)rig)->threads;
}

static int fake_get(void *context, int tid, cpu_set_t *out)
{
    struct fake_threads *fake = of_rig(context);
    const struct fake_thread *thread = fake_threads_find(fake, tid);
    if (!thread)
        return -ESRCH;
    cpus_of(fake, thread, out);
    return 0;
}

/* What is not back at its original must be in the journal first, and is never more than that. */
static bool is_right(const struct fake_threads *fake, const struct fake_thread *thread,
                     const cpu_set_t *cpus, const cpu_set_t *allowed)
{
    cpu_set_t now, original, outside;
    CPU_AND(&now, cpus, allowed);
    CPU_AND(&original, &thread->original, allowed);
    if (CPU_COUNT(&original) == 0)
        original = *allowed;
    if (CPU_EQUAL(&now, &original))
        return true;
    CPU_XOR(&outside, &now, &original);
    CPU_AND(&outside, &outside, &now);
    if (CPU_COUNT(&outside) > 0)
        return false;
    for (size_t i = 0; fake->journal && i < fake->journal->open.n; i++) {
        const struct claim *claim = &fake->journal->open.claims[i];
        if (claim->tid == thread->tid && claim->tid_start == thread->start &&
            cpus_are(claim->set, allowed, &now))
            return true;
    }
    return !fake->journal;
}

static int fake_set(void *context, int tid, const cpu_set_t *cpus)
{
    struct fake_threads *fake = of_rig(context);
    struct fake_thread *thread = fake_threads_find(fake, tid);
    cpu_set_t allowed, now;
    fake->sets++;
    bool fails = fake->fail_at && --fake->fail_at == 0;
    if (!thread)
        return -ESRCH;
    if (fails && !fake->fail_after)
        return fake->fail_with;
    allowed_of(fake, thread->path, &allowed);
    CPU_AND(&now, cpus, &allowed);
    if (CPU_COUNT(&now) == 0)
        return -EINVAL;
    fake->wrong += !is_right(fake, thread, cpus, &allowed);
    thread->asked = *cpus;
    return fails ? fake->fail_with : 0;
}

static int fake_may_set(void *context)
{
    return of_rig(context)->may_not ? -EPERM : 0;
}

void fake_threads_init(struct fake_threads *fake, struct governor_rig *rig)
{
    *fake = (struct fake_threads){.rig = rig, .last_tid = 1000};
    rig->threads = fake;
    rig->write.get_affinity = fake_get;
    rig->write.set_affinity = fake_set;
    rig->write.may_set_affinity = fake_may_set;
    parse("5-7", &fake->cpus);
    fake->env = (struct actuator_env){.fs = &rig->fs, .write = &rig->write, .cpus = &fake->cpus};
}
