#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/governor/act/journal/journal.h"
#include "tests/support/journal_seal.h"
#include "tests/unit/support/governor_rig.h"
#include "tests/unit/support/unit.h"

static struct claim claim_of(const char *path)
{
    struct claim claim = {.knob = KNOB_CPU,
                          .container = "batch/\"job\"/worker",
                          .container_id = "0a1b2c3d4e5f",
                          .original = "max 100000",
                          .dev = 27,
                          .ino = 857,
                          .root_dev = 27,
                          .root_ino = 1,
                          .least = 1,
                          .most = 6.5};
    snprintf(claim.path, sizeof claim.path, "%s", path);
    return claim;
}

static int setup(void **state)
{
    struct governor_rig *rig = malloc(sizeof *rig);
    governor_rig_init(rig, 2);
    *state = rig;
    return 0;
}

static int teardown(void **state)
{
    governor_rig_release(*state);
    free(*state);
    return 0;
}

static void open_it(struct governor_rig *rig, struct journal *journal)
{
    char error[256] = "";
    int err = journal_open(journal, rig->state, true, &rig->write, &rig->fs, error, sizeof error);
    if (err)
        fail_msg("%s", error);
}

static int try_open(struct governor_rig *rig, char error[256])
{
    struct journal journal;
    int err = journal_open(&journal, rig->state, true, &rig->write, &rig->fs, error, 256);
    if (!err)
        journal_close(&journal);
    return err;
}

/* Two claims, the first with a change, the second released and a third adopted. */
static void fill(struct journal *journal)
{
    struct claim first = claim_of("/a"), second = claim_of("/b"), third = claim_of("/c");
    assert_int_equal(journal_claim(journal, &first), 0);
    assert_int_equal(journal_claim(journal, &second), 0);
    assert_int_equal(journal_claim(journal, &third), 0);
    assert_int_equal(third.id, 3);
    struct intent intents[] = {{1, "max 100000", "150000 100000"}, {3, "max 100000", "1 2"}};
    assert_int_equal(journal_intend(journal, &intents[0]), 0);
    assert_int_equal(journal_intend(journal, &intents[1]), 0);
    assert_int_equal(journal_release(journal, 2), 0);
    snprintf(third.original, sizeof third.original, "200000 100000");
    third.most = 2;
    assert_int_equal(journal_claim(journal, &third), 0);
    assert_int_equal(third.id, 4);
}

static void expect_filled(const struct journal *journal)
{
    assert_int_equal(journal->open.n, 2);
    const struct claim *first = &journal->open.claims[0], *third = &journal->open.claims[1];
    assert_int_equal(first->id, 1);
    assert_string_equal(first->path, "/a");
    assert_string_equal(first->container, "batch/\"job\"/worker");
    assert_string_equal(first->container_id, "0a1b2c3d4e5f");
    assert_int_equal(first->dev, 27);
    assert_int_equal(first->ino, 857);
    assert_int_equal(first->root_dev, 27);
    assert_int_equal(first->root_ino, 1);
    assert_string_equal(first->original, "max 100000");
    assert_string_equal(first->from, "max 100000");
    assert_string_equal(first->set, "150000 100000");
    assert_float_equal(first->least, 1, 0);
    assert_float_equal(first->most, 6.5, 0);
    assert_int_equal(third->id, 4);
    assert_string_equal(third->original, "200000 100000");
    assert_string_equal(third->set, "");
    assert_float_equal(third->most, 2, 0);
}

TEST_WITH(what_is_open_is_found_again, setup, teardown)
{
    struct journal journal;
    open_it(*state, &journal);
    fill(&journal);
    expect_filled(&journal);
    journal_close(&journal);
    for (int i = 0; i < 2; i++) { /* the second time as it was written anew */
        open_it(*state, &journal);
        expect_filled(&journal);
        assert_int_equal(journal_compact(&journal), 0);
        journal_close(&journal);
    }
}

/* Nobody knows which of the two files has the name: the next line writes all of it anew. */
TEST_WITH(a_file_that_could_not_be_replaced_is_no_place_for_a_line, setup, teardown)
{
    struct governor_rig *rig = *state;
    struct journal journal;
    struct claim claim = claim_of("/d");
    open_it(rig, &journal);
    fill(&journal);
    assert_int_equal(journal_compact(&journal), 0);
    assert_false(journal.dirty);
    for (unsigned call = 1; call <= 3; call++) { /* opens, writes, renames */
        rig->fail_from = rig->fail_to = rig->calls + call;
        rig->fail_with = -EIO;
        assert_int_equal(journal_compact(&journal), -EIO);
        assert_true(journal.dirty);
        rig->fail_from = rig->fail_to = 0;
        assert_int_equal(journal_claim(&journal, &claim), 0);
        assert_int_equal(journal_release(&journal, claim.id), 0);
        assert_false(journal.dirty);
    }
    expect_filled(&journal);
    journal_close(&journal);
    open_it(rig, &journal);
    expect_filled(&journal);
    journal_close(&journal);
}

/* ---- a writer ---- */

struct writer {
    int err;
    char asked[16];
};

static int note(struct writer *writer, const char *what)
{
    strcat(writer->asked, what);
    return writer->err;
}

static int keep_claim(void *context, const struct claim *claim)
{
    assert_true(claim->id > 0);
    return note(context, "c");
}

static int keep_intend(void *context, const struct intent *intent)
{
    return note(context, "i");
}

static int keep_release(void *context, uint64_t claim)
{
    return note(context, "r");
}

static int keep_compact(void *context)
{
    return note(context, "z");
}

TEST(a_writer_has_the_file)
{
    struct writer writer = {0};
    const struct journal_writer ops = {.context = &writer,
                                       .claim = keep_claim,
                                       .intend = keep_intend,
                                       .release = keep_release,
                                       .compact = keep_compact};
    struct journal journal;
    struct claim claim = claim_of("/a");
    journal_open_remote(&journal, &ops);
    assert_int_equal(journal_claim(&journal, &claim), 0);
    struct intent intent = {.claim = claim.id, .from = "a", .to = "b"};
    assert_int_equal(journal_intend(&journal, &intent), 0);
    assert_string_equal(journal.open.claims[0].set, "b");
    assert_int_equal(journal_claim(&journal, &claim), 0);
    writer.err = JOURNAL_REFUSED; /* of that line alone */
    assert_int_equal(journal_claim(&journal, &claim), JOURNAL_REFUSED);
    assert_true(journal_is_refused(&journal, JOURNAL_REFUSED));
    assert_int_equal(journal.open.n, 1);
    assert_int_equal(journal.errors, 0);
    assert_false(journal.dirty);
    writer.err = -ENOSPC;
    assert_int_equal(journal_release(&journal, journal.open.claims[0].id), -ENOSPC);
    assert_false(journal_is_refused(&journal, -ENOSPC));
    assert_int_equal(journal.open.n, 0); /* as with a file */
    assert_int_equal(journal.errors, 1);
    assert_true(journal.dirty);
    writer.err = 0;
    assert_int_equal(journal_compact(&journal), 0);
    assert_false(journal.dirty);
    assert_string_equal(writer.asked, "ciccrz");
    journal_close(&journal);
}

TEST_WITH(a_thread_is_found_again, setup, teardown)
{
    struct journal journal;
    struct claim claim = claim_of("/a");
    claim.knob = KNOB_AFFINITY;
    claim.tid = 4711;
    claim.tid_start = 81000;
    claim.tid_claimed = 92000;
    open_it(*state, &journal);
    assert_int_equal(journal_claim(&journal, &claim), 0);
    journal_close(&journal);
    open_it(*state, &journal);
    assert_int_equal(journal.open.n, 1);
    assert_int_equal(journal.open.claims[0].tid, 4711);
    assert_int_equal(journal.open.claims[0].tid_start, 81000);
    assert_int_equal(journal.open.claims[0].tid_claimed, 92000);
    journal_close(&journal);
}

TEST_WITH(numbers_are_never_used_twice, setup, teardown)
{
    struct journal journal;
    struct claim claim = claim_of("/a");
    open_it(*state, &journal);
    assert_int_equal(journal_claim(&journal, &claim), 0);
    assert_int_equal(journal_release(&journal, claim.id), 0);
    assert_int_equal(journal_claim(&journal, &claim), 0);
    assert_int_equal(claim.id, 2);
    journal_close(&journal);
}

TEST_ON(another_boot_voids_it, struct governor_rig *rig, setup, teardown)
{
    struct journal journal;
    open_it(rig, &journal);
    fill(&journal);
    journal_close(&journal);
    governor_rig_file(rig, "proc/sys/kernel/random/boot_id", "another-boot\n");
    open_it(rig, &journal);
    assert_int_equal(journal.open.n, 0);
    assert_true(journal.open.other_boot);
    assert_int_equal(journal_compact(&journal), 0);
    journal_close(&journal);
    governor_rig_file(rig, "proc/sys/kernel/random/boot_id", "6f0e5a1c-boot\n");
    open_it(rig, &journal); /* and does so for good */
    assert_int_equal(journal.open.n, 0);
    journal_close(&journal);
}

static size_t read_journal(struct governor_rig *rig, char text[8192])
{
    assert_true(governor_rig_text(rig, "state/journal", text, 8192));
    return strlen(text);
}

/* Also where the file is made anew for its length just then. */
TEST_WITH(an_adoption_leaves_one_claim, setup, teardown)
{
    struct journal journal;
    struct claim claim = claim_of("/a");
    for (size_t room = 0; room < 100; room++) { /* a line of a release is shorter */
        open_it(*state, &journal);
        assert_int_equal(journal.open.n, room > 0);
        assert_int_equal(journal_compact(&journal), 0);
        journal.file.bytes = (1 << 20) + 1 - room;
        assert_int_equal(journal_claim(&journal, &claim), 0);
        journal_close(&journal);
    }
}

/* Wherever it was cut, what stands before the last line that is whole is known, and the next line
 * is not glued to what was left. */
TEST_ON(every_cut_is_survived, struct governor_rig *rig, setup, teardown)
{
    struct journal journal;
    char text[8192];
    open_it(rig, &journal);
    fill(&journal);
    journal_close(&journal);
    size_t len = read_journal(rig, text);
    for (size_t cut = 0; cut <= len; cut++) {
        char part[8192];
        size_t lines = 0;
        snprintf(part, sizeof part, "%.*s", (int)cut, text);
        for (const char *at = part; (at = strchr(at, '\n')); at++)
            lines++;
        governor_rig_file(rig, "state/journal", part);
        open_it(rig, &journal);
        static const size_t open_after[] = {0, 0, 1, 2, 3, 3, 3, 2, 1, 2};
        assert_int_equal(journal.open.n, open_after[lines]);
        assert_int_equal(journal.open.torn, cut > 0 && part[cut - 1] != '\n');
        struct claim claim = claim_of("/d");
        assert_int_equal(journal_claim(&journal, &claim), 0);
        journal_close(&journal);
        open_it(rig, &journal);
        assert_int_equal(journal.open.n, open_after[lines] + 1);
        assert_false(journal.open.torn);
        journal_close(&journal);
    }
}

TEST_ON(checksums_are_looked_at, struct governor_rig *rig, setup, teardown)
{
    struct journal journal;
    char text[8192], error[256];
    open_it(rig, &journal);
    fill(&journal);
    journal_close(&journal);
    size_t len = read_journal(rig, text);
    text[len - 3] ^= 1; /* in the last line */
    governor_rig_file(rig, "state/journal", text);
    open_it(rig, &journal);
    assert_true(journal.open.torn);
    assert_int_equal(journal.open.n, 1); /* the third one's new original is not there */
    journal_close(&journal);
    text[len - 3] ^= 1;
    *strstr(text, "\"/b\"") = '\'';
    governor_rig_file(rig, "state/journal", text);
    unsigned calls = rig->calls;
    assert_int_equal(try_open(rig, error), -EINVAL);
    assert_non_null(strstr(error, "journal: line 3: its checksum is wrong; nothing was changed"));
    assert_int_equal(rig->calls, calls + 1); /* opened, not written */
}

#define CLAIM_REST                                                                                 \
    "\"container\":\"c\",\"container_id\":\"i\",\"dev\":1,\"ino\":2,\"original\":\"max 1\"}"
#define BOOT "{\"boot\":\"b\",\"journal\":1}"

static void seal(struct textbuf *text, const char *json)
{
    journal_seal(text, json, strlen(json));
}

/* As an earlier version wrote them. */
TEST(lines_of_earlier_versions)
{
    struct journal_claims claims = {0};
    struct textbuf text = TEXTBUF_INIT;
    size_t number;
    const char *reason;
    seal(&text, BOOT);
    for (unsigned id = 1; id <= 3; id++) {
        char json[512];
        snprintf(
            json, sizeof json,
            "{\"claim\":%u,\"knob\":\"cpu\",\"path\":\"/a\",\"least\":1,\"most\":2," CLAIM_REST,
            id);
        seal(&text, json);
    }
    seal(&text, "{\"intend\":[[1,\"a\",\"b\"],[2,\"c\",\"d\"]]}");
    seal(&text, "{\"adopt\":2,\"original\":\"e\",\"least\":1,\"most\":1.5}");
    seal(&text, "{\"release\":[1,3]}");
    assert_int_equal(journal_read(text.data, text.len, "b", &claims, &number, &reason), 0);
    assert_int_equal(claims.n, 1);
    assert_int_equal(claims.claims[0].id, 2);
    assert_string_equal(claims.claims[0].original, "e");
    assert_string_equal(claims.claims[0].set, "");
    assert_float_equal(claims.claims[0].most, 1.5, 0);
    journal_claims_release(&claims);
    textbuf_release(&text);
}

/* Lines with a right checksum that say something wrong. */
static void expect_refused(const char *json, const char *why)
{
    struct journal_claims claims = {0};
    struct textbuf text = TEXTBUF_INIT;
    size_t number;
    const char *reason;
    seal(&text, BOOT);
    seal(&text, "{\"claim\":4,\"knob\":\"cpu\",\"path\":\"/a\",\"least\":1,\"most\":2," CLAIM_REST);
    seal(&text, json);
    seal(&text, BOOT); /* so that it is not the last */
    assert_int_equal(journal_read(text.data, text.len, "b", &claims, &number, &reason), -EINVAL);
    assert_int_equal(number, 3);
    assert_string_equal(reason, why);
    assert_int_equal(claims.n, 0);
    textbuf_release(&text);
}

#define AFFINITY(tid)                                                                              \
    "{\"claim\":5,\"knob\":\"affinity\",\"path\":\"/a\",\"least\":1,\"most\":2,\"tid\":" tid       \
    ",\"tid_start\":1,\"tid_claimed\":2,"

TEST(every_field_is_checked)
{
    const char *low = "its number is not above those before", *knob = "its knob is not known",
               *path = "its path leads elsewhere", *whole = "it is no whole claim",
               *none = "there is no such claim";
    const struct {
        const char *json, *why;
    } lines[] = {
        {"[]", "it is no JSON object"},
        {"{", "it is no JSON object"},
        {"{}", "it is of no known kind"},
        {"{\"claim\":4}", low},
        {"{\"claim\":\"5\"}", low},
        {"{\"claim\":5,\"knob\":\"memory\"}", knob},
        {"{\"claim\":5,\"knob\":\"cpu\",\"path\":\"a\"}", path},
        {"{\"claim\":5,\"knob\":\"cpu\",\"path\":\"/a/../b\"}", path},
        {"{\"claim\":5,\"knob\":\"cpu\",\"path\":\"/..\"}", path},
        {"{\"claim\":5,\"knob\":\"cpu\",\"path\":\"/a\"," CLAIM_REST, whole},
        {"{\"claim\":5,\"knob\":\"cpu\",\"path\":\"/a\",\"least\":2,\"most\":1," CLAIM_REST, whole},
        {"{\"claim\":5,\"knob\":\"cpu\",\"path\":\"/a\",\"least\":-1,\"most\":1," CLAIM_REST,
         whole},
        {"{\"claim\":5,\"knob\":\"cpu\",\"path\":\"/"
         "a\",\"least\":1,\"most\":2,\"tid\":7," CLAIM_REST,
         whole},
        {"{\"claim\":5,\"knob\":\"affinity\",\"path\":\"/a\",\"least\":1,\"most\":2," CLAIM_REST,
         whole},
        {AFFINITY("0") CLAIM_REST, whole},
        {AFFINITY("2147483648") CLAIM_REST, whole},
        {AFFINITY("\"7\"") CLAIM_REST, whole},
        {"{\"claim\":5,\"knob\":\"affinity\",\"path\":\"/a\",\"least\":1,\"most\":2,\"tid\":7,"
         "\"tid_start\":1," CLAIM_REST,
         whole},
        {"{\"adopt\":5}", none},
        {"{\"adopt\":4}", "it has no original"},
        {"{\"adopt\":4,\"original\":\"\",\"least\":1,\"most\":2}", "it has no original"},
        {"{\"intend\":4}", "it is no list"},
        {"{\"intend\":[4]}", none},
        {"{\"intend\":[[5,\"a\",\"b\"]]}", none},
        {"{\"intend\":[[4,\"a\"]]}", none},
        {"{\"intend\":[[4,\"a\",1]]}", "it is no whole intent"},
        {"{\"release\":4}", "it is no list"},
        {"{\"release\":[5]}", none},
        {"{\"release\":[4,4]}", none},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        expect_refused(lines[i].json, lines[i].why);
}

TEST(the_first_line_is_of_a_boot)
{
    const struct {
        const char *json, *why;
    } lines[] = {
        {"{\"boot\":1}", "it does not say of which boot it is"},
        {"{\"release\":[]}", "it does not say of which boot it is"},
        {"{\"boot\":\"b\"}", "it is of another version"},
        {"{\"boot\":\"b\",\"journal\":2}", "it is of another version"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct journal_claims claims = {0};
        struct textbuf text = TEXTBUF_INIT;
        size_t number;
        const char *reason;
        seal(&text, lines[i].json);
        assert_int_equal(journal_read(text.data, text.len, "b", &claims, &number, &reason),
                         -EINVAL);
        assert_string_equal(reason, lines[i].why);
        textbuf_release(&text);
    }
}

TEST_WITH(there_is_one_governor, setup, teardown)
{
    struct journal journal;
    char error[256];
    open_it(*state, &journal);
    assert_int_equal(try_open(*state, error), -EWOULDBLOCK);
    assert_non_null(strstr(error, "another governor is running"));
    journal_close(&journal);
    assert_int_equal(try_open(*state, error), 0);
}

/* As who reads /proc/PID/fdinfo does for a moment. */
TEST_ON(who_looks_at_its_descriptors_keeps_no_lock, struct governor_rig *rig, setup, teardown)
{
    struct journal journal;
    char error[256];
    open_it(rig, &journal);
    int looked_at = dup(journal.file.directory);
    journal_close(&journal);
    assert_int_equal(try_open(rig, error), 0);
    close(looked_at);
}

/* One that was killed cannot unlock. */
TEST_ON(a_lock_that_is_let_go_late_is_waited_for, struct governor_rig *rig, setup, teardown)
{
    char error[256], byte = 0;
    int told[2], err = -EWOULDBLOCK;
    for (int i = 0; i < 10 && err == -EWOULDBLOCK; i++) { /* the child may have no CPU for longer */
        assert_int_equal(pipe(told), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct journal journal;
            open_it(rig, &journal);
            if (write(told[1], &byte, 1) != 1)
                _exit(1);
            usleep(50000);
            _exit(0); /* without closing it */
        }
        assert_int_equal(read(told[0], &byte, 1), 1);
        err = try_open(rig, error);
        assert_int_equal(waitpid(child, NULL, 0), child);
        close(told[0]);
        close(told[1]);
    }
    assert_int_equal(err, 0);
}

TEST_ON(others_may_not_write_there, struct governor_rig *rig, setup, teardown)
{
    char error[256];
    assert_int_equal(chmod(rig->state, 0720), 0);
    assert_int_equal(try_open(rig, error), -EPERM);
    assert_int_equal(chmod(rig->state, 0702), 0);
    assert_int_equal(try_open(rig, error), -EPERM);
    assert_int_equal(chmod(rig->state, 0755), 0);
    assert_int_equal(try_open(rig, error), 0);
}

TEST_ON(without_a_file_there_is_nothing_to_restore, struct governor_rig *rig, setup, teardown)
{
    struct journal journal;
    char error[256], text[8];
    assert_int_equal(
        journal_open(&journal, rig->state, false, &rig->write, &rig->fs, error, sizeof error),
        -ENOENT);
    assert_false(governor_rig_text(rig, "state/journal", text, sizeof text));
    assert_int_equal(rig->calls, 0);
}

/* Call k and those after it fail, for every k: either the claim is in the journal and in memory, or
 * in neither; and when the disk has room again, everything is written again. */
TEST_ON(a_full_disk_loses_nothing, struct governor_rig *rig, setup, teardown)
{
    for (unsigned k = 1; k < 12; k++) {
        struct journal journal;
        struct claim first = claim_of("/a"), second = claim_of("/b");
        governor_rig_file(rig, "state/journal", "");
        open_it(rig, &journal);
        rig->fail_from = rig->calls + k;
        rig->fail_to = 1000000;
        rig->fail_with = -ENOSPC;
        struct intent intent = {1, "a", "b"};
        bool claimed = journal_claim(&journal, &first) == 0;
        bool intended = journal_intend(&journal, &intent) == 0;
        bool again = journal_claim(&journal, &second) == 0;
        assert_int_equal(journal.open.n, (size_t)claimed + again);
        assert_true(claimed || !intended);
        assert_string_equal(claimed ? journal.open.claims[0].set : "", intended ? "b" : "");
        assert_int_equal(journal.errors > 0, !again);
        rig->fail_from = 0;
        if (!again)
            assert_int_equal(journal_claim(&journal, &second), 0);
        size_t n = journal.open.n;
        journal_close(&journal);
        open_it(rig, &journal);
        assert_int_equal(journal.open.n, n);
        assert_false(journal.open.torn);
        assert_string_equal(journal.open.claims[0].set, intended ? "b" : "");
        journal_close(&journal);
    }
}

TEST_ON(a_release_counts_even_if_the_disk_is_full, struct governor_rig *rig, setup, teardown)
{
    struct journal journal;
    struct claim claim = claim_of("/a");
    open_it(rig, &journal);
    assert_int_equal(journal_claim(&journal, &claim), 0);
    rig->fail_from = rig->calls + 1;
    rig->fail_to = 1000000;
    rig->fail_with = -EIO;
    assert_int_equal(journal_release(&journal, claim.id), -EIO);
    assert_int_equal(journal.open.n, 0);
    rig->fail_from = 0;
    assert_int_equal(journal_claim(&journal, &claim), 0);
    journal_close(&journal);
    open_it(rig, &journal);
    assert_int_equal(journal.open.n, 1);
    journal_close(&journal);
}

TEST_ON(a_long_file_is_written_anew, struct governor_rig *rig, setup, teardown)
{
    struct journal journal;
    struct claim claim = claim_of("/a");
    open_it(rig, &journal);
    assert_int_equal(journal_claim(&journal, &claim), 0);
    struct intent intent = {1, "max 100000", "150000 100000"};
    for (int i = 0; i < 40000; i++)
        assert_int_equal(journal_intend(&journal, &intent), 0);
    assert_true(journal.file.bytes < (1 << 20) + 256);
    journal_close(&journal);
    open_it(rig, &journal);
    assert_string_equal(journal.open.claims[0].set, "150000 100000");
    journal_close(&journal);
}

TEST(in_memory_it_works_alike)
{
    struct journal journal;
    journal_open_nowhere(&journal);
    fill(&journal);
    expect_filled(&journal);
    journal_close(&journal);
}

/* A pipe would hold on to whoever opens it for as long as nobody writes. */
TEST_ON(a_pipe_is_refused_at_once, struct governor_rig *rig, setup, teardown)
{
    struct journal journal;
    char path[160], error[256] = "";
    snprintf(path, sizeof path, "%s/journal", rig->state);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(60);
    for (int make = 0; make < 2; make++) {
        assert_int_equal(
            journal_open(&journal, rig->state, make, &rig->write, &rig->fs, error, sizeof error),
            -ENOTSUP);
        assert_non_null(strstr(error, "it is no file"));
    }
    alarm(0);
}

/* A journal that is new holds nothing; of one that is empty or torn nobody knows. */
TEST_ON(what_may_be_missing, struct governor_rig *rig, setup, teardown)
{
    struct journal journal;
    char path[160];
    struct stat st;
    snprintf(path, sizeof path, "%s/journal", rig->state);
    open_it(rig, &journal);
    assert_false(journal.incomplete);
    fill(&journal);
    journal_close(&journal);
    open_it(rig, &journal);
    assert_false(journal.incomplete);
    journal_close(&journal);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 3), 0);
    open_it(rig, &journal);
    assert_true(journal.incomplete);
    journal_close(&journal);
    assert_int_equal(truncate(path, 0), 0);
    open_it(rig, &journal);
    assert_true(journal.incomplete);
    journal_close(&journal);
}
