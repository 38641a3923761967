#include "tests/support/events_reference.h"

#include <stdbool.h>
#include <string.h>

#include "collectors/events/events.h"

/* The last one; event_tables() has the others. */
static const struct event_table *table_at(size_t i)
{
    size_t n;
    const struct event_table *const *tables = event_tables(&n);
    return i < n ? tables[i] : i == n ? &event_table_generic : NULL;
}

static bool counts(const struct event_table *table, enum group group, uint32_t roles)
{
    const struct group_desc *desc = &group_descs[group];
    for (size_t i = 0; i < desc->n; i++) {
        bool there = table->event[desc->roles[i]] ||
                     (table->channels > 0 && table->uncore_event[0][desc->roles[i]]);
        if ((roles >> i & 1) && !there)
            return false;
    }
    return true;
}

static bool whole(const struct event_table *table, enum group group)
{
    return counts(table, group, (UINT32_C(1) << group_descs[group].n) - 1);
}

static void write_latency(struct textbuf *out, const struct event_table *table)
{
    if (counts(table, GROUP_CORE, group_descs[GROUP_CORE].required))
        textbuf_str(out, table->cache_core_cycles > 0 ? "(c_core + S / r) / f + t_uncore"
                                                      : "(c_cache + S / r) / f");
    else if (whole(table, GROUP_FILLS))
        textbuf_str(out, "(t1 + (A - n2 t2 - n3 t3) / n_mem) / f");
    else if (whole(table, GROUP_IN_FLIGHT))
        textbuf_str(out, "(A - (n - m1) t1 - (m1 - m2) t2 - (m2 - m3) t3) / m3 / f");
    else if (whole(table, GROUP_MISSES))
        textbuf_str(out, "none; stall per read: stalled cycles / m3 / f");
    else if (counts(table, GROUP_MISSES, group_descs[GROUP_MISSES].required))
        textbuf_str(out, "none: cycles, instructions and misses");
    else
        textbuf_str(out, "none: cycles and instructions only");
}

static void write_l3(struct textbuf *out, const struct event_table *table)
{
    if (counts(table, GROUP_L3_NEAR_DRAM, 3))
        textbuf_str(out, " u * wait / reads, four sources |");
    else if (counts(table, GROUP_L3_ANY, 3))
        textbuf_str(out, " 16 * wait / reads / f_L3 |");
    else
        textbuf_str(out, " |");
}

static void write_cpu(struct textbuf *out, const struct event_table *table, const char *models,
                      size_t len)
{
    static const char *const cell[] = {" |", " yes |"};
    textbuf_printf(out, "| `%s` | %.*s | ", table->microarchitecture, (int)len, models);
    write_latency(out, table);
    textbuf_str(out, " |");
    textbuf_str(out, cell[whole(table, GROUP_CORE)]);
    textbuf_str(out, cell[counts(table, GROUP_RPQ, group_descs[GROUP_RPQ].required)]);
    textbuf_str(out, cell[counts(table, GROUP_PMM_RPQ, group_descs[GROUP_PMM_RPQ].required)]);
    write_l3(out, table);
    textbuf_str(out, cell[counts(table, GROUP_SOURCES, group_descs[GROUP_SOURCES].required)]);
    textbuf_str(out, cell[counts(table, GROUP_STORES, group_descs[GROUP_STORES].required) &&
                          counts(table, GROUP_PMM_RPQ, group_descs[GROUP_PMM_RPQ].required)]);
    textbuf_str(out, cell[counts(table, GROUP_CAS, group_descs[GROUP_CAS].required)]);
    textbuf_str(out, cell[counts(table, GROUP_TRAFFIC, group_descs[GROUP_TRAFFIC].required)]);
    textbuf_printf(out, " %s |\n", table->known_error);
}

/* A row for each of its microarchitectures. */
static void write_cpus(struct textbuf *out, const struct event_table *table)
{
    static const char between[] = "; ";
    for (const char *models = table->models, *end; models; models = end) {
        end = strstr(models, between);
        write_cpu(out, table, models, end ? (size_t)(end - models) : strlen(models));
        end = end ? end + sizeof between - 1 : NULL;
    }
}

static void write_group(struct textbuf *out, const struct group_desc *desc)
{
    textbuf_printf(out, "| `%s` |", desc->name);
    for (size_t i = 0; i < desc->n; i++)
        textbuf_printf(out, "%s `%s`%s", i ? "," : "", role_name(desc->roles[i]),
                       desc->required >> i & 1 ? "" : " (may be missing)");
    textbuf_str(out, " |\n");
}

static void write_roles(struct textbuf *out, const struct event_table *table)
{
    textbuf_printf(out, "\n### %s\n\n| role | event |\n|---|---|\n", table->microarchitecture);
    for (int role = 0; role < ROLE_COUNT; role++)
        if (table->event[role])
            textbuf_printf(out, "| `%s` | `%s` |\n", role_name((enum role)role),
                           table->event[role]);
    for (int channel = 0; channel < table->channels; channel++)
        for (int role = 0; role < ROLE_COUNT; role++)
            if (table->uncore_event[channel][role])
                textbuf_printf(out, "| `%s`%s | `%s` |\n", role_name((enum role)role),
                               channel ? ", second half" : "", table->uncore_event[channel][role]);
}

int events_reference_write(struct textbuf *out)
{
    textbuf_str(
        out,
        "# What each CPU counts\n\nThis page is generated from the event tables. After changing "
        "one, run\n`build/plain/programs/events_reference > collectors/EVENTS.md`.\n\n"
        "The first table says which collectors a CPU can have, and by which formula. "
        "`attribution`\n"
        "and `probe` need none of these events. *S / r*: outstanding reads of memory per read; "
        "*A*,\n*n2*, *n3*, *n_mem*: misses of the L1 data cache in flight, and its fills from the "
        "L2, from\nthe L3, and from beyond; on Arm loads in flight, and *n* loads, of which *m1* "
        "miss "
        "the L1, *m2*\nleave the core, and *m3* miss the last-level cache; *f*: the frequency; "
        "*u*: 10 ns where an L3 has 32 MiB "
        "or more,\nelse 30 ns. `imc_rpq`: occupancy / inserts / f_imc + l_CAS; `pmm_rpq`: without "
        "l_CAS. All\ntraffic: reads and writes of the memory controllers, which tell whether it is "
        "calm\n(`amd_umc` from Linux 6.7 on). Containers' traffic: what "
        "`--collector.attribution.traffic`\ncounts.\n\n"
        "The known error is that of `core_latency`'s latency. "
        "`interference_core_latency_error_ratio`\nshows it on the machine itself, for the probe's "
        "thread. No published error is known for the\nlatencies of `imc_rpq` on Ice Lake and "
        "later, and of `amd_l3`: [VALIDATION.md](VALIDATION.md)\nsays how to check them.\n\n"
        "| CPU | models | latency of `core_latency` | `slowdown` | `imc_rpq` | `pmm_rpq` | "
        "`amd_l3` "
        "| `fill_sources` | `pebs_nvmm` | all traffic | containers' traffic | known error "
        "|\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; table_at(i); i++)
        write_cpus(out, table_at(i));
    textbuf_str(
        out, "\nZen 6 has `zen5`'s events, and its label. Zen 2 cannot count how long a container\n"
             "waits: its cores count cycles and instructions, its L3s the latency of all programs\n"
             "together. Zen 1 has neither, and is `generic`. A CPU with cores of two kinds has no "
             "table.\n\n"
             "## Groups\n\nWhat is counted together, as recordings name it: lines "
             "`{\"read\":KEY,\"group\":GROUP,...}`;\n`activity` has a line of its own.\n\n| group "
             "| roles |\n|---|---|\n");
    for (int group = 0; group < GROUP_COUNT; group++)
        write_group(out, &group_descs[group]);
    textbuf_str(out, "\n## Events\n");
    for (size_t i = 0; table_at(i); i++)
        write_roles(out, table_at(i));
    return textbuf_finish(out);
}
