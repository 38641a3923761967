#include "exporter/source/waits/entitle.h"

#include <string.h>

/* Where the path's directory of this level ends; 0: it has none. */
static size_t end_of(const char *path, size_t level)
{
    const char *at = path;
    for (size_t l = 0; *at == '/'; l++) {
        at += 1 + strcspn(at + 1, "/");
        if (l == level)
            return (size_t)(at - path);
    }
    return 0;
}

/* Those behind the first that lie in the same directory of this level, the first included. */
static size_t family(struct entitled *const *at, size_t n, size_t level)
{
    size_t end = end_of(at[0]->path, level), i = 1;
    while (end > 0 && i < n && end_of(at[i]->path, level) == end &&
           memcmp(at[0]->path, at[i]->path, end) == 0)
        i++;
    return i;
}

static bool competes(struct entitled *const *at, size_t n, uint64_t set)
{
    for (size_t i = 0; i < n; i++)
        if (at[i]->cpu_set & set)
            return true;
    return false;
}

/* All of them lie in one directory of the level above. */
static void share_out(struct entitled *const *at, size_t n, size_t level, double share,
                      uint64_t set)
{
    double sum = 0;
    for (size_t i = 0, members; i < n && level < ENTITLE_LEVELS; i += members) {
        members = family(at + i, n - i, level);
        sum += competes(at + i, members, set) ? at[i]->weight[level] : 0;
    }
    for (size_t i = 0, members; i < n; i += members) {
        members = level < ENTITLE_LEVELS ? family(at + i, n - i, level) : 1;
        double own = sum > 0 ? share * at[i]->weight[level] / sum : share;
        bool leaf = members == 1 && end_of(at[i]->path, level + 1) == 0;
        if (!leaf && level + 1 < ENTITLE_LEVELS) {
            share_out(at + i, members, level + 1, own, set);
            continue;
        }
        for (size_t k = i; k < i + members; k++)
            if (at[k]->cpu_set == set)
                at[k]->share = own;
    }
}

void entitle(struct entitled *const *at, size_t n)
{
    enum { SETS = 32 }; /* of more kinds of CPU sets, the share is not known */
    size_t sets = 0;
    for (size_t i = 0; i < n; i++) {
        at[i]->done = false;
        at[i]->share = 0;
    }
    for (size_t i = 0; i < n && sets < SETS; i++) {
        if (at[i]->done)
            continue;
        share_out(at, n, 0, 1, at[i]->cpu_set);
        for (size_t k = i; k < n; k++)
            at[k]->done |= at[k]->cpu_set == at[i]->cpu_set;
        sets++;
    }
}
