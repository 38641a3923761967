/* The machines, and what runs on them. */
#include "tests/research/placement.h"

#define SERRANO "\"preset\":\"serrano\""
#define SMALL_L2 ",\"l2\":{\"bytes\":131072}"
/* The ways are shorter, so that a chase takes as long as with constant latency. */
#define DDR3 ",\"memory\":{\"preset\":\"ddr3-1333\",\"request_ns\":20,\"return_ns\":20}"

const struct placement_machine serrano_machines[4] = {
    {"constant, 1 MB", SERRANO, ""},
    {"constant, 128 KB", SERRANO SMALL_L2, ""},
    {"DDR3, 1 MB", SERRANO DDR3, ""},
    {"DDR3, 128 KB", SERRANO DDR3 SMALL_L2, ""},
};

/* Node 1 is the other socket, node 2 as far as memory behind CXL. A cache that a run of a few
 * milliseconds fills. */
#define XEON                                                                                       \
    "\"preset\":\"clx\",\"sockets\":4,"                                                            \
    "\"interconnect\":{\"board_sockets\":2,\"board_hop_ns\":85.7},"
#define LLC "\"llc\":{\"bytes\":4325376}"
#define QUEUE "\"super_queue\":true"

const struct placement_machine xeon = {"Xeon", XEON LLC, QUEUE};
const struct placement_machine xeon_small = {
    "Xeon, small caches", XEON "\"l2\":{\"bytes\":131072},\"llc\":{\"bytes\":360448}", QUEUE};
const struct placement_machine xeon_prefetching = {"Xeon, prefetching",
                                                   XEON LLC ",\"prefetcher\":{\"degree\":2}",
                                                   QUEUE ",\"prefetch_merging\":true"};

/* As large as the paper's, whose FFT takes 2.7 million cycles. */
const struct placement_subject placement_kernels[] = {
    {"fft", "\"w\":{\"kind\":\"fft\",\"bytes\":393216}", 1, 0},
    {"radix", "\"w\":{\"kind\":\"radix\",\"bytes\":526336}", 1, 0},
    {"lu", "\"w\":{\"kind\":\"lu\",\"bytes\":204800}", 1, 0},
    {"ocean", "\"w\":{\"kind\":\"ocean\",\"bytes\":1440000}", 1, 0},
    {"hash", "\"w\":{\"kind\":\"hash\",\"bytes\":2400000}", 1, 0},
    {NULL, NULL, 0, 0},
};

#define RANDOM(dependence, instructions)                                                           \
    {                                                                                              \
        "random, " #dependence " dependent, " #instructions " instructions",                       \
            "\"w\":{\"kind\":\"random\",\"dependence\":" #dependence                               \
            ",\"instructions_per_access\":" #instructions "}",                                     \
            1, 0                                                                                   \
    }
#define STREAM(streams, instructions)                                                              \
    {                                                                                              \
        "stream of " #streams ", " #instructions " instructions",                                  \
            "\"w\":{\"kind\":\"stream\",\"streams\":" #streams                                     \
            ",\"instructions_per_access\":" #instructions "}",                                     \
            1, 0                                                                                   \
    }
#define STORES(share, instructions)                                                                \
    {                                                                                              \
        "random, " #share " stores, " #instructions " instructions",                               \
            "\"w\":{\"kind\":\"random\",\"dependence\":0.3,\"store_share\":" #share                \
            ",\"instructions_per_access\":" #instructions "}",                                     \
            1, 0                                                                                   \
    }

const struct placement_subject placement_in_order[] = {
    {"chase", "\"w\":{\"kind\":\"chase\"}", 1, 0},
    {"chase, 40 instructions", "\"w\":{\"kind\":\"chase\",\"instructions_per_access\":40}", 1, 0},
    RANDOM(0, 12),
    RANDOM(0, 100),
    STREAM(1, 20),
    STREAM(4, 8),
    {"mostly hits",
     "\"w\":{\"kind\":\"random\",\"hot_bytes\":524288,\"hot_share\":0.8,"
     "\"instructions_per_access\":6}",
     1, 0},
    {"loop", "\"w\":{\"kind\":\"loop\",\"bytes\":4194304,\"instructions_per_access\":10}", 1, 0},
    {NULL, NULL, 0, 0},
};

const struct placement_subject placement_generators[] = {
    {"chase", "\"w\":{\"kind\":\"chase\"}", 1, 0},
    {"chase, 40 instructions", "\"w\":{\"kind\":\"chase\",\"instructions_per_access\":40}", 1, 0},
    {"chase, 300 instructions", "\"w\":{\"kind\":\"chase\",\"instructions_per_access\":300}", 1, 0},
    RANDOM(0, 4),
    RANDOM(0, 12),
    RANDOM(0, 30),
    RANDOM(0, 100),
    RANDOM(0.25, 4),
    RANDOM(0.25, 12),
    RANDOM(0.25, 30),
    RANDOM(0.25, 100),
    RANDOM(0.5, 4),
    RANDOM(0.5, 12),
    RANDOM(0.5, 30),
    RANDOM(0.5, 100),
    RANDOM(0.75, 12),
    RANDOM(0.75, 100),
    RANDOM(1, 4),
    RANDOM(1, 12),
    RANDOM(1, 30),
    RANDOM(1, 100),
    STREAM(1, 20),
    STREAM(1, 60),
    STREAM(4, 20),
    STREAM(4, 60),
    STORES(0.3, 12),
    STORES(0.3, 60),
    STORES(0.8, 12),
    STORES(0.8, 60),
    {NULL, NULL, 0, 0},
};

#define PHASES(a, na, b, nb)                                                                       \
    "\"w\":{\"kind\":\"phases\",\"phases\":[{\"workload\":\"" a "\",\"instructions\":" #na         \
    "},{\"workload\":\"" b "\",\"instructions\":" #nb "}]}"
#define CHASE "\"chase\":{\"kind\":\"chase\",\"bytes\":16777216,\"instructions_per_access\":10}"
#define STREAMS                                                                                    \
    "\"stream\":{\"kind\":\"stream\",\"bytes\":16777216,\"streams\":2,"                            \
    "\"instructions_per_access\":24}"
#define SPREAD "\"spread\":{\"kind\":\"random\",\"bytes\":16777216,\"instructions_per_access\":25}"
#define COMPUTE "\"compute\":{\"kind\":\"compute\"}"
#define HASH "\"hash\":{\"kind\":\"hash\",\"bytes\":4194304}"

/* With small caches. */
const struct placement_subject placement_held_out[] = {
    {"fft", "\"w\":{\"kind\":\"fft\",\"bytes\":3145728}", 1, 0},
    {"radix", "\"w\":{\"kind\":\"radix\",\"bytes\":2099200}", 1, 0},
    {"lu", "\"w\":{\"kind\":\"lu\",\"bytes\":1048576}", 1, 0},
    {"ocean", "\"w\":{\"kind\":\"ocean\",\"bytes\":4194304}", 1, 0},
    {"hash", "\"w\":{\"kind\":\"hash\",\"bytes\":4194304}", 1, 0},
    {"chase, then a stream", PHASES("chase", 4000, "stream", 40000) "," CHASE "," STREAMS, 1, 0},
    {"chase, then spread reads", PHASES("chase", 3000, "spread", 30000) "," CHASE "," SPREAD, 1, 0},
    {"spread reads, then computing",
     PHASES("spread", 20000, "compute", 60000) "," SPREAD "," COMPUTE, 1, 0},
    {"look-ups, then computing", PHASES("hash", 20000, "compute", 30000) "," HASH "," COMPUTE, 1,
     0},
    {"look-ups, then a stream", PHASES("hash", 20000, "stream", 30000) "," HASH "," STREAMS, 1, 0},
    {"mostly hits, half dependent",
     "\"w\":{\"kind\":\"random\",\"bytes\":16777216,\"hot_bytes\":262144,\"hot_share\":0.7,"
     "\"dependence\":0.5,\"instructions_per_access\":6}",
     1, 0},
    {"mostly hits, independent",
     "\"w\":{\"kind\":\"random\",\"bytes\":16777216,\"hot_bytes\":262144,\"hot_share\":0.9,"
     "\"instructions_per_access\":5}",
     1, 0},
    {"a chase that half fits",
     "\"w\":{\"kind\":\"chase\",\"bytes\":786432,\"instructions_per_access\":5}", 1, 0},
    {"two threads, a third dependent",
     "\"w\":{\"kind\":\"random\",\"bytes\":16777216,\"dependence\":0.33,"
     "\"instructions_per_access\":20}",
     2, 0},
    {NULL, NULL, 0, 0},
};

/* Of other sizes and mixtures, with small caches. */
#define KERNEL(name, kind, bytes)                                                                  \
    {                                                                                              \
        name, "\"w\":{\"kind\":\"" kind "\",\"bytes\":" #bytes "}", 1, 0                           \
    }
#define SMALL_RANDOM(dependence, instructions)                                                     \
    {                                                                                              \
        "16 MB, " #dependence " dependent, " #instructions " instructions",                        \
            "\"w\":{\"kind\":\"random\",\"bytes\":16777216,\"dependence\":" #dependence            \
            ",\"instructions_per_access\":" #instructions "}",                                     \
            1, 0                                                                                   \
    }
#define HOT(share, bytes, dependence, instructions)                                                \
    {                                                                                              \
        "hot " #share " of it, " #dependence " dependent, " #instructions " instructions",         \
            "\"w\":{\"kind\":\"random\",\"bytes\":16777216,\"hot_bytes\":" #bytes                  \
            ",\"hot_share\":" #share ",\"dependence\":" #dependence                                \
            ",\"instructions_per_access\":" #instructions "}",                                     \
            1, 0                                                                                   \
    }
#define SMALL_STREAM(streams, instructions)                                                        \
    {                                                                                              \
        "16 MB in streams of " #streams ", " #instructions " instructions",                        \
            "\"w\":{\"kind\":\"stream\",\"bytes\":16777216,\"streams\":" #streams                  \
            ",\"instructions_per_access\":" #instructions "}",                                     \
            1, 0                                                                                   \
    }

const char placement_missed[] = "sweep of 4 MB, again and again";
const struct placement_subject placement_fresh[] = {
    KERNEL("fft, 6 MB", "fft", 6291456),
    KERNEL("radix, 8 MB", "radix", 8388608),
    KERNEL("lu, 4 MB", "lu", 4194304),
    KERNEL("ocean, 12 MB", "ocean", 12582912),
    KERNEL("hash, 12 MB", "hash", 12582912),
    SMALL_RANDOM(0.1, 8),
    SMALL_RANDOM(0.1, 60),
    SMALL_RANDOM(0.1, 150),
    SMALL_RANDOM(0.6, 8),
    SMALL_RANDOM(0.6, 60),
    SMALL_RANDOM(0.9, 20),
    SMALL_RANDOM(0, 200),
    SMALL_RANDOM(0, 70),
    SMALL_RANDOM(0.3, 120),
    HOT(0.5, 131072, 0, 20),
    HOT(0.8, 131072, 0.2, 15),
    HOT(0.95, 65536, 0, 10),
    HOT(0.6, 262144, 0.6, 30),
    SMALL_STREAM(1, 40),
    SMALL_STREAM(2, 100),
    SMALL_STREAM(3, 30),
    SMALL_STREAM(8, 10),
    {"hash, half of them stored", "\"w\":{\"kind\":\"hash\",\"bytes\":8388608,\"store_share\":0.5}",
     1, 0},
    {"random, half stores, 40 instructions",
     "\"w\":{\"kind\":\"random\",\"bytes\":16777216,\"store_share\":0.5,\"dependence\":0.1,"
     "\"instructions_per_access\":40}",
     1, 0},
    {"chase, 100 instructions, 16 MB",
     "\"w\":{\"kind\":\"chase\",\"bytes\":16777216,\"instructions_per_access\":100}", 1, 0},
    {placement_missed, "\"w\":{\"kind\":\"loop\",\"bytes\":4194304,\"instructions_per_access\":10}",
     1, 0},
    {NULL, NULL, 0, 0},
};

const struct placement_subject placement_writers[] = {
    {"memset", "\"w\":{\"kind\":\"stream\",\"store_share\":1,\"instructions_per_access\":8}", 1, 0},
    {"memset past the caches",
     "\"w\":{\"kind\":\"stream\",\"store_share\":1,\"nt_share\":1,\"instructions_per_access\":8}",
     1, 0},
    {"copy",
     "\"w\":{\"kind\":\"stream\",\"streams\":2,\"store_share\":0.5,"
     "\"instructions_per_access\":8}",
     1, 0},
    {"random stores",
     "\"w\":{\"kind\":\"random\",\"store_share\":1,\"instructions_per_access\":12}", 1, 0},
    {"random stores, seldom",
     "\"w\":{\"kind\":\"random\",\"store_share\":1,\"instructions_per_access\":60}", 1, 0},
    {"stream", "\"w\":{\"kind\":\"stream\",\"instructions_per_access\":8}", 1, 0},
    {"stream, 60 instructions", "\"w\":{\"kind\":\"stream\",\"instructions_per_access\":60}", 1, 0},
    {"ocean", "\"w\":{\"kind\":\"ocean\",\"bytes\":33554432}", 1, 0},
    {"fft", "\"w\":{\"kind\":\"fft\",\"bytes\":25165824}", 1, 0},
    {"radix", "\"w\":{\"kind\":\"radix\",\"bytes\":33554432}", 1, 0},
    {"hash", "\"w\":{\"kind\":\"hash\",\"bytes\":33554432}", 1, 0},
    {NULL, NULL, 0, 0},
};
