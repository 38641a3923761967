/* Pressure and stolen time, from the kernel's files. */
#include "exporter/host/host.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

static const uint64_t second_ns = 1000000000;

TEST(pressure_is_a_share_of_ten_seconds)
{
    static const struct {
        const char *text;
        int err;
        double ratio;
    } rows[] = {
        {"some avg10=12.34 avg60=1.00 avg300=0.20 total=99\nfull avg10=1.00 avg60=0 \n", 0, 0.1234},
        {"full avg10=3.00 avg60=0\nsome avg10=0.00 avg60=0\n", 0, 0},
        {"some avg10=100.00 avg60=1\n", 0, 1},
        {"some avg10=100.01 avg60=1\n", -EINVAL, 7},
        {"some avg10=12.3 avg60=1\n", -EINVAL, 7},
        {"some avg10=12.345 avg60=1\n", -EINVAL, 7},
        {"some avg10=.34 avg60=1\n", -EINVAL, 7},
        {"some avg10=1234 avg60=1\n", -EINVAL, 7},
        {"some avg10=12.34", -EINVAL, 7}, /* cut off: perhaps 12.345 */
        {"some avg10=-1.00 avg60=1\n", -EINVAL, 7},
        {"some avg10= avg60=1\n", -EINVAL, 7},
        {"some avg60=1.00\n", -EINVAL, 7},
        {"full avg10=3.00 avg60=0\n", -EINVAL, 7},
        {"", -EINVAL, 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double ratio = 7;
        assert_int_equal(pressure_parse(rows[i].text, strlen(rows[i].text), &ratio), rows[i].err);
        assert_float_equal(ratio, rows[i].ratio, 1e-12);
    }
}

TEST(steal_is_the_eighth_time)
{
    static const struct {
        const char *text;
        int err;
        uint64_t all, steal;
    } rows[] = {
        {"cpu  100 2 30 4000 5 6 7 8 50 60\ncpu0 1\n", 0, 4158, 8},
        {"cpu  1 2 3 4 5 6 7 8\n", 0, 36, 8},
        {"cpu  1 2 3 4 5 6 7\n", -ENODATA, 7, 7},
        {"cpu  1 2 3 4 5 6 7 8", -EINVAL, 7, 7}, /* cut off */
        {"cpu0 1 2 3 4 5 6 7 8\n", -EINVAL, 7, 7},
        {"cpu  1 2 3 4 5 6 7 x\n", -EINVAL, 7, 7},
        {"cpu  1 2 3 4 5 6 7 18446744073709551616\n", -EINVAL, 7, 7},
        {"cpu  18446744073709551615 1 0 0 0 0 0 0\n", -EINVAL, 7, 7},
        {"", -EINVAL, 7, 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t all = 7, steal = 7;
        assert_int_equal(cpu_times_parse(rows[i].text, strlen(rows[i].text), &all, &steal),
                         rows[i].err);
        assert_true(all == rows[i].all && steal == rows[i].steal);
    }
}

static void write_pressure(struct fixture *tree, const char *cpu, const char *memory)
{
    fixture_write(tree, "proc/pressure/cpu", "some avg10=%s avg60=0.00\n", cpu);
    fixture_write(tree, "proc/pressure/memory", "some avg10=%s avg60=0.00\n", memory);
    fixture_write(tree, "proc/pressure/io", "some avg10=1.50 avg60=0.00\n");
}

FIXTURE_TEST(it_is_read_every_few_seconds, tree)
{
    struct host host;
    write_pressure(tree, "10.00", "2.00");
    fixture_write(tree, "proc/stat", "cpu  100 0 0 900 0 0 0 0 0 0\ncpu0 1\n");
    host_init(&host, &tree->fs);
    host_tick(&host, second_ns); /* the machine has just booted */
    assert_float_equal(host.known.cpu_pressure, 0.1, 1e-12);
    assert_float_equal(host.known.memory_pressure, 0.02, 1e-12);
    assert_float_equal(host.known.io_pressure, 0.015, 1e-12);
    assert_null(host.known.why_no_pressure);
    assert_true(isnan(host.known.steal)); /* since when? */

    write_pressure(tree, "20.00", "0.00");
    fixture_write(tree, "proc/stat", "cpu  150 0 0 1340 0 0 0 10 0 0\ncpu0 1\n");
    uint64_t before = malloc_count();
    host_tick(&host, (1 + HOST_EVERY_SECONDS) * second_ns - 1);
    assert_float_equal(host.known.cpu_pressure, 0.1, 1e-12);
    host_tick(&host, (1 + HOST_EVERY_SECONDS) * second_ns);
    assert_float_equal(host.known.cpu_pressure, 0.2, 1e-12);
    assert_float_equal(host.known.steal, 10.0 / 500, 1e-12);
    if (malloc_count_works())
        assert_int_equal(malloc_count(), before);

    /* Idle time was taken back. */
    fixture_write(tree, "proc/stat", "cpu  150 0 0 1339 0 0 0 10 0 0\ncpu0 1\n");
    host_tick(&host, 200 * second_ns);
    assert_true(isnan(host.known.steal));
    fixture_write(tree, "proc/stat", "cpu  150 0 0 1439 0 0 0 10 0 0\ncpu0 1\n");
    host_tick(&host, 300 * second_ns);
    assert_true(host.known.steal == 0);
    host_release(&host);
}

/* Built without PSI, and with a /proc/stat of another kind of kernel. */
FIXTURE_TEST(what_the_kernel_does_not_say_is_not_known, tree)
{
    struct host host;
    size_t fds = fixture_open_fds();
    host_init(&host, &tree->fs);
    assert_true(isnan(host.known.cpu_pressure));
    for (int i = 1; i < 3; i++) {
        host_tick(&host, (uint64_t)i * 10 * second_ns);
        assert_true(isnan(host.known.cpu_pressure) && isnan(host.known.memory_pressure));
        assert_true(isnan(host.known.io_pressure) && isnan(host.known.steal));
        assert_non_null(strstr(host.known.why_no_pressure, "psi=0"));
    }
    host_release(&host);
    fixture_write(tree, "proc/stat", "cpu  1 2 3 4\n");
    host_init(&host, &tree->fs);
    for (int i = 1; i < 3; i++)
        host_tick(&host, (uint64_t)i * 10 * second_ns);
    assert_true(isnan(host.known.steal));
    host_release(&host);
    host_release(&host);
    assert_int_equal(fixture_open_fds(), fds);
}
