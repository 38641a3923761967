#include "exporter/containers/cgroups/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"
#include "exporter/base/hash.h"

enum { BUCKETS_MIN = 256 };

static struct cgroup_node **path_bucket(const struct node_tree *tree, const char *path, size_t len)
{
    return &tree->by_path[siphash(&tree->key, path, len) & (tree->n_buckets - 1)];
}

static struct cgroup_node **wd_bucket(const struct node_tree *tree, int wd)
{
    return &tree->by_wd[(size_t)wd & (tree->n_buckets - 1)];
}

int node_tree_init(struct node_tree *tree)
{
    *tree = (struct node_tree){.n_buckets = BUCKETS_MIN};
    siphash_key_init(&tree->key);
    TAILQ_INIT(&tree->all);
    tree->by_path = calloc(BUCKETS_MIN, sizeof(struct cgroup_node *));
    tree->by_wd = calloc(BUCKETS_MIN, sizeof(struct cgroup_node *));
    if (tree->by_path && tree->by_wd)
        return 0;
    node_tree_release(tree);
    return -ENOMEM;
}

void node_tree_release(struct node_tree *tree)
{
    struct cgroup_node *node;
    while ((node = TAILQ_FIRST(&tree->all))) {
        TAILQ_REMOVE(&tree->all, node, all);
        free(node->path);
        free(node);
    }
    free(tree->by_path);
    free(tree->by_wd);
    free(tree->heap);
    *tree = (struct node_tree){0};
    TAILQ_INIT(&tree->all);
}

struct cgroup_node *node_find(const struct node_tree *tree, const char *path, size_t len)
{
    for (struct cgroup_node *node = *path_bucket(tree, path, len); node; node = node->next_path) {
        if (strncmp(node->path, path, len) == 0 && node->path[len] == '\0')
            return node;
    }
    return NULL;
}

struct cgroup_node *node_find_wd(const struct node_tree *tree, int wd)
{
    if (wd < 0)
        return NULL;
    struct cgroup_node *node = *wd_bucket(tree, wd);
    while (node && node->wd != wd)
        node = node->next_wd;
    return node;
}

/* ---- adding and removing ---- */

/* Growing is an improvement, not a need. */
static void grow(struct node_tree *tree)
{
    size_t n = tree->n_buckets * 2;
    struct cgroup_node **by_path = calloc(n, sizeof(struct cgroup_node *));
    struct cgroup_node **by_wd = calloc(n, sizeof(struct cgroup_node *));
    if (!by_path || !by_wd) {
        free(by_path);
        free(by_wd);
        return;
    }
    free(tree->by_path);
    free(tree->by_wd);
    tree->by_path = by_path;
    tree->by_wd = by_wd;
    tree->n_buckets = n;
    struct cgroup_node *node;
    TAILQ_FOREACH(node, &tree->all, all) {
        struct cgroup_node **bucket = path_bucket(tree, node->path, strlen(node->path));
        node->next_path = *bucket;
        *bucket = node;
        if (node->wd < 0)
            continue;
        bucket = wd_bucket(tree, node->wd);
        node->next_wd = *bucket;
        *bucket = node;
    }
}

/* There is a place in the heap for each node, so that starting a timer cannot fail. */
static int reserve_timer(struct node_tree *tree)
{
    return array_reserve(&tree->heap, &tree->cap_heap, tree->n + 1, sizeof *tree->heap);
}

struct cgroup_node *node_find_parent(const struct node_tree *tree, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash || !slash[1])
        return NULL;
    return slash == path ? node_find(tree, "/", 1) : node_find(tree, path, (size_t)(slash - path));
}

struct cgroup_node *node_add(struct node_tree *tree, const char *path)
{
    bool is_root = strcmp(path, "/") == 0;
    struct cgroup_node *parent = node_find_parent(tree, path);
    if ((!is_root && !parent) || reserve_timer(tree) != 0)
        return NULL;
    struct cgroup_node *node = calloc(1, sizeof *node);
    char *copy = strdup(path);
    if (!node || !copy) {
        free(node);
        free(copy);
        return NULL;
    }
    if (tree->n >= tree->n_buckets)
        grow(tree);
    node->path = copy;
    node->parent = parent;
    node->owner = node_owner(parent);
    if (node->owner) {
        node->owner->directories++;
        node->owner->path_bytes += strlen(path) + 1;
    }
    node->wd = node->events_wd = node->fd = -1;
    TAILQ_INIT(&node->children);
    TAILQ_INSERT_TAIL(&tree->all, node, all);
    if (parent)
        TAILQ_INSERT_TAIL(&parent->children, node, sibling);
    else
        tree->root = node;
    struct cgroup_node **bucket = path_bucket(tree, path, strlen(path));
    node->next_path = *bucket;
    *bucket = node;
    tree->n++;
    tree->path_bytes += strlen(path) + 1;
    return node;
}

void node_set_wd(struct node_tree *tree, struct cgroup_node *node, int wd)
{
    if (node->wd >= 0) {
        struct cgroup_node **at = wd_bucket(tree, node->wd);
        while (*at != node)
            at = &(*at)->next_wd;
        *at = node->next_wd;
    }
    node->wd = wd;
    if (wd < 0)
        return;
    struct cgroup_node **bucket = wd_bucket(tree, wd);
    node->next_wd = *bucket;
    *bucket = node;
}

void node_meet(struct node_tree *tree, struct cgroup_node *node, uint32_t generation)
{
    node->seen = generation;
    TAILQ_REMOVE(&tree->all, node, all);
    TAILQ_INSERT_TAIL(&tree->all, node, all);
}

void node_remove(struct node_tree *tree, struct cgroup_node *node)
{
    node_stop_timer(tree, node);
    node_set_wd(tree, node, -1);
    struct cgroup_node **at = path_bucket(tree, node->path, strlen(node->path));
    while (*at != node)
        at = &(*at)->next_path;
    *at = node->next_path;
    TAILQ_REMOVE(&tree->all, node, all);
    if (node->parent)
        TAILQ_REMOVE(&node->parent->children, node, sibling);
    else
        tree->root = NULL;
    tree->n--;
    tree->path_bytes -= strlen(node->path) + 1;
    if (node->owner) {
        node->owner->directories--;
        node->owner->path_bytes -= strlen(node->path) + 1;
    }
    free(node->path);
    free(node);
}

/* ---- shares ---- */

struct cgroup_node *node_owner(struct cgroup_node *parent)
{
    return parent && !parent->share ? parent->owner : parent;
}

bool node_take_place(struct cgroup_node *node, uint64_t now_ns)
{
    struct cgroup_node *owner = node->owner;
    if (!owner || node->has_place)
        return true;
    /* A bucket of as many places, one of which comes back every refill_ns. */
    uint64_t full_ns = owner->full_ns > now_ns ? owner->full_ns : now_ns;
    if (owner->places >= owner->share->places ||
        full_ns + owner->share->refill_ns - now_ns > owner->share->places * owner->share->refill_ns)
        return false;
    owner->full_ns = full_ns + owner->share->refill_ns;
    owner->places++;
    node->has_place = true;
    return true;
}

void node_give_place(struct cgroup_node *node)
{
    if (node->has_place)
        node->owner->places--;
    node->has_place = false;
}

/* ---- order ---- */

struct cgroup_node *node_next(const struct cgroup_node *top, const struct cgroup_node *node,
                              bool descend)
{
    if (descend && !TAILQ_EMPTY(&node->children))
        return TAILQ_FIRST(&node->children);
    while (node != top && !TAILQ_NEXT(node, sibling))
        node = node->parent;
    return node == top ? NULL : TAILQ_NEXT(node, sibling);
}

struct cgroup_node *node_first_leaf(struct cgroup_node *node)
{
    while (!TAILQ_EMPTY(&node->children))
        node = TAILQ_FIRST(&node->children);
    return node;
}

/* ---- timers ---- */

static void place(struct node_tree *tree, size_t at, struct cgroup_node *node)
{
    tree->heap[at] = node;
    node->heap_at = at + 1;
}

static void sift_up(struct node_tree *tree, size_t at, struct cgroup_node *node)
{
    while (at > 0 && tree->heap[(at - 1) / 2]->due_ns > node->due_ns) {
        place(tree, at, tree->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    place(tree, at, node);
}

static void sift_down(struct node_tree *tree, size_t at, struct cgroup_node *node)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < tree->n_heap && tree->heap[child + 1]->due_ns < tree->heap[child]->due_ns)
            child++;
        if (child >= tree->n_heap || tree->heap[child]->due_ns >= node->due_ns)
            break;
        place(tree, at, tree->heap[child]);
        at = child;
    }
    place(tree, at, node);
}

void node_start_timer(struct node_tree *tree, struct cgroup_node *node, uint64_t due_ns)
{
    node_stop_timer(tree, node);
    node->due_ns = due_ns;
    sift_up(tree, tree->n_heap++, node);
}

void node_stop_timer(struct node_tree *tree, struct cgroup_node *node)
{
    if (node->heap_at == 0)
        return;
    size_t at = node->heap_at - 1;
    node->heap_at = 0;
    struct cgroup_node *last = tree->heap[--tree->n_heap];
    if (last == node)
        return;
    if (at > 0 && tree->heap[(at - 1) / 2]->due_ns > last->due_ns)
        sift_up(tree, at, last);
    else
        sift_down(tree, at, last);
}

struct cgroup_node *node_first_timer(const struct node_tree *tree)
{
    return tree->n_heap > 0 ? tree->heap[0] : NULL;
}
