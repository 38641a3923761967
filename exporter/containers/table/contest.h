/*
 * Several that ask for the same labels. A container that only lingers gives them up. Of live ones
 * the outermost has them, whoever came first; if none of them is around the others, nobody has:
 * those without go by their cgroups for the rest of their lives. Internal to the table.
 */
#ifndef IE_CONTAINERS_TABLE_CONTEST_H
#define IE_CONTAINERS_TABLE_CONTEST_H

#include "exporter/containers/table/state.h"

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
