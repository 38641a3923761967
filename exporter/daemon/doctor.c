/* What two ticks have shown, for --doctor. */
#include <string.h>

#include "exporter/daemon/internal.h"

int exporter_doctor(struct exporter *e, const struct doctor_host *host, FILE *file, char *error,
                    size_t error_size)
{
    _Static_assert((int)COLLECTORS_MAX <= (int)DOCTOR_COLLECTORS, "each has a line");
    struct doctor_collector collectors[COLLECTORS_MAX];
    int err = exporter_run(e, error, error_size);
    if (err)
        return err;
    for (size_t i = 0; i < e->roster.n; i++) {
        const struct roster_entry *entry = &e->roster.at[i];
        collectors[i] =
            (struct doctor_collector){.name = entry->ops->name,
                                      .summary = entry->ops->summary,
                                      .automatic = entry->ops->default_on == COLLECTOR_AUTO,
                                      .available = roster_is_available(entry),
                                      .verdict = entry->status.verdict};
    }
    const struct doctor_seen seen = {
        .machine = &e->facts.machine,
        .source = e->sources.name,
        .source_why = e->sources.by.words,
        .containers = container_table_count(e->table, CONTAINERS_MONITORED),
        .collectors = collectors,
        .n_collectors = e->roster.n,
    };
    err = doctor_print(host, &seen, e->options->json, file);
    if (err < 0)
        snprintf(error, error_size, "cannot print: %s", strerror(-err));
    return err;
}
