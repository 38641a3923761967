#include "tests/unit/support/dry_run.h"

#include "tests/unit/support/unit.h"

static const struct log no_log = {.fd = -1};

void dry_run_init(struct dry_run *run)
{
    const struct enforcer_config config = {
        .dry = true,
        .limits = {.claims = 8, .writes_per_second = 10, .cuts_per_10m = 5},
        .log = &no_log};
    fake_knobs_init(&run->fake);
    fake_knobs_make(&run->fake, 0, 4);
    run->actuators = fake_knobs_actuators(&run->fake);
    journal_open_nowhere(&run->journal);
    assert_int_equal(enforcer_new(&config, &run->journal, &run->actuators, &run->enforcer), 0);
    liveness_init(&run->liveness, 1);
    assert_int_equal(store_new(&run->store), 0);
}

void dry_run_release(struct dry_run *run)
{
    store_free(run->store);
    enforcer_free(run->enforcer);
    journal_close(&run->journal);
}
