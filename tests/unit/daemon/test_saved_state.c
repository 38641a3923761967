/* What was learned, on its way to the black box. */
#include <fcntl.h>
#include <unistd.h>

#include "exporter/blackbox/blackbox.h"
#include "exporter/daemon/saved_state.h"
#include "tests/unit/support/unit.h"

/* It takes memory until it is told, and for want of memory it is told the next time. */
TEST(what_was_told_takes_no_memory)
{
    static const struct machine machine;
    static const struct roster nobody;
    const uint64_t minute_ns = UINT64_C(60000000000);
    char path[] = "/tmp/test_saved_state.XXXXXX", error[256] = "";
    struct saved_state saved = {.path = NULL};
    struct live *live;
    int status;
    assert_non_null(mkdtemp(path));
    const struct blackbox_config config = {.directory = path, .max_files = 1, .max_bytes = 1};
    int err = blackbox_fork(&config, &saved.blackbox, &status, error, sizeof error);
    if (err > 0)
        _exit(status);
    assert_int_equal(err, 0);
    blackbox_begin(saved.blackbox, &machine, minute_ns);
    assert_int_equal(live_new(&live), 0);
    saved.room.error = -ENOMEM;
    saved_state_tell(&saved, &nobody, live, minute_ns);
    assert_true(saved.told > 0 && saved.room.cap > saved.told);
    assert_true(blackbox_is_told(saved.blackbox));
    saved_state_tick(&saved, &nobody, live, 2 * minute_ns);
    assert_int_equal(saved.room.cap, 0);
    saved_state_tick(&saved, &nobody, live, 3 * minute_ns);
    assert_true(saved.room.cap > saved.told);
    struct blackbox *blackbox = saved.blackbox;
    saved_state_release(&saved);
    live_free(live);
    blackbox_free(blackbox);
    assert_int_equal(rmdir(path), 0);
}
