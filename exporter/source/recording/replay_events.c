#include "exporter/source/recording/replay_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"

void replay_events_clear(struct replay_events *events)
{
    for (size_t i = 0; i < events->n; i++)
        free((char *)events->at[i].container.key);
    events->n = 0;
}

void replay_events_release(struct replay_events *events)
{
    replay_events_clear(events);
    free(events->at);
    *events = (struct replay_events){0};
}

/* Copies the strings one behind the other into a single allocation, which .key points to. */
static int own_strings(struct recording_container *container)
{
    const char **all[] = {&container->key,        &container->cgroup,  &container->id,
                          &container->namespace_, &container->pod,     &container->container,
                          &container->image,      &container->pod_uid, &container->runtime,
                          &container->qos_class};
    size_t size = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        size += strlen(*all[i]) + 1;
    char *text = malloc(size);
    if (!text)
        return -ENOMEM;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t len = strlen(*all[i]) + 1;
        memcpy(text, *all[i], len);
        *all[i] = text;
        text += len;
    }
    return 0;
}

static int add(struct replay_events *events, const struct recording_container *container, bool gone)
{
    struct replay_container_event event = {.gone = gone, .container = *container};
    if (array_reserve(&events->at, &events->cap, events->n + 1, sizeof event) ||
        own_strings(&event.container))
        return -ENOMEM;
    events->at[events->n++] = event;
    return 0;
}

int replay_events_add(struct replay_events *events, const struct recording_container *container)
{
    return add(events, container, false);
}

int replay_events_add_gone(struct replay_events *events, const char *key)
{
    const struct recording_container container = {key, "", "", "", "",    "",
                                                  "",  "", "", "", false, 0};
    return add(events, &container, true);
}
