#include "exporter/source/recording/recorder_owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"

void recorder_owners_release(struct recorder_owners *owners)
{
    free(owners->at);
    *owners = (struct recorder_owners){0};
}

/* The index of an owner, or where it belongs. */
static size_t place(const struct recorder_owners *owners, uint64_t owner)
{
    size_t low = 0, high = owners->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (owners->at[middle].owner < owner)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct recorder_owner *find(const struct recorder_owners *owners, uint64_t owner)
{
    size_t at = place(owners, owner);
    return at < owners->n && owners->at[at].owner == owner ? &owners->at[at] : NULL;
}

int recorder_owners_hold(struct recorder_owners *owners, uint64_t owner, const char *key)
{
    struct recorder_owner *known = find(owners, owner);
    if (known)
        known->refs++;
    if (known || owner == 0)
        return 0;
    if (array_reserve(&owners->at, &owners->cap, owners->n + 1, sizeof *owners->at))
        return -ENOMEM;
    size_t at = place(owners, owner);
    memmove(&owners->at[at + 1], &owners->at[at], (owners->n - at) * sizeof *owners->at);
    owners->n++;
    owners->at[at] = (struct recorder_owner){.owner = owner, .refs = 1};
    strncpy(owners->at[at].key, key, RECORDING_MAX_KEY);
    return 0;
}

void recorder_owners_drop(struct recorder_owners *owners, uint64_t owner)
{
    struct recorder_owner *known = find(owners, owner);
    if (!known || --known->refs > 0)
        return;
    size_t at = (size_t)(known - owners->at);
    owners->n--;
    memmove(known, known + 1, (owners->n - at) * sizeof *known);
}

const char *recorder_owners_key(const struct recorder_owners *owners, uint64_t owner)
{
    const struct recorder_owner *known = find(owners, owner);
    return known ? known->key : NULL;
}
