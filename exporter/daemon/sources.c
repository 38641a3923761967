#include "exporter/daemon/sources.h"

#include <errno.h>
#include <stdio.h>

#include "exporter/daemon/sources_internal.h"

int sources_wrap(struct sources *sources, struct source *source, struct source **out)
{
    if (!sources->recorder) {
        *out = source;
        return 0;
    }
    return recorder_wrap(sources->recorder, source, out);
}

int sources_route_all(struct sources *sources, struct source *source)
{
    int err = 0;
    for (int kind = 0; kind < SCOPE_KINDS && !err; kind++)
        for (int group = 0; group < GROUP_COUNT && !err; group++)
            err = source_set_route(sources->set, (enum scope_kind)kind, (enum group)group, source);
    return err;
}

int sources_init(struct sources *sources, const struct sources_config *config, char *error,
                 size_t error_size)
{
    *sources = (struct sources){0};
    *config->facts = (struct facts){0};
    if (!config->plan->probe)
        verdict_set(&config->facts->probe, REASON_DISABLED, "switched off by a flag");
    sources->set = source_set_new(config->log);
    if (!sources->set) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    int err = config->plan->options->source == SOURCE_REPLAY
                  ? sources_init_replayed(sources, config, error, error_size)
                  : sources_init_live(sources, config, error, error_size);
    if (err)
        sources_release(sources);
    return err;
}

void sources_release(struct sources *sources)
{
    source_set_free(sources->set);
    inventory_release(&sources->inventory);
    replay_free(sources->replay);
    recorder_free(sources->recorder);
    pmem_free(sources->pmem);
    *sources = (struct sources){0};
}
