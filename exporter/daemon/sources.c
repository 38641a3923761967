#include "exporter/daemon/sources.h"

#include <errno.h>
#include <stdio.h>

#include "exporter/daemon/sources_internal.h"

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

int sources_release(struct sources *sources)
{
    int err = source_set_end(sources->set);
    if (err) {
        recorder_free(sources->recorder);
        return err;
    }
    source_set_free(sources->set);
    inventory_release(&sources->inventory);
    replay_free(sources->replay);
    recorder_free(sources->recorder);
    pmem_free(sources->pmem);
    *sources = (struct sources){0};
    return 0;
}
