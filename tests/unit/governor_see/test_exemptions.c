/* Who is never restricted, whatever the configuration matches. */
#include "exporter/governor/see/exemptions.h"
#include "tests/unit/support/unit.h"

#define UID "11111111-2222-3333-4444-555555555555"
#define POD "/kubepods/burstable/pod" UID "/"
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct exemptions on_a_node = {.own_cgroup = 1},
                               of_a_recording = {.allow_replay = true};
static const struct programs nowhere = {.exporter_known = true};

static struct view_container container(const char *namespace_, const char *pod, const char *path)
{
    return (struct view_container){.container_id = "0123456789ab",
                                   .namespace_ = namespace_,
                                   .pod = pod,
                                   .container = "main",
                                   .path = path,
                                   .pod_uid = UID,
                                   .qos_class = "burstable"};
}

TEST(a_pod_without_names_may_be_kube_system)
{
    static const char in_a_pod[] =
        "/kubepods.slice/kubepods-pod11111111_2222_3333_4444_555555555555.slice/"
        "cri-containerd-" ID ".scope",
                      of_docker[] = "/system.slice/docker-" ID ".scope";
    struct view_container c = container("", "", in_a_pod);
    assert_non_null(exemptions_why(&on_a_node, &c, &nowhere, false));
    assert_non_null(exemptions_why(&on_a_node, &c, &nowhere, true));
    assert_null(exemptions_why(&of_a_recording, &c, &nowhere, false));
    c = container("jobs", "report-0", in_a_pod);
    assert_null(exemptions_why(&on_a_node, &c, &nowhere, false));
    c = container("kube-system", "proxy-x", in_a_pod);
    assert_non_null(exemptions_why(&on_a_node, &c, &nowhere, true));
    assert_non_null(exemptions_why(&of_a_recording, &c, &nowhere, true));
    c = container("", "", of_docker); /* where there are no pods there are no namespaces */
    assert_null(exemptions_why(&on_a_node, &c, &nowhere, false));
}

/* As --containers.all-cgroups shows them: the kubelet must not be restricted since somebody wrote
 * an asterisk. */
TEST(only_containers_unless_they_are_named)
{
    static const char *const paths[] = {
        "/system.slice/kubelet.service",
        "/system.slice/containerd.service",
        "/system.slice/ssh.service",
        "/init.scope",
        "/system.slice",
        "/user.slice/user-1000.slice/session-3.scope",
        "/machine.slice/machine-vm.scope",
        "/docker/" ID "/init.scope", /* inside a container */
        "/system.slice/crio-conmon-" ID ".scope",
        "/",
        "",
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct view_container c = container("", "", paths[i]);
        const char *slash = strrchr(paths[i], '/');
        c.qos_class = "";
        c.container = slash ? slash + 1 : "";
        bool of_many = strcmp(paths[i], "/system.slice") == 0 || strlen(paths[i]) < 2;
        assert_non_null(exemptions_why(&on_a_node, &c, &nowhere, false));
        assert_int_equal(exemptions_why(&on_a_node, &c, &nowhere, true) != NULL, of_many);
        assert_null(exemptions_why(&of_a_recording, &c, &nowhere, false));
    }
    static const char *const containers[] = {"/" ID, "/docker/" ID,
                                             "/machine.slice/libpod-" ID ".scope"};
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++) {
        struct view_container c = container("", "", containers[i]);
        assert_null(exemptions_why(&on_a_node, &c, &nowhere, false));
    }
}

/* Their cgroups lie above containers' own; a name does not make one a container's. */
TEST(never_a_pod_or_a_class_of_pods)
{
    static const char *const paths[] = {
        "/kubepods.slice", "/kubepods.slice/kubepods-besteffort.slice",
        "/kubepods/burstable/pod11111111-2222-3333-4444-555555555555"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct view_container c = container("", "", paths[i]);
        assert_non_null(exemptions_why(&on_a_node, &c, &nowhere, false));
        assert_non_null(exemptions_why(&on_a_node, &c, &nowhere, true));
    }
}

/* Who answers in the exporter's place, or an exporter with a defect, names whom it likes. */
TEST(whatever_is_said_a_container_is_its_own_cgroup)
{
    static const char *const others[] = {
        "/system.slice",
        "/system.slice/sshd.service",
        "/",
        "/init.scope",
        "/kubepods",
        "/kubepods/burstable",
        "/kubepods/burstable/pod" UID,
        POD ID "/inside",                    /* a tenant's own */
        POD "cri-containerd-" ID ".service", /* not how one is called */
        "/docker/" ID,                       /* of no pod */
        "/kubepods/burstable/pod99999999-2222-3333-4444-555555555555/" ID /* of another one */
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct view_container c = container("jobs", "report-0", others[i]);
        const char *name = strrchr(others[i], '/') + 1;
        for (int literal = 0; literal < 2; literal++) {
            assert_non_null(exemptions_why(&on_a_node, &c, &nowhere, literal));
            c.container = name;
            assert_non_null(exemptions_why(&on_a_node, &c, &nowhere, literal));
            c.pod = c.pod_uid = "";
            assert_non_null(exemptions_why(&on_a_node, &c, &nowhere, literal));
            c = container("jobs", "report-0", others[i]);
        }
    }
    struct view_container c = container("jobs", "report-0", POD ID);
    assert_null(exemptions_why(&on_a_node, &c, &nowhere, false));
    c.container_id = "ba9876543210"; /* another container's */
    assert_non_null(exemptions_why(&on_a_node, &c, &nowhere, false));
    c.container_id = "";
    assert_non_null(exemptions_why(&on_a_node, &c, &nowhere, false));
    c = container("jobs", "report-0", POD ID);
    c.pod_uid = "";
    assert_non_null(exemptions_why(&on_a_node, &c, &nowhere, false));
    c = container("", "", "/system.slice/sshd.service"); /* under another name */
    c.container = "backup.service";
    assert_non_null(exemptions_why(&on_a_node, &c, &nowhere, true));
    c = container("", "", "/docker/" ID);
    c.container_id = "ba9876543210";
    assert_non_null(exemptions_why(&on_a_node, &c, &nowhere, true));
}

TEST(guaranteed_pods_unless_they_are_named)
{
    struct view_container c = container("jobs", "report-0", POD ID);
    c.qos_class = "guaranteed";
    assert_non_null(exemptions_why(&on_a_node, &c, &nowhere, false));
    assert_null(exemptions_why(&on_a_node, &c, &nowhere, true));
}

TEST(the_pods_of_both_programs)
{
    struct view_container governor = container("monitoring", "governor-x", POD ID),
                          beside = container("monitoring", "governor-x", POD ID),
                          exporter = container("monitoring", "exporter-x", POD ID),
                          other = container("monitoring", "grafana-x", POD ID),
                          namesake = container("jobs", "governor-x", POD ID);
    struct programs programs = {
        .governor = &governor, .exporter = &exporter, .exporter_known = true};
    assert_non_null(exemptions_why(&on_a_node, &governor, &programs, true));
    assert_non_null(exemptions_why(&on_a_node, &beside, &programs, true));
    assert_non_null(exemptions_why(&on_a_node, &exporter, &programs, true));
    assert_null(exemptions_why(&on_a_node, &other, &programs, false));
    assert_null(exemptions_why(&on_a_node, &namesake, &programs, false));
    programs = (struct programs){.governor = &governor}; /* the other one may be the exporter */
    assert_non_null(exemptions_why(&on_a_node, &other, &programs, false));
    assert_null(exemptions_why(&on_a_node, &namesake, &programs, false));
}
