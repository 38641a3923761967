/* Since when a collector is what it is. */
#include "exporter/daemon/roster.h"
#include "tests/unit/support/unit.h"

static uint64_t noted(struct roster *roster, uint64_t wall_ns)
{
    roster_note(roster, wall_ns);
    return roster->at[0].since_wall_ns;
}

TEST(since_when_it_is_what_it_is)
{
    static struct roster roster = {.n = 1};
    struct roster_entry *entry = &roster.at[0];
    entry->self = entry;
    assert_int_equal(noted(&roster, 10), 10);
    assert_int_equal(noted(&roster, 20), 10);
    /* Other words are no other state; another reason is, though it runs on. */
    snprintf(entry->status.verdict.words, sizeof entry->status.verdict.words, "other words");
    assert_int_equal(noted(&roster, 30), 10);
    entry->status.verdict.reason = REASON_NOT_CALIBRATED;
    assert_int_equal(noted(&roster, 40), 40);
    entry->status.unavailable = true;
    assert_int_equal(noted(&roster, 50), 50);
    assert_int_equal(noted(&roster, 60), 50);
    entry->status.unavailable = false;
    assert_int_equal(noted(&roster, 70), 70);
}
