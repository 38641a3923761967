#include "exporter/containers/cgroups/path.h"
#include "tests/unit/support/unit.h"

#define ID_A "aaaa0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
#define ID_B "bbbb0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
#define UID "11112222-3333-4444-5555-666677778888"
#define UID_ "11112222_3333_4444_5555_666677778888"
#define UID_2 "99992222-3333-4444-5555-666677778888"
#define STATIC_UID "0123456789abcdef0123456789abcdef"

#define SLICES(qos) "/kubepods.slice/kubepods-" qos ".slice/kubepods-" qos "-pod" UID_ ".slice"

struct row {
    const char *path;
    bool is_container, inside_container;
    const char *id, *pod_uid, *runtime, *qos_class;
};

static const struct row rows[] = {
    /* the kubelet with cgroupfs */
    {"/kubepods/burstable/pod" UID "/" ID_A, true, false, ID_A, UID, "", "burstable"},
    {"/kubepods/besteffort/pod" UID "/" ID_A, true, false, ID_A, UID, "", "besteffort"},
    {"/kubepods/pod" UID "/" ID_A, true, false, ID_A, UID, "", "guaranteed"},
    {"/kubepods/burstable/pod" STATIC_UID "/" ID_A, true, false, ID_A, STATIC_UID, "", "burstable"},
    {"/kubepods/burstable/pod" UID "/crio-" ID_A, true, false, ID_A, UID, "cri-o", "burstable"},
    {"/kubelet/kubepods/pod" UID "/" ID_A, true, false, ID_A, UID, "", "guaranteed"},
    /* the kubelet with systemd */
    {SLICES("burstable") "/cri-containerd-" ID_A ".scope", true, false, ID_A, UID, "containerd",
     "burstable"},
    {SLICES("besteffort") "/crio-" ID_A ".scope", true, false, ID_A, UID, "cri-o", "besteffort"},
    {SLICES("besteffort") "/docker-" ID_A ".scope", true, false, ID_A, UID, "docker", "besteffort"},
    {"/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID_A ".scope", true, false, ID_A,
     UID, "containerd", "guaranteed"},
    {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" STATIC_UID
     ".slice/cri-containerd-" ID_A ".scope",
     true, false, ID_A, STATIC_UID, "containerd", "burstable"},
    {"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
     "kubelet-kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID_A ".scope",
     true, false, ID_A, UID, "containerd", "burstable"},
    {"/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" ID_A,
     true, false, ID_A, UID, "containerd", "burstable"},
    /* without a kubelet */
    {"/system.slice/docker-" ID_A ".scope", true, false, ID_A, "", "docker", ""},
    {"/docker/" ID_A, true, false, ID_A, "", "docker", ""},
    {"/machine.slice/libpod-" ID_A ".scope", true, false, ID_A, "", "podman", ""},
    {"/libpod_parent/libpod-" ID_A, true, false, ID_A, "", "podman", ""},
    {"/libpod_parent/libpod-payload-" ID_A, true, false, ID_A, "", "podman", ""},
    {"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID_A ".scope", true, false,
     ID_A, "", "podman", ""},
    {"/own/parent/" ID_A, true, false, ID_A, "", "", ""},
    /* payloads in child cgroups belong to the container above */
    {"/machine.slice/libpod-" ID_A ".scope/container", false, true, ID_A, "", "podman", ""},
    {"/machine.slice/libpod-" ID_A ".scope/libpod-payload-" ID_A, false, true, ID_A, "", "podman",
     ""},
    {"/kubepods/pod" UID "/" ID_A "/init.scope", false, true, ID_A, UID, "", "guaranteed"},
    {"/docker/" ID_A "/system.slice/cron.service", false, true, ID_A, "", "docker", ""},
    {"/docker/" ID_A "/" ID_A "/x", false, true, ID_A, "", "docker", ""},
    /* containers in containers */
    {"/docker/" ID_A "/docker/" ID_B, true, true, ID_B, "", "docker", ""},
    {"/docker/" ID_A "/docker/" ID_B "/x", false, true, ID_B, "", "docker", ""},
    {"/kubepods/burstable/pod" UID "/" ID_A "/docker/" ID_B, true, true, ID_B, UID, "docker",
     "burstable"},
    {"/docker/" ID_A "/kubelet/kubepods/besteffort/pod" UID "/" ID_B, true, true, ID_B, "", "", ""},
    {"/kubepods/burstable/pod" UID "/" ID_A "/kubepods/pod" UID_2 "/" ID_B, true, true, ID_B, UID,
     "", "burstable"},
    {"/docker/" ID_A "/docker/" ID_B "/" ID_A, true, true, ID_A, "", "", ""},
    /* a pod of podman without systemd is no container */
    {"/libpod_parent/" ID_A, false, false, "", "", "", ""},
    {"/libpod_parent/" ID_A "/libpod-" ID_B, true, false, ID_B, "", "podman", ""},
    {"/libpod_parent/" ID_A "/libpod-" ID_B "/container", false, true, ID_B, "", "podman", ""},
    {"/docker/" ID_A "/libpod_parent/" ID_B, false, true, ID_A, "", "docker", ""},
    {"/libpod_parent/x/" ID_A, true, false, ID_A, "", "", ""},
    /* containers in system containers */
    {"/lxc.payload.web/docker/" ID_A, true, false, ID_A, "", "docker", ""},
    {"/machine.slice/systemd-nspawn@web.service/payload/docker/" ID_A, true, false, ID_A, "",
     "docker", ""},
    /* not containers */
    {"", false, false, "", "", "", ""},
    {"/", false, false, "", "", "", ""},
    {"/kubepods", false, false, "", "", "", "guaranteed"},
    {"/kubepods/burstable/pod" UID, false, false, "", UID, "", "burstable"},
    {"/kubepods.slice/kubepods-burstable.slice", false, false, "", "", "", "burstable"},
    {"/system.slice/ssh.service", false, false, "", "", "", ""},
    {"/machine.slice/libpod-conmon-" ID_A ".scope", false, false, "", "", "", ""},
    {SLICES("burstable") "/crio-conmon-" ID_A ".scope", false, false, "", UID, "", "burstable"},
    {"/system.slice/docker-" ID_A "0.scope", false, false, "", "", "", ""},
    {"/docker/aaaa0123", false, false, "", "", "", ""},
    {"/docker/AAAA0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789AB", false, false, "",
     "", "", ""},
    {"/docker/gggg0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab", false, false, "",
     "", "", ""},
    {"/system.slice/other-" ID_A ".scope", false, false, "", "", "", ""},
    /* odd spellings of good paths */
    {"//kubepods//burstable/pod" UID "//" ID_A "/", true, false, ID_A, UID, "", "burstable"},
    {"docker/" ID_A, true, false, ID_A, "", "docker", ""},
    /* UIDs that are none */
    {"/kubepods/burstable/pod" UID "0/" ID_A, true, false, ID_A, "", "", "burstable"},
    {"/kubepods/burstable/pod11112222+3333-4444-5555-666677778888/" ID_A, true, false, ID_A, "", "",
     "burstable"},
    {"/kubepods/burstable/podXXXX2222-3333-4444-5555-666677778888/" ID_A, true, false, ID_A, "", "",
     "burstable"},
};

static void check_row(const struct row *row, const char *path)
{
    /* In a block of its exact size, so that a sanitizer sees a read past the end. */
    size_t len = strlen(path);
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, path, len);
    struct cgroup_path_info info;
    cgroup_path_parse(copy, len, &info);
    free(copy);
    if (info.is_container != row->is_container || info.inside_container != row->inside_container)
        fail_msg("%s: container %d, inside %d", path, info.is_container, info.inside_container);
    assert_string_equal(info.id, row->id);
    assert_string_equal(info.pod_uid, row->pod_uid);
    assert_string_equal(info.runtime, row->runtime);
    assert_string_equal(info.qos_class, row->qos_class);
}

TEST(every_shape)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_row(&rows[i], rows[i].path);
}

/* A component that cannot be a container, at any place above, changes nothing. */
TEST(below_another_root)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[1024];
        const char *slash = rows[i].path[0] == '/' ? "" : "/";
        snprintf(path, sizeof path, "/actions_job/host%s%s", slash, rows[i].path);
        check_row(&rows[i], path);
    }
}

/* Who may make directories there may name them as he likes. */
TEST(whose_word_it_is)
{
    static const struct {
        const char *path;
        bool is_delegated, is_claimed;
    } cases[] = {
        {"/docker/" ID_A, false, false},
        {"/docker/" ID_A "/" ID_B, false, true},
        {"/docker/" ID_A "/x", false, true},
        {"/libpod_parent/" ID_A "/libpod-" ID_B, false, false},
        {"/user.slice/user-1000.slice", false, false},
        {"/user.slice/user-1000.slice/user@1000.service", true, false},
        {"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID_A ".scope", false,
         true},
        {"/user.slice/user-1000.slice/user@1000.service/" ID_A "/x/y", false, true},
        {"/user.slice/user-0.slice/user@0.service", false, false},
        {"/user.slice/user-0.slice/user@0.service/libpod-" ID_A ".scope", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cgroup_path_info info;
        cgroup_path_parse(cases[i].path, strlen(cases[i].path), &info);
        if (info.is_delegated != cases[i].is_delegated || info.is_claimed != cases[i].is_claimed)
            fail_msg("%s: delegated %d, claimed %d", cases[i].path, info.is_delegated,
                     info.is_claimed);
    }
}
