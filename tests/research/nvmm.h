/*
 * Schmidt 2022, chapter 5, on the simulated node: what each way of sampling makes of the same run.
 *
 * A run is simulated once, each store of it seen; every period and every loss is then applied to
 * that, so that they are compared on the same stores.
 */
#ifndef IE_RESEARCH_NVMM_H
#define IE_RESEARCH_NVMM_H

#include "collectors/formulas/nvmm.h"
#include "tests/research/reproduce.h"

enum nvmm_loss {
    LOSS_NONE,
    LOSS_BURSTS,     /* 30 % of the samples, in bursts, whatever they are samples of */
    LOSS_CORRELATED, /* every second sample of persistent memory */
    LOSSES
};

/* The thesis's 2503, 5107 and 9973, scaled down, and primes as well. */
enum { NVMM_PERIODS = 3, NVMM_SAMPLES = 10000, NVMM_THREADS = 16 };
extern const unsigned nvmm_periods[NVMM_PERIODS];

struct nvmm_experiment {
    unsigned writers;  /* threads, each on its own CPU */
    double nvmm_share; /* of the pages */
    unsigned seed;
};

/* One way of sampling one run, up to the NVMM_SAMPLES-th sample that the hardware takes. */
struct nvmm_outcome {
    uint64_t stores, nvmm_stores, nvmm_bytes; /* truth */
    double square;                            /* sum of the squared sizes of those in NVMM */
    uint64_t samples;                         /* that were not lost */
    double accesses, bytes;                   /* FORMULAS.md section 4 */
    double by_period, bytes_by_period;        /* the thesis's */
    double spread; /* sum over windows of events^2 / samples: how unevenly samples count */
};

struct nvmm_outcomes {
    struct nvmm_outcome of[NVMM_PERIODS][LOSSES];
};

/* 0 or -errno. Checks on the way that the node's counter of stores saw them all. */
int nvmm_run(const struct nvmm_experiment *experiment, struct nvmm_outcomes *out);

/* Relative errors, and three standard errors of the samples that there were. */
double nvmm_error(double estimate, double truth);
double nvmm_three_sigma(const struct nvmm_outcome *outcome, bool bytes);

#endif
