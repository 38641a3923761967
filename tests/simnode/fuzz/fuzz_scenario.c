/* Scenarios from outside: every text is read or refused with a message, and what is read can run.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/simnode/model/simnode.h"

/* Machines that fit a fuzzer's memory and time. */
static bool is_small(const struct scenario *scenario)
{
    const struct machine_spec *machine = &scenario->machine;
    size_t threads = 0;

    for (size_t i = 0; i < scenario->n_containers; i++)
        threads += scenario->containers[i].n_cpus;
    return threads <= 8 && machine->l1.bytes <= 1 << 20 && machine->l2.bytes <= 1 << 20 &&
           machine->llc.bytes <= 1 << 21 && machine->channels <= 8 && machine->dram.banks <= 64 &&
           machine->tlb_entries <= 4096 &&
           (!machine->llc_cores || machine->cores_per_socket <= 16) &&
           scenario->machine.core_hz >= 1e8 && scenario->machine.dram.clock_hz >= 1e8 &&
           scenario->machine.dram.clock_hz <= 1e10 && scenario->machine.core_hz <= 1e10;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scenario *scenario = NULL;
    struct simnode *node;
    char error[256];

    /* No file is to be opened. */
    if (memmem(data, size, "trace", 5) || memmem(data, size, "\\u", 2))
        return 0;
    if (scenario_parse("f", (const char *)data, size, &scenario, error, sizeof(error))) {
        if (!error[0] || scenario)
            abort();
        return 0;
    }
    if (is_small(scenario) && simnode_new(scenario, &node) == 0) {
        struct simnode_reading reading;

        simnode_run_cycles(node, 2000);
        for (size_t i = 0; i < scenario->n_containers; i++)
            for (int group = 0; group < GROUP_COUNT; group++)
                simnode_read_container(node, i, (enum group)group, &reading);
        simnode_free(node);
    }
    scenario_free(scenario);
    return 0;
}
