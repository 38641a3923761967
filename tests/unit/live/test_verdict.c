/* The verdict's sentences, in all cases, and who comes first. */
#include "exporter/live/order.h"
#include "exporter/live/verdict.h"
#include "tests/unit/support/unit.h"

static const uint64_t second_ns = 1000000000;
static const uint64_t now_ns = 1790000000000000000;
static const uint64_t mono_ns = 90000000000000;

static struct live_container containers[8];
static struct live_domain domains[2];
static struct live_view view;

static int setup(void **state)
{
    memset(containers, 0, sizeof containers);
    memset(domains, 0, sizeof domains);
    view = (struct live_view){.tick = {.number = 1, .wall_ns = now_ns, .mono_ns = mono_ns},
                              .containers = containers,
                              .domains = domains};
    return 0;
}

static struct live_container *add(const char *name)
{
    struct live_container *c = &containers[view.n++];
    snprintf(c->namespace_, sizeof c->namespace_, "shop");
    snprintf(c->name, sizeof c->name, "%s", name);
    for (int i = 0; i < LIVE_NUMBERS; i++)
        c->number[i] = NAN;
    c->caused_numa_node = -1;
    c->probability = NAN;
    return c;
}

static struct live_container *add_reader(const char *name, double read_ns, double normal_ns)
{
    struct live_container *c = add(name);
    c->number[LIVE_READS_PER_SECOND] = 1e6;
    c->number[LIVE_READ_SECONDS] = read_ns * 1e-9;
    c->number[LIVE_NORMAL_SECONDS] = normal_ns * 1e-9;
    return c;
}

static struct live_container *add_victim(const char *name, double read_ns, unsigned seconds)
{
    struct live_container *c = add_reader(name, read_ns, 100);
    c->waits = true;
    c->waits_since_mono_ns = mono_ns - seconds * second_ns;
    return c;
}

static struct live_container *add_cause(const char *name, enum live_suspicion suspicion)
{
    struct live_container *c = add_reader(name, 100, 100);
    c->suspicion = suspicion;
    c->caused_numa_node = 0;
    c->number[LIVE_CAUSED_SECONDS] = 27e-9;
    c->number[LIVE_CAUSED_SD_SECONDS] = 4e-9;
    return c;
}

static void add_domain(int numa_node, double latency_ns, double usual_ns, enum live_cause cause)
{
    domains[view.n_domains++] = (struct live_domain){.numa_node = numa_node,
                                                     .latency_seconds = latency_ns * 1e-9,
                                                     .usual_seconds = usual_ns * 1e-9,
                                                     .cause = cause,
                                                     .host_seconds = NAN};
}

static void expect_for(bool all, enum live_mood mood, const char *words)
{
    struct textbuf out = TEXTBUF_INIT;
    live_sort(&view);
    enum live_mood found = live_verdict(&view, all, &out);
    assert_int_equal(textbuf_finish(&out), 0);
    assert_string_equal(out.data, words);
    assert_int_equal(found, mood);
    textbuf_release(&out);
}

static void expect(enum live_mood mood, const char *words)
{
    expect_for(true, mood, words);
}

TEST_WITH(victims_and_the_one_who_makes_them_wait, setup, NULL)
{
    add_reader("web", 100, 100);
    add_cause("report", LIVE_NAMED);
    add_victim("cart", 129, 60)->number[LIVE_SLOWDOWN_RATIO] = 1.1;
    add_victim("search", 135, 250)->number[LIVE_SLOWDOWN_RATIO] = 1.984;
    add_domain(0, 118, 91, LIVE_CAUSE_NAMED);
    const char *words =
        "2 of 4 containers wait for memory: shop/search (takes 1.98 times as long as alone, for 4 "
        "min) and shop/cart (1.29 times its normal latency, for 1 min). A read of the memory of "
        "NUMA node 0 takes 118 ns (usual: 91), because of shop/report (+27 ns, standard deviation "
        "4; 25 % of all reads).";
    expect(LIVE_TROUBLE, words);
    expect_for(false, LIVE_TROUBLE, words); /* as /metrics has it */
}

TEST_WITH(one_victim_and_a_group, setup, NULL)
{
    add_victim("cart", 130, 5);
    add_cause("b", LIVE_IN_GROUP);
    add_cause("a", LIVE_IN_GROUP);
    add_domain(0, 118, 91, LIVE_CAUSE_GROUP);
    expect(LIVE_TROUBLE, "1 of 3 containers waits for memory: shop/cart (1.30 times its normal "
                         "latency, for 5 s). A read of the memory of NUMA node 0 takes 118 ns "
                         "(usual: 91), because of one or more of these: shop/a "
                         "and shop/b.");
}

TEST_WITH(one_of_those_who_began_together, setup, NULL)
{
    add_cause("a", LIVE_IN_GROUP)->probability = 0.75;
    add_cause("b", LIVE_IN_GROUP)->probability = 0.25;
    add_domain(0, 118, 91, LIVE_CAUSE_ONE_OF);
    expect(LIVE_TROUBLE,
           "None of the 2 containers whose normal is known waits for memory longer than is normal. "
           "A read of the memory of NUMA node 0 takes 118 ns (usual: 91), because of one of these, "
           "which began within five seconds: shop/a (3 to 1) and shop/b (1 to 3).");
}

/* How sure it is, and why one coincidence is not worth more here. */
TEST_WITH(a_suspicion_has_odds, setup, NULL)
{
    add_cause("report", LIVE_SUSPECTED)->probability = 0.9;
    add_domain(0, 118, 91, LIVE_CAUSE_SUSPECTED);
    domains[0].steps_per_hour = 4.2;
    expect(LIVE_TROUBLE,
           "The one container whose normal is known does not wait for memory longer than is "
           "normal. A read of the memory of NUMA node 0 takes 118 ns (usual: 91). The cause is not "
           "sure; suspected: shop/report (9 to 1); this node's memory steps 4 times an hour by "
           "itself.");
}

TEST_WITH(a_suspicion_is_not_for_everybody, setup, NULL)
{
    add_cause("report", LIVE_SUSPECTED);
    add_domain(0, 118, 91, LIVE_CAUSE_SUSPECTED);
    expect(LIVE_TROUBLE,
           "The one container whose normal is known does not wait for memory longer than is "
           "normal. A read of the memory of NUMA node 0 takes 118 ns (usual: 91). The cause is not "
           "sure; suspected: shop/report.");
    expect_for(false, LIVE_TROUBLE,
               "The one container whose normal is known does not wait for memory longer than is "
               "normal. A read of the memory of NUMA node 0 takes 118 ns (usual: 91). The cause is "
               "not sure; suspected: containers whose names are for who "
               "asks from this machine.");
}

TEST_WITH(the_cause_is_not_known, setup, NULL)
{
    add_victim("cart", 130, 7200);
    add_domain(0, 118, 91, LIVE_CAUSE_UNKNOWN);
    expect(LIVE_TROUBLE, "1 of 1 container waits for memory: shop/cart (1.30 times its normal "
                         "latency, for 2 h). A read of the memory of NUMA node 0 takes 118 ns "
                         "(usual: 91). The cause is not known: no container goes on and off with "
                         "it.");
    domains[0].host_seconds = 20e-9;
    expect(LIVE_TROUBLE, "1 of 1 container waits for memory: shop/cart (1.30 times its normal "
                         "latency, for 2 h). A read of the memory of NUMA node 0 takes 118 ns "
                         "(usual: 91). The cause is not known: no container goes on and off with "
                         "it; 20 ns of it go with what is not monitored, or hardly varies.");
}

TEST_WITH(all_is_calm, setup, NULL)
{
    add_reader("web", 100, 100);
    add_reader("cart", 100, 100);
    add("sleeper")->number[LIVE_READS_PER_SECOND] = 0;
    add_domain(0, 91, 91, LIVE_CAUSE_CALM);
    expect(LIVE_FINE, "None of the 2 containers whose normal is known waits for memory longer than "
                      "is normal. A read of the memory of NUMA node 0 takes 91 ns (usual: 91), as "
                      "fast as in the last hour.");
}

/* One normal is no verdict on all: below half of them it is not known. */
TEST_WITH(of_some_the_normal_is_not_known, setup, NULL)
{
    add_reader("a", 100, 100);
    add_reader("b", 100, NAN);
    add_domain(0, 91, 91, LIVE_CAUSE_CALM);
    expect(LIVE_FINE, "The one container whose normal is known does not wait for memory longer "
                      "than is normal; of 1 it is not known. A read of the memory of NUMA node 0 "
                      "takes 91 ns (usual: 91), as fast as in the last hour.");
    add_reader("c", 100, NAN);
    expect(LIVE_UNKNOWN,
           "The one container whose normal is known does not wait for memory longer than is "
           "normal; of 2 it is not known. A read of the memory of NUMA node 0 takes 91 ns (usual: "
           "91), as fast as in the last hour.");
}

/* By the cache, not by memory: the alert fires, and nothing is calm. */
TEST_WITH(slowed_down_without_waiting, setup, NULL)
{
    add_reader("a", 100, 100)->number[LIVE_SLOWDOWN_RATIO] = 1.5;
    add_domain(0, 91, 91, LIVE_CAUSE_CALM);
    expect(LIVE_FINE, "The one container whose normal is known does not wait for memory longer "
                      "than is normal. A read of the memory of NUMA node 0 takes 91 ns (usual: "
                      "91), as fast as in the last hour.");
    containers[0].number[LIVE_SLOWDOWN_RATIO] = 2;
    expect(LIVE_TROUBLE,
           "The one container whose normal is known does not wait for memory longer than is "
           "normal. 1 of 1 container is slowed down: shop/a (takes 2.00 times as long as alone). A "
           "read of the memory of NUMA node 0 takes 91 ns (usual: 91), as fast as in the last "
           "hour.");
    view.n_domains = 0;
    add_reader("b", 100, 100)->number[LIVE_SLOWDOWN_RATIO] = 1.6;
    add_victim("c", 130, 60)->number[LIVE_SLOWDOWN_RATIO] = 1.8;
    expect(
        LIVE_TROUBLE,
        "1 of 3 containers waits for memory: shop/c (takes 1.80 times as long as alone, for 1 "
        "min). 2 of 3 containers are slowed down: shop/a (takes 2.00 times as long as alone) and "
        "shop/b (takes 1.60 times as long as alone). How long a read of memory takes is not "
        "measured now.");
}

/* It may make memory slow by what is not counted, or where nothing is. */
TEST_WITH(a_cause_that_reads_little, setup, NULL)
{
    add_cause("writer", LIVE_NAMED)->number[LIVE_READS_PER_SECOND] = 100;
    add_reader("a", 100, 100);
    add_domain(0, 118, 91, LIVE_CAUSE_NAMED);
    const char *words =
        "None of the 2 containers whose normal is known waits for memory longer than is normal. A "
        "read of the memory of NUMA node 0 takes 118 ns (usual: 91), because of shop/writer (+27 "
        "ns, standard deviation 4).";
    expect(LIVE_TROUBLE, words);
    for (size_t i = 0; i < 2; i++) /* live_sort() has moved them */
        containers[i].number[LIVE_READS_PER_SECOND] = NAN;
    expect(LIVE_TROUBLE, words);
}

/* Some are slow by nature, and who knows them says so. */
TEST_WITH(slowed_down_by_a_limit_of_its_own, setup, NULL)
{
    struct live_container *patient = add_reader("patient", 100, 100);
    struct live_container *touchy = add_reader("touchy", 100, 100);
    patient->number[LIVE_SLOWDOWN_RATIO] = 2;
    patient->number[LIVE_SLOWDOWN_LIMIT] = 2;
    touchy->number[LIVE_SLOWDOWN_RATIO] = 1.2;
    touchy->number[LIVE_SLOWDOWN_LIMIT] = 1.1;
    add_domain(0, 91, 91, LIVE_CAUSE_CALM);
    expect(
        LIVE_TROUBLE,
        "None of the 2 containers whose normal is known waits for memory longer than is normal. "
        "1 of 2 containers is slowed down: shop/touchy (takes 1.20 times as long as alone). A read "
        "of the memory of NUMA node 0 takes 91 ns (usual: 91), as fast as in the last hour.");
}

/* Since a time that the clock of the wall has not reached yet. */
TEST_WITH(a_clock_that_was_set_back_is_no_duration, setup, NULL)
{
    add_victim("cart", 130, 60);
    view.tick.wall_ns = now_ns - 3600 * second_ns;
    assert_true(live_waits_seconds(&view, &containers[0]) == 60);
    expect(LIVE_TROUBLE, "1 of 1 container waits for memory: shop/cart (1.30 times its normal "
                         "latency, for 1 min). How long a read of memory takes is not measured "
                         "now.");
    containers[0].waits = false;
    assert_true(isnan(live_waits_seconds(&view, &containers[0])));
}

TEST_WITH(without_counters, setup, NULL)
{
    add("web");
    add_domain(0, 91, 91, LIVE_CAUSE_CALM);
    expect(
        LIVE_UNKNOWN,
        "Which containers wait for slow memory cannot be told here: their reads of memory are not "
        "counted. A read of the memory of NUMA node 0 takes 91 ns (usual: 91), as "
        "fast as in the last hour.");
}

TEST_WITH(too_early, setup, NULL)
{
    add("web")->number[LIVE_READS_PER_SECOND] = 5;
    add_domain(0, 91, NAN, LIVE_CAUSE_LEARNING);
    expect(LIVE_UNKNOWN,
           "Whether somebody waits is not known yet: what is normal for the containers is being "
           "learned. A read of the memory of NUMA node 0 takes 91 ns; what is usual, and who makes "
           "it slow, is known after a minute.");
}

TEST_WITH(nothing_is_measured, setup, NULL)
{
    expect(LIVE_UNKNOWN,
           "There are no containers here. How long a read of memory takes is not measured now.");
    add_domain(0, NAN, 91, LIVE_CAUSE_NAMED); /* too old */
    expect(LIVE_UNKNOWN,
           "There are no containers here. How long a read of memory takes is not measured now.");
}

TEST_WITH(nobody_looks, setup, NULL)
{
    add_domain(3, 91, NAN, LIVE_CAUSE_NOT_SOUGHT);
    expect(LIVE_UNKNOWN, "There are no containers here. A read of the memory of NUMA node 3 takes "
                         "91 ns; nobody looks for who makes it slow.");
}

/* The one that most is known of; of equals the slowest. */
TEST_WITH(of_several_nodes_the_worst, setup, NULL)
{
    add_domain(0, 200, 100, LIVE_CAUSE_CALM);
    add_domain(1, 118, 91, LIVE_CAUSE_UNKNOWN);
    expect(LIVE_TROUBLE, "There are no containers here. A read of the memory of NUMA node 1 takes "
                         "118 ns (usual: 91). The cause is not known: no container goes on and off "
                         "with it.");
    domains[0].cause = LIVE_CAUSE_UNKNOWN;
    expect(LIVE_TROUBLE, "There are no containers here. A read of the memory of NUMA node 0 takes "
                         "200 ns (usual: 100). The cause is not known: no container goes on and "
                         "off with it.");
}

TEST_WITH(of_many_the_first, setup, NULL)
{
    for (int i = 0; i < 5; i++)
        add_victim((const char *[]){"a", "b", "c", "d", "e"}[i], 150 - i, 1);
    expect(LIVE_TROUBLE,
           "5 of 5 containers wait for memory: shop/a (1.50 times its normal latency, for 1 s), "
           "shop/b (1.49 times its normal latency, for 1 s), shop/c (1.48 times its normal "
           "latency, for 1 s) and 2 more. How long a read of memory takes is not measured now.");
}

TEST_WITH(who_comes_first, setup, NULL)
{
    add("z-nothing");
    add("busy")->number[LIVE_CPUS] = 2;
    add_reader("a-bit-slow", 110, 100);
    add_cause("suspect", LIVE_SUSPECTED);
    add_cause("named", LIVE_NAMED);
    add_victim("waits", 130, 1);
    add_victim("waits-more", 110, 1)->number[LIVE_SLOWDOWN_RATIO] = 1.5;
    add("nothing");
    live_sort(&view);
    static const char *const order[] = {"waits-more", "waits", "named",   "suspect",
                                        "a-bit-slow", "busy",  "nothing", "z-nothing"};
    for (size_t i = 0; i < 8; i++)
        assert_string_equal(containers[i].name, order[i]);
    assert_true(live_all_reads(&view) == 5e6);
    view.n = 0;
    assert_true(isnan(live_all_reads(&view)));
}

TEST_WITH(durations, setup, NULL)
{
    static const struct {
        double seconds;
        const char *words;
    } cases[] = {{0, "0 s"},    {59.9, "59 s"}, {60, "1 min"}, {3599, "59 min"},
                 {7200, "2 h"}, {1e6, "11 d"},  {-5, "0 s"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct textbuf out = TEXTBUF_INIT;
        live_duration(&out, cases[i].seconds);
        assert_int_equal(textbuf_finish(&out), 0);
        assert_string_equal(out.data, cases[i].words);
        textbuf_release(&out);
    }
}
