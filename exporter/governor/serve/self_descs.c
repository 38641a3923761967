#include "exporter/governor/serve/self_metrics.h"

#define GOVERNOR(n) "interference_governor_" n

const struct metric_desc governor_descs[GOVERNOR_METRICS] = {
    [GOVERNOR_BUILD] = METRIC(INFO, U64, GOVERNOR("build"), "version", "The governor's version."),
    [GOVERNOR_MODE] = METRIC(GAUGE, U64, GOVERNOR("mode"), "mode",
                             "1 for the mode it is in. observe: it decides and writes nothing. "
                             "paused: everything was let go, and nothing is decided."),
    [GOVERNOR_EXPORTER_UP] = METRIC(GAUGE, U64, GOVERNOR("exporter_up"), NULL,
                                    "1 when the last request to the exporter was answered."),
    [GOVERNOR_DATA_AGE] =
        METRIC(GAUGE, DOUBLE, GOVERNOR("exporter_data_age_seconds"), NULL,
               "Time since the exporter's last tick that may be acted on, or since the start. "
               "High: the governor is blind, and has let everything go."),
    [GOVERNOR_TICKS] = METRIC(COUNTER, U64, GOVERNOR("ticks"), NULL,
                              "Ticks of the exporter that decisions were made on."),
    [GOVERNOR_TICK_DURATION] =
        METRIC(COUNTER, DOUBLE, GOVERNOR("tick_duration_seconds"), NULL,
               "Time spent on fetching and deciding. A rate near 1: it cannot keep up."),
    [GOVERNOR_RELOAD_SUCCESSFUL] =
        METRIC(GAUGE, U64, GOVERNOR("config_last_reload_successful"), NULL,
               "1 when the configuration was last read without an error. 0: the earlier one stays "
               "in force; the log says why."),
    [GOVERNOR_POLICY_ACTIVE] = METRIC(
        GAUGE, U64, GOVERNOR("policy_active"), "policy",
        "1 while the policy has a signal: for threshold, a protected container with a latency that "
        "is known to be normal, or is being learned; for ways and mba, a slowdown to go by; for "
        "nvmm_cores, the exporter's list of who writes; for epochs, somebody to measure, and all "
        "of best effort can be held at once. 0: it holds nothing, or soon will not."),
    [GOVERNOR_DECISIONS] =
        METRIC(COUNTER, U64, GOVERNOR("decisions"), "policy, action, outcome",
               "Decisions by what came of them; not of experiments. No action hold: a value that "
               "stays is no decision. High for foreign: somebody else writes the same files. High "
               "for limited: see limit_hits. High for cut: it flaps."),
    [GOVERNOR_CLAIMS] = METRIC(GAUGE, U64, GOVERNOR("claims"), "actuator",
                               "Settings of containers that are restricted now, or would be in "
                               "mode observe: one of each container for each actuator. High: many "
                               "containers are restricted; limits.claims bounds the sum."),
    [GOVERNOR_YIELDED] =
        METRIC(GAUGE, U64, GOVERNOR("yielded_containers"), "actuator",
               "Containers that are left alone since somebody else changes the same setting again "
               "and again. High: two programs steer the same containers."),
    [GOVERNOR_ERRORS] =
        METRIC(COUNTER, U64, GOVERNOR("errors"), "actuator, op, reason",
               "Reads and writes of control files that failed. High: the log says which."),
    [GOVERNOR_FOREIGN] = METRIC(
        COUNTER, U64, GOVERNOR("foreign_writes"), "actuator, kind",
        "Values of somebody else in restricted files: reset, the original again; changed, a new "
        "specification, which is adopted. High: two programs steer the same containers."),
    [GOVERNOR_DEAD_MAN] =
        METRIC(COUNTER, U64, GOVERNOR("dead_man"), "reason",
               "How often everything was let go since the exporter's data were not to be acted on. "
               "High: the exporter is unreliable, and so is what rests on it."),
    [GOVERNOR_RELEASED] = METRIC(COUNTER, U64, GOVERNOR("released"), "reason",
                                 "Claims that were given back, by reason. High for futile: "
                                 "restricting best effort does not help."),
    [GOVERNOR_CULPRITS_CHOSEN] =
        METRIC(COUNTER, U64, GOVERNOR("culprits_chosen"), "by",
               "Windows of threshold, and steps of mba, in which a protected container was over "
               "its limit, by what chose whom to cut: wait and latency are what the exporter says "
               "of who causes either, reads are memory reads, all is a culprit_share of 0. High "
               "for reads: the exporter does not know who causes it. High for none: nobody that "
               "may be cut reads memory."),
    [GOVERNOR_FUTILE] =
        METRIC(COUNTER, U64, GOVERNOR("futile"), NULL,
               "How often it was found that holding an owner's containers changes nothing for a "
               "protected one. High: the cause of the latency is elsewhere."),
    [GOVERNOR_CALIBRATING] =
        METRIC(GAUGE, U64, GOVERNOR("calibrating"), NULL,
               "1 while threshold holds all of its best effort at its least to learn what is "
               "normal for a protected container, or would in mode observe; always 0 without "
               "calibrate: throttle. 1 for at most 120 s in ten minutes."),
    [GOVERNOR_CALIBRATIONS] =
        METRIC(COUNTER, U64, GOVERNOR("calibrations"), "outcome",
               "Starts of protected containers for which best effort was held, by what came of it: "
               "learned; too_few samples, so that the exporter's baseline stays; dry_run, in mode "
               "observe it would have been learned. High for too_few: they are seldom fully used, "
               "ticks are too long, or somebody of best effort cannot be held."),
    [GOVERNOR_BOUND_MISSED] =
        METRIC(COUNTER, U64, GOVERNOR("bound_missed"), NULL,
               "Steps of ways and mba in which a protected container was slower than its bound and "
               "nothing was left to take. High: the bound cannot be kept by these means."),
    [GOVERNOR_LIMIT_HITS] = METRIC(
        COUNTER, U64, GOVERNOR("limit_hits"), "limit",
        "Changes that a limit of the governor did not let happen. High for claims: more is to be "
        "restricted than may be held at once; what is left out has all. High for rate: the limit "
        "of the configuration is low for this node. High for table: there are more containers or "
        "threads than can be kept in mind; the rest is not governed, or not heard."),
    [GOVERNOR_ADVICE_HOLD] =
        METRIC(GAUGE, U64, GOVERNOR("advice_hold"), NULL,
               "1 while the policy advice says that this node should get no more work; absent "
               "without that policy. Nobody is kept away by it: /api/v1/advice says more."),
    [GOVERNOR_ADVICE_SLOWDOWN] =
        METRIC(GAUGE, DOUBLE, GOVERNOR("advice_slowdown_ratio"), NULL,
               "Greatest slowdown of a protected container over the last five minutes, by which "
               "the advice goes; absent while none is known. High: the node is too full for it."),
    [GOVERNOR_NVMM_WRITERS] =
        METRIC(GAUGE, U64, GOVERNOR("nvmm_writers"), NULL,
               "Threads of this node that have stored to persistent memory lately, by which "
               "nvmm_cores goes; absent without that policy. High: they share few CPUs."),
    [GOVERNOR_NVMM_EXPIRY] =
        METRIC(GAUGE, DOUBLE, GOVERNOR("nvmm_expiry_seconds"), NULL,
               "How long nvmm_cores takes a thread for a writer after its last store; longer than "
               "configured where the exporter tells seldom. Absent without that policy. High: "
               "threads stay on few CPUs long after they wrote."),
    [GOVERNOR_JOURNAL_ERRORS] =
        METRIC(COUNTER, U64, GOVERNOR("journal_errors"), NULL,
               "Lines of the journal that could not be written. High: nothing is changed, and "
               "after a minute everything is let go."),
    [GOVERNOR_JOURNAL_OPEN] =
        METRIC(GAUGE, U64, GOVERNOR("journal_open_claims"), NULL,
               "Claims in the journal whose originals are still to be put back; in mode observe, "
               "those that an earlier governor left and this one could not put back. High: many "
               "containers are restricted."),
    [GOVERNOR_RESTORES] =
        METRIC(COUNTER, U64, GOVERNOR("restores"), "outcome",
               "Claims that were put back, by what was found. High for failed: originals are still "
               "to be put back; the log says which. High for foreign: others have written "
               "meanwhile. High for clamped: pods were given less CPU meanwhile, and their "
               "containers keep what the pods then had."),
    [GOVERNOR_QUOTA] =
        METRIC(GAUGE, DOUBLE, GOVERNOR("container_cpu_quota_cores"), "container",
               "CPU quota that the governor has set, or would have set in mode observe; absent "
               "while the container is not restricted. High: little is taken from it."),
    [GOVERNOR_QUOTA_ORIGINAL] =
        METRIC(GAUGE, DOUBLE, GOVERNOR("container_cpu_quota_original_cores"), "container",
               "CPU quota that the container has without the governor, bounded by its CPUs; absent "
               "while it is not restricted. High: it may use much."),
    [GOVERNOR_CONTAINER_WAYS] =
        METRIC(GAUGE, U64, GOVERNOR("container_llc_ways"), "container",
               "Ways of the last-level cache that the container is kept to, or would be in mode "
               "observe; absent while it may use all. High: little is taken from it."),
    [GOVERNOR_CONTAINER_MBA] =
        METRIC(GAUGE, U64, GOVERNOR("container_mba_percent"), "container",
               "Memory bandwidth that Memory Bandwidth Allocation leaves the container, or would "
               "in mode observe; absent at 100. High: little is taken from it."),
    [GOVERNOR_CONTAINER_THREADS] =
        METRIC(GAUGE, U64, GOVERNOR("container_kept_threads"), "container",
               "Threads of the container that are kept on the CPUs of nvmm_cores, or would be in "
               "mode observe; absent when there is none. High: many write to persistent memory."),
    [GOVERNOR_SLOWDOWN] = METRIC(
        GAUGE, DOUBLE, "interference_container_slowdown_ratio", "container, model",
        "How many times longer the container's work takes than while best effort is held back, by "
        "model epochs: the median of the last five epochs, in each of which the rates of accesses "
        "to the last-level cache are compared. Too low: best effort is held, not gone (by 13 to 31 "
        "% on a simulated node), and by more than half where ticks are so short that the cache is "
        "not filled again in one; as far as its miss ratio shows that, there is no estimate. "
        "Absent without an estimate. High: best effort costs it much."),
    [GOVERNOR_CPU_SECONDS] = METRIC(COUNTER, DOUBLE, "process_cpu_seconds", NULL,
                                    "CPU time of the governor, user and system. High: there are "
                                    "many containers, or it is asked often."),
    [GOVERNOR_OPEN_FDS] =
        METRIC(GAUGE, U64, "process_open_fds", NULL,
               "Open file descriptors of the governor. High: many are connected to it."),
    [GOVERNOR_MAX_FDS] = METRIC(GAUGE, U64, "process_max_fds", NULL,
                                "Maximum number of file descriptors that the governor may open. "
                                "High: it has room for many connections."),
    [GOVERNOR_VIRTUAL_MEMORY] =
        METRIC(GAUGE, U64, "process_virtual_memory_bytes", NULL,
               "Virtual memory of the governor. A high value alone is no problem."),
    [GOVERNOR_RESIDENT_MEMORY] = METRIC(GAUGE, U64, "process_resident_memory_bytes", NULL,
                                        "Resident memory of the governor. High: the exporter's "
                                        "document is large; with few containers, a leak."),
    [GOVERNOR_START_TIME] =
        METRIC(GAUGE, DOUBLE, "process_start_time_seconds", NULL,
               "Time at which the governor started. High means recent: counters began then, and "
               "what an earlier one held was put back."),
};
