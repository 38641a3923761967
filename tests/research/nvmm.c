#include "tests/research/nvmm.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SEEDS = 50, REDUCED_SEEDS = 2, MAX_JOBS = 64 };

static const unsigned writers[] = {1, 2, 4, 8, 16};
static const unsigned thesis_periods[NVMM_PERIODS] = {2503, 5107, 9973};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static unsigned seeds_of(const struct reproduction *r)
{
    return r->reduced ? REDUCED_SEEDS : SEEDS;
}

/* --- runs, so many at a time --- */

static void run_share(unsigned job, unsigned jobs, unsigned n, unsigned threads, double share,
                      int to)
{
    for (unsigned i = job; i < n; i += jobs) {
        const struct nvmm_experiment e = {.writers = threads, .nvmm_share = share, .seed = 1 + i};
        struct nvmm_outcomes outcomes;
        if (nvmm_run(&e, &outcomes) != 0 ||
            write(to, &outcomes, sizeof(outcomes)) != (ssize_t)sizeof(outcomes))
            _exit(1);
    }
    _exit(0);
}

static bool read_all(int from, void *out, size_t size)
{
    for (size_t got = 0; got < size;) {
        ssize_t n = read(from, (char *)out + got, size - got);
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

/* One seed each, in the order of the seeds. */
static int run_seeds(const struct reproduction *r, unsigned threads, double share, unsigned n,
                     struct nvmm_outcomes *out)
{
    unsigned jobs = r->jobs < MAX_JOBS ? r->jobs : MAX_JOBS, started = 0;
    int from[MAX_JOBS], status, err = 0;
    pid_t pids[MAX_JOBS];

    fflush(NULL);
    for (; started < jobs && !err; started++) {
        int ends[2];
        if (pipe(ends) != 0) {
            err = -errno;
            break;
        }
        pids[started] = fork();
        if (pids[started] == 0)
            run_share(started, jobs, n, threads, share, ends[1]);
        close(ends[1]);
        from[started] = ends[0];
        if (pids[started] < 0)
            err = -errno;
    }
    for (unsigned i = 0; i < n && !err; i++)
        if (!read_all(from[i % jobs], &out[i], sizeof(out[i])))
            err = -EIO;
    for (unsigned i = 0; i < started; i++) {
        close(from[i]);
        if (pids[i] > 0 && waitpid(pids[i], &status, 0) == pids[i] && status != 0 && !err)
            err = -EIO;
    }
    return err;
}

/* --- what the seeds say together --- */

struct errors {
    double samples, share;
    double accesses, bytes, by_period; /* means */
    double rms, rms_expected;          /* of accesses */
    double worst_accesses, worst_bytes;
    double worst_allowed; /* as a part of what is allowed, of both */
    unsigned beyond;      /* three standard errors, of accesses */
    unsigned outside;     /* of what is allowed, accesses or bytes */
};

static void add_seed(struct errors *errors, const struct nvmm_outcome *o, double n)
{
    double accesses = nvmm_error(o->accesses, (double)o->nvmm_stores);
    double bytes = nvmm_error(o->bytes, (double)o->nvmm_bytes);
    double sigma = nvmm_three_sigma(o, false);

    errors->samples += (double)o->samples / n;
    errors->share += (double)o->nvmm_stores / (double)o->stores / n;
    errors->accesses += accesses / n;
    errors->bytes += bytes / n;
    errors->by_period += nvmm_error(o->by_period, (double)o->nvmm_stores) / n;
    errors->rms += accesses * accesses / n;
    errors->rms_expected += sigma * sigma / 9 / n;
    errors->worst_accesses = fmax(errors->worst_accesses, fabs(accesses));
    errors->worst_bytes = fmax(errors->worst_bytes, fabs(bytes));
    double allowed = fmax(fabs(accesses) / fmax(0.02, sigma),
                          fabs(bytes) / fmax(0.02, nvmm_three_sigma(o, true)));
    errors->worst_allowed = fmax(errors->worst_allowed, allowed);
    errors->outside += allowed > 1;
    errors->beyond += fabs(accesses) > sigma;
}

static struct errors errors_of(const struct nvmm_outcomes *outcomes, unsigned n, size_t period,
                               enum nvmm_loss loss)
{
    struct errors errors = {0};

    for (unsigned i = 0; i < n; i++)
        add_seed(&errors, &outcomes[i].of[period][loss], n);
    errors.rms = sqrt(errors.rms);
    errors.rms_expected = sqrt(errors.rms_expected);
    return errors;
}

/* --- the page --- */

static void write_point(const struct reproduction *r, unsigned threads, size_t period,
                        const struct errors *e)
{
    fprintf(r->out, "| %u | %u (%u) | %.0f | %.3f | %+.2f | %.2f | %+.2f | %.2f | %.2f | %+.2f |\n",
            threads, nvmm_periods[period], thesis_periods[period], e->samples, e->share,
            100 * e->accesses, 100 * e->worst_accesses, 100 * e->bytes, 100 * e->worst_bytes,
            e->worst_allowed, 100 * e->by_period);
}

static void write_head(const struct reproduction *r)
{
    fprintf(r->out, "| writers | period (the thesis's) | samples | share in NVMM | accesses: mean "
                    "error %% | worst seed %% | bytes: mean %% | worst %% | worst as a part of "
                    "what is allowed | by the period: mean %% |\n"
                    "|---|---|---|---|---|---|---|---|---|---|\n");
}

/* Of a point's seeds, when they are many. */
static void expect_means(struct reproduction *r, unsigned threads, unsigned period,
                         enum nvmm_loss loss, double accesses, double bytes)
{
    expect_that(r, fabs(accesses) <= 0.005 && fabs(bytes) <= 0.005,
                "%u writers, period %u%s: the means %+.4f and %+.4f are near 0", threads, period,
                loss == LOSS_BURSTS ? ", bursts lost" : "", accesses, bytes);
}

/* Three standard errors are not a limit: of so many runs chance takes a few beyond. */
static void expect_runs(struct reproduction *r, enum nvmm_loss loss, unsigned outside)
{
    unsigned runs = (unsigned)COUNT(writers) * NVMM_PERIODS * seeds_of(r);

    expect_that(r, outside <= 0.0027 * runs, "%s: %u of %u runs are outside their bound",
                loss == LOSS_BURSTS ? "bursts lost" : "nothing lost", outside, runs);
}

static int write_points(struct reproduction *r, struct nvmm_outcomes *all, unsigned n)
{
    static const char *const titles[] = {
        [LOSS_NONE] = "## Nothing lost\n\n",
        [LOSS_BURSTS] = "\n"
                        "## 30 % of the samples lost, in bursts\n"
                        "\n"
                        "Bursts of 60, each after 140 samples on average: full buffers lose "
                        "samples like this, whatever their medium.\n"
                        "\n",
    };

    for (size_t i = 0; i < COUNT(writers); i++) {
        fprintf(stderr, "%u writers\n", writers[i]);
        int err = run_seeds(r, writers[i], 0.9, n, &all[i * n]);
        if (err)
            return err;
    }
    for (int loss = LOSS_NONE; loss <= LOSS_BURSTS; loss++) {
        unsigned outside = 0;
        double accesses = 0, bytes = 0, points = (double)COUNT(writers) * NVMM_PERIODS;
        fputs(titles[loss], r->out);
        write_head(r);
        for (size_t i = 0; i < COUNT(writers); i++) {
            for (size_t period = 0; period < NVMM_PERIODS; period++) {
                struct errors e = errors_of(&all[i * n], n, period, (enum nvmm_loss)loss);
                write_point(r, writers[i], period, &e);
                if (!r->reduced)
                    expect_means(r, writers[i], nvmm_periods[period], (enum nvmm_loss)loss,
                                 e.accesses, e.bytes);
                accesses += e.accesses / points;
                bytes += e.bytes / points;
                outside += e.outside;
            }
        }
        expect_that(r, fabs(accesses) <= 0.005 && fabs(bytes) <= 0.005,
                    "the means of all runs, %+.4f and %+.4f, are near 0", accesses, bytes);
        expect_runs(r, (enum nvmm_loss)loss, outside);
    }
    return 0;
}

/* Of the samples of persistent memory half are lost: of a share p there is p/2 of 1 - p/2 left. */
static void write_correlated(struct reproduction *r, const struct nvmm_outcomes *all, unsigned n)
{
    fprintf(r->out, "\n"
                    "## Loss that depends on the medium\n"
                    "\n"
                    "| writers | accesses: mean error %% | expected %% | by the period: mean %% |\n"
                    "|---|---|---|---|\n");
    for (size_t i = 0; i < COUNT(writers); i++) {
        struct errors e = errors_of(&all[i * n], n, 0, LOSS_CORRELATED);
        double expected = (e.share / 2) / (1 - e.share / 2) / e.share - 1;
        fprintf(r->out, "| %u | %+.2f | %+.2f | %+.2f |\n", writers[i], 100 * e.accesses,
                100 * expected, 100 * e.by_period);
        expect_that(r, fabs(e.accesses - expected) < 0.015 && fabs(e.by_period + 0.5) < 0.02,
                    "%u writers: the bias of correlated loss is %+.4f", writers[i], e.accesses);
    }
}

/* Where few of the stores go to persistent memory the error is chance, and as large as it says. */
static int write_shares(struct reproduction *r, struct nvmm_outcomes *all, unsigned n)
{
    static const double shares[] = {0.5, 0.1};

    fprintf(r->out, "\n"
                    "## Smaller shares\n"
                    "\n"
                    "| share in NVMM | root mean square error %% | standard error %% | worst seed "
                    "%% | beyond three of them | mean %% |\n"
                    "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < COUNT(shares); i++) {
        fprintf(stderr, "a share of %g\n", shares[i]);
        int err = run_seeds(r, 4, shares[i], n, all);
        if (err)
            return err;
        struct errors e = errors_of(all, n, 0, LOSS_NONE);
        fprintf(r->out, "| %.3f | %.2f | %.2f | %.2f | %u of %u | %+.2f |\n", e.share, 100 * e.rms,
                100 * e.rms_expected, 100 * e.worst_accesses, e.beyond, n, 100 * e.accesses);
        expect_that(r, e.rms < (1 + 2 / sqrt(n)) * e.rms_expected && e.beyond <= 1 + n / 50,
                    "a share of %g: errors are chance", shares[i]);
    }
    return 0;
}

int reproduce_nvmm(struct reproduction *r)
{
    unsigned n = seeds_of(r);
    struct nvmm_outcomes *all = calloc(COUNT(writers) * n, sizeof(*all));

    if (!all)
        return -ENOMEM;
    int err = write_points(r, all, n);
    if (!err) {
        write_correlated(r, all, n);
        err = write_shares(r, all, n);
    }
    free(all);
    return err;
}
