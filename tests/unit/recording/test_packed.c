/* A compressed recording: whole pieces, whatever happens to the file behind them. */
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/source/recording/recorder.h"
#include "exporter/source/recording/replay.h"
#include "tests/unit/support/recordings.h"
#include "tests/unit/support/unit.h"

enum { TICKS = 45 }; /* pieces of ten ticks, one of the start, one of the rest */

/* .gz says what it is to be. */
static void record(char path[64])
{
    char plain[64];
    recording_temporary(plain);
    unlink(plain);
    snprintf(path, 64, "%.60s.gz", plain);
    struct recorder *recorder = recording_start(path);
    const struct recording_container one = recording_named("c1", "cart");
    recorder_container(recorder, &one);
    for (int i = 0; i < 2; i++)
        recorder_line(recorder, &(struct recording_line){.kind = RECORDING_LEARNED,
                                                         .learned = {i ? "" : "00ff4a"}});
    for (uint64_t tick = 1; tick <= TICKS; tick++) {
        recording_tick(recorder, tick);
        recorder_line(recorder,
                      &(struct recording_line){.kind = RECORDING_MARK, .mark = {"waits", "c1"}});
        recorder_flush(recorder);
    }
    assert_int_equal(recorder_free(recorder), 0);
}

/* How many ticks it has; -1 with the words: it is refused. */
static int ticks_of(const char *path, char *error, size_t size)
{
    struct replay *replay;
    struct tick tick;
    int n = 0, got;
    if (replay_open(path, &replay, error, size))
        return -1;
    size_t learned;
    const uint8_t *bytes = replay_learned(replay, &learned);
    if (learned > 0)
        assert_memory_equal(bytes, "\0\xff\x4a", 3);
    while ((got = replay_next(replay, &tick, error, size)) == 1) {
        assert_int_equal(learned, 3);
        assert_int_equal(tick.number, n + 1);
        size_t marks;
        assert_string_equal(replay_marks(replay, &marks)->why, "waits");
        assert_int_equal(marks, 1);
        n++;
    }
    replay_free(replay);
    return got < 0 ? -1 : n;
}

TEST(test_it_is_read_as_it_was_written_and_smaller)
{
    char path[64], error[256], command[512];
    struct stat st;
    record(path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(ticks_of(path, error, sizeof error), TICKS);
    snprintf(command, sizeof command, "test $(gzip -dc %s | wc -c) -gt %ld", path,
             2 * (long)st.st_size);
    assert_int_equal(system(command), 0);
    unlink(path);
}

/* More than a piece may have, before the first tick: what some thousand containers learned. */
TEST(test_much_that_was_learned_is_written)
{
    enum { LINES = 160, HEX = 2 * RECORDING_LEARNED_PIECE };
    char path[64], error[256], *hex = malloc(HEX + 1);
    struct replay *replay;
    struct tick tick;
    size_t learned;
    recording_temporary(path);
    unlink(path);
    strcat(path, ".gz");
    struct recorder *recorder = recording_start(path);
    memset(hex, 'a', HEX);
    hex[HEX] = '\0';
    for (int i = 0; i < LINES; i++)
        recorder_line(recorder,
                      &(struct recording_line){.kind = RECORDING_LEARNED, .learned = {.hex = hex}});
    recording_tick(recorder, 1);
    recorder_flush(recorder);
    assert_int_equal(recorder_free(recorder), 0);
    assert_int_equal(replay_open(path, &replay, error, sizeof error), 0);
    replay_learned(replay, &learned);
    assert_int_equal(learned, (size_t)LINES * RECORDING_LEARNED_PIECE);
    assert_int_equal(replay_next(replay, &tick, error, sizeof error), 1);
    replay_free(replay);
    unlink(path);
    free(hex);
}

/* Whoever wrote it was killed: what is there of it are whole ticks, ever more of them. */
TEST(test_cut_off_anywhere_it_is_read_up_to_there)
{
    char path[64], error[256];
    struct stat st;
    int last = 0, steps = 0;
    record(path);
    assert_int_equal(stat(path, &st), 0);
    char *bytes = malloc((size_t)st.st_size);
    FILE *file = fopen(path, "re");
    assert_int_equal(fread(bytes, 1, (size_t)st.st_size, file), st.st_size);
    fclose(file);
    for (off_t len = 0; len <= st.st_size; len++) {
        file = fopen(path, "we");
        assert_int_equal(fwrite(bytes, 1, (size_t)len, file), len);
        fclose(file);
        int n = ticks_of(path, error, sizeof error);
        if (n == -1 && last == 0)
            continue; /* the header is not whole */
        assert_true(n >= last && n <= TICKS);
        steps += n > last;
        last = n;
    }
    assert_int_equal(last, TICKS);
    assert_true(steps >= 4);
    free(bytes);
    unlink(path);
}

TEST(test_one_byte_that_changed_is_noticed)
{
    char path[64], error[256];
    struct stat st;
    int padding = 0; /* bits behind the end of a piece's text */
    record(path);
    assert_int_equal(stat(path, &st), 0);
    for (off_t at = 0; at < st.st_size; at++) {
        FILE *file = fopen(path, "r+e");
        fseek(file, at, SEEK_SET);
        int byte = fgetc(file);
        fseek(file, at, SEEK_SET);
        fputc(byte ^ 0x10, file);
        fclose(file);
        int n = ticks_of(path, error, sizeof error);
        assert_true(n <= TICKS); /* a length that grew looks like an end */
        padding += n == TICKS;
        file = fopen(path, "r+e");
        fseek(file, at, SEEK_SET);
        fputc(byte, file);
        fclose(file);
    }
    assert_int_equal(ticks_of(path, error, sizeof error), TICKS);
    assert_true(padding <= 1 + TICKS / 10 + 1);
    unlink(path);
}

TEST(test_what_another_program_compressed_is_refused_with_words)
{
    char path[64], error[256], command[512];
    record(path);
    snprintf(command, sizeof command, "gzip -dc %s | gzip > %s.2 && mv %s.2 %s", path, path, path,
             path);
    assert_int_equal(system(command), 0);
    assert_int_equal(ticks_of(path, error, sizeof error), -1);
    assert_non_null(strstr(error, "gzip -d"));
    unlink(path);
}
