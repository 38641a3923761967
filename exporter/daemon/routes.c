/* What live and replayed sources are connected with. */
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
