/*
 * Two-socket servers with memory controllers, as sysfs shows them and as their boxes count.
 *
 * What an event means stands here a second time, by Intel's numbers: an event table that asks for
 * the wrong one gets the wrong counts. CPUs 0-1 are socket 0, 2-3 socket 1; uncore PMUs are opened
 * on 0 and 2.
 */
#ifndef IE_TESTS_IMC_MACHINE_H
#define IE_TESTS_IMC_MACHINE_H

#include "collectors/contract/collector.h"
#include "exporter/source/recording/recorder.h"
#include "exporter/source/recording/replay.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/perf_fixture.h"

enum { IMC_EVENTS = 14 };

struct imc_machine {
    const char *name;
    int model, stepping;
    int boxes;    /* per socket */
    int channels; /* groups that the DRAM read queue takes */
    struct {
        uint8_t event, umask;
        enum {
            IMC_CLOCK = 1,
            IMC_INSERTS,
            IMC_OCCUPANCY,
            IMC_PMM_INSERTS,
            IMC_PMM_OCCUPANCY,
            IMC_CAS_READS,
            IMC_CAS_WRITES
        } what;
        int channel; /* pseudo-channel or, with PMM occupancy, how much of it: see the rates */
    } event[IMC_EVENTS];
};

/*
 * Rates, per microsecond, of box i on socket s:
 *
 *     clock           1500
 *     inserts         10, 20, 30, 40 on pseudo-channels 0 to 3
 *     occupancy       inserts * (30 + 30 * s + 6 * i + 12 * pseudo-channel)
 *     PMM inserts     4
 *     PMM occupancy   600 + 200 * s times 'channel'; 3 in all
 *     CAS reads       20 + 5 * s, on each channel
 *     CAS writes      10, likewise
 */
extern const struct imc_machine imc_skx, imc_clx, imc_icx, imc_spr, imc_emr, imc_gnr;
/* All six. */
extern const struct imc_machine *const imc_machines[6];

/* Makes the fixture this machine: its files, CPUs, event table (as its cpuinfo says) and boxes. */
void imc_machine_install(const struct imc_machine *machine, struct perf_fixture *fixture);

/* imc_rpq and pmm_rpq on one machine. pmm_rpq runs when its probe lets it. */
struct imc_rig {
    struct rig rig;
    struct perf_fixture *fixture; /* NULL under replay */
};

struct imc_both {
    void *imc, *pmm; /* pmm NULL: not available */
    struct collector_status *imc_status, pmm_status;
};

/* On the fixture's machine; the recorder (NULL: none) gets units and readings. */
struct imc_rig *imc_rig_live(struct perf_fixture *fixture, struct recorder *recorder);
/* On a recording; the replay must outlive the rig. */
struct imc_rig *imc_rig_replay(struct replay *replay);
void imc_rig_start(struct imc_rig *rig);
struct imc_both *imc_rig_both(const struct imc_rig *rig);
void imc_rig_free(struct imc_rig *rig);

/* A second passes on both sockets, then a tick. */
int imc_rig_second(struct imc_rig *rig);

#endif
