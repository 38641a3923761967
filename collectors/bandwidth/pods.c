#include "collectors/bandwidth/pods.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"

static void pod_free(struct pod *pod)
{
    bandwidth_series_release(&pod->series);
    labelset_unref(pod->labels);
    free(pod);
}

void pods_release(struct pods *pods)
{
    for (size_t i = 0; i < pods->n; i++)
        pod_free(pods->at[i]);
    free(pods->at);
    *pods = (struct pods){0};
}

struct pod *pods_join(struct pods *pods, const struct container *container)
{
    const char *uid = container->pod_uid;
    size_t i = 0;
    if (!*uid || strlen(uid) >= sizeof pods->at[0]->uid)
        return NULL;
    while (i < pods->n && strcmp(pods->at[i]->uid, uid) != 0)
        i++;
    if (i == pods->n) {
        struct pod *made = calloc(1, sizeof *made);
        if (!made || array_reserve(&pods->at, &pods->cap, pods->n + 1, sizeof(struct pod *))) {
            free(made);
            return NULL;
        }
        snprintf(made->uid, sizeof made->uid, "%s", uid);
        pods->at[pods->n++] = made;
    }
    pods->at[i]->members++;
    return pods->at[i];
}

void pods_leave(struct pods *pods, struct pod *pod)
{
    size_t i = 0;
    if (--pod->members > 0)
        return;
    while (pods->at[i] != pod)
        i++;
    pods->at[i] = pods->at[--pods->n];
    pod_free(pod);
}

int pod_name(struct pod *pod, const struct container *container)
{
    const struct label labels[] = {{"namespace", container->namespace_},
                                   {"pod", *container->pod ? container->pod : pod->uid},
                                   {"container", ""},
                                   {"container_id", ""}};
    struct labelset *made;
    int err = labelset_new(labels, sizeof labels / sizeof *labels, &made);
    if (err)
        return err;
    bandwidth_series_relabel(&pod->series, made);
    labelset_unref(pod->labels);
    pod->labels = made;
    return 0;
}
