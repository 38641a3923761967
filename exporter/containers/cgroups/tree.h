/*
 * What discovery knows of the cgroup tree: a node for each directory, found by path and by watch,
 * each with one timer. Plain data, no system calls.
 */
#ifndef IE_CONTAINERS_CGROUPS_TREE_H
#define IE_CONTAINERS_CGROUPS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "exporter/base/hash.h"

enum node_kind {
    NODE_PLAIN,
    NODE_CANDIDATE, /* counts as soon as it has processes of its own (--containers.all-cgroups) */
    NODE_CONTAINER, /* known to the table by its handle */
    NODE_SANDBOX,   /* a container that is not monitored */
    NODE_REFUSED,   /* its owner has no place left for it; each rescan asks again */
};

/* What all that lies in one container, or belongs to one user, may take of the machine's limits. */
struct node_share {
    size_t directories; /* looked at; the others are as if they were not there */
    size_t path_bytes;  /* of these, whole paths: each may be 4 KiB long */
    size_t places;      /* counted at a time */
    uint64_t refill_ns; /* each of them is given back to be taken anew after this long */
};

TAILQ_HEAD(node_list, cgroup_node);

struct cgroup_node {
    char *path; /* below the hierarchy's root; "/" is the root */
    uint64_t cgroup_id;
    struct cgroup_node *parent; /* NULL: the root */
    struct node_list children;
    TAILQ_ENTRY(cgroup_node) sibling;
    TAILQ_ENTRY(cgroup_node) all;  /* by when it was met last: parents before children */
    TAILQ_ENTRY(cgroup_node) scan; /* its subtree is to be looked through */
    struct cgroup_node *owner; /* the nearest node above that has a share; NULL: the machine's */
    const struct node_share *share;         /* of what lies below; NULL: has none of its own */
    size_t directories, path_bytes, places; /* that are taken of it */
    uint64_t full_ns; /* when as many places may be taken at once as there are */
    bool has_place;   /* one of its owner's */
    bool scan_wanted;
    uint32_t seen; /* the rescan that met it last */
    int wd;        /* inotify's; -1: none */
    int events_wd; /* on its cgroup.events, while it is a candidate; -1: none */

    enum node_kind kind;
    int fd;             /* of a candidate that is held open; -1: none */
    uint64_t handle;    /* NODE_CONTAINER; of a candidate that is counted already, else 0 */
    uint32_t slot, gen; /* while the table holds it; gen 0: it does not */
    bool resolved;      /* names are final */
    unsigned tries;     /* to find names, or since it was taken for a sandbox */
    uint64_t found_ns;

    uint64_t due_ns; /* its timer */
    size_t heap_at;  /* its place in the heap plus 1; 0: no timer */

    struct cgroup_node *next_path, *next_wd; /* hash chains */
};

struct node_tree {
    struct cgroup_node *root; /* NULL: empty */
    struct siphash_key key;   /* paths are tenants' texts */
    struct node_list all;
    size_t n;
    size_t path_bytes; /* of all paths */
    struct cgroup_node **by_path, **by_wd;
    size_t n_buckets;          /* of each; a power of two */
    struct cgroup_node **heap; /* timers, the next one first */
    size_t n_heap, cap_heap;
};

int node_tree_init(struct node_tree *tree);
/* Frees all nodes; descriptors and watches are the caller's. */
void node_tree_release(struct node_tree *tree);

struct cgroup_node *node_find(const struct node_tree *tree, const char *path, size_t len);
struct cgroup_node *node_find_wd(const struct node_tree *tree, int wd);
/* The node of the directory that the path lies in; NULL for the root's, or if it is not known. */
struct cgroup_node *node_find_parent(const struct node_tree *tree, const char *path);
/* The parent of the path must be in the tree, unless it is "/". NULL: no memory, no parent. */
struct cgroup_node *node_add(struct node_tree *tree, const char *path);
void node_set_wd(struct node_tree *tree, struct cgroup_node *node, int wd);
/* A rescan met it: it goes to the end of the list of all. */
void node_meet(struct node_tree *tree, struct cgroup_node *node, uint32_t generation);
/* A node without children. Stops its timer. */
void node_remove(struct node_tree *tree, struct cgroup_node *node);

/* The node whose share pays for what is made in this directory; NULL: there is none. */
struct cgroup_node *node_owner(struct cgroup_node *parent);
/* Takes one of its owner's places; false: none is left now. Always true without an owner. */
bool node_take_place(struct cgroup_node *node, uint64_t now_ns);
void node_give_place(struct cgroup_node *node);

/* Pre-order within the subtree of 'top': the node after 'node', leaving out what is below 'node'
 * unless descend; NULL at the end. */
struct cgroup_node *node_next(const struct cgroup_node *top, const struct cgroup_node *node,
                              bool descend);
/* The deepest first node of a subtree: where removing starts. */
struct cgroup_node *node_first_leaf(struct cgroup_node *node);

/* Sets or moves the timer. */
void node_start_timer(struct node_tree *tree, struct cgroup_node *node, uint64_t due_ns);
void node_stop_timer(struct node_tree *tree, struct cgroup_node *node);
/* The node whose timer ends first, or NULL. */
struct cgroup_node *node_first_timer(const struct node_tree *tree);

#endif
