#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/containers/names/names.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

#define ID_A "aaaa0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
#define UID "11112222-3333-4444-5555-666677778888"
#define CONTAINERD "run/containerd/io.containerd.runtime.v2.task/k8s.io/"
#define CRIO "run/containers/storage/overlay-containers/"

/* A copy of a file in a block of its exact size, so that a sanitizer sees a read past the end. */
static char *read_fixture(const char *name, size_t *len)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/fixtures/containers/%s", IE_SOURCE_DIR, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    char *text = malloc((size_t)st.st_size);
    assert_non_null(text);
    assert_int_equal(read(fd, text, (size_t)st.st_size), st.st_size);
    close(fd);
    *len = (size_t)st.st_size;
    return text;
}

typedef int (*parser)(const char *json, size_t len, struct container_names *out);

static int parse_containerd(const char *json, size_t len, struct container_names *out)
{
    return names_parse_oci_config(json, len, DIALECT_CONTAINERD, out);
}

static int parse_crio(const char *json, size_t len, struct container_names *out)
{
    return names_parse_oci_config(json, len, DIALECT_CRIO, out);
}

static int parse_kubelets_docker(const char *json, size_t len, struct container_names *out)
{
    return names_parse_docker_config(json, len, true, out);
}

static int parse_plain_docker(const char *json, size_t len, struct container_names *out)
{
    return names_parse_docker_config(json, len, false, out);
}

static int parse_index(const char *json, size_t len, struct container_names *out)
{
    return names_parse_storage_index(json, len, ID_A, out);
}

static const struct row {
    const char *file;
    parser parse;
    int result;
    const char *namespace_, *pod, *name, *pod_uid, *image;
    bool sandbox;
} rows[] = {
    {"containerd-container.json", parse_containerd, 0, "shop", "cart-0", "cart", UID,
     "registry.example/shop/cart:1.4.2", false},
    {"containerd-sandbox.json", parse_containerd, 0, "shop", "cart-0", "", UID, "", true},
    {"containerd-old.json", parse_containerd, -ENOENT, "", "", "", "", "", false},
    {"containerd-container.json", parse_crio, -ENOENT, "", "", "", "", "", false},
    {"crio-container.json", parse_containerd, -ENOENT, "", "", "", "", "", false},
    {"crio-container.json", parse_crio, 0, "shop", "cart-0", "cart", UID,
     "registry.example/shop/cart:1.4.2", false},
    {"crio-sandbox.json", parse_crio, 0, "shop", "cart-0", "POD", UID, "", true},
    {"docker-kubernetes.json", parse_plain_docker, 0, "", "", "k8s_cart_cart-0_shop_" UID "_0", "",
     "sha256:4567", false},
    {"docker-kubernetes.json", parse_kubelets_docker, 0, "shop", "cart-0", "cart", UID,
     "sha256:4567", false},
    {"docker-sandbox.json", parse_kubelets_docker, 0, "shop", "cart-0", "POD", UID,
     "registry.k8s.io/pause:3.9", true},
    {"docker-plain.json", parse_kubelets_docker, 0, "", "", "web", "", "nginx:1.27", false},
    {"docker-no-labels.json", parse_plain_docker, 0, "", "", "web", "", "nginx:1.27", false},
    {"podman-containers.json", parse_index, 0, "", "", "web1", "", "docker.io/library/nginx:1.27",
     false},
};

static void check_names(const struct row *row, const struct container_names *names)
{
    assert_string_equal(names->namespace_, row->namespace_);
    assert_string_equal(names->pod, row->pod);
    assert_string_equal(names->name, row->name);
    assert_string_equal(names->pod_uid, row->pod_uid);
    assert_string_equal(names->image, row->image);
    assert_int_equal(names->sandbox, row->sandbox);
    assert_false(names->pod_only);
    assert_null(memmem(names, sizeof *names, "hunter2", 7));
}

TEST(every_format)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t len;
        char *text = read_fixture(rows[i].file, &len);
        struct container_names names = {.image = "untouched"};
        int err = rows[i].parse(text, len, &names);
        if (err != rows[i].result)
            fail_msg("%s: %d", rows[i].file, err);
        if (err)
            assert_string_equal(names.image, "untouched");
        else
            check_names(&rows[i], &names);
        free(text);
    }
}

/* A file that is still being written, cut at any byte, is not taken for a whole one. */
TEST(truncated_anywhere)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t len;
        char *text = read_fixture(rows[i].file, &len);
        if (text[len - 1] == '\n')
            len--;
        for (size_t cut = 0; cut < len; cut++) {
            char *part = malloc(cut ? cut : 1);
            assert_non_null(part);
            memcpy(part, text, cut);
            struct container_names names;
            assert_int_equal(rows[i].parse(part, cut, &names), -EINVAL);
            free(part);
        }
        free(text);
    }
}

TEST(not_what_it_should_be)
{
    static const struct {
        const char *json;
        int result;
    } cases[] = {
        {"", -EINVAL},
        {"null", -EINVAL},
        {"[]", -EINVAL},
        {"{}", -ENOENT},
        {" {} \n", -ENOENT},
        {"{}x", -EINVAL},
        {"{]", -EINVAL},
        {"{\"annotations\"}", -EINVAL},
        {"{\"annotations\":}", -EINVAL},
        {"{\"annotations\":null}", -ENOENT},
        {"{\"annotations\":[]}", -ENOENT},
        {"{\"annotations\":{}}", -ENOENT},
        {"{\"annotations\":{},}", -EINVAL},
        {"{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\"}}", 0},
        {"{\"annotations\":{\"io.kubernetes.cri.container-type\":7}}", -ENOENT},
        {"{\"annotations\":{\"io.kubernetes.cri.container-type\":\"\\u12\"}}", -EINVAL},
        {"{\"annotations\":{\"io.kubernetes.cri.container-type\":\"\xff\"}}", -EINVAL},
        {"{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\"]}", -EINVAL},
        {"{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\"}]", -EINVAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct container_names names;
        int err = parse_containerd(cases[i].json, strlen(cases[i].json), &names);
        if (err != cases[i].result)
            fail_msg("%s: %d", cases[i].json, err);
    }
}

TEST(deep_and_long)
{
    size_t len = 1 << 20;
    char *text = malloc(len);
    assert_non_null(text);
    struct container_names names;
    memset(text, '[', len);
    assert_int_equal(parse_containerd(text, len, &names), -EINVAL);
    memset(text, '{', len);
    assert_int_equal(parse_kubelets_docker(text, len, &names), -EINVAL);
    memset(text + len / 2, ']', len / 2);
    memset(text, '[', len / 2);
    assert_int_equal(names_parse_storage_index(text, len, ID_A, &names), -EINVAL);
    free(text);

    /* Longer than any name may be: cut, at a character's boundary. */
    char json[2048], pod[512];
    memset(pod, 'p', sizeof pod);
    memcpy(pod + 252, "\xc3\xa9", 2); /* e with acute accent on bytes 253 and 254 */
    snprintf(json, sizeof json,
             "{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":\"%.400s\","
             "\"io.kubernetes.cri.container-name\":\"c\\u00e9\\n\"}}",
             pod);
    assert_int_equal(parse_containerd(json, strlen(json), &names), 0);
    assert_int_equal(strlen(names.pod), 252);
    assert_string_equal(names.name, "c\xc3\xa9\n");
}

TEST(escaped_and_repeated)
{
    static const char json[] =
        "{ \"annotations\" : { \"x\" : \"}\\\"{\", \"io.kubernetes.cri.sandbox-name\":\"old\" ,"
        "\"io.kubernetes.cri.sandbox-name\" : \"p\" , \"io.kubernetes.cri.container-name\":\"n\"},"
        "\"process\":{\"args\":[\"\\\\\",\"]\"]} }";
    struct container_names names;
    assert_int_equal(parse_containerd(json, sizeof json - 1, &names), 0);
    assert_string_equal(names.pod, "p");
    assert_string_equal(names.name, "n");
}

TEST(storage_index)
{
    size_t len;
    char *text = read_fixture("podman-containers.json", &len);
    struct container_names names;
    assert_int_equal(names_parse_storage_index(text, len, "0000", &names), -ENOENT);
    char id[65] = "7777";
    memcpy(id + 4, &ID_A[4], 61);
    assert_int_equal(names_parse_storage_index(text, len, id, &names), -ENOENT); /* no names */
    free(text);
    assert_int_equal(names_parse_storage_index("[]", 2, ID_A, &names), -ENOENT);
    assert_int_equal(names_parse_storage_index("[1]", 3, ID_A, &names), -EINVAL);
    assert_int_equal(names_parse_storage_index("[{},]", 5, ID_A, &names), -EINVAL);
}

/* ---- log links ---- */

#define PODS "/var/log/pods/"

TEST(log_targets)
{
    struct container_names names;
    static const char target[] = PODS "shop_cart-0_" UID "/cart/3.log";
    assert_int_equal(names_parse_log_target(target, sizeof target - 1, &names), 0);
    assert_string_equal(names.namespace_, "shop");
    assert_string_equal(names.pod, "cart-0");
    assert_string_equal(names.name, "cart");
    assert_string_equal(names.pod_uid, UID);
    assert_false(names.pod_only);
    static const char *const others[] = {
        "",
        "/",
        "x.log",
        "cart/3.log",
        PODS "shop_cart-0_" UID "//3.log",
        PODS "shop_cart-0/cart/3.log",
        PODS "__/cart/3.log",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (names_parse_log_target(others[i], strlen(others[i]), &names) != -EINVAL)
            fail_msg("%s", others[i]);
    }
}

static void check_link(const char *file, int digits)
{
    const struct container_names names = {.namespace_ = "shop", .pod = "cart-0", .name = "a-b"};
    int got = names_match_log_link(file, strlen(file), &names, ID_A);
    if (got != digits)
        fail_msg("%s: %d", file, got);
}

TEST(log_links)
{
    check_link("cart-0_shop_a-b-" ID_A ".log", 64);
    check_link("cart-0_shop_a-b-" ID_A, -1);
    check_link("cart-0_shop_a-b-" ID_A "0.log", -1);
    check_link("cart-0_shop_a-b-aaaa0123456789ab.log", -1);
    check_link("cart-0_shop_a-c-" ID_A ".log", -1);
    check_link("cart-0_shop_a-" ID_A ".log", -1);
    check_link("cart-1_shop_a-b-" ID_A ".log", -1);
    check_link("cart-0_bank_a-b-" ID_A ".log", -1);
    check_link("cart-0_shop_a-b-bbbb0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
               ".log",
               -1);
    check_link("cart-0_shop_a-b-" ID_A ".lo", -1);
    check_link(".log", -1);
    check_link("", -1);
}

/* The kubelet cuts at 251 bytes and adds ".log". */
static void cut_link(size_t pod_len, int digits)
{
    struct container_names names = {.namespace_ = "shop", .name = "cart-cafe"};
    char whole[512], file[256];
    memset(names.pod, 'p', pod_len);
    snprintf(whole, sizeof whole, "%s_shop_cart-cafe-%s", names.pod, ID_A);
    assert_true(strlen(whole) > 251);
    snprintf(file, sizeof file, "%.251s.log", whole);
    assert_int_equal(names_match_log_link(file, strlen(file), &names, ID_A), digits);
    assert_int_equal(names_match_log_link(file, strlen(file) - 1, &names, ID_A), -1);
}

TEST(cut_log_links)
{
    /* 251 = pod + "_shop_cart-cafe-" (16) + digits */
    cut_link(251 - 16 - 63, 63);
    cut_link(251 - 16 - 12, 12);
    cut_link(251 - 16 - 1, 1);
    cut_link(251 - 16, 0);
    cut_link(251 - 15, 0); /* within the container's name */
    cut_link(250, 0);
}

TEST(pod_folders)
{
    struct container_names names;
    static const char folder[] = "shop_cart-0_" UID;
    assert_int_equal(names_parse_pod_folder(folder, sizeof folder - 1, &names), 0);
    assert_string_equal(names.namespace_, "shop");
    assert_string_equal(names.pod, "cart-0");
    assert_string_equal(names.pod_uid, UID);
    assert_true(names.pod_only);
    assert_int_equal(names_parse_pod_folder("a_b", 3, &names), -EINVAL);
    assert_int_equal(names_parse_pod_folder("_b_c", 4, &names), -EINVAL);
    assert_int_equal(names_parse_pod_folder("a__c", 4, &names), -EINVAL);
    assert_int_equal(names_parse_pod_folder("a_b_", 4, &names), -EINVAL);
}

/* ---- lookup in a tree ---- */

static void put(struct fixture *f, const char *path, const char *fixture_file)
{
    size_t len;
    char *text = read_fixture(fixture_file, &len);
    fixture_write(f, path, "%.*s", (int)len, text);
    free(text);
}

static int lookup(struct fixture *f, enum names_mode mode, const char *cgroup,
                  struct container_names *out)
{
    struct cgroup_path_info info;
    cgroup_path_parse(cgroup, strlen(cgroup), &info);
    struct names *names;
    assert_int_equal(names_new(&f->fs, mode, &names), 0);
    int err = names_lookup(names, &info, 0, out);
    names_free(names);
    return err;
}

#define POD_CGROUP "/kubepods/burstable/pod" UID "/"

TEST(lookup_by_runtime)
{
    static const struct {
        const char *path, *file, *cgroup, *runtime, *name;
    } cases[] = {
        {"host/" CONTAINERD ID_A "/config.json", "containerd-container.json", POD_CGROUP ID_A,
         "containerd", "cart"},
        {"host/" CONTAINERD ID_A "/config.json", "containerd-container.json",
         POD_CGROUP "cri-containerd-" ID_A ".scope", "containerd", "cart"},
        {"host/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/" ID_A "/config.json",
         "containerd-container.json", POD_CGROUP ID_A, "containerd", "cart"},
        {"host/" CRIO ID_A "/userdata/config.json", "crio-container.json",
         POD_CGROUP "crio-" ID_A ".scope", "cri-o", "cart"},
        {"host/var/lib/docker/containers/" ID_A "/config.v2.json", "docker-plain.json",
         "/docker/" ID_A, "docker", "web"},
        {"host/var/lib/docker/containers/" ID_A "/config.v2.json", "docker-kubernetes.json",
         POD_CGROUP ID_A, "docker", "cart"},
        {"host/var/lib/containers/storage/overlay-containers/containers.json",
         "podman-containers.json", "/machine.slice/libpod-" ID_A ".scope", "podman", "web1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        fixture_init(&f);
        struct container_names names;
        assert_int_equal(lookup(&f, NAMES_AUTO, cases[i].cgroup, &names), -ENOENT);
        put(&f, cases[i].path, cases[i].file);
        assert_int_equal(lookup(&f, NAMES_AUTO, cases[i].cgroup, &names), 0);
        assert_string_equal(names.runtime, cases[i].runtime);
        assert_string_equal(names.name, cases[i].name);
        assert_int_equal(lookup(&f, NAMES_RUNTIME, cases[i].cgroup, &names), 0);
        assert_int_equal(lookup(&f, NAMES_LOGS, cases[i].cgroup, &names), -ENOENT);
        assert_int_equal(lookup(&f, NAMES_NONE, cases[i].cgroup, &names), -ENOENT);
        assert_int_equal(lookup(&f, NAMES_AUTO, "/system.slice/ssh.service", &names), -ENOENT);
        fixture_release(&f);
    }
}

FIXTURE_TEST(lookup_by_logs, f)
{
    struct container_names names;
    for (int i = 0; i < 50; i++) {
        char path[256];
        snprintf(path, sizeof path,
                 "host/var/log/containers/other-%d_shop_cart-"
                 "%04d0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab.log",
                 i, i);
        fixture_link(f, path, "/var/log/pods/shop_other_" UID "/cart/0.log");
    }
    assert_int_equal(lookup(f, NAMES_AUTO, POD_CGROUP ID_A, &names), -ENOENT);
    /* The pod's folder comes before the container's link, and the sandbox gets no link at all. */
    fixture_mkdir(f, "host/var/log/pods/shop_cart-0_" UID);
    assert_int_equal(lookup(f, NAMES_AUTO, POD_CGROUP ID_A, &names), 0);
    assert_true(names.pod_only);
    assert_string_equal(names.namespace_, "shop");
    assert_string_equal(names.pod, "cart-0");
    assert_string_equal(names.name, "");
    /* A container inside that container has nothing to do with the kubelet. */
    char nested[256] = POD_CGROUP ID_A "/docker/bbbb";
    strncat(nested, &ID_A[4], sizeof nested - strlen(nested) - 1);
    assert_int_equal(lookup(f, NAMES_AUTO, nested, &names), -ENOENT);

    fixture_link(f, "host/var/log/containers/cart-0_shop_cart-" ID_A ".log",
                 "/var/log/pods/shop_cart-0_" UID "/cart/0.log");
    assert_int_equal(lookup(f, NAMES_AUTO, POD_CGROUP ID_A, &names), 0);
    assert_false(names.pod_only);
    assert_string_equal(names.name, "cart");
    assert_string_equal(names.pod, "cart-0");
    assert_string_equal(names.namespace_, "shop");
    assert_string_equal(names.pod_uid, UID); /* from the cgroup's path */
    assert_string_equal(names.runtime, "");
    assert_int_equal(lookup(f, NAMES_LOGS, POD_CGROUP ID_A, &names), 0);
    assert_int_equal(lookup(f, NAMES_RUNTIME, POD_CGROUP ID_A, &names), -ENOENT);

    /* auto prefers the state file, which knows the image; a broken one does not hide the logs. */
    put(f, "host/" CONTAINERD ID_A "/config.json", "containerd-container.json");
    assert_int_equal(lookup(f, NAMES_AUTO, POD_CGROUP ID_A, &names), 0);
    assert_string_equal(names.image, "registry.example/shop/cart:1.4.2");
    fixture_write(f, "host/" CONTAINERD ID_A "/config.json", "{\"annot");
    assert_int_equal(lookup(f, NAMES_AUTO, POD_CGROUP ID_A, &names), 0);
    assert_string_equal(names.image, "");
    assert_int_equal(lookup(f, NAMES_RUNTIME, POD_CGROUP ID_A, &names), -EINVAL);
}

static void in_fixture(struct fixture *f, const char *path, char *out, size_t size)
{
    snprintf(out, size, "%s/%s", f->root, path);
}

/* What is no regular file of a sane size is refused, quickly. */
FIXTURE_TEST(strange_state_files, f)
{
    struct container_names names;
    char path[512], other[512];
    in_fixture(f, "host/" CONTAINERD ID_A "/config.json", path, sizeof path);

    fixture_mkdir(f, "host/" CONTAINERD ID_A "/config.json");
    assert_int_equal(lookup(f, NAMES_AUTO, POD_CGROUP ID_A, &names), -EINVAL);
    assert_int_equal(rmdir(path), 0);

    assert_int_equal(mkfifo(path, 0600), 0); /* no writer: must not wait */
    assert_int_equal(lookup(f, NAMES_AUTO, POD_CGROUP ID_A, &names), -EINVAL);
    assert_int_equal(unlink(path), 0);

    put(f, "host/elsewhere.json", "containerd-container.json");
    in_fixture(f, "host/elsewhere.json", other, sizeof other);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(lookup(f, NAMES_AUTO, POD_CGROUP ID_A, &names), -EINVAL);
    assert_int_equal(unlink(path), 0);

    put(f, "host/" CONTAINERD ID_A "/config.json", "containerd-container.json");
    assert_int_equal(lookup(f, NAMES_AUTO, POD_CGROUP ID_A, &names), 0);
    assert_int_equal(truncate(path, 10 << 20), 0); /* 10 MB */
    assert_int_equal(lookup(f, NAMES_AUTO, POD_CGROUP ID_A, &names), -EINVAL);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(lookup(f, NAMES_AUTO, POD_CGROUP ID_A, &names), -EINVAL);
}

/* A real config.json is often 10 KiB and may be a few hundred. */
FIXTURE_TEST(large_but_fine, f)
{
    put(f, "host/" CONTAINERD ID_A "/config.json", "containerd-container.json");
    char path[512], spaces[4096];
    in_fixture(f, "host/" CONTAINERD ID_A "/config.json", path, sizeof path);
    memset(spaces, ' ', sizeof spaces);
    FILE *file = fopen(path, "ae");
    assert_non_null(file);
    for (int i = 0; i < 150; i++)
        assert_int_equal(fwrite(spaces, 1, sizeof spaces, file), sizeof spaces);
    fclose(file);
    struct container_names names;
    assert_int_equal(lookup(f, NAMES_AUTO, POD_CGROUP ID_A, &names), 0);
    assert_string_equal(names.name, "cart");
}

/* The host's absolute links are meant from the host's root, wherever that is mounted. */
FIXTURE_TEST(links_on_the_host, f)
{
    put(f, "host/data/docker/containers/" ID_A "/config.v2.json", "docker-plain.json");
    fixture_mkdir(f, "host/var/lib");
    char path[512];
    in_fixture(f, "host/var/lib/docker", path, sizeof path);
    assert_int_equal(symlink("/data/docker", path), 0);
    struct container_names names;
    assert_int_equal(lookup(f, NAMES_AUTO, "/docker/" ID_A, &names), 0);
    assert_string_equal(names.name, "web");
    /* ... and cannot lead out of it. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("../../../../../../../../../../data/docker", path), 0);
    assert_int_equal(lookup(f, NAMES_AUTO, "/docker/" ID_A, &names), 0);
}
