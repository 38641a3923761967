/* What collectors put in, as a reader sees it. */
#include "exporter/live/live.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

static const uint64_t second_ns = 1000000000;

struct fixture {
    struct live *live;
    struct container containers[3];
    size_t n, next;
    struct tick tick;
    struct live_view view;
};

static int setup(void **state)
{
    static struct fixture f;
    memset(&f, 0, sizeof f);
    assert_int_equal(live_new(&f.live), 0);
    for (uint32_t i = 0; i < 3; i++)
        f.containers[i] = (struct container){.slot = i,
                                             .gen = 1,
                                             .named = true,
                                             .namespace_ = "shop",
                                             .pod = "",
                                             .name = "web",
                                             .short_id = "0123456789ab",
                                             .cgroup_id = 9007199254740993 + i};
    f.n = 1;
    f.tick = (struct tick){.mono_ns = 5000 * second_ns, .wall_ns = 1790000000 * second_ns};
    assert_int_equal(live_reserve(f.live, 3), 0);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    live_view_release(&f->view);
    live_free(f->live);
    return 0;
}

static const struct container *next(void *context)
{
    struct fixture *f = context;
    return f->next < f->n ? &f->containers[f->next++] : NULL;
}

static void begin(struct fixture *f)
{
    f->tick.number++;
    f->tick.mono_ns += second_ns;
    f->tick.wall_ns += second_ns;
    live_begin(f->live);
}

static void show(struct fixture *f)
{
    f->next = 0;
    live_show(f->live, &f->tick, next, f);
    live_view_release(&f->view);
    assert_int_equal(live_copy(f->live, &f->view), 0);
}

/* A tick in which the first container reads at this latency. */
static void tick_at(struct fixture *f, double read, double limit)
{
    begin(f);
    live_put(f->live, &f->containers[0], LIVE_READ_SECONDS, read);
    live_put(f->live, &f->containers[0], LIVE_LIMIT_SECONDS, limit);
    show(f);
}

TEST_ON(nothing_is_known_before_the_first_tick, struct fixture *f, setup, teardown)
{
    assert_int_equal(live_copy(f->live, &f->view), -ENODATA);
    live_put(NULL, &f->containers[0], LIVE_CPUS, 1);
    live_latency(NULL, 0, 0, &f->tick, 1e-7);
    live_begin(NULL);
    live_show(NULL, &f->tick, next, f);
    assert_int_equal(live_reserve(NULL, 7), 0);
}

TEST_ON(a_number_is_of_its_tick, struct fixture *f, setup, teardown)
{
    begin(f);
    live_put(f->live, &f->containers[0], LIVE_CPUS, 1.5);
    live_put(f->live, &f->containers[0], LIVE_READS_PER_SECOND, NAN);
    live_lacks_normal(f->live, &f->containers[0], "idle");
    live_normal_basis(f->live, &f->containers[0], "calm", 7);
    show(f);
    assert_true(f->view.containers[0].cgroup_id == 9007199254740993);
    assert_int_equal(f->view.n, 1);
    assert_true(f->view.containers[0].number[LIVE_CPUS] == 1.5);
    assert_true(isnan(f->view.containers[0].number[LIVE_READS_PER_SECOND]));
    assert_string_equal(f->view.containers[0].why_no_normal, "idle");
    assert_string_equal(f->view.containers[0].normal_basis, "calm");
    assert_true(f->view.containers[0].normal_since_mono_ns == 7);
    assert_string_equal(f->view.containers[0].name, "web");
    begin(f);
    show(f);
    assert_true(isnan(f->view.containers[0].number[LIVE_CPUS]));
    assert_null(f->view.containers[0].why_no_normal);
    assert_null(f->view.containers[0].normal_basis);
}

TEST_ON(what_other_memory_would_cost, struct fixture *f, setup, teardown)
{
    const struct live_elsewhere far = {1.16, 1.08, 1.1}, unknown = {.ratio = NAN};
    live_set_elsewhere(NULL, &f->containers[0], "node1", &far);
    f->n = 2;
    begin(f);
    live_set_elsewhere(f->live, &f->containers[1], "node0", &unknown);
    live_set_elsewhere(f->live, &f->containers[1], "node1", &far);
    for (int t = 0; t < LIVE_TARGETS + 2; t++) {
        char name[8];
        snprintf(name, sizeof name, "t%d", t);
        live_set_elsewhere(f->live, &f->containers[0], name, &far);
    }
    show(f);
    assert_string_equal(f->view.target[0], "node1");
    assert_string_equal(f->view.target[LIVE_TARGETS - 1], "t18"); /* there is no room for more */
    assert_true(f->view.containers[1].elsewhere[0].ratio == 1.16);
    assert_true(f->view.containers[1].elsewhere[0].half_upper == 1.1);
    assert_true(isnan(f->view.containers[0].elsewhere[0].ratio));
    assert_true(f->view.containers[0].elsewhere[1].ratio == 1.16);
    begin(f);
    show(f);
    assert_true(isnan(f->view.containers[1].elsewhere[0].ratio));
}

TEST_ON(only_running_ones_with_names_are_shown, struct fixture *f, setup, teardown)
{
    f->n = 3;
    f->containers[0].named = false;
    f->containers[1].state = CONTAINER_LINGERING;
    begin(f);
    show(f);
    assert_int_equal(f->view.n, 1);
    assert_int_equal(f->view.containers[0].tag, container_tag(2, 1));
}

/* The next user of a slot has nothing of the one before. */
TEST_ON(a_slot_is_used_again, struct fixture *f, setup, teardown)
{
    tick_at(f, 2e-7, 1e-7);
    assert_true(f->view.containers[0].waits);
    f->containers[0].gen = 2;
    begin(f);
    show(f);
    assert_false(f->view.containers[0].waits);
}

TEST_ON(it_waits_until_it_has_been_below_for_a_while, struct fixture *f, setup, teardown)
{
    tick_at(f, 1e-7, 1e-7);
    assert_false(f->view.containers[0].waits);
    tick_at(f, 1.1e-7, 1e-7);
    uint64_t since = f->tick.mono_ns;
    assert_true(f->view.containers[0].waits_since_mono_ns == since);
    f->tick.wall_ns -= 3600 * second_ns; /* somebody sets the clock */
    for (int i = 1; i < LIVE_HOLD_SECONDS; i++)
        tick_at(f, 0.9e-7, i % 2 ? NAN : 1e-7);
    assert_true(f->view.containers[0].waits_since_mono_ns == since);
    tick_at(f, 1.1e-7, 1e-7);
    for (int i = 1; i < LIVE_HOLD_SECONDS; i++)
        tick_at(f, 0.9e-7, 1e-7);
    assert_true(f->view.containers[0].waits_since_mono_ns == since);
    tick_at(f, 0.9e-7, 1e-7);
    assert_false(f->view.containers[0].waits);
}

TEST_ON(the_strongest_suspicion_counts, struct fixture *f, setup, teardown)
{
    const struct container *c = &f->containers[0];
    begin(f);
    live_suspect(f->live, c, 0, LIVE_SUSPECTED, 9e-9, 1e-9, NAN);
    live_suspect(f->live, c, 1, LIVE_NAMED, 2e-9, 1e-9, NAN);
    live_suspect(f->live, c, 2, LIVE_NAMED, 5e-9, 1e-9, NAN);
    live_suspect(f->live, c, 3, LIVE_NAMED, 4e-9, 1e-9, NAN);
    live_suspect(f->live, c, 4, LIVE_IN_GROUP, 8e-9, 1e-9, NAN);
    show(f);
    assert_int_equal(f->view.containers[0].suspicion, LIVE_NAMED);
    assert_int_equal(f->view.containers[0].caused_numa_node, 2);
    assert_true(f->view.containers[0].number[LIVE_CAUSED_SECONDS] == 5e-9);
}

/* Whatever tenants call it: what a page shows is what the labels show. */
TEST_ON(names_are_made_plain, struct fixture *f, setup, teardown)
{
    char longest[400];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    f->containers[0].name = "a\xe2\x80\xae<b>\x01\xff\\\"'é";
    f->containers[0].pod = longest;
    begin(f);
    show(f);
    assert_string_equal(f->view.containers[0].name,
                        "a\xef\xbf\xbd<b>\xef\xbf\xbd\xef\xbf\xbd\\\"'é");
    assert_int_equal(strlen(f->view.containers[0].pod), sizeof f->view.containers[0].pod - 1);
}

TEST_ON(the_history_ends_now, struct fixture *f, setup, teardown)
{
    for (int i = 0; i < 1000; i++) {
        begin(f);
        if (i % 10 != 9)
            live_latency(f->live, 1, 1, &f->tick, (100 + i) * 1e-9);
        show(f);
    }
    const struct live_domain *d = &f->view.domains[0];
    assert_int_equal(f->view.n_domains, 1);
    assert_int_equal(d->numa_node, 1);
    for (int age = 0; age < LIVE_HISTORY; age++) {
        int i = 999 - age;
        float value = d->history[LIVE_HISTORY - 1 - age];
        assert_true(i % 10 == 9 ? isnan(value) : value == (float)((100 + i) * 1e-9));
    }
    assert_true(d->latency_seconds == (100 + 998) * 1e-9);
}

/* A pause leaves a gap, and what is old is not the present. */
TEST_ON(a_gap_is_a_gap, struct fixture *f, setup, teardown)
{
    begin(f);
    live_latency(f->live, 0, 0, &f->tick, 1e-7);
    show(f);
    assert_true(f->view.domains[0].latency_seconds == 1e-7);
    f->tick.mono_ns += LIVE_LATEST_SECONDS * second_ns;
    begin(f);
    show(f);
    assert_true(isnan(f->view.domains[0].latency_seconds));
    assert_true(f->view.domains[0].history[LIVE_HISTORY - 2 - LIVE_LATEST_SECONDS] == 1e-7f);
    assert_true(isnan(f->view.domains[0].history[LIVE_HISTORY - 1]));
    f->tick.mono_ns += 2 * LIVE_HISTORY * second_ns;
    begin(f);
    show(f);
    for (int i = 0; i < LIVE_HISTORY; i++)
        assert_true(isnan(f->view.domains[0].history[i]));
}

TEST_ON(domains_come_by_number_and_are_bounded, struct fixture *f, setup, teardown)
{
    begin(f);
    for (int node = 40; node-- > 0;)
        live_latency(f->live, node, node, &f->tick, 1e-7);
    live_explain(f->live, 39, LIVE_CAUSE_NAMED, 9e-8, 1e-9, NAN);
    show(f);
    assert_int_equal(f->view.n_domains, LIVE_DOMAINS);
    assert_int_equal(f->view.domains[0].numa_node, 40 - LIVE_DOMAINS);
    assert_int_equal(f->view.domains[LIVE_DOMAINS - 1].numa_node, 39);
    assert_int_equal(f->view.domains[LIVE_DOMAINS - 1].cause, LIVE_CAUSE_NAMED);
}

TEST_ON(the_host_is_known_once_somebody_looks_at_it, struct fixture *f, setup, teardown)
{
    const struct live_host host = {.cpu_pressure = 0.1, .steal = NAN};
    begin(f);
    show(f);
    assert_false(f->view.host_known);
    live_host(NULL, &host);
    live_host(f->live, &host);
    show(f);
    assert_true(f->view.host_known);
    assert_true(f->view.host.cpu_pressure == 0.1);
}

/* Only a node's own CPUs' reads are its history. */
TEST_ON(paths_come_by_number_and_are_bounded, struct fixture *f, setup, teardown)
{
    begin(f);
    live_latency(f->live, 1, 0, &f->tick, 3e-7);
    live_latency(f->live, 0, 1, &f->tick, 2e-7);
    live_latency(f->live, 0, 0, &f->tick, 1e-7);
    live_latency(f->live, 0, 1, &f->tick, NAN);
    live_latency(f->live, 1, 0, &f->tick, 4e-7);
    show(f);
    static const struct live_path rows[] = {{0, 0, 1e-7}, {0, 1, 2e-7}, {1, 0, 4e-7}};
    assert_int_equal(f->view.n_paths, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(f->view.paths[i].initiator, rows[i].initiator);
        assert_int_equal(f->view.paths[i].target, rows[i].target);
        assert_true(f->view.paths[i].latency_seconds == rows[i].latency_seconds);
    }
    assert_int_equal(f->view.n_domains, 1);
    assert_true(f->view.domains[0].latency_seconds == 1e-7);
    for (int node = 2; node < 2 + LIVE_PATHS; node++)
        live_latency(f->live, 0, node, &f->tick, 1e-7);
    f->tick.mono_ns += (LIVE_LATEST_SECONDS + 1) * second_ns;
    begin(f);
    show(f);
    assert_int_equal(f->view.n_paths, LIVE_PATHS);
    assert_true(isnan(f->view.paths[0].latency_seconds));
}

TEST_ON(a_steady_tick_allocates_nothing, struct fixture *f, setup, teardown)
{
    if (!malloc_count_works())
        skip();
    tick_at(f, 1e-7, 1e-7);
    begin(f);
    live_latency(f->live, 0, 0, &f->tick, 1e-7);
    show(f);
    uint64_t before = malloc_count();
    for (int i = 0; i < 20; i++) {
        begin(f);
        live_latency(f->live, 0, 0, &f->tick, 1e-7);
        live_put(f->live, &f->containers[0], LIVE_CPUS, i);
        f->next = 0;
        live_show(f->live, &f->tick, next, f);
    }
    assert_int_equal(malloc_count(), before);
}

/* ---- across a restart ---- */

static const struct state_identity here = {.boot_id = "b", .cpus = 1};

/* For the caller to free; *len: of it. */
static uint8_t *saved(struct fixture *f, size_t *len)
{
    struct state_writer writer;
    uint8_t *bytes = NULL;
    *len = 0;
    for (int i = 0; i < 2; i++) {
        state_write_begin(&writer, bytes, *len, &here, f->tick.mono_ns);
        live_save(f->live, &writer);
        *len = state_write_end(&writer);
        bytes = bytes ? bytes : calloc(1, *len);
    }
    state_seal(bytes, *len);
    return bytes;
}

TEST_ON(the_history_outlives_a_restart, struct fixture *f, setup, teardown)
{
    for (int i = 0; i < 10; i++) {
        begin(f);
        if (i != 7)
            live_latency(f->live, 3, 3, &f->tick, (100 + i) * 1e-9);
    }
    size_t len;
    uint8_t *bytes = saved(f, &len);
    live_free(f->live);
    assert_int_equal(live_new(&f->live), 0);
    f->n = 0;
    for (int good = 0; good < 2; good++) {
        uint8_t *copy = malloc(len);
        memcpy(copy, bytes, len);
        if (!good) {
            memset(copy + len - 400, 0xff, 400); /* not what latencies are */
            state_seal(copy, len);
        }
        struct state *kept;
        char why[128];
        assert_int_equal(
            state_parse(copy, len, &here, f->tick.mono_ns + second_ns, &kept, why, sizeof why), 0);
        live_restore(f->live, kept);
        state_free(kept);
        begin(f);
        show(f);
        assert_int_equal(f->view.n_domains, good);
    }
    const struct live_domain *domain = &f->view.domains[0];
    assert_int_equal(domain->numa_node, 3);
    assert_true(isnan(domain->latency_seconds));            /* it was of the run before */
    const float *last = &domain->history[LIVE_HISTORY - 3]; /* two ticks ago */
    assert_true(fabsf(*last - 109e-9f) < 1e-12f && fabsf(last[-1] - 108e-9f) < 1e-12f);
    assert_true(isnan(last[1]) && isnan(last[2]) && isnan(last[-2]) && isnan(last[-10]));
    assert_true(fabsf(last[-9] - 100e-9f) < 1e-12f);
    free(bytes);
}

TEST_ON(who_waits_has_waited_since_before_a_restart, struct fixture *f, setup, teardown)
{
    f->n = 2;
    tick_at(f, 2e-7, 1e-7);
    uint64_t since = f->tick.mono_ns;
    tick_at(f, 2e-7, 1e-7);
    size_t len;
    uint8_t *bytes = saved(f, &len);
    live_free(f->live);
    assert_int_equal(live_new(&f->live), 0);
    assert_int_equal(live_reserve(f->live, 3), 0);
    struct state *kept;
    char why[128];
    assert_int_equal(state_parse(bytes, len, &here, f->tick.mono_ns, &kept, why, sizeof why), 0);
    live_restore(f->live, kept);
    state_free(kept);
    f->containers[0].gen = 7;
    tick_at(f, 2e-7, 1e-7);
    assert_true(f->view.containers[0].waits && !f->view.containers[1].waits);
    assert_true(f->view.containers[0].waits_since_mono_ns == since);
    f->containers[0].gen = 8; /* and another one has not */
    tick_at(f, 1e-7, 1e-7);
    assert_false(f->view.containers[0].waits);
}

/* By kind, and of whom the last one was. */
struct told {
    unsigned n[LIVE_INCIDENT_LOSES + 1];
    struct live_incident last[LIVE_INCIDENT_LOSES + 1];
};

static void tell(void *context, const struct live_incident *incident)
{
    struct told *told = context;
    told->n[incident->kind]++;
    told->last[incident->kind] = *incident;
}

TEST_ON(what_is_not_well_is_told_one_by_one, struct fixture *f, setup, teardown)
{
    struct live_lost lost = {.told = true, .judged = true, .cause = LOSS_OWN_QUOTA};
    struct told told = {.n = {0}};
    f->n = 3;
    tick_at(f, 1e-7, 2e-7);
    live_incidents(f->live, tell, &told);
    for (size_t i = 0; i < sizeof told.n / sizeof *told.n; i++)
        assert_int_equal(told.n[i], 0);
    begin(f);
    live_put(f->live, &f->containers[0], LIVE_READ_SECONDS, 3e-7);
    live_put(f->live, &f->containers[0], LIVE_LIMIT_SECONDS, 2e-7);
    live_suspect(f->live, &f->containers[1], 0, LIVE_NAMED, 1e-8, 1e-9, 0.001);
    live_suspect(f->live, &f->containers[2], 0, LIVE_SUSPECTED, 1e-8, 1e-9, 0.2);
    live_lost(f->live, &f->containers[2], &lost);
    lost.cause = LOSS_MEMORY_SLOW;
    live_lost(f->live, &f->containers[1], &lost);
    lost.cause = LOSSES;
    live_lost(f->live, &f->containers[0], &lost);
    live_explain(f->live, 3, LIVE_CAUSE_UNKNOWN, 1e-7, NAN, NAN);
    live_explain(f->live, 4, LIVE_CAUSE_NAMED, 1e-7, NAN, NAN);
    show(f);
    live_incidents(f->live, tell, &told);
    for (size_t i = 0; i < sizeof told.n / sizeof *told.n; i++)
        assert_int_equal(told.n[i], 1);
    assert_int_equal(told.last[LIVE_INCIDENT_WAITS].tag, container_tag(0, 1));
    assert_int_equal(told.last[LIVE_INCIDENT_NAMED].tag, container_tag(1, 1));
    assert_int_equal(told.last[LIVE_INCIDENT_LOSES].tag, container_tag(2, 1));
    assert_int_equal(told.last[LIVE_INCIDENT_LOSES].id, LOSS_OWN_QUOTA);
    assert_int_equal(told.last[LIVE_INCIDENT_UNNAMED].tag, 0);
    assert_int_equal(told.last[LIVE_INCIDENT_UNNAMED].id, 3);
}
