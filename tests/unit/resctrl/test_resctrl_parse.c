/* What resctrl's files say, and whose a group is by its name. */
#include "exporter/source/resctrl/tree.h"
#include "tests/unit/support/unit.h"

static int parse(const char *text, unsigned fraction, uint64_t *out)
{
    *out = 77;
    int err = mon_value_parse(text, strlen(text), fraction, out);
    if (err)
        assert_int_equal(*out, 77);
    return err;
}

TEST(test_values)
{
    static const struct {
        const char *text;
        unsigned fraction;
        int err;
        uint64_t value;
    } cases[] = {
        {"0\n", 0, 0, 0},
        {"1234567\n", 0, 0, 1234567},
        {"18446744073709551615\n", 0, 0, UINT64_MAX},
        {"18446744073709551616\n", 0, -ERANGE, 0},
        {"Unavailable\n", 0, -ENODATA, 0},
        {"Unassigned\n", 0, -ENODATA, 0},
        {"Error\n", 0, -EIO, 0},
        {"Errors\n", 0, -EINVAL, 0},
        {"Unavail", 0, -EINVAL, 0},
        {"", 0, -EINVAL, 0},
        {"\n", 0, -EINVAL, 0},
        {"12345", 0, -EINVAL, 0}, /* half written */
        {"12 34\n", 0, -EINVAL, 0},
        {"-5\n", 0, -EINVAL, 0},
        {"0x10\n", 0, -EINVAL, 0},
        {"1\n2\n", 0, -EINVAL, 0},
        {"1.5\n", 0, -EINVAL, 0},
        {"1.5\n", 6, 0, 1500000},
        {"16.0000019\n", 6, 0, 16000001},
        {"7\n", 6, 0, 7000000},
        {"7.\n", 6, -EINVAL, 0},
        {".5\n", 6, -EINVAL, 0},
        {"1.2.3\n", 6, -EINVAL, 0},
        {"18446744073710.0\n", 6, -ERANGE, 0},
        {"Unavailable\n", 6, -ENODATA, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t value;
        int err = parse(cases[i].text, cases[i].fraction, &value);
        if (err != cases[i].err || (!err && value != cases[i].value))
            fail_msg("\"%s\" is %d, %llu", cases[i].text, err, (unsigned long long)value);
    }
}

#define UID "0a1b2c3d-1111-2222-3333-444455556666"
#define UID32 "0a1b2c3d111122223333444455556666"
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

TEST(test_names)
{
    static const struct {
        const char *name;
        int kind; /* -1: nobody's */
        const char *id;
    } cases[] = {
        {UID, MON_POD, UID32},
        {UID32, MON_POD, UID32},
        {"0A1B2C3D-1111-2222-3333-444455556666", MON_POD, UID32},
        {"pod" UID, MON_POD, UID32},
        {"pod_" UID, MON_POD, UID32},
        {ID, MON_CONTAINER, ID},
        {"cri-containerd-" ID ".scope", MON_CONTAINER, ID},
        {"crio-" ID, MON_CONTAINER, ID},
        {"runc-" ID, MON_CONTAINER, ID},
        {"pods" UID, -1, NULL},
        {UID "0", -1, NULL},
        {"0a1b2c3d1-111-2222-3333-444455556666", -1, NULL},
        {"0a1b2c3d111122223333444455556666-" UID32, -1, NULL},
        {"x" ID, -1, NULL},
        {ID ".scop", -1, NULL},
        {"BE", -1, NULL},
        {"pod_", -1, NULL},
        {".scope", -1, NULL},
        {"", -1, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum mon_kind kind;
        char id[MON_ID_BYTES];
        bool known = mon_name_parse(cases[i].name, strlen(cases[i].name), &kind, id);
        if (known != (cases[i].kind >= 0))
            fail_msg("\"%s\" is%s known", cases[i].name, known ? "" : " not");
        if (!known)
            continue;
        assert_int_equal(kind, cases[i].kind);
        assert_string_equal(id, cases[i].id);
    }
}

TEST(test_owners)
{
    assert_string_equal(mon_class_owner("BE"), "koordinator");
    assert_string_equal(mon_class_owner("LSR"), "koordinator");
    assert_string_equal(mon_class_owner("BEST"), "");
    assert_string_equal(mon_class_owner("shared-30"), "katalyst");
    assert_string_equal(mon_class_owner("ig_7f_50"), "interference_governor");
    assert_string_equal(mon_class_owner("gold"), "");
}
