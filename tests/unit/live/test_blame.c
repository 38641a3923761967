/* The verdict of a container, joined from what it loses and who makes memory slow: the whole table,
 * its sentences, and the table for terminals. */
#include "exporter/live/blame.h"
#include "exporter/live/order.h"
#include "exporter/live/verdict.h"
#include "tests/unit/support/unit.h"

static struct live_container containers[4];
static struct live_domain domain;
static struct live_view view;
static bool all; /* may be told */

static int setup(void **state)
{
    all = true;
    memset(containers, 0, sizeof containers);
    domain = (struct live_domain){
        .cause = LIVE_CAUSE_CALM, .latency_seconds = 100e-9, .usual_seconds = 100e-9};
    view = (struct live_view){
        .tick = {.number = 1}, .containers = containers, .domains = &domain, .n_domains = 1};
    return 0;
}

static struct live_container *add(const char *name)
{
    struct live_container *c = &containers[view.n++];
    c->tag = view.n;
    snprintf(c->name, sizeof c->name, "%s", name);
    for (int i = 0; i < LIVE_NUMBERS; i++)
        c->number[i] = NAN;
    c->number[LIVE_CPUS] = 0.5;
    c->lost = (struct live_lost){.told = true, .judged = true, .cause = LOSSES};
    c->lost.quota_cpus = c->lost.memory_limit_bytes = c->lost.refaults_per_second = NAN;
    return c;
}

static struct live_container *loses(struct live_container *c, enum loss cause, double per_second)
{
    c->lost.cause = cause;
    c->lost.per_second[cause] = per_second;
    return c;
}

static void assert_why(const struct live_container *c, enum blame blame, const char *sentence)
{
    char room[1024];
    struct textbuf out;
    textbuf_init_fixed(&out, room, sizeof room);
    live_why(&out, &view, c, all);
    assert_int_equal(live_blame(&view, c), blame);
    assert_string_equal(room, sentence);
}

TEST_WITH(each_cause, setup, NULL)
{
    struct live_container *c = loses(add("a"), LOSS_OWN_QUOTA, 0.8);
    c->lost.quota_cpus = 0.2;
    c->lost.throttled = 1;
    assert_why(c, BLAME_OWN_QUOTA,
               "It waits for its own CPU limit of 0.2 CPUs, 80 % of the time (reached in 100 % of "
               "the limit's periods): raise the limit, or drop it; nobody else is to blame.");
    c = loses(add("b"), LOSS_CPU_NEIGHBOUR, 0.51);
    assert_why(c, BLAME_CPU_NEIGHBOUR,
               "It waits for a CPU that others use, 51 % of the time; no container takes more "
               "than its share, so too much runs here: move something away, or raise its CPU "
               "request.");
    c->lost.takes = true;
    assert_why(c, BLAME_CPU_NEIGHBOUR,
               "It waits for a CPU that others use, 51 % of the time; it already uses more than "
               "its own share: raise its CPU request if it needs as much.");
    c->lost.takes = false;
    c->lost.takers = 2;
    c->lost.taker[0] = 1;
    c->lost.taker_share[0] = 0.7;
    c->lost.taker[1] = 99; /* has ended */
    assert_why(c, BLAME_CPU_NEIGHBOUR,
               "It waits for a CPU that others use, 51 % of the time, mostly a (70 % of what is "
               "taken beyond shares): move one of them, raise its CPU request, or give it "
               "CPUs of its own.");
    c->lost.takers_seen = true;
    assert_why(c, BLAME_CPU_NEIGHBOUR,
               "It waits for a CPU that others use, 51 % of the time, mostly a (70 % of what is "
               "seen of that): move one of them, raise its CPU request, or give it CPUs of its "
               "own.");
    c->lost.takers = 0;
    assert_why(c, BLAME_CPU_NEIGHBOUR,
               "It waits for a CPU that others use, 51 % of the time; processes that are in no "
               "container have it: move something away, or raise its CPU request.");
    c = loses(add("c"), LOSS_OWN_MEMORY_LIMIT, 0.2);
    c->lost.memory_limit_bytes = 2147483648;
    c->lost.refaults_per_second = 1200;
    assert_why(c, BLAME_OWN_MEMORY_LIMIT,
               "It waits for memory because it has reached its own memory limit of 2.0 GiB, 20 % "
               "of the time (it reads 1200 pages a second again that it had to give up): raise "
               "the limit.");
    all = false;
    assert_why(c, BLAME_OWN_MEMORY_LIMIT,
               "It waits for memory because it has reached its own memory limit, 20 % of the time: "
               "raise the limit.");
    assert_why(&containers[0], BLAME_OWN_QUOTA,
               "It waits for its own CPU limit, 80 % of the time: raise the limit, or drop it; "
               "nobody else is to blame.");
    all = true;
    c = add("d");
    assert_why(c, BLAME_NOTHING,
               "It waits for nothing that this node can see: look at the service, its callers, "
               "the network.");
    static const struct {
        enum loss loss;
        enum blame blame;
    } others[] = {{LOSS_ITSELF, BLAME_ITSELF},
                  {LOSS_HYPERVISOR, BLAME_HYPERVISOR},
                  {LOSS_MEMORY_FULL, BLAME_MEMORY_FULL},
                  {LOSS_DISK, BLAME_DISK}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        loses(c, others[i].loss, 0.3);
        assert_int_equal(live_blame(&view, c), others[i].blame);
        assert_string_equal(blame_name(others[i].blame), loss_name(others[i].loss));
    }
}

/* Without counters, a node whose memory is slow is slow for whoever computes there. */
TEST_WITH(slow_memory, setup, NULL)
{
    struct live_container *a = add("a"), *b = add("b");
    domain.cause = LIVE_CAUSE_UNKNOWN;
    assert_why(a, BLAME_MEMORY_UNKNOWN,
               "Its reads of memory are slow; who makes them slow is not known.");
    domain.cause = LIVE_CAUSE_NAMED;
    b->suspicion = LIVE_NAMED;
    view.named[0] = b;
    assert_why(a, BLAME_MEMORY_NEIGHBOUR,
               "Its reads of memory are slow, because of b: move one of them, or limit that one.");
    assert_int_equal(live_blame(&view, b), BLAME_MEMORY_ITSELF);
    a->number[LIVE_CPUS] = 0.01;
    assert_int_equal(live_blame(&view, a), BLAME_NOTHING);
    a->number[LIVE_CPUS] = 0.5;
    a->number[LIVE_READS_PER_SECOND] = 1e6; /* they are counted, and are as normal */
    assert_int_equal(live_blame(&view, a), BLAME_NOTHING);
    a->waits = true;
    assert_int_equal(live_blame(&view, a), BLAME_MEMORY_NEIGHBOUR);
    view.n_domains = 2; /* of which it is not known where b's is */
    assert_int_equal(live_blame(&view, a), BLAME_MEMORY_NEIGHBOUR);
    assert_int_equal(live_blame(&view, b), BLAME_NOTHING);
}

/* In a virtual machine: most of it came in steps at which nobody began to do more. */
TEST_WITH(from_outside, setup, NULL)
{
    struct live_container *a = add("a");
    domain.cause = LIVE_CAUSE_UNKNOWN;
    domain.latency_seconds = 150e-9;
    domain.outside_seconds = 20e-9;
    assert_int_equal(live_blame(&view, a), BLAME_MEMORY_UNKNOWN);
    domain.outside_seconds = 30e-9;
    assert_why(
        a, BLAME_MEMORY_OUTSIDE,
        "Its reads of memory are slow, which began when nobody on this machine did more than "
        "before: it comes from outside of it; take another kind of instance, or a dedicated "
        "host.");
    assert_string_equal(blame_name(BLAME_MEMORY_OUTSIDE), "hypervisor");
    domain.outside_seconds = NAN; /* no virtual machine */
    assert_int_equal(live_blame(&view, a), BLAME_MEMORY_UNKNOWN);
    domain.outside_seconds = 30e-9;
    domain.cause = LIVE_CAUSE_SUSPECTED;
    assert_int_equal(live_blame(&view, a), BLAME_MEMORY_UNKNOWN);
    struct live_domain both[] = {domain, domain};
    both[0].cause = LIVE_CAUSE_UNKNOWN;
    view.domains = both;
    view.n_domains = 2;
    a->waits = true;
    loses(a, LOSS_MEMORY_SLOW, 0.1);
    assert_int_equal(live_blame(&view, a), BLAME_MEMORY_UNKNOWN); /* the other may be its own */
    both[1].cause = LIVE_CAUSE_CALM;
    assert_int_equal(live_blame(&view, a), BLAME_MEMORY_OUTSIDE);
    assert_true(live_blame_cost(a, BLAME_MEMORY_OUTSIDE) == 0.1);
}

/* Sorting finds them, and each is another's. */
TEST_WITH(who_is_named, setup, NULL)
{
    domain.cause = LIVE_CAUSE_NAMED;
    add("a");
    live_sort(&view);
    assert_null(view.named[0]);
    add("b")->suspicion = LIVE_NAMED;
    live_sort(&view);
    assert_string_equal(view.named[0]->name, "b");
    assert_null(view.named[1]);
    assert_int_equal(live_blame(&view, view.named[0]), BLAME_MEMORY_ITSELF);
    add("c")->suspicion = LIVE_NAMED;
    live_sort(&view);
    assert_int_equal(live_blame(&view, view.named[0]), BLAME_MEMORY_NEIGHBOUR);
    assert_int_equal(live_blame(&view, view.named[1]), BLAME_MEMORY_NEIGHBOUR);
}

/* What is known to cost comes before what is not; otherwise what costs more. */
TEST_WITH(two_at_once, setup, NULL)
{
    struct live_container *a = loses(add("a"), LOSS_OWN_QUOTA, 0.2);
    domain.cause = LIVE_CAUSE_UNKNOWN;
    assert_int_equal(live_blame(&view, a), BLAME_OWN_QUOTA);
    a->waits = true;
    a->lost.per_second[LOSS_MEMORY_SLOW] = 0.1;
    assert_int_equal(live_blame(&view, a), BLAME_OWN_QUOTA);
    a->lost.per_second[LOSS_MEMORY_SLOW] = 0.3;
    assert_int_equal(live_blame(&view, a), BLAME_MEMORY_UNKNOWN);
    char room[128];
    struct textbuf out;
    textbuf_init_fixed(&out, room, sizeof room);
    live_losses(&out, a);
    assert_string_equal(room, "slow memory 30 %, its own CPU limit 20 %");
    assert_true(fabs(live_lost_sum(a) - 0.5) < 1e-9);
}

TEST_WITH(not_known, setup, NULL)
{
    struct live_container *a = add("a");
    a->lost.judged = false;
    assert_int_equal(live_blame(&view, a), BLAME_UNKNOWN);
    assert_null(blame_name(BLAME_UNKNOWN));
    a->lost.untold = "No PSI.";
    assert_why(a, BLAME_UNKNOWN, "No PSI.");
    a->lost = (struct live_lost){.told = false};
    assert_why(a, BLAME_UNKNOWN,
               "What it waits for is not looked for: the collector of that does not run.");
    assert_true(isnan(live_lost_sum(a)));
}

/* More tasks than CPUs are a batch job's wish, nobody's trouble. */
TEST_WITH(the_costliest, setup, NULL)
{
    assert_null(live_costliest(&view));
    loses(add("batch"), LOSS_ITSELF, 0.9);
    assert_null(live_costliest(&view));
    loses(add("small"), LOSS_OWN_QUOTA, 0.1);
    struct live_container *large = loses(add("large"), LOSS_CPU_NEIGHBOUR, 0.2);
    assert_ptr_equal(live_costliest(&view), large);
}

TEST_WITH(as_a_table, setup, NULL)
{
    struct textbuf out = TEXTBUF_INIT;
    add("calm");
    loses(add("limited"), LOSS_OWN_QUOTA, 0.8)->number[LIVE_CPUS] = NAN;
    assert_int_equal(live_table(&view, &out), 0);
    assert_int_equal(textbuf_finish(&out), 0);
    const char *first = strstr(out.data, "limited loses most here. It waits for its own CPU limit");
    assert_ptr_equal(first, out.data);
    const char *rows = strstr(out.data, "\n\nCONTAINER   CPUs   LOST  WHY\n"
                                        "limited        -   80 %  It waits for its own");
    assert_non_null(rows);
    assert_non_null(strstr(rows, "\ncalm        0.50    0 %  It waits for nothing"));
    textbuf_release(&out);
}
