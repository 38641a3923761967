/* Who lies inside of whom, against a comparison of each with each; and how many comparisons that
 * takes. */
#include "exporter/containers/path_order.h"
#include "tests/unit/support/draw.h"
#include "tests/unit/support/unit.h"

enum { MOST = 16384 };

struct fixture {
    struct container container[MOST];
    struct container *list[MOST];
    char path[MOST][64];
    bool in[MOST];
    struct path_order order;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (!f)
        return -1;
    for (size_t i = 0; i < MOST; i++)
        f->container[i] = (struct container){.slot = (uint32_t)i, .path = f->path[i]};
    return path_order_reserve(&f->order, MOST);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    path_order_release(&f->order);
    free(f);
    return 0;
}

/* A path of up to four parts of an alphabet in which '/' is neither first nor last. */
static void draw_path(uint64_t *numbers, char *path)
{
    static const char *const parts[] = {"/a", "/a-b", "/a.b", "/a0", "/\xc3\xa9"};
    size_t len = 0;
    for (size_t i = 0, n = 1 + draw(numbers) % 4; i < n; i++)
        len += (size_t)sprintf(path + len, "%s", parts[draw(numbers) % 5]);
}

static const struct container *outermost(const struct fixture *f, size_t n, size_t i)
{
    const struct container *found = NULL;
    for (size_t k = 0; k < n; k++)
        if (f->in[k] && path_is_inside(&f->container[i], &f->container[k]) &&
            (!found || path_is_inside(found, &f->container[k])))
            found = &f->container[k];
    return found;
}

static void check(const struct fixture *f, size_t n)
{
    const struct container *outer = NULL;
    size_t met = 0;
    for (size_t i = 0; i < f->order.n; i++) {
        const struct container *at = f->order.at[i];
        bool inside = outer && path_is_inside(at, outer);
        const struct container *want = outermost(f, n, at->slot);
        assert_true(f->in[at->slot]);
        assert_true((want != NULL) == inside);
        assert_true(!inside || strcmp(want->path, outer->path) == 0);
        if (!inside)
            outer = at;
        met++;
    }
    for (size_t i = 0; i < n; i++)
        met -= f->in[i];
    assert_int_equal(met, 0);
}

/* They come and go by the dozen, some with the path of another. */
TEST_ON(what_lies_inside_comes_right_behind, struct fixture *f, setup, teardown)
{
    uint64_t numbers = DRAW_SEED;
    enum { SOME = 200 };
    for (int round = 0; round < 200; round++) {
        struct container_list gone = {f->list, 0};
        size_t come[SOME], n_come = 0;
        for (size_t i = 0; i < SOME; i++) {
            if (draw(&numbers) % 8 > 0)
                continue;
            if (f->in[i])
                f->list[gone.n++] = &f->container[i];
            else
                come[n_come++] = i;
        }
        path_order_remove(&f->order, &gone);
        for (size_t i = 0; i < gone.n; i++)
            f->in[gone.at[i]->slot] = false;
        for (size_t i = 0; i < n_come; i++) {
            draw_path(&numbers, f->path[come[i]]);
            f->container[come[i]].found_mono_ns = (uint64_t)round;
            f->in[come[i]] = true;
            path_order_add(&f->order, &f->container[come[i]]);
        }
        path_order_sort(&f->order);
        check(f, SOME);
    }
}

/* Comparisons for so many that are found at once, and then for one more. */
static uint64_t start(struct fixture *f, size_t n, uint64_t *one_more)
{
    uint64_t numbers = DRAW_SEED;
    struct path_order order = {0};
    assert_int_equal(path_order_reserve(&order, n), 0);
    for (size_t i = 0; i < n; i++)
        sprintf(f->path[i], "/kubepods/pod%08x/%zu", (unsigned)(draw(&numbers) >> 32), i);
    for (size_t i = 0; i + 1 < n; i++)
        path_order_add(&order, &f->container[i]);
    path_order_sort(&order);
    uint64_t compared = order.compared;
    path_order_add(&order, &f->container[n - 1]);
    path_order_sort(&order);
    *one_more = order.compared - compared;
    path_order_release(&order);
    return compared;
}

TEST_ON(a_start_is_not_quadratic, struct fixture *f, setup, teardown)
{
    uint64_t one, few = start(f, MOST / 8, &one), many = start(f, MOST, &one);
    assert_in_range(many, MOST, MOST * 14);
    assert_in_range(many, 8 * few, 12 * few); /* each with each: 64 times as many */
    assert_in_range(one, 1, 15);
}
