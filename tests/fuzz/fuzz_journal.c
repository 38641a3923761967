/* The governor's journal: whatever it holds, and however right its checksums are, its claims can be
 * acted on, and what is written of them says the same. The first byte says whether each line's
 * checksum is made right: the rest are lines of JSON then. */
#include <fcntl.h>
#include <unistd.h>

#include "exporter/governor/act/journal/journal_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/journal_seal.h"

static void seal_lines(const char *at, const char *end, struct textbuf *out)
{
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        journal_seal(out, at, (size_t)(stop - at));
        at = stop + 1;
    }
}

static void check_claims(const struct journal_claims *claims)
{
    uint64_t last = 0;
    for (size_t i = 0; i < claims->n; i++) {
        const struct claim *claim = &claims->claims[i];
        check(claim->id > last && claim->knob < KNOB_COUNT && claim_path_is_safe(claim->path));
        check(claim->least >= 0 && claim->least <= claim->most && claim->value == claim->most);
        check(claim->original[0] != '\0');
        check(claim->knob == KNOB_AFFINITY ? claim->tid > 0 : claim->tid == 0);
        last = claim->id;
    }
    check(last <= claims->last_id);
}

static int open_at(void *context, int directory, const char *name, int empty)
{
    return open("/dev/null", O_WRONLY | O_CLOEXEC);
}

static int append(void *context, int fd, const char *bytes, size_t len)
{
    textbuf_add(context, bytes, len);
    return 0;
}

static int rename_at(void *context, int directory, const char *from, const char *to)
{
    return 0;
}

static void check_again(const struct journal_claims *claims)
{
    struct textbuf text = TEXTBUF_INIT;
    const struct fswrite write = {
        .context = &text, .open_at = open_at, .append = append, .rename_at = rename_at};
    struct journal_file file = {.write = &write, .boot_id = "boot", .open = claims};
    struct journal_claims again = {0};
    size_t line;
    const char *why;
    file.fd = open_at(NULL, -1, "", 0);
    check(journal_file_compact(&file) == 0 && textbuf_finish(&text) == 0);
    close(file.fd);
    check(journal_read(text.data, text.len, "boot", &again, &line, &why) == 0);
    check(!again.torn && again.n == claims->n);
    for (size_t i = 0; i < again.n; i++) {
        check(strcmp(again.claims[i].path, claims->claims[i].path) == 0);
        check(strcmp(again.claims[i].original, claims->claims[i].original) == 0);
        check(strcmp(again.claims[i].set, claims->claims[i].set) == 0);
        check(again.claims[i].ino == claims->claims[i].ino);
        check(again.claims[i].tid == claims->claims[i].tid);
        check(again.claims[i].tid_claimed == claims->claims[i].tid_claimed);
    }
    journal_claims_release(&again);
    textbuf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct textbuf text = TEXTBUF_INIT;
    const char *bytes = (const char *)data + 1, *end = (const char *)data + size;
    if (data[0] & 1)
        seal_lines(bytes, end, &text);
    else
        textbuf_add(&text, bytes, size - 1);
    struct journal_claims claims = {0};
    size_t line;
    const char *why;
    if (text.data && journal_read(text.data, text.len, "boot", &claims, &line, &why) == 0) {
        check_claims(&claims);
        check_again(&claims);
    }
    journal_claims_release(&claims);
    textbuf_release(&text);
    return 0;
}
