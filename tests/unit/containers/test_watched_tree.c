/* The watched tree over a tree of small files: paths, descriptors, and which events come. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/containers/cgroups/watched_tree.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

struct tree {
    struct fixture fixture;
    struct watched_tree watched;
    char mount[256];
    int lines[2]; /* a pipe: what was logged */
    struct log log;
};

static int setup(void **state)
{
    static struct tree tree;
    fixture_init(&tree.fixture);
    fixture_mkdir(&tree.fixture, "cg");
    snprintf(tree.mount, sizeof tree.mount, "%s/cg", tree.fixture.root);
    assert_int_equal(pipe2(tree.lines, O_NONBLOCK), 0);
    tree.log = (struct log){.fd = tree.lines[1], .level = LOG_LEVEL_INFO};
    assert_int_equal(watched_tree_init(&tree.watched, &tree.log), 0);
    watched_tree_start(&tree.watched, &tree.fixture.fs, tree.mount, 0);
    *state = &tree;
    return 0;
}

static int teardown(void **state)
{
    struct tree *tree = *state;
    watched_tree_release(&tree->watched);
    fixture_release(&tree->fixture);
    close(tree->lines[0]);
    close(tree->lines[1]);
    return 0;
}

/* The directory and its node. */
static struct cgroup_node *add(struct tree *tree, const char *path)
{
    char below[128];
    snprintf(below, sizeof below, "cg%s", path);
    fixture_mkdir(&tree->fixture, below);
    struct cgroup_node *node = node_add(&tree->watched.tree, path);
    assert_non_null(node);
    node->cgroup_id = watched_tree_inode(&tree->watched, path);
    assert_true(node->cgroup_id != 0);
    return node;
}

struct seen {
    int modified, appeared;
};

static void note(void *arg, const struct watch_event *event)
{
    struct seen *seen = arg;
    seen->modified += event->what == WATCH_MODIFIED;
    seen->appeared += event->what == WATCH_APPEARED;
}

static struct seen read_events(struct tree *tree)
{
    struct seen seen = {0};
    while (watch_read(&tree->watched.watch, note, &seen) > 0)
        ;
    return seen;
}

TEST_ON(paths, struct tree *tree, setup, teardown)
{
    add(tree, "/");
    const struct cgroup_node *node = add(tree, "/a");
    char path[300], expected[300];
    assert_int_equal(watched_tree_path(&tree->watched, node, "", path, sizeof path), 0);
    snprintf(expected, sizeof expected, "%s/a", tree->mount);
    assert_string_equal(path, expected);
    assert_int_equal(watched_tree_path(&tree->watched, node, "cgroup.procs", path, sizeof path), 0);
    snprintf(expected, sizeof expected, "%s/a/cgroup.procs", tree->mount);
    assert_string_equal(path, expected);
    assert_int_equal(watched_tree_path(&tree->watched, node, "", path, strlen(tree->mount) + 2),
                     -ENAMETOOLONG);
    assert_int_equal(watched_tree_inode(&tree->watched, "/none"), 0);
    fixture_write(&tree->fixture, "cg/file", "%s", "");
    assert_int_equal(watched_tree_inode(&tree->watched, "/file"), 0); /* no directory */
}

/* A hierarchy may be mounted at the top of a container's file system. */
TEST(the_root_as_mount)
{
    struct watched_tree watched;
    struct log log = {.fd = -1};
    assert_int_equal(watched_tree_init(&watched, &log), 0);
    watched_tree_start(&watched, NULL, "/", 0);
    const struct cgroup_node *node = node_add(&watched.tree, "/");
    char path[16];
    struct stat st;
    assert_int_equal(watched_tree_path(&watched, node, "", path, sizeof path), 0);
    assert_string_equal(path, "/");
    assert_int_equal(stat("/", &st), 0);
    assert_int_equal(watched_tree_inode(&watched, "/"), st.st_ino);
    watched_tree_release(&watched);
}

TEST_ON(another_directory_of_the_same_path_is_not_opened, struct tree *tree, setup, teardown)
{
    add(tree, "/");
    struct cgroup_node *node = add(tree, "/a");
    int fd = watched_tree_open(&tree->watched, node);
    struct stat st;
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_ino, node->cgroup_id);
    close(fd);
    node->cgroup_id++;
    assert_int_equal(watched_tree_open(&tree->watched, node), -ENOENT);
    node->cgroup_id--;
    char path[300];
    assert_int_equal(watched_tree_path(&tree->watched, node, "", path, sizeof path), 0);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(watched_tree_open(&tree->watched, node), -ENOENT);
}

TEST_ON(a_candidates_files_are_watched_until_it_is_none, struct tree *tree, setup, teardown)
{
    add(tree, "/");
    struct cgroup_node *node = add(tree, "/a");
    fixture_write(&tree->fixture, "cg/a/cgroup.events", "populated 0\n");
    node->kind = NODE_CANDIDATE;
    watched_tree_watch(&tree->watched, node);
    assert_true(node->wd >= 0 && node->events_wd >= 0);
    assert_ptr_equal(node_find_wd(&tree->watched.tree, node->wd), node);
    fixture_write(&tree->fixture, "cg/a/cgroup.events", "populated 1\n");
    assert_true(read_events(tree).modified > 0);

    int wd = node->wd;
    node->kind = NODE_CONTAINER;
    watched_tree_watch(&tree->watched, node);
    assert_int_equal(node->wd, wd); /* the same watch, for other events */
    assert_int_equal(node->events_wd, -1);
    fixture_write(&tree->fixture, "cg/a/cgroup.events", "populated 0\n");
    fixture_mkdir(&tree->fixture, "cg/a/child");
    struct seen seen = read_events(tree);
    assert_int_equal(seen.modified, 0);
    assert_int_equal(seen.appeared, 1);
}

TEST_ON(a_removed_node_has_no_watch, struct tree *tree, setup, teardown)
{
    add(tree, "/");
    struct cgroup_node *node = add(tree, "/a");
    watched_tree_watch(&tree->watched, node);
    watched_tree_remove(&tree->watched, node);
    assert_null(node_find(&tree->watched.tree, "/a", 2));
    fixture_mkdir(&tree->fixture, "cg/a/child");
    assert_int_equal(read_events(tree).appeared, 0);
}

/* A directory that is gone again has nothing to be watched; without inotify something is missed,
 * and that is logged once. */
TEST_ON(missing_watches, struct tree *tree, setup, teardown)
{
    add(tree, "/");
    struct cgroup_node *gone = node_add(&tree->watched.tree, "/gone");
    watched_tree_watch(&tree->watched, gone);
    assert_int_equal(gone->wd, -1);
    assert_false(tree->watched.watches_missing);

    watch_release(&tree->watched.watch);
    struct cgroup_node *node = add(tree, "/a");
    watched_tree_watch(&tree->watched, node);
    assert_int_equal(node->wd, -1);
    assert_true(tree->watched.watches_missing);
    watched_tree_watch(&tree->watched, node);
    char lines[4096] = "";
    assert_true(read(tree->lines[0], lines, sizeof lines - 1) > 0);
    const char *line = strstr(lines, "cannot watch every cgroup");
    assert_non_null(line);
    assert_null(strstr(line + 1, "cannot watch every cgroup"));
}

TEST_ON(release_closes_candidates, struct tree *tree, setup, teardown)
{
    struct cgroup_node *node = add(tree, "/");
    node->fd = watched_tree_open(&tree->watched, node);
    int fd = node->fd;
    assert_true(fd >= 0);
    watched_tree_release(&tree->watched);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_int_equal(watched_tree_init(&tree->watched, &tree->log), 0);
}
