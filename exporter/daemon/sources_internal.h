/*
 * How the sources are put together; for sources.c, live.c and replayed.c.
 */
#ifndef IE_DAEMON_SOURCES_INTERNAL_H
#define IE_DAEMON_SOURCES_INTERNAL_H

#include "exporter/daemon/sources.h"
#include "exporter/source/perf/perf.h"

/* This machine's kernel and the probe, or a recording: what sources_init says. On failure the
 * caller releases. */
int sources_init_live(struct sources *sources, const struct sources_config *config, char *error,
                      size_t error_size);
int sources_init_replayed(struct sources *sources, const struct sources_config *config, char *error,
                          size_t error_size);

/* The counters of containers by a program in the kernel, if a flag asks for them or cgroup events
 * would be too many (burden.h), and they can be had: from then on they serve what perf serves
 * otherwise. CAP_BPF is given back if not. 'perf' says how events are opened. */
int sources_add_bpf(struct sources *sources, const struct sources_config *config,
                    const struct perf_config *perf);

/* What flags ask for: a file, the black box, both or none; before a source is wrapped. As
 * sources_init. */
int sources_start_recorder(struct sources *sources, const struct sources_config *config,
                           uint64_t interval_ns, char *error, size_t error_size);
/* The source itself, or the recorder around it. Takes it over also on failure. */
int sources_wrap(struct sources *sources, struct source *source, struct source **out);
/* For every scope and group. */
int sources_route_all(struct sources *sources, struct source *source);

#endif
