#include <stdlib.h>

#include "exporter/store/internal.h"

void retired_add_own(struct retired *retired, struct own_labels *own, uint64_t now)
{
    if (!own)
        return;
    own->retired_at = now;
    own->next = NULL;
    if (retired->own_last)
        retired->own_last->next = own;
    else
        retired->own_first = own;
    retired->own_last = own;
}

static void unlink_set(struct retired *retired, struct labelset *set)
{
    if (set->previous)
        set->previous->next = set->next;
    else
        retired->set_first = set->next;
    if (set->next)
        set->next->previous = set->previous;
    else
        retired->set_last = set->previous;
    set->previous = set->next = NULL;
}

void retired_add_set(struct retired *retired, struct labelset *set, uint64_t now)
{
    if (!set)
        return;
    if (set->retired_refs++ > 0)
        unlink_set(retired, set); /* to the end: the lists are ordered by time */
    set->retired_at = now;
    set->previous = retired->set_last;
    set->next = NULL;
    if (retired->set_last)
        retired->set_last->next = set;
    else
        retired->set_first = set;
    retired->set_last = set;
}

void retired_free(struct retired *retired, uint64_t oldest)
{
    struct own_labels *own;
    while ((own = retired->own_first) && own->retired_at < oldest) {
        retired->own_first = own->next;
        if (!own->next)
            retired->own_last = NULL;
        free(own);
    }
    struct labelset *set;
    while ((set = retired->set_first) && set->retired_at < oldest) {
        unlink_set(retired, set);
        size_t refs = set->retired_refs;
        set->retired_refs = 0;
        set->refs -= refs - 1;
        labelset_unref(set);
    }
}
