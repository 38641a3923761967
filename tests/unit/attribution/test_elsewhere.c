/* What other nodes found, as Prometheus answers. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "collectors/attribution/lanes/elsewhere.h"
#include "tests/unit/support/unit.h"

#define ANSWER(RESULT)                                                                             \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[" RESULT "]}}"
#define SAMPLE(NAMESPACE, WORKLOAD, VALUE)                                                         \
    "{\"metric\":{\"cluster\":\"a\",\"namespace\":\"" NAMESPACE "\",\"workload\":\"" WORKLOAD      \
    "\"},\"value\":[1790000000.1,\"" VALUE "\"]}"

static const char answer[] =
    ANSWER(SAMPLE("shop", "cart", "0.02") "," SAMPLE("batch", "report", "0.37") "," SAMPLE(
        "batch", "rep",
        "0.1") "," SAMPLE("batch", "sure",
                          "1") "," SAMPLE("batch", "never",
                                          "0") "," SAMPLE("batch", "report",
                                                          "0.2") ","
                                                                 "{\"metric\":{\"workload\":"
                                                                 "\"nginx.service\"},\"value\":["
                                                                 "1790000000.1,\"4e-2\"]}");

TEST(test_find)
{
    struct elsewhere list = {0};
    char error[160];
    assert_int_equal(elsewhere_parse(answer, strlen(answer), &list, error, sizeof error), 0);
    assert_int_equal(list.n, 6);
    const struct {
        const char *key;
        double expected;
    } cases[] = {
        {"shop\x1f"
         "cart\x1f"
         "cart\x1f"
         "shop/cart",
         0.02},
        {"batch\x1frep\x1fr\x1fi", 0.1},
        {"batch\x1freport\x1fr\x1fi", 0.2}, /* of two clusters the lower one */
        {"batch\x1fsure\x1fs\x1fi", 0.5},
        {"batch\x1fnever\x1fn\x1fi", 0.01},
        {"\x1fnginx.service\x1fnginx.service\x1f", 0.04},
        {"batch\x1freports\x1fr\x1fi", NAN},
        {"batch\x1fre\x1fr\x1fi", NAN},
        {"shop\x1freport\x1fr\x1fi", NAN},
        {"zoo\x1f"
         "a\x1f"
         "b\x1f"
         "c",
         NAN},
        {"", NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double found = elsewhere_find(&list, cases[i].key);
        if (isnan(cases[i].expected))
            assert_true(isnan(found));
        else
            assert_true(found == cases[i].expected);
    }
    elsewhere_release(&list);
    assert_true(isnan(elsewhere_find(&list, "shop\x1f"
                                            "cart\x1f"
                                            "cart\x1f"
                                            "i")));
}

TEST(test_what_is_wrong_is_refused)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"{", "line 1: "},
        {"[]", "not an answer"},
        {"{\"status\":\"error\",\"error\":\"x\"}", "not an answer"},
        {"{\"data\":{\"resultType\":\"matrix\",\"result\":[]}}", "not an answer"},
        {ANSWER("{\"metric\":{\"namespace\":\"a\"},\"value\":[1,\"0.1\"]}"), "sample 1: no label"},
        {ANSWER(SAMPLE("a", "b", "0.1") "," SAMPLE("a", "c", "1.5")), "sample 2: its value"},
        {ANSWER(SAMPLE("a", "b", "-0.1")), "sample 1: its value"},
        {ANSWER(SAMPLE("a", "b", "NaN")), "sample 1: its value"},
        {ANSWER(SAMPLE("a", "b", "0.1x")), "sample 1: its value"},
        {ANSWER(SAMPLE("a", "b", "")), "sample 1: its value"},
        {ANSWER("{\"metric\":{\"workload\":\"b\"},\"value\":0.1}"), "sample 1: its value"},
        {ANSWER("7"), "sample 1: no label"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct elsewhere list = {.n = 7};
        char error[160];
        assert_int_equal(
            elsewhere_parse(cases[i].text, strlen(cases[i].text), &list, error, sizeof error),
            -EINVAL);
        assert_memory_equal(error, cases[i].error, strlen(cases[i].error));
        assert_int_equal(list.n, 7);
    }
}

TEST(test_an_empty_answer)
{
    struct elsewhere list = {0};
    char error[160];
    assert_int_equal(elsewhere_parse(ANSWER(""), strlen(ANSWER("")), &list, error, sizeof error),
                     0);
    assert_int_equal(list.n, 0);
    assert_true(isnan(elsewhere_find(&list, "a\x1f"
                                            "b\x1f"
                                            "c\x1f"
                                            "d")));
    elsewhere_release(&list);
    assert_int_equal(elsewhere_load("/nowhere", &list, error, sizeof error), -ENOENT);
}
