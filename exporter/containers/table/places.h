/*
 * Every move of a container between its places: waiting for room, excluded, held (live, ended,
 * lingering; named or not), gone. Internal to the table.
 *
 * Moves may free labels; whoever calls table_end(), table_discard(), table_linger() or
 * table_forget() has those that wait for labels looked at afterwards (table_settle_blocked).
 */
#ifndef IE_CONTAINERS_TABLE_PLACES_H
#define IE_CONTAINERS_TABLE_PLACES_H

#include "exporter/containers/table/state.h"

/* A new one gets the next handle, and is excluded, waits or is held. */
void table_enter(struct container_table *table, struct table_entry *entry, uint64_t now_ns);
/* Waits, or is held if there is room: a new one, or an excluded one whose new names pass. */
void table_enqueue(struct container_table *table, struct table_entry *entry, uint64_t now_ns);
/* Those over the limit get the free places, the oldest first. */
void table_promote(struct container_table *table, uint64_t now_ns);

/* Patience is over or the names are final: names, excludes, or blocks it. */
void table_name(struct container_table *table, struct table_entry *entry);
/* Names those that waited for labels which are free now. */
void table_settle_blocked(struct container_table *table);
/* Its names are known and not wanted: they are those of 'spec', or its own if that is NULL. A live
 * one stays known as excluded. */
void table_exclude(struct container_table *table, struct table_entry *entry,
                   const struct container_spec *spec);

/* The cgroup of a held one is gone. */
void table_end(struct container_table *table, struct table_entry *entry, uint64_t now_ns);
/* It was read for the last time. May forget the one that has lingered longest. */
void table_linger(struct container_table *table, struct table_entry *entry);
/* A held one is forgotten; any other, which consumers have not seen, is freed. */
void table_discard(struct container_table *table, struct table_entry *entry);

/*
 * Several that ask for the same labels. A container that only lingers gives them up. Of live ones
 * the outermost has them, whoever came first; if none of them is around the others, nobody has:
 * those without go by their cgroups for the rest of their lives.
 */
enum labels_answer {
    LABELS_GRANTED, /* nobody has them */
    LABELS_LATER,   /* the one that had them is still to be read, or consumers to be told */
    LABELS_REFUSED, /* others ask for them, too */
};

/* May the entry have the labels of 'wanted'? Takes them from whoever may not keep them. */
enum labels_answer table_ask_labels(struct container_table *table, struct table_entry *entry,
                                    const struct container *wanted);

/*
 * After a refusal: from here on the entry goes by its cgroup's name and id, and nobody who lies
 * outside of it gets the labels of 'wanted'. 0; -EEXIST if even its cgroup's labels are taken;
 * -ENOMEM. On failure nothing has changed.
 */
int table_go_by_cgroup(struct container_table *table, struct table_entry *entry,
                       const struct container *wanted);

#endif
