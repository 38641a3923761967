#include <stdlib.h>

#include "exporter/store/internal.h"

void graveyard_bury_own(struct graveyard *graveyard, struct own_labels *own, uint64_t now)
{
    if (!own)
        return;
    own->buried_at = now;
    own->next = NULL;
    if (graveyard->own_last)
        graveyard->own_last->next = own;
    else
        graveyard->own_first = own;
    graveyard->own_last = own;
}

static void unlink_set(struct graveyard *graveyard, struct labelset *set)
{
    if (set->previous)
        set->previous->next = set->next;
    else
        graveyard->set_first = set->next;
    if (set->next)
        set->next->previous = set->previous;
    else
        graveyard->set_last = set->previous;
    set->previous = set->next = NULL;
}

void graveyard_bury_set(struct graveyard *graveyard, struct labelset *set, uint64_t now)
{
    if (!set)
        return;
    if (set->buried_refs++ > 0)
        unlink_set(graveyard, set); /* to the end: the lists are ordered by time */
    set->buried_at = now;
    set->previous = graveyard->set_last;
    set->next = NULL;
    if (graveyard->set_last)
        graveyard->set_last->next = set;
    else
        graveyard->set_first = set;
    graveyard->set_last = set;
}

void graveyard_reap(struct graveyard *graveyard, uint64_t oldest)
{
    struct own_labels *own;
    while ((own = graveyard->own_first) && own->buried_at < oldest) {
        graveyard->own_first = own->next;
        if (!own->next)
            graveyard->own_last = NULL;
        free(own);
    }
    struct labelset *set;
    while ((set = graveyard->set_first) && set->buried_at < oldest) {
        unlink_set(graveyard, set);
        size_t refs = set->buried_refs;
        set->buried_refs = 0;
        set->refs -= refs - 1;
        labelset_unref(set);
    }
}
