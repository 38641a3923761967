/* Which mappings are persistent memory: trees of sysfs as such machines have them, and this
 * machine's own processes. */
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/source/pmem/pmem.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

/* A link in the fixture's sysfs, and the folder that it leads to. */
static void link_device(struct fixture *f, const char *link, const char *devices_path,
                        const char *up)
{
    char path[512], target[512];
    snprintf(path, sizeof path, "sys/%s", devices_path);
    fixture_mkdir(f, path);
    snprintf(path, sizeof path, "%s/sys/%s", f->root, link);
    snprintf(target, sizeof target, "%s%s", up, devices_path);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    fixture_mkdir(f, path + strlen(f->root) + 1);
    *slash = '/';
    assert_int_equal(symlink(target, path), 0);
}

#define ND "devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0012:00/ndbus0"

/* pmem0 with DAX and a partition, pmem1s in sector mode, sda; a linear dm over pmem0p1 and pmem2,
 * one over pmem2 and sda; two device-dax, of which one is volatile. */
static void make_machine(struct fixture *f)
{
    link_device(f, "dev/block/259:0", ND "/region0/namespace0.0/block/pmem0", "../../");
    link_device(f, "dev/block/259:1", ND "/region0/namespace0.0/block/pmem0/pmem0p1", "../../");
    link_device(f, "dev/block/259:2", ND "/region1/btt1.0/block/pmem1s", "../../");
    link_device(f, "dev/block/259:3", ND "/region2/pfn2.0/block/pmem2.1", "../../");
    link_device(f, "dev/block/8:0", "devices/pci0000:00/ata1/block/sda", "../../");
    link_device(f, "dev/block/8:1", "devices/pci0000:00/ata1/block/sda/sda1", "../../");
    link_device(f, "dev/block/253:0", "devices/virtual/block/dm-0", "../../");
    link_device(f, "dev/block/253:1", "devices/virtual/block/dm-1", "../../");
    link_device(f, "dev/block/253:2", "devices/virtual/block/dm-2", "../../");
    fixture_write(f, "sys/" ND "/region0/namespace0.0/block/pmem0/queue/dax", "1\n");
    fixture_write(f, "sys/" ND "/region0/namespace0.0/block/pmem0/pmem0p1/partition", "1\n");
    fixture_write(f, "sys/" ND "/region0/namespace0.0/block/pmem0/pmem0p1/dev", "259:1\n");
    fixture_write(f, "sys/" ND "/region1/btt1.0/block/pmem1s/queue/dax", "0\n");
    fixture_write(f, "sys/" ND "/region2/pfn2.0/block/pmem2.1/queue/dax", "1\n");
    fixture_write(f, "sys/" ND "/region2/pfn2.0/block/pmem2.1/dev", "259:3\n");
    fixture_write(f, "sys/devices/pci0000:00/ata1/block/sda/queue/dax", "0\n");
    fixture_write(f, "sys/devices/pci0000:00/ata1/block/sda/dev", "8:0\n");
    fixture_write(f, "sys/devices/pci0000:00/ata1/block/sda/sda1/partition", "1\n");
    fixture_write(f, "sys/devices/virtual/block/dm-0/queue/dax", "1\n");
    fixture_write(f, "sys/devices/virtual/block/dm-1/queue/dax", "1\n");
    fixture_write(f, "sys/devices/virtual/block/dm-2/queue/dax", "0\n");
    link_device(f, "devices/virtual/block/dm-0/slaves/pmem0p1",
                ND "/region0/namespace0.0/block/pmem0/pmem0p1", "../../../../../");
    link_device(f, "devices/virtual/block/dm-0/slaves/pmem2.1", ND "/region2/pfn2.0/block/pmem2.1",
                "../../../../../");
    link_device(f, "devices/virtual/block/dm-1/slaves/pmem2.1", ND "/region2/pfn2.0/block/pmem2.1",
                "../../../../../");
    link_device(f, "devices/virtual/block/dm-1/slaves/sda", "devices/pci0000:00/ata1/block/sda",
                "../../../../../");
    link_device(f, "devices/virtual/block/dm-2/slaves/pmem2.1", ND "/region2/pfn2.0/block/pmem2.1",
                "../../../../../");

    link_device(f, "dev/char/252:1", ND "/region3/dax3.0/dax3.0", "../../");
    link_device(f, "dev/char/252:2", "devices/platform/hmem.0/dax0.0", "../../");
    link_device(f, "dev/char/1:5", "devices/virtual/mem/zero", "../../");
    link_device(f, ND "/region3/dax3.0/dax3.0/subsystem", "bus/dax", "../../../../../../../../");
    link_device(f, "devices/platform/hmem.0/dax0.0/subsystem", "bus/dax", "../../../../");
    link_device(f, "devices/virtual/mem/zero/subsystem", "class/mem", "../../../../");

    link_device(f, "bus/dax/devices/dax3.0", ND "/region3/dax3.0/dax3.0", "../../../");
    link_device(f, "bus/dax/devices/dax0.0", "devices/platform/hmem.0/dax0.0", "../../../");
    link_device(f, "bus/nd/devices/nmem0", ND "/nmem0", "../../../");
    link_device(f, "bus/nd/devices/nmem1", ND "/nmem1", "../../../");
    link_device(f, "bus/nd/devices/region0", ND "/region0", "../../../");
    link_device(f, "block/pmem0", ND "/region0/namespace0.0/block/pmem0", "../");
    link_device(f, "block/pmem1s", ND "/region1/btt1.0/block/pmem1s", "../");
    link_device(f, "block/pmem2.1", ND "/region2/pfn2.0/block/pmem2.1", "../");
    link_device(f, "block/sda", "devices/pci0000:00/ata1/block/sda", "../");
    link_device(f, "block/dm-0", "devices/virtual/block/dm-0", "../");
}

FIXTURE_TEST(disks, f)
{
    make_machine(f);
    assert_int_equal(pmem_disk_of(&f->fs, 259, 0), PMEM_DISK_DAX);
    assert_int_equal(pmem_disk_of(&f->fs, 259, 1), PMEM_DISK_DAX); /* a partition */
    assert_int_equal(pmem_disk_of(&f->fs, 259, 2), PMEM_DISK_NO);  /* sector mode */
    assert_int_equal(pmem_disk_of(&f->fs, 8, 0), PMEM_DISK_NO);
    assert_int_equal(pmem_disk_of(&f->fs, 8, 1), PMEM_DISK_NO);
    assert_int_equal(pmem_disk_of(&f->fs, 253, 0), PMEM_DISK_DAX);     /* two pmem disks */
    assert_int_equal(pmem_disk_of(&f->fs, 253, 1), PMEM_DISK_UNKNOWN); /* one of them is not */
    assert_int_equal(pmem_disk_of(&f->fs, 253, 2), PMEM_DISK_NO);      /* dm without DAX */
    assert_int_equal(pmem_disk_of(&f->fs, 7, 7), PMEM_DISK_UNKNOWN);   /* sysfs has no such disk */
    /* A device that is its own slave. */
    link_device(f, "dev/block/253:9", "devices/virtual/block/dm-9", "../../");
    fixture_write(f, "sys/devices/virtual/block/dm-9/queue/dax", "1\n");
    fixture_write(f, "sys/devices/virtual/block/dm-9/dev", "253:9\n");
    link_device(f, "devices/virtual/block/dm-9/slaves/dm-9", "devices/virtual/block/dm-9",
                "../../../../../");
    assert_int_equal(pmem_disk_of(&f->fs, 253, 9), PMEM_DISK_UNKNOWN);
}

FIXTURE_TEST(dax_devices, f)
{
    make_machine(f);
    assert_true(pmem_is_dax_device(&f->fs, 252, 1));
    assert_false(pmem_is_dax_device(&f->fs, 252, 2)); /* set aside by firmware, volatile */
    assert_false(pmem_is_dax_device(&f->fs, 1, 5));
    assert_false(pmem_is_dax_device(&f->fs, 9, 9));
}

FIXTURE_TEST(the_node, f)
{
    struct pmem_node node;
    struct verdict why = {0};
    pmem_node_detect(&f->fs, &node);
    assert_int_equal(node.dimms + node.dax_disks + node.other_disks + node.dax_devices, 0);
    assert_false(pmem_node_usable(&node, &why));
    assert_int_equal(why.reason, REASON_NO_DEVICE);
    assert_non_null(strstr(why.words, "no persistent memory"));

    make_machine(f);
    pmem_node_detect(&f->fs, &node);
    assert_int_equal(node.dimms, 2);
    assert_int_equal(node.dax_disks, 2);
    assert_int_equal(node.other_disks, 1);
    assert_int_equal(node.dax_devices, 1);
    assert_true(pmem_node_usable(&node, &why));

    node = (struct pmem_node){.dimms = 2};
    assert_false(pmem_node_usable(&node, &why));
    assert_non_null(strstr(why.words, "2 persistent memory modules"));
    node.other_disks = 1;
    assert_false(pmem_node_usable(&node, &why));
    assert_non_null(strstr(why.words, "sector mode"));
}

/* ---- mappings, with files of a made-up machine ---- */

struct made_up {
    const char *path; /* end of the one path that exists */
    struct statx status;
    int asked;
    uint64_t now_ns;
};

static uint64_t made_up_now_ns(void *context)
{
    const struct made_up *file = context;
    return file->now_ns;
}

static int made_up_status(void *context, const char *path, struct statx *out)
{
    struct made_up *file = context;
    file->asked++;
    size_t n = strlen(path), m = strlen(file->path);
    if (n < m || strcmp(path + n - m, file->path) != 0)
        return -ENOENT;
    *out = file->status;
    return 0;
}

#define MAPPED_FILE "/map_files/7f0000000000-7f0000200000" /* of mapping() */

struct scene {
    struct fixture f;
    struct made_up file;
    struct pmem_files files;
    struct pmem *pmem;
    struct medium_rule *rule;
};

/* The machine; what else it has is written before scene_open(). */
static void scene_init(struct scene *scene, const char *path)
{
    memset(scene, 0, sizeof *scene);
    scene->file.path = path;
    scene->files = (struct pmem_files){made_up_status, made_up_now_ns, &scene->file};
    fixture_init(&scene->f);
    make_machine(&scene->f);
}

static void scene_open(struct scene *scene)
{
    assert_int_equal(pmem_new(&scene->f.fs, &scene->files, &scene->pmem), 0);
    scene->rule = pmem_rule(scene->pmem);
}

static void scene_release(struct scene *scene)
{
    pmem_free(scene->pmem);
    fixture_release(&scene->f);
}

static struct maps_line mapping(uint32_t major, uint32_t minor, uint64_t inode, const char *path)
{
    return (struct maps_line){.start = 0x7f0000000000,
                              .end = 0x7f0000200000,
                              .readable = true,
                              .writable = true,
                              .shared = true,
                              .major = major,
                              .minor = minor,
                              .inode = inode,
                              .path = path,
                              .path_len = strlen(path)};
}

TEST(mappings)
{
    struct scene scene;
    scene_init(&scene, "/7" MAPPED_FILE);
    fixture_write(&scene.f, "proc/7/mountinfo",
                  "1 0 0:50 / / rw - overlay overlay rw\n2 1 0:51 / /dev rw - tmpfs tmpfs rw\n"
                  "3 1 0:52 / /far rw - fuse.sshfs far rw\n");
    scene_open(&scene);
    struct medium_rule *rule = scene.rule;
    struct maps_line line;

    /* A DAX file, by map_files. */
    scene.file.status = (struct statx){.stx_dev_major = 259,
                                       .stx_dev_minor = 1,
                                       .stx_ino = 12,
                                       .stx_mode = S_IFREG,
                                       .stx_attributes = STATX_ATTR_DAX};
    line = mapping(259, 1, 12, "/data/x");
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_NVMM);
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_LOAD), MEDIUM_NVMM);
    /* Another process has no such file, another file is not believed. */
    assert_int_equal(rule->mapping(rule, 8, &line, ACCESS_STORE), MEDIUM_UNKNOWN);
    line.inode = 13;
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_UNKNOWN);
    line.inode = 12;
    scene.file.status.stx_dev_minor = 0;
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_UNKNOWN);
    scene.file.status.stx_dev_minor = 1;
    /* Private: stores go to a copy in DRAM, loads to the file until then. */
    line.shared = false;
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_OTHER);
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_LOAD), MEDIUM_UNKNOWN);
    line.writable = false;
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_LOAD), MEDIUM_NVMM);
    /* A file without DAX on the same disk. */
    line = mapping(259, 1, 12, "/data/x");
    scene.file.status.stx_attributes = 0;
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_OTHER);

    /* Disks that are none or mixed need no look at the file. */
    scene.file.asked = 0;
    line = mapping(8, 1, 12, "/data/x");
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_OTHER);
    line = mapping(259, 2, 12, "/data/x");
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_OTHER);
    line = mapping(253, 1, 12, "/data/x");
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_UNKNOWN);
    line = mapping(0, 0, 0, "[heap]");
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_OTHER);
    line = mapping(0, 1, 5, "/memfd:x (deleted)");
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_OTHER);
    line = mapping(0, 52, 5, "/far/file");
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_OTHER);
    assert_int_equal(scene.file.asked, 0);
    scene_release(&scene);
}

TEST(mappings_without_a_disk)
{
    struct scene scene;
    scene_init(&scene, "/7" MAPPED_FILE);
    fixture_write(&scene.f, "proc/7/mountinfo",
                  "1 0 0:50 / / rw - overlay overlay rw\n2 1 0:51 / /dev rw - tmpfs tmpfs rw\n");
    scene_open(&scene);
    struct medium_rule *rule = scene.rule;

    scene.file.status = (struct statx){.stx_dev_minor = 51,
                                       .stx_ino = 3,
                                       .stx_mode = S_IFCHR,
                                       .stx_rdev_major = 252,
                                       .stx_rdev_minor = 1};
    struct maps_line line = mapping(0, 51, 3, "/dev/dax3.0");
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_NVMM);
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_LOAD), MEDIUM_NVMM);
    scene.file.status.stx_rdev_minor = 2;
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_OTHER);
    line.inode = 4;
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_UNKNOWN);

    /* An overlay's file, over DAX and not. */
    scene.file.status = (struct statx){.stx_dev_minor = 50, .stx_ino = 3, .stx_mode = S_IFREG};
    line = mapping(0, 50, 3, "/data/x");
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_OTHER);
    scene.file.status.stx_attributes = STATX_ATTR_DAX;
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_UNKNOWN);
    scene_release(&scene);
}

/* Before Linux 5.8 a file's attributes said nothing about DAX, unless a vendor put it there. */
TEST(old_kernels_do_not_tell)
{
    static const struct {
        const char *release;
        bool tells;
    } kernels[] = {{"4.18.0-553.el8.x86_64\n", false},
                   {"5.4.0-190-generic\n", false},
                   {"5.7.19\n", false},
                   {"5.8.0\n", true},
                   {"5.14.0-1.el9\n", true},
                   {"6.1.0-9-amd64\n", true},
                   {"rather new\n", true}};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        struct scene scene;
        struct maps_line line = mapping(259, 1, 12, "/data/x");
        scene_init(&scene, "/7" MAPPED_FILE);
        scene.file.status = (struct statx){
            .stx_dev_major = 259, .stx_dev_minor = 1, .stx_ino = 12, .stx_mode = S_IFREG};
        fixture_write(&scene.f, "proc/sys/kernel/osrelease", "%s", kernels[i].release);
        scene_open(&scene);
        struct medium_rule *rule = scene.rule;
        assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE),
                         kernels[i].tells ? MEDIUM_OTHER : MEDIUM_UNKNOWN);
        scene.file.status.stx_attributes_mask = STATX_ATTR_DAX;
        assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_OTHER);
        scene.file.status.stx_attributes = STATX_ATTR_DAX;
        assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_NVMM);
        scene_release(&scene);
    }
}

/* ---- mappings of real processes ---- */

/* The real files; those of a mapping without map_files if 'blind', and all are DAX if 'dax'. */
struct real {
    bool blind, dax;
};

static int real_status(void *context, const char *path, struct statx *out)
{
    const struct real *real = context;
    if (real->blind && strstr(path, "/map_files/"))
        return -EPERM;
    int err = pmem_files_linux.status(NULL, path, out);
    if (!err && real->dax)
        out->stx_attributes |= STATX_ATTR_DAX;
    return err;
}

/* The mapping at an address, from the real text. */
static void find_mapping(pid_t pid, const void *address, char *text, size_t size,
                         struct maps_line *out)
{
    char path[64];
    size_t len;
    int more;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fsroot_read_fd(fd, text, size, &len), 0);
    close(fd);
    const char *rest = text;
    while ((more = maps_next(&rest, &len, out)) != 0) {
        assert_int_equal(more, 1); /* every line that this kernel writes */
        if (out->start <= (uintptr_t)address && (uintptr_t)address < out->end)
            return;
    }
    fail_msg("the address is not mapped");
}

enum { TEXT_SIZE = 1 << 20 };

static void with_real_proc(struct fixture *f)
{
    free(f->fs.path[FSROOT_PROC]);
    f->fs.path[FSROOT_PROC] = strdup("/proc");
    assert_non_null(f->fs.path[FSROOT_PROC]);
}

/* In sysfs the file's device is a pmem disk with DAX. */
static void with_dax_disk(struct fixture *f, const struct stat *status)
{
    char link[64];
    snprintf(link, sizeof link, "dev/block/%u:%u", major(status->st_dev), minor(status->st_dev));
    link_device(f, link, ND "/region0/namespace0.0/block/pmem0", "../../");
    fixture_write(f, "sys/" ND "/region0/namespace0.0/block/pmem0/queue/dax", "1\n");
}

TEST(files_of_this_process)
{
    struct fixture f;
    struct stat status;
    struct real real = {.dax = true};
    const struct pmem_files files = {
        .status = real_status, .now_ns = pmem_files_linux.now_ns, .context = &real};
    struct pmem *pmem;
    char path[128], *text = malloc(TEXT_SIZE);
    assert_non_null(text);
    fixture_init(&f);
    fixture_write(&f, "files/a file", "%4096s", "");
    snprintf(path, sizeof path, "%s/files/a file", f.root);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    if (major(status.st_dev) == 0 || geteuid() != 0) {
        print_message("%s is on no disk, or this is not root: nothing to see here\n", f.root);
        close(fd);
        free(text);
        fixture_release(&f);
        skip();
    }
    with_real_proc(&f);
    with_dax_disk(&f, &status);
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(at != MAP_FAILED);
    assert_int_equal(pmem_new(&f.fs, &files, &pmem), 0);
    struct medium_rule *rule = pmem_rule(pmem);
    struct maps_line line;
    pid_t self = getpid();

    find_mapping(self, at, text, TEXT_SIZE, &line);
    assert_int_equal(rule->mapping(rule, self, &line, ACCESS_STORE), MEDIUM_NVMM);
    real.dax = false;
    assert_int_equal(rule->mapping(rule, self, &line, ACCESS_STORE), MEDIUM_OTHER);
    real.dax = true;
    real.blind = true; /* its path is not followed */
    assert_int_equal(rule->mapping(rule, self, &line, ACCESS_STORE), MEDIUM_UNKNOWN);
    real.blind = false;

    /* Replaced by another file under the same name: the mapping is of the old one. */
    char other[160];
    snprintf(other, sizeof other, "%s/files/another", f.root);
    fixture_write(&f, "files/another", "x");
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(rule->mapping(rule, self, &line, ACCESS_STORE), MEDIUM_NVMM);
    /* Remapped since the line was read. */
    assert_true(mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                     0) == at);
    assert_int_equal(rule->mapping(rule, self, &line, ACCESS_STORE), MEDIUM_UNKNOWN);

    pmem_free(pmem);
    munmap(at, 4096);
    close(fd);
    free(text);
    fixture_release(&f);
}

/* A process in a mount namespace of its own, which maps a file of a tmpfs that only it sees. */
struct tenant {
    pid_t pid;
    int up[2], down[2]; /* it tells the address, and waits for the end */
    void *at;           /* MAP_FAILED: not root, or what it needs is not there */
};

static void *map_on_a_tmpfs_of_its_own(const char *directory)
{
    char path[256];
    snprintf(path, sizeof path, "%s/own", directory);
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("own", directory, "tmpfs", 0, NULL) != 0)
        return MAP_FAILED;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, 4096) != 0)
        return MAP_FAILED;
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static void tenant_start(struct tenant *tenant, const char *directory,
                         void *(*map)(const char *directory))
{
    char c;
    assert_int_equal(pipe(tenant->up), 0);
    assert_int_equal(pipe(tenant->down), 0);
    tenant->pid = fork();
    assert_true(tenant->pid >= 0);
    if (tenant->pid == 0) {
        close(tenant->down[1]);
        void *at = map(directory);
        if (write(tenant->up[1], &at, sizeof at) == sizeof at)
            while (read(tenant->down[0], &c, 1) > 0)
                ;
        _exit(0);
    }
    assert_int_equal(read(tenant->up[0], &tenant->at, sizeof tenant->at), sizeof tenant->at);
}

static void tenant_end(struct tenant *tenant)
{
    close(tenant->down[1]);
    close(tenant->down[0]);
    close(tenant->up[0]);
    close(tenant->up[1]);
    kill(tenant->pid, SIGKILL); /* its folder may be one that never answers */
    waitpid(tenant->pid, NULL, 0);
}

TEST(files_of_another_mount_namespace)
{
    struct fixture f;
    struct real real = {0};
    const struct pmem_files files = {
        .status = real_status, .now_ns = pmem_files_linux.now_ns, .context = &real};
    struct pmem *pmem;
    struct maps_line line;
    struct tenant tenant;
    char *text = malloc(TEXT_SIZE);
    assert_non_null(text);
    fixture_init(&f);
    with_real_proc(&f);
    tenant_start(&tenant, f.root, map_on_a_tmpfs_of_its_own);
    bool possible = tenant.at != MAP_FAILED;
    if (possible) {
        find_mapping(tenant.pid, tenant.at, text, TEXT_SIZE, &line);
        assert_int_equal(pmem_new(&f.fs, &files, &pmem), 0);
        struct medium_rule *rule = pmem_rule(pmem);
        /* Found: it is no DAX file. This process has no such mapping. */
        assert_int_equal(rule->mapping(rule, tenant.pid, &line, ACCESS_STORE), MEDIUM_OTHER);
        assert_int_equal(rule->mapping(rule, getpid(), &line, ACCESS_STORE), MEDIUM_UNKNOWN);
        pmem_free(pmem);
    }
    tenant_end(&tenant);
    free(text);
    fixture_release(&f);
    if (!possible)
        skip(); /* not root */
}

/* ---- a tenant's own file system ---- */

/* Over its folder it mounts a FUSE that never answers. */
static void *map_below_a_silent_fuse(const char *directory)
{
    char options[96];
    int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
    void *at = fuse < 0 ? MAP_FAILED : map_on_a_tmpfs_of_its_own(directory);
    if (at != MAP_FAILED && mount("fuse", directory, "fuse", 0, options) != 0)
        return MAP_FAILED;
    return at;
}

/* What the rule says, from a process of its own: 100 if it was still asking after a minute. */
static int ask_within_seconds(struct medium_rule *rule, pid_t pid, const struct maps_line *line)
{
    int status;
    pid_t asking = fork();
    assert_true(asking >= 0);
    if (asking == 0) {
        alarm(60);
        _exit((int)rule->mapping(rule, pid, line, ACCESS_STORE));
    }
    assert_int_equal(waitpid(asking, &status, 0), asking);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

TEST(a_fuse_that_never_answers_is_not_asked)
{
    struct fixture f;
    struct real real = {.blind = true}; /* without the privilege for map_files */
    const struct pmem_files files = {
        .status = real_status, .now_ns = pmem_files_linux.now_ns, .context = &real};
    struct pmem *pmem;
    struct maps_line line;
    struct tenant tenant;
    int blind = -1, seeing = -1;
    char *text = malloc(TEXT_SIZE);
    assert_non_null(text);
    fixture_init(&f);
    with_real_proc(&f);
    tenant_start(&tenant, f.root, map_below_a_silent_fuse);
    bool possible = tenant.at != MAP_FAILED;
    if (possible) {
        find_mapping(tenant.pid, tenant.at, text, TEXT_SIZE, &line);
        assert_int_equal(pmem_new(&f.fs, &files, &pmem), 0);
        blind = ask_within_seconds(pmem_rule(pmem), tenant.pid, &line);
        real.blind = false;
        seeing = ask_within_seconds(pmem_rule(pmem), tenant.pid, &line);
        pmem_free(pmem);
    }
    tenant_end(&tenant);
    free(text);
    fixture_release(&f);
    if (!possible)
        skip(); /* not root, or no FUSE */
    assert_int_equal(blind, MEDIUM_UNKNOWN);
    assert_int_equal(seeing, MEDIUM_OTHER); /* the tmpfs file itself */
}

/* ---- mounts ---- */

TEST(many_mappings_read_mounts_once)
{
    struct scene scene;
    static const char overlay[] = "1 0 0:50 / / rw - overlay overlay rw\n",
                      far[] = "1 0 0:50 / / rw - fuse.far far rw\n";
    scene_init(&scene, MAPPED_FILE);
    scene.file.now_ns = 1;
    fixture_write(&scene.f, "proc/7/mountinfo", "%s", overlay);
    fixture_write(&scene.f, "proc/8/mountinfo", "%s", far);
    scene_open(&scene);
    struct medium_rule *rule = scene.rule;
    struct maps_line line = mapping(0, 50, 3, "/data/x");
    scene.file.status = (struct statx){.stx_dev_minor = 50, .stx_ino = 3, .stx_mode = S_IFREG};
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_OTHER);
    assert_int_equal(scene.file.asked, 1);
    /* Another process's table is not read for the same device, and ten seconds later it is. */
    assert_int_equal(rule->mapping(rule, 8, &line, ACCESS_STORE), MEDIUM_OTHER);
    assert_int_equal(scene.file.asked, 2);
    scene.file.now_ns += UINT64_C(10000000000);
    assert_int_equal(rule->mapping(rule, 8, &line, ACCESS_STORE), MEDIUM_OTHER);
    assert_int_equal(scene.file.asked, 2); /* of another type now: not worth a look */

    /* What a process has not is its own affair. */
    line = mapping(0, 60, 3, "/data/x");
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_UNKNOWN);
    fixture_write(&scene.f, "proc/7/mountinfo", "1 0 0:60 / / rw - fuse.far far rw\n");
    fixture_write(&scene.f, "proc/8/mountinfo", "1 0 0:60 / / rw - fuse.far far rw\n");
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_UNKNOWN);
    assert_int_equal(rule->mapping(rule, 8, &line, ACCESS_STORE), MEDIUM_OTHER);
    assert_int_equal(scene.file.asked, 2);
    scene_release(&scene);
}

/* A table above a MiB hides what its file systems are: they are not asked. */
TEST(a_flood_of_mounts_is_unknown)
{
    enum { MOUNTS = 20000 };
    struct scene scene;
    char *text = malloc(MOUNTS * 96), *at = text;
    assert_non_null(text);
    for (int i = 0; i < MOUNTS; i++)
        at +=
            sprintf(at, "%d 1 0:40 / /a/mount/point/of/some/length/%d rw - tmpfs tmpfs rw\n", i, i);
    sprintf(at, "9 1 0:52 / /far rw - fuse.far far rw\n");
    scene_init(&scene, MAPPED_FILE);
    fixture_write(&scene.f, "proc/7/mountinfo", "%s", text);
    scene_open(&scene);
    struct medium_rule *rule = scene.rule;
    scene.file.status = (struct statx){.stx_dev_minor = 52, .stx_ino = 3, .stx_mode = S_IFREG};
    struct maps_line line = mapping(0, 52, 3, "/far/x");
    assert_int_equal(rule->mapping(rule, 7, &line, ACCESS_STORE), MEDIUM_UNKNOWN);
    assert_int_equal(scene.file.asked, 0);
    scene_release(&scene);
    free(text);
}

/* A file can have a name that the kernel gives to its own. */
TEST(borrowed_names)
{
    static const struct {
        const char *path;
        uint32_t minor;
        enum medium medium;
    } files_of[] = {
        {"/memfd:x (deleted)", 1, MEDIUM_OTHER},
        {"/SYSV00000000 (deleted)", 1, MEDIUM_OTHER},
        {"/anon_hugepage (deleted)", 1, MEDIUM_OTHER},
        {"anon_inode:[perf_event]", 1, MEDIUM_OTHER},
        {"/memfd:x", 1, MEDIUM_UNKNOWN},
        {"/SYSV00000000", 1, MEDIUM_UNKNOWN},
        {"/x (deleted)", 1, MEDIUM_UNKNOWN},
        /* A node of a tmpfs: what it is, not what it is called. */
        {"/memfd:x (deleted)", 51, MEDIUM_NVMM},
        {"/SYSV00000000", 51, MEDIUM_NVMM},
    };
    struct scene scene;
    scene_init(&scene, MAPPED_FILE);
    fixture_write(&scene.f, "proc/7/mountinfo", "2 1 0:51 / / rw - tmpfs tmpfs rw\n");
    scene_open(&scene);
    struct medium_rule *rule = scene.rule;
    scene.file.status = (struct statx){.stx_dev_minor = 51,
                                       .stx_ino = 3,
                                       .stx_mode = S_IFCHR,
                                       .stx_rdev_major = 252,
                                       .stx_rdev_minor = 1};
    for (size_t i = 0; i < sizeof files_of / sizeof *files_of; i++) {
        struct maps_line line = mapping(0, files_of[i].minor, 3, files_of[i].path);
        if (rule->mapping(rule, 7, &line, ACCESS_STORE) != files_of[i].medium)
            fail_msg("%s on 0:%u", files_of[i].path, files_of[i].minor);
    }
    scene_release(&scene);
}
