/* What tenants can write where names are looked for: none of it makes them another, or nobody. */
#include "exporter/containers/names/names.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

#define VICTIM "aaaa0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
#define EVIL "eeee0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
#define VICTIM_UID "11112222-3333-4444-5555-666677778888"
#define EVIL_UID "eeee2222-3333-4444-5555-666677778888"
#define STATIC_UID "0123456789abcdef0123456789abcdef"
#define POD_OF(uid) "/kubepods/burstable/pod" uid "/"
#define CONTAINERD "host/run/containerd/io.containerd.runtime.v2.task/k8s.io/"
#define CRIO "host/run/containers/storage/overlay-containers/"
#define DOCKER "host/var/lib/docker/containers/"
#define LINKS "host/var/log/containers/"

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

static void expect(struct fixture *f, enum names_mode mode, const char *cgroup,
                   const char *namespace_, const char *pod, const char *name)
{
    struct container_names names;
    int err = lookup(f, mode, cgroup, &names);
    if (err)
        fail_msg("%s: %d", cgroup, err);
    assert_string_equal(names.namespace_, namespace_);
    assert_string_equal(names.pod, pod);
    assert_string_equal(names.name, name);
    assert_false(names.sandbox);
    assert_false(names.pod_only);
}

#define CRIO_OWN(uid)                                                                              \
    "\"io.kubernetes.pod.namespace\":\"tenant\",\"io.kubernetes.pod.name\":\"evil-0\","            \
    "\"io.kubernetes.container.name\":\"evil\",\"io.kubernetes.pod.uid\":\"" uid "\","             \
    "\"io.kubernetes.cri-o.ContainerType\":\"container\""
#define CONTAINERD_OTHER(uid)                                                                      \
    "\"io.kubernetes.cri.sandbox-namespace\":\"kube-system\","                                     \
    "\"io.kubernetes.cri.sandbox-name\":\"etcd-0\",\"io.kubernetes.cri.container-name\":\"etcd\"," \
    "\"io.kubernetes.cri.sandbox-uid\":\"" uid "\""

/* CRI-O copies a pod's annotations into each container's file. */
FIXTURE_TEST(annotations_of_another_runtime, f)
{
    fixture_write(f, CRIO EVIL "/userdata/config.json", "{\"annotations\":{%s,%s}}",
                  CONTAINERD_OTHER(EVIL_UID), CRIO_OWN(EVIL_UID));
    expect(f, NAMES_AUTO, POD_OF(EVIL_UID) "crio-" EVIL ".scope", "tenant", "evil-0", "evil");
    fixture_write(f, CRIO EVIL "/userdata/config.json", "{\"annotations\":{%s,%s}}",
                  "\"io.kubernetes.cri.container-type\":\"sandbox\"", CRIO_OWN(EVIL_UID));
    expect(f, NAMES_AUTO, POD_OF(EVIL_UID) "crio-" EVIL ".scope", "tenant", "evil-0", "evil");
}

/* Docker merges an image's labels into those of its containers. */
FIXTURE_TEST(labels_of_an_image, f)
{
    static const char file[] =
        "{\"Name\":\"/evil\",\"Config\":{\"Image\":\"evil:1\",\"Labels\":{"
        "\"io.kubernetes.pod.namespace\":\"kube-system\",\"io.kubernetes.pod.name\":\"apiserver\","
        "\"io.kubernetes.container.name\":\"apiserver\",\"io.kubernetes.pod.uid\":\"%s\","
        "\"io.kubernetes.docker.type\":\"%s\"}}}";
    static const char *const cgroups[] = {"/docker/" EVIL, "/system.slice/docker-" EVIL ".scope"};
    static const char *const uids[] = {"", VICTIM_UID}, *const types[] = {"", "podsandbox"};
    for (int i = 0; i < 8; i++) {
        fixture_write(f, DOCKER EVIL "/config.v2.json", file, uids[i & 1], types[i >> 1 & 1]);
        expect(f, NAMES_AUTO, cgroups[i >> 2], "", "", "evil");
    }
}

/* Nobody's state speaks for a cgroup of another pod, nor for one that is in none. */
FIXTURE_TEST(state_of_another_pod, f)
{
    struct container_names names;
    static const char *const cgroups[] = {
        POD_OF(EVIL_UID) VICTIM,
        POD_OF(EVIL_UID) "cri-containerd-" VICTIM ".scope",
        "/kubepods/besteffort/" VICTIM,
        "/own/parent/" VICTIM,
        "/user.slice/user-1000.slice/user@1000.service/cri-containerd-" VICTIM ".scope",
    };
    static const char *const files[] = {
        "{\"annotations\":{" CONTAINERD_OTHER(VICTIM_UID) "}}",
        "{\"annotations\":{" CONTAINERD_OTHER("") "}}",
        "{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\"}}",
    };
    for (size_t i = 0; i < sizeof cgroups / sizeof *cgroups; i++) {
        for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
            fixture_write(f, CONTAINERD VICTIM "/config.json", "%s", files[k]);
            if (lookup(f, NAMES_RUNTIME, cgroups[i], &names) != -ENOENT)
                fail_msg("%s by file %zu", cgroups[i], k);
        }
    }
    fixture_write(f, CONTAINERD VICTIM "/config.json", "%s", files[0]);
    expect(f, NAMES_RUNTIME, POD_OF(VICTIM_UID) VICTIM, "kube-system", "etcd-0", "etcd");
    fixture_write(f, CONTAINERD VICTIM "/config.json", "{\"annotations\":{%s}}",
                  CONTAINERD_OTHER(STATIC_UID));
    expect(f, NAMES_RUNTIME, POD_OF(STATIC_UID) VICTIM, "kube-system", "etcd-0", "etcd");
}

static void put_link(struct fixture *f, const char *namespace_, const char *pod, const char *uid,
                     const char *name, const char *id)
{
    char stem[1024], path[512], target[1024];
    snprintf(stem, sizeof stem, "%s_%s_%s-%s", pod, namespace_, name, id);
    snprintf(path, sizeof path, LINKS "%.251s.log", stem);
    snprintf(target, sizeof target, "/var/log/pods/%s_%s_%s/%s/0.log", namespace_, pod, uid, name);
    fixture_link(f, path, target);
}

/* A directory of an id inside a container is whatever the container's tenant made. */
FIXTURE_TEST(what_is_inside_has_no_names, f)
{
    struct container_names names;
    fixture_write(f, CONTAINERD VICTIM "/config.json", "{\"annotations\":{%s}}",
                  CONTAINERD_OTHER(VICTIM_UID));
    put_link(f, "kube-system", "etcd-0", VICTIM_UID, "etcd", VICTIM);
    static const char *const cgroups[] = {
        POD_OF(EVIL_UID) EVIL "/" VICTIM,
        POD_OF(EVIL_UID) EVIL POD_OF(VICTIM_UID) VICTIM,
        "/docker/" EVIL "/system.slice/cri-containerd-" VICTIM ".scope",
    };
    for (size_t i = 0; i < sizeof cgroups / sizeof *cgroups; i++) {
        assert_int_equal(lookup(f, NAMES_AUTO, cgroups[i], &names), -ENOENT);
        assert_int_equal(lookup(f, NAMES_LOGS, cgroups[i], &names), -ENOENT);
    }
}

/* ---- log links ---- */

static const char *text_of(char letter, size_t n)
{
    static char text[256];
    memset(text, letter, n);
    text[n] = '\0';
    return text;
}

/* A container of another pod, called like the beginning of the victim's id, whose link is cut so
 * that it seems to end with that. */
FIXTURE_TEST(a_cut_link_of_another_pod, f)
{
    struct container_names names;
    char name[64];
    snprintf(name, sizeof name, "a-%.50s", VICTIM);
    put_link(f, "tenant", text_of('v', 251 - 60), EVIL_UID, name, EVIL);
    assert_int_equal(lookup(f, NAMES_LOGS, POD_OF(VICTIM_UID) VICTIM, &names), -ENOENT);
    put_link(f, "prod", "payments-0", VICTIM_UID, "payments", VICTIM);
    expect(f, NAMES_LOGS, POD_OF(VICTIM_UID) VICTIM, "prod", "payments-0", "payments");
}

/* What points to nowhere, or is no link, says nothing. */
FIXTURE_TEST(links_without_a_pod, f)
{
    struct container_names names;
    fixture_link(f, LINKS "payments-0_prod_a-" VICTIM ".log", "/none");
    fixture_link(f, LINKS "payments-0_prod_b-" VICTIM ".log",
                 "/var/log/pods/prod_payments-0_" VICTIM_UID "/a/0.log"); /* of another name */
    fixture_write(f, LINKS "payments-0_prod_c-" VICTIM ".log", "x");
    assert_int_equal(lookup(f, NAMES_LOGS, POD_OF(VICTIM_UID) VICTIM, &names), -ENOENT);
}

/* A cut link names its container as long as no other one could be meant. */
FIXTURE_TEST(cut_links_of_the_own_pod, f)
{
    char pod[256];
    snprintf(pod, sizeof pod, "%s", text_of('p', 190));
    put_link(f, "prod", pod, VICTIM_UID, "payments", VICTIM);
    expect(f, NAMES_LOGS, POD_OF(VICTIM_UID) VICTIM, "prod", pod, "payments");
    put_link(f, "prod", pod, VICTIM_UID, "refunds",
             "bbbb0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab");
    expect(f, NAMES_LOGS, POD_OF(VICTIM_UID) VICTIM, "prod", pod, "payments");
}

/* Two that could be: neither. The pod is known, and it is not taken for the sandbox. */
FIXTURE_TEST(two_cut_links, f)
{
    struct container_names names;
    char pod[256], name[2][8] = {"one", "two"};
    snprintf(pod, sizeof pod, "%s", text_of('p', 251 - 5 - 1 - 4 - 20));
    for (int i = 0; i < 2; i++)
        put_link(f, "prod", pod, VICTIM_UID, name[i], VICTIM);
    assert_int_equal(lookup(f, NAMES_LOGS, POD_OF(VICTIM_UID) VICTIM, &names), 0);
    assert_string_equal(names.pod, pod);
    assert_string_equal(names.name, "");
    assert_true(names.pod_only && names.cut_links);
}

/* A name so long that nothing of the id is left hides nobody. */
FIXTURE_TEST(a_link_without_an_id, f)
{
    struct container_names names;
    char pod[256];
    snprintf(pod, sizeof pod, "%s", text_of('p', 248));
    put_link(f, "prod", pod, VICTIM_UID, "payments", VICTIM);
    assert_int_equal(lookup(f, NAMES_LOGS, POD_OF(VICTIM_UID) VICTIM, &names), 0);
    assert_string_equal(names.namespace_, "prod");
    assert_string_equal(names.name, "");
    assert_true(names.pod_only && names.cut_links);
}
