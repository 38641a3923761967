#include "exporter/daemon/sources.h"

#include <errno.h>
#include <stdio.h>

#include "exporter/blackbox/blackbox.h"
#include "exporter/daemon/sources_internal.h"

int sources_start_recorder(struct sources *sources, const struct sources_config *config,
                           uint64_t interval_ns, char *error, size_t error_size)
{
    const struct options *options = config->plan->options;
    struct blackbox *blackbox = config->plan->blackbox;
    if (!options->record_file && !blackbox)
        return 0;
    /* A constant that the probe may still replace is not written: a replay then calibrates from
     * the same readings. */
    struct machine machine = config->facts->machine;
    if (!config->facts->cache_cycles_final)
        machine.cache_cycles = machine.cache_seconds = 0;
    int err =
        recorder_new(options->record_file, &machine, interval_ns, config->log, &sources->recorder);
    if (err) {
        snprintf(error, error_size, "cannot write the recording %s: %s", options->record_file,
                 recorder_why(err));
        return err != -ENOMEM ? -EINVAL : err;
    }
    recorder_limit(sources->recorder, options->record_max_bytes);
    if (blackbox) {
        blackbox_begin(blackbox, &machine, interval_ns);
        recorder_tee(sources->recorder, blackbox_sink(blackbox));
    }
    return 0;
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
