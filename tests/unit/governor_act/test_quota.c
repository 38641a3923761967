#include "exporter/governor/act/actuators/quota.h"
#include "tests/unit/support/unit.h"

TEST(the_kernel_s_texts)
{
    struct quota quota;
    assert_int_equal(quota_parse_v1("-1", 100000, &quota), 0);
    assert_true(isinf(quota_cores(quota)));
    assert_int_equal(quota_parse_v1("150000", 100000, &quota), 0);
    assert_float_equal(quota_cores(quota), 1.5, 0);
    assert_int_equal(quota_parse_v2("max 100000", &quota), 0);
    assert_int_equal(quota.quota_us, -1);
    assert_int_equal(quota_parse_v2("50000 20000", &quota), 0);
    assert_float_equal(quota_cores(quota), 2.5, 0);
}

TEST(other_texts_are_refused)
{
    struct quota quota;
    static const char *const v1[] = {
        "", "-2", "max", "1.5", "150000 100000", "15x", "99999999999999999999"};
    static const char *const v2[] = {
        "",        "max",       "max ",  "max 0",       "150000",
        "150000 ", "-1 100000", "1 2 3", "max 100000x", "99999999999999999999 100000"};
    for (size_t i = 0; i < sizeof v1 / sizeof *v1; i++)
        assert_int_equal(quota_parse_v1(v1[i], 100000, &quota), -EINVAL);
    for (size_t i = 0; i < sizeof v2 / sizeof *v2; i++)
        assert_int_equal(quota_parse_v2(v2[i], &quota), -EINVAL);
    assert_int_equal(quota_parse_v1("150000", 0, &quota), -EINVAL);
}

TEST(cores_become_texts)
{
    char text[CLAIM_TEXT_MAX];
    quota_format(1, 1.5, 100000, text);
    assert_string_equal(text, "150000");
    quota_format(2, 1.5, 100000, text);
    assert_string_equal(text, "150000 100000");
    quota_format(2, 1.1, 100000, text);
    assert_string_equal(text, "110000 100000");
    quota_format(1, 0, 100000, text);
    assert_string_equal(text, "1000");
}

TEST(what_a_container_asked_for)
{
    assert_float_equal(quota_request_v1(2048, false), 2, 0);
    assert_float_equal(quota_request_v1(1024, true), 1, 0);
    assert_float_equal(quota_request_v1(1024, false), 0, 0);
    assert_float_equal(quota_request_v2(39, true), 0.975, 0.001);  /* 1, rounded by the runtime */
    assert_float_equal(quota_request_v2(100, true), 2.537, 0.001); /* 1, by a newer runtime */
    assert_float_equal(quota_request_v2(77, true), 1.948, 0.001);  /* 2000 shares: 1.953 cores */
    assert_float_equal(quota_request_v2(170, true), 4.329, 0.001); /* 2000 shares, newer */
    assert_float_equal(quota_request_v2(100, false), 0, 0);
    assert_float_equal(quota_request_v2(0, true), 0, 0);
    assert_float_equal(quota_request_v2(1, true), 0.001953125, 0);
    assert_float_equal(quota_request_in_pod(100, 39), 0.975, 0.001);
    assert_float_equal(quota_request_in_pod(39, 39), 0.975, 0.001);
    assert_float_equal(quota_request_in_pod(59, 79), 1.487, 0.001); /* half a core, of two */
    assert_float_equal(quota_request_in_pod(100, 100), 2.537, 0.001);
}

static uint64_t linear(uint64_t shares)
{
    return 1 + (shares - 2) * 9999 / 262142;
}

static uint64_t quadratic(uint64_t shares)
{
    double l = log2((double)shares);
    return (uint64_t)ceil(pow(10, (l * l + 125 * l) / 612 - 7.0 / 34));
}

/* Whatever the runtime and the kubelet write, but for one step of a weight. */
TEST(nobody_is_taken_for_asking_less)
{
    assert_int_equal(linear(1024), 39);
    assert_int_equal(quadratic(1024), 100);
    assert_int_equal(linear(2000), 77);
    assert_int_equal(quadratic(2000), 170);
    for (uint64_t shares = 2; shares < 262144; shares += 1 + shares / 50) {
        uint64_t weights[] = {linear(shares), quadratic(shares)};
        double least = (double)shares / 1024 - 27.0 / 1024;
        for (size_t i = 0; i < 2; i++) {
            assert_true(quota_request_v2(weights[i], true) >= least);
            for (size_t j = 0; j < 2; j++)
                assert_true(quota_request_in_pod(weights[i], weights[j]) >= least);
        }
    }
}
