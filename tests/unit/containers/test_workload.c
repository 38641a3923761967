/* Which name is whose: names as the controllers of Kubernetes, systemd and Docker make them, names
 * that people give, and names that somebody wants to harm with. */
#include "exporter/containers/container.h"
#include "exporter/containers/workload.h"
#include "tests/unit/support/unit.h"

#define HEX_12 "3f2a1b9c8d7e"
#define HEX_32 "0123456789abcdef0123456789abcdef"
#define HEX_64 HEX_32 HEX_32
#define UUID "550e8400-e29b-41d4-a716-446655440000"
#define SWARM_ID "k5lgz2x8q9w3hj4n6m7p0r1st"
#define TEN "abcdefghij"
#define FIFTY TEN TEN TEN TEN TEN

struct row {
    const char *name, *owner;
};

static const struct row pods[] = {
    /* Deployment */
    {"coredns-5d78c9869d-4xg9x", "coredns"},
    {"nginx-deployment-66b6c48dd5-7w4bx", "nginx-deployment"},
    {"ingress-nginx-controller-6799fc88d8-2tkcs", "ingress-nginx-controller"},
    {"cart-7c5ddbdf54-pqz6k", "cart"},
    {"web-2-7c5ddbdf54-pqz6k", "web-2"}, /* the Deployment's own number */
    {"payments-v2.1-5b8c6f-x2x4z", "payments-v2.1"},
    {"mssql-54d89c7bf6-b7xwz", "mssql"},
    {"report-84957fcb-httpd", "report-84957fcb-httpd"}, /* one pod in a million */
    {"a-5d78c9869d-4xg9x", "a"},
    /* CronJob and Job */
    {"backup-28394021-x7x2x", "backup"},
    {"backup-1617235200-x7x2x", "backup"}, /* seconds, before Kubernetes 1.21 */
    {"backup-28394021", "backup"},
    {"backup-28394021-123456-x7x2x", "backup-28394021"},
    {"nightly-28394021-3-x7x2x", "nightly"}, /* indexed */
    {"pi-8k2zc", "pi"},
    {"train-0-vbxhd", "train"},
    {"train-12-vbxhd", "train"},
    {"migrate-db-17-q5lv2", "migrate-db"},
    {"ci-run-x7x2x-h8k2z", "ci-run"}, /* its name was generated, too */
    {"hello-world-2894726142", "hello-world"},
    {"render-456789-4xg9x", "render"}, /* digits may be a hash as well */
    /* StatefulSet */
    {"mysql-0", "mysql"},
    {"prometheus-k8s-1", "prometheus-k8s"},
    {"shard-1-0", "shard-1"},
    {"elasticsearch-data-127", "elasticsearch-data"},
    {"my-cluster-kafka-2", "my-cluster-kafka"},
    {"cassandra-24568", "cassandra"},
    /* DaemonSet, bare generateName */
    {"kube-proxy-8h5zn", "kube-proxy"},
    {"fluent-bit-2xkqt", "fluent-bit"},
    {"node-exporter-vwxz9", "node-exporter"},
    {"csi-httpd-4xg9x", "csi-httpd"},
    {"docker-registry-1-8w4vb", "docker-registry"}, /* DeploymentConfig */
    {"agent-2-8w4vb", "agent"},                     /* cannot be told from it */
    /* static pods */
    {"kube-apiserver-node1", "kube-apiserver-node1"},
    {"etcd-ip-10-0-1-23.ec2.internal", "etcd-ip-10-0-1-23.ec2.internal"},
    {"kube-scheduler-master-0", "kube-scheduler-master"},
    {"etcd-prod-control-plane-x7x2x", "etcd-prod-control-plane"},
    /* pods that people name */
    {"my-cache", "my-cache"},
    {"db-proxy", "db-proxy"},
    {"redis", "redis"},
    {"apache-httpd", "apache-httpd"},
    {"prod-mssql", "prod-mssql"},
    {"web-nginx", "web-nginx"},
    {"kafka-5d78c9869d", "kafka-5d78c9869d"},
    {"job-123456-retry", "job-123456-retry"},
    {"x-4xg9a", "x-4xg9a"},
    {"x-4xg9", "x-4xg9"},
    {"x-4xg9x4", "x-4xg9x4"},
    {"x4xg9x", "x4xg9x"},
    {"web-5d78c-4xg9x", "web"},                   /* five of a hash look drawn */
    {"web-5d7-4xg9x", "web-5d7"},                 /* too short for a hash */
    {"web-5d78c9869db-4xg9x", "web-5d78c9869db"}, /* too long */
    {"web-5d78c9869x-4xg9x", "web-5d78c9869x"},   /* drawn, but no hash */
    /* cut by the API server */
    {FIFTY "-5d78c94xg9x", FIFTY "-5d78c94xg9x"}, /* 62: it was not */
    {FIFTY "-5d78c984xg9x", FIFTY},
    {FIFTY "abcdef-d4xg9x", FIFTY "abcdef"},
    {FIFTY "-28394014xg9x", FIFTY},
    {FIFTY "a-5d78c94xg9x", FIFTY "a"},
    {FIFTY "abcdefg-4xg9x", FIFTY "abcdefg"},
    {FIFTY "abcdefgh4xg9x", FIFTY "abcdefgh"},
    {FIFTY "abcdefghhttpd", FIFTY "abcdefghhttpd"},
    {FIFTY "ab-123454xg9x", FIFTY "ab"},
    /* hostile */
    {"-", "-"},
    {"-----", "-----"},
    {"------0", "-----"},
    {"-0", "-0"},
    {"0", "0"},
    {"4xg9x", "4xg9x"},
    {"-4xg9x", "-4xg9x"},
    {"5d78c9869d-4xg9x", "5d78c9869d"},
    {"-5d78c9869d-4xg9x", "-5d78c9869d"},
    {"28394021-x7x2x", "28394021"},
    {"28394021", "28394021"},
    {"x7x2x-x7x2x-x7x2x-x7x2x", "x7x2x-x7x2x"},
    {"a-0-0-0-0", "a-0-0-0"},
    {"web-\xc3\xa4-4xg9x", "web-\xc3\xa4"},
    {"WEB-4XG9X", "WEB-4XG9X"},
};

static const struct row plain[] = {
    /* Docker and podman */
    {"proj-web-1", "proj-web-1"},
    {"proj_web_1", "proj_web_1"},
    {"compute-1", "compute-1"},
    {"jolly_hopper", "jolly_hopper"},
    {"proj-web-run-" HEX_12, "proj-web-run"},
    {"web.1." SWARM_ID, "web.1"},
    {"web." SWARM_ID "." SWARM_ID, "web." SWARM_ID}, /* a global service's, on its node */
    {"redis-" UUID, "redis"},                        /* Nomad */
    {"ecs-shop-3-cart-eac3b9d4f6e1a2b3c401", "ecs-shop-3-cart"},
    {"cart-4xg9x", "cart-4xg9x"}, /* no pod: nothing of Kubernetes */
    {"user-service-" HEX_12, "user-service"},
    /* a cgroup's name, where there is no other */
    {"docker-" HEX_64 ".scope", "docker-" HEX_64 ".scope"},
    {"cri-containerd-" HEX_32 HEX_12 "12345678901234567890.scope",
     "cri-containerd-" HEX_32 HEX_12 "12345678901234567890.scope"},
    {HEX_64, HEX_64},
    {HEX_12, HEX_12},
    {UUID, UUID},
    {"nginx.service", "nginx.service"},
    {"run-u123.service", "run"},
    {"run-r" HEX_32 ".scope", "run"},
    {"run-p4711-i4712.service", "run"},
    {"run-4711.scope", "run"},
    {"run-race.service", "run-race.service"},
    {"run-u1x.service", "run-u1x.service"},
    {"runner-u123.service", "runner-u123.service"},
    {"session-12.scope", "session"},
    {"session-c2.scope", "session"},
    {"session-keeper.service", "session-keeper.service"},
    {"user-165536.slice", "user-165536.slice"},
    {"user@165536.service", "user@165536.service"},
    {"postgresql@15-main.service", "postgresql@15-main.service"},
    {"build@1234567.service", "build"},
    {"job_123456", "job"},
    {"job_12345", "job_12345"},
    {"job_3f2a1b9c8d7", "job_3f2a1b9c8d7"},
    {"3f2a1b123456", "3f2a1b123456"},
    {"web-" SWARM_ID, "web-" SWARM_ID},
    {"batch20240115", "batch"},
    {"vte-spawn-" UUID ".scope", "vte-spawn"},
    {"deadbeefcafe01", "deadbeefcafe01"},
    {"xdeadbeefcafe", "xdeadbeefcafe"},
    /* hostile */
    {"", ""},
    {"-", "-"},
    {".scope", ".scope"},
    {"-123456", "-123456"},
    {"123456", "123456"},
    {"---.scope", "---.scope"},
    {"-----123456.scope", "-----123456.scope"},
    {"-" HEX_12, "-" HEX_12},
    {"run-.service", "run-.service"},
    {"run-u.service", "run-u.service"},
    {"session-.scope", "session-.scope"},
};

/* In a block of its own size, so that sanitizers see any byte too many. */
static size_t owner_len(const char *pod, const char *name)
{
    char *p = strdup(pod), *n = strdup(name);
    assert_non_null(p);
    assert_non_null(n);
    size_t len = workload_owner_len(p, n);
    free(p);
    free(n);
    return len;
}

static void check_row(const struct row *row, size_t len)
{
    if (len == strlen(row->owner) && strncmp(row->name, row->owner, len) == 0)
        return;
    fail_msg("%s: the first %zu bytes, not %s", row->name, len, row->owner);
}

TEST(owners_of_pods)
{
    for (size_t i = 0; i < sizeof pods / sizeof *pods; i++)
        check_row(&pods[i], owner_len(pods[i].name, "run-u123.service"));
}

TEST(owners_outside_kubernetes)
{
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        check_row(&plain[i], owner_len("", plain[i].name));
}

/* Whose own name ends in what looks generated. */
static bool has_tail_of_its_own(const char *owner)
{
    static const char *const owners[] = {
        "web-2",       "shard-1", "backup-28394021", "28394021-x7x2x",
        "x7x2x-x7x2x", "a-0-0-0", "web." SWARM_ID,
    };
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
        if (strcmp(owner, owners[i]) == 0)
            return true;
    return false;
}

TEST(all_others_are_their_own)
{
    for (size_t i = 0; i < sizeof pods / sizeof *pods; i++)
        if (!has_tail_of_its_own(pods[i].owner))
            check_row(&(struct row){pods[i].owner, pods[i].owner}, owner_len(pods[i].owner, ""));
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!has_tail_of_its_own(plain[i].owner))
            check_row(&(struct row){plain[i].owner, plain[i].owner}, owner_len("", plain[i].owner));
}

/* All beginnings of all names, and names as long as they get. */
TEST(bounds)
{
    static const char *const tails[] = {"",           "-4xg9x",   "-0",
                                        "-28394021",  "-" HEX_12, "-5d78c9869d-4xg9x",
                                        "." SWARM_ID, "-" HEX_64, "-" UUID};
    char name[512];
    for (size_t i = 0; i < sizeof pods / sizeof *pods; i++) {
        snprintf(name, sizeof name, "%s", pods[i].name);
        for (size_t n = strlen(name); n > 0; n--) {
            name[n] = '\0';
            size_t as_pod = owner_len(name, ""), as_name = owner_len("", name);
            assert_true(as_pod > 0 && as_pod <= n);
            assert_true(as_name > 0 && as_name <= n);
        }
    }
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        size_t tail = strlen(tails[i]);
        memset(name, 'o', 253 - tail);
        memcpy(&name[253 - tail], tails[i], tail + 1);
        assert_in_range(owner_len(name, ""), 1, 253);
        assert_in_range(owner_len("", name), 1, 253);
    }
    assert_int_equal(owner_len("", ""), 0);
}

/* ---- keys ---- */

static struct container container_of(const char *namespace_, const char *pod, const char *name,
                                     const char *image)
{
    return (struct container){.namespace_ = namespace_, .pod = pod, .name = name, .image = image};
}

/* In 'parts' the separator is a bar. */
static void assert_key(const char *namespace_, const char *pod, const char *name, const char *image,
                       const char *parts)
{
    const struct container container = container_of(namespace_, pod, name, image);
    char key[WORKLOAD_KEY_BYTES], want[WORKLOAD_KEY_BYTES];
    snprintf(want, sizeof want, "%s", parts);
    for (char *at = want; (at = strchr(at, '|')); at++)
        *at = '\x1f';
    memset(key, 'x', sizeof key);
    size_t len = workload_key(&container, key);
    assert_string_equal(key, want);
    assert_int_equal(len, strlen(want));
}

TEST(keys)
{
    assert_key("shop", "cart-5d78c9869d-4xg9x", "cart", "cart:1", "shop|cart|cart|cart");
    assert_key("shop", "cart-66b6c48dd5-7w4bx", "cart", "cart:2", "shop|cart|cart|cart");
    assert_key("test", "cart-66b6c48dd5-7w4bx", "cart", "cart:2", "test|cart|cart|cart");
    assert_key("shop", "cart-66b6c48dd5-7w4bx", "log", "log", "shop|cart|log|log");
    assert_key("shop", "cart-0", "session-1.scope", "", "shop|cart|session-1.scope|");
    /* the name of each run is another one */
    assert_key("", "", "run-u1.service", "", "|run|run|");
    assert_key("", "", "proj-web-1", "web:1", "|proj-web-1|proj-web-1|web");
    assert_key("", "", "", "", "|||");
    assert_key("a\x1f"
               "b",
               "c\n", "d\x1e", "e", "a?b|c?|d?|e");
}

TEST(images)
{
    static const struct row rows[] = {
        {"app", "app"},
        {"app:1.2", "app"},
        {"team/app:1.2", "team/app"},
        {"registry:5000/app", "registry:5000/app"},
        {"registry:5000/team/app:1.2", "registry:5000/team/app"},
        {"localhost:5000/app:latest@sha256:" HEX_64, "localhost:5000/app"},
        {"docker.io/library/redis@sha256:" HEX_64, "docker.io/library/redis"},
        {"registry.k8s.io/kube-proxy:v1.31.0", "registry.k8s.io/kube-proxy"},
        {"[::1]:5000/app:1", "[::1]:5000/app"},
        {"sha256:" HEX_64, "sha256"},
        {"", ""},
        {":", ""},
        {"@", ""},
        {"/", "/"},
        {"a/:@:/:", "a/"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char want[WORKLOAD_KEY_BYTES];
        snprintf(want, sizeof want,
                 "n\x1fp\x1f"
                 "c\x1f%s",
                 rows[i].owner);
        assert_key("n", "p-0", "c", rows[i].name, want);
    }
}

/* Of 'n' bytes in its last field; 511 are the most that fit, with five for the others. */
static size_t long_key(size_t n, char last, char out[WORKLOAD_KEY_BYTES])
{
    char image[2 * WORKLOAD_KEY_BYTES];
    memset(image, 'i', n);
    image[n - 1] = last;
    image[n] = '\0';
    const struct container container = container_of("n", "p", "c", image);
    return workload_key(&container, out);
}

TEST(what_is_cut_stays_apart)
{
    char a[WORKLOAD_KEY_BYTES], b[WORKLOAD_KEY_BYTES];
    assert_int_equal(long_key(505, 'a', a), 511);
    assert_null(strchr(a, '\x1e'));
    assert_int_equal(a[510], 'a');
    assert_int_equal(long_key(506, 'a', a), 511);
    assert_int_equal(strlen(a), 511);
    assert_ptr_equal(strchr(a, '\x1e'), &a[511 - 33]);
    assert_int_equal(strspn(&a[511 - 32], "0123456789abcdef"), 32);
    assert_int_equal(long_key(506, 'b', b), 511);
    assert_memory_equal(a, b, 511 - 33);
    assert_string_not_equal(a, b);
    assert_int_equal(long_key(506, 'a', b), 511);
    assert_string_equal(a, b);
    assert_int_equal(long_key(900, 'a', b), 511);
    assert_string_not_equal(a, b);
    /* what differs before the cut differs still */
    char name[600];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    struct container container = container_of("n", "p", name, "x");
    workload_key(&container, a);
    container.image = "y";
    workload_key(&container, b);
    assert_string_not_equal(a, b);
}
