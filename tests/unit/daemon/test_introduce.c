/* The first lines of the log. */
#include "exporter/daemon/introduce.h"
#include "tests/unit/support/unit.h"

static void expect_flags(int argc, char *const *argv, const char *expected)
{
    struct textbuf out = TEXTBUF_INIT;
    introduce_flags(&out, argc, argv);
    assert_int_equal(textbuf_finish(&out), 0);
    assert_string_equal(out.data, expected);
    textbuf_release(&out);
}

TEST(test_flags)
{
    char *none[] = {"exporter"};
    char *plain[] = {"exporter", "--web.listen-address=:10066", "--once"};
    char *odd[] = {"exporter", "--containers.include=^a b's$", ""};
    expect_flags(1, none, "none");
    expect_flags(3, plain, "--web.listen-address=:10066 --once");
    expect_flags(3, odd, "'--containers.include=^a b'\\''s$' ''");
}

static void expect_machine(const struct machine *machine, const char *expected)
{
    struct textbuf out = TEXTBUF_INIT;
    describe_machine(&out, machine);
    assert_int_equal(textbuf_finish(&out), 0);
    assert_string_equal(out.data, expected);
    textbuf_release(&out);
}

TEST(test_machine)
{
    const struct machine nothing = {.cpus = 0};
    const struct machine all = {.cpu_model = "Xeon 8275CL",
                                .microarchitecture = "clx",
                                .sockets = 2,
                                .cpus = 96,
                                .numa_nodes = 1};
    const struct machine recorded = {.microarchitecture = "zen4", .cpus = 1};
    expect_machine(&nothing, "unknown CPU");
    expect_machine(&all, "Xeon 8275CL (clx), 2 sockets, 96 CPUs, 1 NUMA node");
    expect_machine(&recorded, "unknown CPU (zen4), 1 CPU");
}

/* A revision is a name for a commit, or the word that says there is none: never empty. */
TEST(test_version)
{
    assert_string_equal(version_release(), IE_VERSION);
    assert_true(strlen(version_revision()) >= 7);
    assert_true(strncmp(version_compiler(), "gcc ", 4) == 0 ||
                strstr(version_compiler(), "lang") != NULL);
}
