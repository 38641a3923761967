/* The papers' formulas, by numbers worked by hand. */
#include "tests/simnode/formulas/theory.h"
#include "tests/unit/support/unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.12g, want %.12g within %g", got, want, tolerance);
}

static void near(double got, double want)
{
    assert_near(got, want, 1e-9 * fabs(want));
}

static void expect_shares(const double *slowdowns, const double *want, size_t n)
{
    double shares[8], sum = 0;
    control_shares(slowdowns, n, shares);
    for (size_t i = 0; i < n; i++) {
        if (fabs(shares[i] - want[i]) > 5e-7)
            fail_msg("%.9g instead of %.9g", shares[i], want[i]);
        sum += shares[i];
    }
    assert_true(fabs(sum - 1) < 1e-12);
}

TEST(epochs_go_by_slowdown)
{
    expect_shares((const double[]){2, 4, 1, 1}, (const double[]){.25, .5, .125, .125}, 4);
    expect_shares((const double[]){1.6, 2.1, 1.5}, (const double[]){.307692, .403846, .288462}, 3);
    /* Faster than alone is as alone. */
    expect_shares((const double[]){0.5, 1}, (const double[]){.5, .5}, 2);
}

/* Three standard deviations of 10,000 draws. */
TEST(draws_have_their_shares)
{
    enum { N = 4, DRAWS = 10000 };
    static const double slowdowns[N] = {2, 4, 1, 1};
    double shares[N];
    unsigned drawn[N] = {0};
    uint64_t seed = 1;
    control_shares(slowdowns, N, shares);
    for (int i = 0; i < DRAWS; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        drawn[control_shares_draw(shares, N, (double)(seed >> 11) / (double)(1ull << 53))]++;
    }
    for (int i = 0; i < N; i++) {
        double sigma = sqrt(DRAWS * shares[i] * (1 - shares[i]));
        assert_true(fabs(drawn[i] - DRAWS * shares[i]) < 3 * sigma);
    }
    assert_int_equal(control_shares_draw(shares, N, 0), 0);
    assert_int_equal(control_shares_draw(shares, N, 0.25), 1);
    assert_int_equal(control_shares_draw(shares, N, 1), N - 1);
}

TEST(time_lost_to_others_is_not_billed)
{
    const double h = 3600, hz = 2e9;
    near(control_billable_seconds(3600, 9e12, 3e12), 2400);
    near(control_billable_seconds(3600, 1e13, 3e12), 2520);
    near(control_billable_seconds(3 * h, 3 * h * hz, 2 * h * hz), h);
    /* One hour at slowdown 2, two at 4. */
    near(control_billable_seconds(3 * h, 3 * h * hz, h * hz * (1 / 2.) + 2 * h * hz * (3 / 4.)), h);
}

TEST(what_is_not_known_is_billed_in_full)
{
    near(control_billable_seconds(5, 0, 0), 5);
    near(control_billable_seconds(5, 1e9, 0), 5);
    near(control_billable_seconds(5, 1e9, -1), 5);
    assert_true(control_billable_seconds(5, 1e9, 2e9) == 0);
}

TEST(fair_shares_alone)
{
    static const unsigned writers[] = {1, 2, 4, 8, 16, 32};
    static const double anywhere[] = {1.0625, 1.125, 1.25, 1.5, 2, 3};
    static const double kept[] = {1.0625, 1.125, 1.2308, 1.2308, 1.2308, 1.2308};
    for (int i = 0; i < 6; i++) {
        assert_true(fabs(control_nvmm_fair_time(16, 16, writers[i], 16) - anywhere[i]) < 1e-9);
        assert_true(fabs(control_nvmm_fair_time(16, 16, writers[i], 3) - kept[i]) < 5e-5);
    }
    assert_true(control_nvmm_fair_time(16, 4, 2, 3) == 1);
}

/* ---- the paper's equation ---- */

/* FFT: regions L, Lb and R with latencies of 100, 142 and 410 cycles. */
static const double fft[] = {44687, 62236, 166757};
static const double fft_k = 2721346.3;

TEST(equation_4_of_the_papers_fft)
{
    static const struct {
        double f[3], cycles, slowdown;
    } rows[] = {
        {{.5, .5, 0}, 2774807.8, 1.003172232},   {{0, 1, 0}, 2783582.3, 1.006344464},
        {{.75, 0, .25}, 2796550.8, 1.011032947}, {{.5, .25, .25}, 2800938.05, 1.012619064},
        {{.5, 0, .5}, 2827068.3, 1.022065895},   {{.25, 0, .75}, 2857585.8, 1.033098842},
        {{0, 0, 1}, 2888103.3, 1.044131790},
    };
    const double all_local[] = {1, 0, 0};
    double alone = placement_weighted(fft, all_local, 3, fft_k);
    for (size_t i = 0; i < COUNT(rows); i++) {
        double cycles = placement_weighted(fft, rows[i].f, 3, fft_k);
        assert_near(cycles, rows[i].cycles, 1e-6);
        assert_near(cycles / alone, rows[i].slowdown, 6e-10);
    }
    /* Its cycle-accurate simulation. */
    assert_near(placement_weighted(fft, rows[0].f, 3, fft_k) / 2774931 - 1, -0.00444e-2, 5e-8);
}

TEST(regions_that_were_never_sampled)
{
    const double latency[] = {100, 142};
    double scaled = placement_scaled(fft[0], 100, 410);
    assert_near(scaled, 183216.7, 1e-6);
    assert_near(scaled / fft[2] - 1, 0.09870, 5e-6);
    assert_near((scaled + fft_k) / (fft[2] + fft_k) - 1, 0.00570, 5e-6);

    double affine = placement_affine(fft, latency, 410);
    assert_near((affine - fft[0]) / 310, 417.8333, 5e-5);
    assert_near(affine, 174215.3, 0.05);
    assert_near(affine / fft[2] - 1, 0.04473, 5e-6);
    assert_near((affine + fft_k) / (fft[2] + fft_k) - 1, 0.00258, 5e-6);

    double board = placement_scaled(fft[0], 100, 142);
    assert_near(board, 63455.5, 0.05);
    assert_near(board / fft[1] - 1, 0.01960, 5e-6);
    assert_near((board + fft_k) / (fft[1] + fft_k) - 1, 0.000438, 5e-7);
}

TEST(the_bandwidth_of_one_persistent_dimm)
{
    assert_near(placement_bandwidth(50e6, 256, 6.6e9), 1.9394, 5e-5);
    assert_near(placement_bandwidth(50e6, 64, 6.6e9), 0.4848, 5e-5);
}
