/* What the black box's reader sends: whatever it is, what comes out of the ring again are lines of
 * a recording. Of each message the first byte, then its content; a tick ends with a byte of its
 * own. */
#include "exporter/blackbox/pack.h"
#include "exporter/blackbox/ring.h"
#include "exporter/source/recording/format.h"
#include "tests/fuzz/fuzz.h"

/* Containers' names may be longer than a line of a recording. */
static void write_line(void *context, const struct recording_line *line)
{
    struct textbuf *text = context;
    struct recording_line again;
    char error[256];
    textbuf_clear(text);
    recording_line_text(line, text);
    check(textbuf_finish(text) == 0);
    if (text->len == 0 || text->len > RECORDING_MAX_LINE)
        return;
    check(text->data[text->len - 1] == '\n');
    if (recording_parse_line(text->data, text->len, &again, error, sizeof error) == 0)
        recording_line_release(&again);
}

static bool flush(void *context)
{
    return true;
}

static void play(struct ring *ring)
{
    static const struct machine machine;
    struct textbuf text = TEXTBUF_INIT;
    const struct recorder_sink sink = {write_line, flush, &text};
    struct recorder *recorder;
    struct ring_player *player;
    check(recorder_new(NULL, &machine, 1, NULL, &recorder) == 0);
    recorder_tee(recorder, &sink);
    if (ring_player_new(ring, recorder, &player) == 0) {
        ring_player_run(player);
        ring_player_free(player);
    }
    check(recorder_free(recorder) == 0);
    textbuf_release(&text);
}

static void learn(struct ring *ring, struct unpack *in)
{
    uint64_t at = unpack_u64(in), whole = unpack_u64(in), len = unpack_u64(in);
    if (len > (uint64_t)(in->end - in->at))
        len = (uint64_t)(in->end - in->at);
    ring_learn(ring, in->at, len, at, whole);
    in->at += len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ring_limits limits = {.span_ns = UINT64_C(900000000000), .max_bytes = 1 << 20};
    struct recording_line line;
    struct ring *ring;
    uint8_t *bytes = (uint8_t *)without_nul(data, size);
    struct unpack in = {.at = bytes, .end = bytes + size};
    check(ring_new(&limits, &ring) == 0);
    while (in.at < in.end && !in.failed) {
        if (*in.at == 'f') {
            in.at++;
            ring_flush(ring);
        } else if (*in.at == 'l') {
            in.at++;
            learn(ring, &in);
        } else if (unpack_line(&in, &line)) {
            ring_take(ring, &line);
        }
    }
    ring_flush(ring);
    play(ring);
    ring_free(ring);
    free(bytes);
    return 0;
}
