/* What is kept of the files, what counts as a beginning, and the way to the scribe. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/blackbox/blackbox.h"
#include "exporter/blackbox/chute.h"
#include "exporter/blackbox/incidents.h"
#include "exporter/blackbox/shelf.h"
#include "exporter/source/recording/recorder.h"
#include "exporter/source/recording/replay.h"
#include "tests/unit/support/unit.h"

static const uint64_t second_ns = 1000000000;

/* ---- the shelf ---- */

struct room {
    char path[64];
    int directory;
    uint64_t max_bytes;
};

static int make_room(void **state)
{
    struct room *room = calloc(1, sizeof *room);
    snprintf(room->path, sizeof room->path, "/tmp/test_blackbox.XXXXXX");
    assert_non_null(mkdtemp(room->path));
    room->directory = open(room->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    room->max_bytes = 1 << 20;
    *state = room;
    return 0;
}

static int leave_room(void **state)
{
    struct room *room = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", room->path);
    assert_int_equal(system(command), 0);
    close(room->directory);
    free(room);
    return 0;
}

static void make_file(const struct room *room, const char *name, size_t bytes)
{
    int fd = openat(room->directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    close(fd);
}

static bool is_there(const struct room *room, const char *name)
{
    struct stat st;
    return fstatat(room->directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

TEST(test_names_say_when_and_why)
{
    static const char *const none[] = {
        "",
        "blackbox-",
        "blackbox-.jsonl.gz",
        "blackbox-20261128T101530Z-.jsonl.gz",
        "blackbox-20261128T101530Z-waits.jsonl",
        "blackbox-20261128T101530Z-../../etc.jsonl.gz",
        "blackbox-20261128T101530Z-Waits.jsonl.gz",
        "blackbox-20261328T101530Z-waits.jsonl.gz",
        "blackbox-20261128T101530Z-a_word_that_is_longer_than_any_of_them.jsonl.gz",
        "x-blackbox-20261128T101530Z-waits.jsonl.gz",
        "blackbox-20261128T101530Z-waits.jsonl.gz.part",
    };
    struct shelf_file file;
    assert_true(shelf_parse_name("blackbox-20261128T101530Z-loses_time.jsonl.gz", &file));
    assert_string_equal(file.why, "loses_time");
    assert_int_equal(file.began_wall_ns, UINT64_C(1795860930) * second_ns);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(shelf_parse_name(none[i], &file));
}

TEST_ON(test_the_oldest_go_and_nobody_elses, struct room *room, make_room, leave_room)
{
    struct shelf *shelf = calloc(1, sizeof *shelf);
    make_file(room, "blackbox-20261128T000003Z-waits.jsonl.gz", 10);
    make_file(room, "blackbox-20261128T000001Z-waits.jsonl.gz", 10);
    make_file(room, "blackbox-20261128T000004Z-named.jsonl.gz", 10);
    make_file(room, "blackbox-20261128T000002Z-waits.jsonl.gz", 10);
    make_file(room, "notes", 1000);
    assert_int_equal(
        symlinkat("notes", room->directory, "blackbox-20261128T000000Z-waits.jsonl.gz"), 0);
    assert_int_equal(shelf_init(shelf, room->directory, 3, 1000), 0);
    assert_int_equal(shelf->n, 3);
    assert_int_equal(shelf->removed, 1);
    assert_false(is_there(room, "blackbox-20261128T000001Z-waits.jsonl.gz"));
    assert_string_equal(shelf->files[0].name, "blackbox-20261128T000002Z-waits.jsonl.gz");
    assert_true(is_there(room, "notes"));
    assert_true(is_there(room, "blackbox-20261128T000000Z-waits.jsonl.gz")); /* no file */

    /* A name that is there already is nobody's to write over. */
    const uint64_t wall_ns = UINT64_C(1795824004) * second_ns; /* 00:00:04 */
    struct shelf_file *file = shelf_add(shelf, "named", wall_ns);
    assert_string_equal(file->name, "blackbox-20261128T000005Z-named.jsonl.gz");
    assert_true(file->open);
    make_file(room, file->name, 985);
    file->bytes = 985;
    assert_false(is_there(room, "blackbox-20261128T000002Z-waits.jsonl.gz"));
    shelf_trim(shelf); /* 985 + 10 + 10 */
    assert_int_equal(shelf->n, 2);
    shelf->files[1].bytes = 5000; /* what is being written stays */
    shelf_trim(shelf);
    assert_int_equal(shelf->n, 1);
    shelf_drop_last(shelf);
    assert_false(is_there(room, "blackbox-20261128T000005Z-named.jsonl.gz"));
    free(shelf);
}

/* Who fetches a file and removes it, makes room for others. */
TEST_ON(test_what_others_remove_does_not_count, struct room *room, make_room, leave_room)
{
    struct shelf *shelf = calloc(1, sizeof *shelf);
    make_file(room, "blackbox-20261128T000001Z-waits.jsonl.gz", 10);
    make_file(room, "blackbox-20261128T000002Z-waits.jsonl.gz", 900);
    assert_int_equal(shelf_init(shelf, room->directory, 2, 1000), 0);
    assert_int_equal(unlinkat(room->directory, "blackbox-20261128T000002Z-waits.jsonl.gz", 0), 0);
    shelf_add(shelf, "named", UINT64_C(1795824004) * second_ns)->bytes = 500;
    shelf_trim(shelf);
    assert_int_equal(shelf->n, 2);
    assert_int_equal(shelf->removed, 0);
    assert_true(is_there(room, "blackbox-20261128T000001Z-waits.jsonl.gz"));
    shelf_forget_missing(shelf); /* the one that was added is no file yet */
    assert_int_equal(shelf->n, 1);
    assert_string_equal(shelf->files[0].name, "blackbox-20261128T000001Z-waits.jsonl.gz");
    free(shelf);
}

/* What cannot be removed counts as what it is, and nothing else goes in its place. */
TEST_ON(test_what_cannot_be_removed_stays, struct room *room, make_room, leave_room)
{
    struct shelf *shelf = calloc(1, sizeof *shelf);
    static const char first[] = "blackbox-20261128T000001Z-waits.jsonl.gz",
                      second[] = "blackbox-20261128T000002Z-waits.jsonl.gz";
    make_file(room, first, 10);
    make_file(room, second, 900);
    assert_int_equal(shelf_init(shelf, room->directory, 2, 1000), 0);
    assert_int_equal(unlinkat(room->directory, first, 0), 0);
    assert_int_equal(mkdirat(room->directory, first, 0700), 0);
    shelf->files[1].bytes = 1000;
    shelf_trim(shelf);
    assert_null(shelf_add(shelf, "named", UINT64_C(1795824004) * second_ns));
    assert_int_equal(shelf->n, 2);
    assert_int_equal(shelf->removed, 0);
    assert_string_equal(shelf->files[0].name, first);
    assert_true(is_there(room, second));
    free(shelf);
}

/* ---- the processes ---- */

struct box {
    struct blackbox *blackbox;
    struct recorder *recorder;
    struct blackbox_report report;
    uint64_t second, dropped;
    bool active;
};

static int box_fork(const struct room *room, struct blackbox **out, char *error, size_t size)
{
    const struct blackbox_config config = {
        .directory = room->path, .max_files = 9, .max_bytes = room->max_bytes};
    int status, err = blackbox_fork(&config, out, &status, error, size);
    if (err > 0)
        _exit(status);
    return err;
}

static void box_open(struct box *box, const struct room *room)
{
    static const struct machine machine;
    char error[256] = "";
    *box = (struct box){.second = 1000};
    assert_int_equal(box_fork(room, &box->blackbox, error, sizeof error), 0);
    assert_int_equal(recorder_new(NULL, &machine, second_ns, NULL, &box->recorder), 0);
    blackbox_begin(box->blackbox, &machine, second_ns);
    recorder_tee(box->recorder, blackbox_sink(box->blackbox));
}

/* 'id' waits; 0: nobody does. */
static void box_tick(struct box *box, uint64_t id)
{
    const uint64_t now_ns = ++box->second * second_ns;
    const struct tick tick = {.number = box->second, .mono_ns = now_ns, .wall_ns = now_ns};
    recorder_tick(box->recorder, &tick);
    if (id && blackbox_is(box->blackbox, BLACKBOX_WAITS, id, 0))
        blackbox_mark(box->blackbox, BLACKBOX_WAITS, "");
    recorder_flush(box->recorder);
    blackbox_read(box->blackbox, &box->report, &box->dropped, &box->active);
    assert_true(box->active);
    assert_int_equal(box->dropped, 0);
}

static void box_close(struct box *box)
{
    assert_int_equal(recorder_free(box->recorder), 0);
    blackbox_free(box->blackbox);
}

/* A file goes on for five minutes after what is in it ended, which counts for half an hour, and for
 * an hour if ever more begins: by the clock of the ticks, whose seconds pass at once here. */
TEST_ON(test_a_file_ends, const struct room *room, make_room, leave_room)
{
    static const struct {
        uint64_t seconds, each, lasts; /* something waits, another one each so often; the file's */
    } cases[] = {{10, 1000000, 9 + 15 + 300}, {5000, 1000000, 1799 + 300}, {3800, 100, 3600}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct box box;
        box_open(&box, room);
        for (uint64_t second = 0; second < cases[i].seconds; second++)
            box_tick(&box, 1 + second / cases[i].each);
        for (int more = 0; more < 3000 && (!box.report.n_files || box.report.written == 0);
             more++) {
            box_tick(&box, 0);
            usleep(1000);
        }
        assert_int_equal(box.report.written, 1);
        const struct shelf_file *file = &box.report.files[i];
        assert_false(file->open);
        assert_int_equal((file->ended_wall_ns - file->began_wall_ns) / second_ns, cases[i].lasts);
        box_close(&box);
        for (size_t k = i + 1; k < box.report.n_files; k++)
            unlinkat(room->directory, box.report.files[k].name, 0);
    }
}

/* What there is no room for is a failure, and nothing else. */
TEST_ON(test_a_file_that_ends_before_its_time, struct room *room, make_room, leave_room)
{
    struct box box;
    room->max_bytes = 2000;
    box_open(&box, room);
    for (int i = 0; i < 3000 && box.report.failed == 0; i++) {
        box_tick(&box, 1);
        usleep(1000);
    }
    assert_int_equal(box.report.failed, 1);
    assert_int_equal(box.report.written, 0);
    assert_int_equal(box.report.n_files, 1);
    assert_in_range(box.report.files[0].bytes, 1000, 2000);
    box_close(&box);
}

/* Also where it is too much to be told. */
TEST_WITH(what_was_learned_is_asked_for_every_two_minutes, make_room, leave_room)
{
    struct box box;
    box_open(&box, *state);
    for (uint64_t minute = 1000; minute < 1004; minute++) {
        const uint64_t now_ns = minute * 60 * second_ns;
        assert_int_equal(blackbox_wants_learned(box.blackbox, now_ns), minute % 2 == 0);
        if (minute % 2 == 0)
            blackbox_learned(box.blackbox, NULL, 0, now_ns);
    }
    box_close(&box);
}

TEST_ON(test_a_directory_has_one_writer, const struct room *room, make_room, leave_room)
{
    char error[256] = "";
    struct blackbox *other;
    struct box box;
    box_open(&box, room);
    assert_int_equal(box_fork(room, &other, error, sizeof error), -EBUSY);
    assert_non_null(strstr(error, "another exporter writes its files to"));
    box_close(&box);
    assert_int_equal(box_fork(room, &other, error, sizeof error), 0);
    blackbox_free(other);
}

/* More than there is room for at once is told in the course of some ticks, none of which is dropped
 * for it, and is of the tick before the first of them. */
TEST_ON(test_much_that_was_learned_is_told, const struct room *room, make_room, leave_room)
{
    const size_t len = BLACKBOX_CHUTE_BYTES + BLACKBOX_CHUTE_BYTES / 4 + 5;
    char path[256], error[256] = "";
    uint8_t *bytes = malloc(len);
    struct replay *replay;
    struct box box;
    size_t read;
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(i >> 17);
    box_open(&box, room);
    box_tick(&box, 0);
    const uint64_t now_ns = box.second * second_ns, later_ns = now_ns + 1000 * second_ns;
    blackbox_learned(box.blackbox, bytes, len, now_ns);
    assert_false(blackbox_is_told(box.blackbox)); /* not to be given back */
    for (int i = 0; i < 800 && !blackbox_wants_learned(box.blackbox, later_ns); i++) {
        usleep(5000);
        box_tick(&box, 0);
    }
    assert_true(blackbox_wants_learned(box.blackbox, later_ns));
    /* The tick before is more than fifteen minutes ago by now, and this one as long. */
    box.second = now_ns / second_ns + 910;
    box_tick(&box, 1);
    for (int i = 0; i < 3000 && box.report.n_files == 0; i++) {
        usleep(2000);
        box_tick(&box, 0);
    }
    box_close(&box);
    snprintf(path, sizeof path, "%s/%s", room->path, box.report.files[0].name);
    assert_int_equal(replay_open(path, &replay, error, sizeof error), 0);
    assert_int_equal(replay_begin_ns(replay), now_ns + second_ns);
    const uint8_t *learned = replay_learned(replay, &read);
    assert_int_equal(read, len);
    assert_memory_equal(learned, bytes, len);
    replay_free(replay);
    free(bytes);
}

/* Then what did not change since is in none of the next ones, unless it is written again. */
TEST_WITH(test_a_tick_that_finds_no_room_is_followed_by_a_whole_one, make_room, leave_room)
{
    const struct probe_reading probe = {.latency_ns = 88};
    const struct tick large = {.number = 1002, .mono_ns = 1, .wall_ns = 1};
    struct box box;
    box_open(&box, *state);
    box_tick(&box, 0);
    recorder_tick(box.recorder, &large);
    for (size_t i = 0; i < BLACKBOX_CHUTE_BYTES / sizeof probe; i++)
        recorder_probe(box.recorder, &probe);
    assert_int_equal(recorder_repeats(box.recorder), 0);
    recorder_flush(box.recorder);
    assert_int_equal(recorder_repeats(box.recorder), 1);
    recorder_tick(box.recorder, &large);
    recorder_flush(box.recorder);
    assert_int_equal(recorder_repeats(box.recorder), 1);
    blackbox_read(box.blackbox, &box.report, &box.dropped, &box.active);
    assert_int_equal(box.dropped, 1);
    box_close(&box);
}

/* ---- beginnings ---- */

static bool see(struct incidents *incidents, uint64_t id, uint64_t second, bool *opens)
{
    return incidents_see(incidents, 0, id, second * second_ns, opens);
}

TEST(test_what_begins)
{
    struct incidents *incidents = calloc(1, sizeof *incidents);
    bool opens;
    assert_true(see(incidents, 1, 1000, &opens) && opens);
    assert_false(see(incidents, 1, 1010, &opens));
    assert_true(incidents_go_on(incidents, 1020 * second_ns));
    assert_false(incidents_go_on(incidents, 1026 * second_ns));
    assert_true(see(incidents, 2, 1011, &opens) && opens);
    assert_true(see(incidents, 1, 1100, &opens)); /* it begins again, but had its file */
    assert_false(opens);
    for (uint64_t second = 1100; second < 5000; second += 10)
        assert_false(see(incidents, 1, second, &opens));
    assert_false(incidents_go_on(incidents, 4990 * second_ns)); /* it is how things are */
    assert_true(see(incidents, 1, 6000, &opens) && opens);
    free(incidents);
}

TEST(test_more_than_can_be_remembered)
{
    struct incidents *incidents = calloc(1, sizeof *incidents);
    bool opens;
    for (uint64_t id = 0; id < 3 * INCIDENTS_MAX; id++)
        assert_true(see(incidents, id, 1000 + id, &opens) && opens);
    assert_int_equal(incidents->n, INCIDENTS_MAX);
    assert_false(see(incidents, 3 * INCIDENTS_MAX - 1, 1000 + 3 * INCIDENTS_MAX, &opens));
    free(incidents);
}

/* On a full node many containers may lose time at once, tick for tick. */
TEST(test_more_at_once_than_can_be_remembered)
{
    struct incidents *incidents = calloc(1, sizeof *incidents);
    unsigned begun = 0, opened = 0;
    for (uint64_t at = 1000; at < 1060; at++)
        for (uint64_t id = 0; id < INCIDENTS_MAX + 100; id++) {
            bool opens;
            begun += see(incidents, id, at, &opens);
            opened += opens;
        }
    assert_int_equal(begun, INCIDENTS_MAX);
    assert_int_equal(opened, INCIDENTS_MAX);
    bool opens;
    assert_true(see(incidents, INCIDENTS_MAX, 1100, &opens) && opens); /* the others are over */
    free(incidents);
}

/* ---- the chute ---- */

TEST(test_what_is_put_in_comes_out_or_is_refused)
{
    struct chute *chute = chute_new(1000);
    struct textbuf a = TEXTBUF_INIT, b = TEXTBUF_INIT, out = TEXTBUF_INIT;
    const struct textbuf *const parts[] = {&a, &b};
    unsigned put = 0, taken = 0, refused = 0;
    assert_int_equal(chute_take(chute, &out), 0);
    for (unsigned i = 0; i < 2000; i++) {
        textbuf_clear(&a);
        textbuf_clear(&b);
        for (unsigned k = 0; k < i % 97; k++)
            textbuf_char(i % 2 ? &a : &b, (char)put);
        textbuf_char(&b, (char)put);
        if (chute_put(chute, parts, 2))
            put++;
        else
            refused++;
        if (i % 3 == 0)
            continue;
        assert_int_equal(chute_take(chute, &out), 1);
        for (size_t k = 0; k < out.len; k++)
            assert_int_equal(out.data[k], (char)taken);
        taken++;
    }
    assert_true(refused > 100 && taken > 1000);
    while (chute_take(chute, &out) == 1)
        taken++;
    assert_int_equal(taken, put);
    textbuf_release(&a);
    textbuf_release(&b);
    textbuf_release(&out);
    chute_free(chute);
}

/* What both have. */
static volatile uint64_t *shared_of_chute(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    uintptr_t found = 0;
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        char *end;
        uintptr_t at = strtoul(line, &end, 16);
        if (!strstr(line, " rw-s "))
            continue;
        assert_int_equal(found, 0);
        found = at;
    }
    fclose(maps);
    return (volatile uint64_t *)found;
}

/* Either end may be in the hands of another: all that both have, says anything. */
TEST(test_what_the_other_writes_reaches_nothing_else)
{
    static const struct {
        uint64_t put, taken, len;
    } said[] = {
        {1008, 0, 992},                   /* more than there is room for */
        {1007, 1000, 0},                  /* less than a length has */
        {UINT64_C(1) << 44, 0, 1u << 20}, /* far more */
        {0, 1000, 0},                     /* what was taken was never put in */
        {900, 0, 893},
    };
    struct chute *chute = chute_new(1000);
    struct textbuf out = TEXTBUF_INIT;
    const struct textbuf *const parts[] = {&out};
    volatile uint64_t *shared = shared_of_chute();
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        shared[0] = said[i].put;
        shared[1] = said[i].taken;
        shared[2 + said[i].taken % 1000 / 8] = said[i].len;
        assert_int_equal(chute_take(chute, &out), -EBADMSG);
        assert_int_equal(shared[1], said[i].put);
        assert_int_equal(chute_take(chute, &out), 0);
    }
    for (uint64_t i = 0; i < 8; i++)
        shared[i] = (UINT64_C(1) << 44) - (i << 33);
    textbuf_str(&out, "a tick");
    assert_false(chute_put(chute, parts, 1));
    textbuf_release(&out);
    chute_free(chute);
}
