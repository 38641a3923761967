/*
 * What a container belongs to beyond its own life: the same for all replicas of a Deployment and
 * all runs of a CronJob, on any node and after any restart. Pure: names in, names out. Strings are
 * NUL-terminated and never NULL.
 */
#ifndef IE_CONTAINERS_WORKLOAD_H
#define IE_CONTAINERS_WORKLOAD_H

#include <stddef.h>

struct container;

enum {
    /* With its NUL: namespace (63), owner, container (63) and image of all that is usual. */
    WORKLOAD_KEY_BYTES = 512
};

/*
 * How many of its first bytes name the owner: of the pod's name; where there is none (outside
 * Kubernetes, or not known yet) of the container's. All of them where nothing was generated, and
 * never 0 but of an empty name. To be asked of a name once: an owner's own name may end in what
 * looks generated (the StatefulSet shard-1, whose pod is shard-1-0).
 *
 * Of a pod, with H = [bcdf4-9], the decimal digits of a template's hash as Kubernetes encodes them,
 * and R = [bcdfghjklmnpqrstvwxz2456789], of which it makes the tails that it draws
 * (k8s.io/apimachinery, util/rand):
 *
 *   -H{6,10}-R{5}                     Deployment, by its ReplicaSet
 *   -[0-9]{6,}(-[0-9]{1,5})?-R{5}     CronJob, by its Job; of an indexed one
 *   -[0-9]{1,5}-R{5}                  indexed Job; Job or DeploymentConfig by revision
 *   -R{5}-R{5}                        Job with a generated name
 *   -R{5}                             DaemonSet, Job, whatever has generateName
 *   -[0-9]+                           StatefulSet
 *
 * At 63 bytes the API server has cut the name before the five (58 are left of it), maybe with the
 * dash and some of the hash: then those go, too.
 *
 * The name alone cannot tell everything. Taken for generated, though somebody wrote it: any number
 * at the end (of a static pod on node-1, too), a word of five letters of R, but for some that are
 * known (httpd, mssql), and the number of a DaemonSet agent-2. Not seen: what is generated in the
 * middle of a name, and tails that others than Kubernetes draw from other letters.
 *
 * Outside Kubernetes: systemd's run-1, run-u1, run-r<32 hex digits>, run-p1-i2 and session-1; else
 * what ends in >= 6 decimal digits, in >= 12 hexadecimal ones after one of "-_.@:", in a UUID, or
 * in the 25 characters of Swarm's tasks. The type of a unit behind that (".scope") goes, too. Short
 * numbers are kept (compute-1), and so are the number of a user, and the 64 digits of a runtime's
 * id (docker-<id>.scope), which are all that is known of such a container.
 */
size_t workload_owner_len(const char *pod, const char *container_name);

/* How many of an image's first bytes are its name, without tag and digest. */
size_t workload_image_len(const char *image);

/*
 * What identifies the workload; returns the length without its NUL. Fields separated by 0x1f:
 * namespace, owner, container, image without tag and digest. Outside Kubernetes the container is
 * the owner once more. Control characters in a field are '?'. What is too long ends in 0x1e and 32
 * digits of a hash of all fields, so that no two of them are the same for having been cut. May be
 * stored.
 */
size_t workload_key(const struct container *container, char out[WORKLOAD_KEY_BYTES]);

#endif
