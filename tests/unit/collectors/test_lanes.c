/* How lanes follow the containers, with lanes that only note what happened to them. */
#include "collectors/parts/lanes.h"
#include "tests/unit/support/unit.h"

struct keeper {
    size_t made, freed;
    bool cannot_open, no_memory;
};

struct note {
    bool open, ended;
    unsigned named, renamed, tries;
};

static void *make(void *collector, const struct container *container)
{
    struct keeper *keeper = collector;
    if (keeper->no_memory)
        return NULL;
    keeper->made++;
    return calloc(1, sizeof(struct note));
}

static bool open_it(void *collector, void *lane)
{
    struct note *note = lane;
    note->tries++;
    note->open = !((struct keeper *)collector)->cannot_open;
    return note->open;
}

static bool is_open(const void *lane)
{
    return ((const struct note *)lane)->open;
}

static void name(void *collector, void *lane)
{
    ((struct note *)lane)->named++;
}

static void rename_it(void *collector, void *lane)
{
    ((struct note *)lane)->renamed++;
}

static void end(void *lane)
{
    ((struct note *)lane)->ended = true;
}

static void free_it(void *collector, void *lane)
{
    ((struct keeper *)collector)->freed++;
    free(lane);
}

static const struct lane_ops ops = {"test",    make, open_it, is_open, name,
                                    rename_it, end,  free_it, NULL};

struct fixture {
    struct keeper keeper;
    struct lanes lanes;
    struct collector_status status;
    struct log log;
    struct container a, b;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->log.fd = -1;
    f->a = (struct container){.slot = 3, .path = "/a"};
    f->b = (struct container){.slot = 100, .path = "/b"};
    lanes_init(&f->lanes, &ops, &f->keeper);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    lanes_release(&f->lanes);
    assert_int_equal(f->keeper.made, f->keeper.freed);
    free(f);
    return 0;
}

static bool change(struct fixture *f, struct container_diff diff)
{
    return lanes_reconcile(&f->lanes, &diff, &f->status, &f->log);
}

#define ONE(member, which) ((struct container_diff){.member = {&(struct container *){which}, 1}})

TEST_ON(they_follow_their_container, struct fixture *f, setup, teardown)
{
    change(f, ONE(added, &f->a));
    change(f, ONE(named, &f->a));
    change(f, ONE(renamed, &f->a));
    change(f, ONE(ended, &f->a));
    const struct note *note = lanes_at(&f->lanes, 3);
    assert_true(note->open && note->ended);
    assert_int_equal(note->named, 1);
    assert_int_equal(note->renamed, 1);
    change(f, ONE(added, &f->b)); /* the array grows */
    assert_ptr_equal(lanes_at(&f->lanes, 3), note);
    assert_non_null(lanes_at(&f->lanes, 100));
    change(f, ONE(forgotten, &f->a));
    assert_null(lanes_at(&f->lanes, 3));
    change(f, ONE(named, &f->a)); /* of none that is known: nothing happens */
    assert_int_equal(f->keeper.freed, 1);
}

TEST_ON(another_user_of_the_slot_is_not_mistaken, struct fixture *f, setup, teardown)
{
    struct container later = {.slot = 3, .path = "/later"};
    change(f, ONE(added, &f->a));
    change(f, ONE(named, &later));
    assert_int_equal(((struct note *)lanes_at(&f->lanes, 3))->named, 0);
    change(f, ONE(added, &later));
    change(f, ONE(forgotten, &f->a));
    assert_non_null(lanes_at(&f->lanes, 3));
    assert_int_equal(f->keeper.freed, 1);
}

TEST_WITH(what_could_not_be_opened_is_tried_when_something_was_freed, setup, teardown)
{
    struct fixture *f = *state;
    change(f, ONE(added, &f->a));
    f->keeper.cannot_open = true;
    change(f, ONE(added, &f->b));
    const struct note *b = lanes_at(&f->lanes, 100);
    change(f, (struct container_diff){0});
    assert_int_equal(b->tries, 1); /* nothing was freed */
    lanes_closed_one(&f->lanes, &f->status);
    assert_true(f->status.wants_reconcile);
    assert_false(change(f, (struct container_diff){0}));
    assert_int_equal(b->tries, 2);
    assert_false(f->status.wants_reconcile);
    f->keeper.cannot_open = false;
    assert_true(change(f, ONE(forgotten, &f->a)));
    assert_true(b->open);
    lanes_closed_one(&f->lanes, &f->status);
    assert_false(f->status.wants_reconcile);
}

TEST_ON(one_that_ended_is_not_opened_any_more, struct fixture *f, setup, teardown)
{
    f->keeper.cannot_open = true;
    change(f, ONE(added, &f->a));
    f->a.state = CONTAINER_ENDED;
    assert_true(change(f, ONE(ended, &f->a)));
    assert_int_equal(((struct note *)lanes_at(&f->lanes, 3))->tries, 1);
}

TEST_ON(without_memory_the_container_is_left_out, struct fixture *f, setup, teardown)
{
    f->keeper.no_memory = true;
    change(f, ONE(added, &f->a));
    assert_null(lanes_at(&f->lanes, 3));
    change(f, ONE(ended, &f->a));
}
