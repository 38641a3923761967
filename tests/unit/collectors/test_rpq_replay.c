/*
 * Memory controllers in recordings: what was recorded live replays to the same metrics, and what a
 * recording lacks has a reason that speaks of the recording.
 */
#include <unistd.h>

#include "collectors/table.h"
#include "exporter/daemon/exporter.h"
#include "tests/unit/support/imc_machine.h"
#include "tests/unit/support/recordings.h"
#include "tests/unit/support/unit.h"

enum { TICKS = 5 };

/* ---- pages ---- */

static void add_sample(struct textbuf *out, const struct metric_desc *desc,
                       const struct sample *sample)
{
    textbuf_printf(out, "%s{%s} ", desc->name, sample->own);
    if (desc->number == METRIC_U64)
        textbuf_u64(out, sample->u64);
    else
        textbuf_printf(out, "%a", sample->number);
    textbuf_char(out, '\n');
}

/* Every published series with its exact value; freed by the caller. */
static char *page_of(struct imc_rig *imc)
{
    struct snapshot *snapshot = store_acquire(imc->rig.store);
    struct textbuf text = TEXTBUF_INIT;
    struct sample sample;
    size_t n;
    const struct snapshot_family *families = snapshot_families(snapshot, &n);
    for (size_t i = 0; i < n; i++)
        for (size_t at = 0; snapshot_next(&families[i], &at, &sample);)
            add_sample(&text, families[i].desc, &sample);
    assert_int_equal(textbuf_finish(&text), 0);
    char *page = strdup(text.len ? text.data : "");
    assert_non_null(page);
    textbuf_release(&text);
    snapshot_release(snapshot);
    return page;
}

/* ---- live, recorded ---- */

/* Seconds of a live run, each page kept. The boxes are held by others in the third. */
static void record(struct perf_fixture *fixture, const struct imc_machine *machine,
                   const char *path, char **pages)
{
    struct machine facts = {.cas_latency_seconds = 14.3e-9, .sockets = 2};
    struct recorder *recorder;
    snprintf(facts.microarchitecture, sizeof facts.microarchitecture, "%s", machine->name);
    imc_machine_install(machine, fixture);
    assert_int_equal(recorder_new(path, &facts, 1000000000, NULL, &recorder), 0);
    struct imc_rig *imc = imc_rig_live(fixture, recorder);
    imc->rig.facts.machine = facts;
    imc_rig_start(imc);
    for (int i = 0; i < TICKS; i++) {
        struct tick next = {.number = imc->rig.tick.number + 1,
                            .mono_ns = imc->rig.tick.mono_ns + 1000000000,
                            .wall_ns = imc->rig.tick.wall_ns + 1000000000};
        fixture->pmu.box_held = i == 2 ? 4 : 0;
        recorder_tick(recorder, &next);
        imc_rig_second(imc);
        recorder_flush(recorder);
        pages[i] = page_of(imc);
    }
    imc_rig_free(imc);
    assert_int_equal(recorder_free(recorder), 0);
}

static void replay_and_compare(const char *path, char **pages, const struct imc_machine *machine)
{
    struct replay *replay = recording_open(path);
    struct imc_rig *imc = imc_rig_replay(replay);
    struct tick tick;
    size_t n;
    const struct source_unit *units = replay_units(replay, &n);
    assert_int_equal(n, machine->boxes * 2 * machine->channels);
    assert_string_equal(units[1].key, machine->channels > 1 ? "socket0.imc0.1" : "socket1.imc0");
    imc_rig_start(imc);
    for (int i = 0; i < TICKS; i++) {
        assert_true(recording_next(replay, &tick));
        assert_int_equal(rig_tick(&imc->rig), 0);
        char *page = page_of(imc);
        assert_string_equal(page, pages[i]);
        assert_true(strlen(page) > 1000);
        free(page);
    }
    assert_false(recording_next(replay, &tick));

    /* Under replay, it is unknown before the first tick whether there is persistent memory. */
    const struct imc_both *both = imc_rig_both(imc);
    bool pmm = strstr(pages[0], "interference_pmm") != NULL;
    assert_int_equal(both->pmm_status.unavailable, !pmm);
    assert_int_equal(both->pmm_status.verdict.reason, pmm ? REASON_OK : REASON_NO_DEVICE);
    imc_rig_free(imc);
    replay_free(replay);
}

TEST(recorded_machines_replay_alike)
{
    for (size_t m = 0; m < sizeof imc_machines / sizeof *imc_machines; m++) {
        char path[64], *pages[TICKS];
        void *fixture = NULL;
        recording_temporary(path);
        perf_fixture_setup(&fixture);
        record(fixture, imc_machines[m], path, pages);
        perf_fixture_teardown(&fixture);
        assert_string_not_equal(pages[0], pages[1]);
        replay_and_compare(path, pages, imc_machines[m]);
        for (int i = 0; i < TICKS; i++)
            free(pages[i]);
        unlink(path);
    }
}

/* ---- what a recording lacks ---- */

static const char unit_lines[] =
    "{\"unit\":{\"key\":\"u\",\"kind\":\"imc\",\"socket\":0,\"imc\":3}}\n";

static struct replay *replay_of(const char *text)
{
    char path[64];
    recording_write(path, text, strlen(text));
    struct replay *replay = recording_open(path);
    unlink(path);
    return replay;
}

TEST(reasons_speak_of_the_recording)
{
    struct replay *replay = replay_of(HEADER TICK(1));
    struct imc_rig *imc = imc_rig_replay(replay);
    const struct collector_ops *const both[] = {&imc_rpq_collector, &pmm_rpq_collector};
    for (int i = 0; i < 2; i++) {
        struct verdict why;
        assert_false(both[i]->probe(&imc->rig.env, &why));
        assert_int_equal(why.reason, REASON_NO_DEVICE);
        assert_string_equal(why.words, "the recording has no memory controllers");
    }
    imc_rig_free(imc);
    replay_free(replay);
}

/* ---- the whole exporter ---- */

/* A run with --once; the page, to be freed. */
static char *once(const char *recording, const char *flag)
{
    char path[64], replay_flag[96], error[512], *text = NULL;
    struct options options;
    struct plan plan;
    struct exporter *exporter;
    const struct log log = {.fd = -1};
    size_t len = 0;
    recording_write(path, recording, strlen(recording));
    snprintf(replay_flag, sizeof replay_flag, "--source.replay.file=%s", path);
    char *argv[] = {"test", "--source=replay", replay_flag, "--once", (char *)flag};
    assert_int_equal(options_parse(&options, flag ? 5 : 4, argv, error, sizeof error), 0);
    assert_int_equal(plan_init(&plan, &options, NULL, error, sizeof error), 0);
    assert_int_equal(exporter_new(&plan, &log, NULL, NULL, &exporter, error, sizeof error), 0);
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    assert_int_equal(exporter_once(exporter, out, error, sizeof error), 0);
    fclose(out);
    exporter_free(exporter);
    plan_release(&plan);
    unlink(path);
    return text;
}

static void expect(const char *page, const char *line)
{
    if (!strstr(page, line))
        fail_msg("no %s in\n%s", line, page);
}

/* The read latency of the one controller. */
static double latency_in(const char *page)
{
    static const char series[] = "\ninterference_imc_read_latency_seconds{socket=\"0\",imc=\"3\"} ";
    const char *found = strstr(page, series);
    assert_non_null(found);
    return strtod(found + sizeof series - 1, NULL);
}

#define CAS_HEADER                                                                                 \
    "{\"recording\":1,\"machine\":{\"cas_latency_seconds\":1.5e-8},\"interval_ns\":1000000000}\n"
#define SECOND_1 "{\"tick\":1,\"mono_ns\":1000000000,\"wall_ns\":1}\n"
/* 60 ticks at 1.5 GHz: 40 ns. */
#define DRAM_READ                                                                                  \
    "{\"read\":\"u\",\"group\":\"rpq\",\"enabled_ns\":1000000000,\"running_ns\":500000000,"        \
    "\"values\":{\"imc_clockticks\":750000000,\"rpq_inserts\":1000,\"rpq_occupancy\":60000}}\n"

TEST(the_flag_beats_the_recording)
{
    char text[2048];
    snprintf(text, sizeof text, "%s%s%s%s", CAS_HEADER, unit_lines, SECOND_1, DRAM_READ);
    char *page = once(text, NULL);
    expect(page, "interference_imc_cas_latency_seconds{socket=\"0\",imc=\"3\"} 1.5e-08\n");
    assert_true(fabs(latency_in(page) - 55e-9) < 1e-15);
    /* Half of the time the counters were others': scaled. */
    expect(page, "interference_imc_read_queue_inserts_total{socket=\"0\",imc=\"3\"} 2000\n");
    /* No zero for the queue that was not counted. */
    assert_null(strstr(page, "interference_pmm_read_queue_inserts_total{"));
    expect(page, "interference_exporter_collector_available{collector=\"pmm_rpq\"} 0\n");
    expect(page, "interference_exporter_collector_info{collector=\"pmm_rpq\",reason=\"no_device\"}"
                 " 1\n");
    expect(page, "interference_exporter_collector_available{collector=\"imc_rpq\"} 1\n");
    free(page);
    page = once(text, "--collector.imc_rpq.cas-latency=20ns");
    expect(page, "interference_imc_cas_latency_seconds{socket=\"0\",imc=\"3\"} 2e-08\n");
    assert_true(fabs(latency_in(page) - 60e-9) < 1e-15);
    free(page);
}
