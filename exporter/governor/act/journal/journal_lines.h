/*
 * The journal's lines: "CRC32 JSON\n", the checksum as 8 hexadecimal digits over the JSON. Pure.
 *
 *     {"boot":"f2cc...","journal":1}                              first; another boot: all is void
 *     {"claim":7,"knob":"cpu","container":"batch/job/worker","container_id":"0a1b...",
 *      "path":"/kubepods/...","dev":27,"ino":857,"root_dev":27,"root_ino":1,
 *      "original":"max 100000","least":1,"most":4}
 *                         a thread's has "tid":4711,"tid_start":81000,"tid_claimed":92000 as well
 *     {"intend":[[7,"max 100000","150000 100000"]]}               from, to; before each change
 *     {"release":[7]}                                             the original is back, or left
 *
 * Earlier versions wrote {"adopt":7,"original":"200000 100000","least":1,"most":2} for somebody's
 * new specification, and several changes or releases in one line.
 */
#ifndef IE_GOVERNOR_JOURNAL_LINES_H
#define IE_GOVERNOR_JOURNAL_LINES_H

#include <stddef.h>

#include "exporter/governor/terms/claim.h"

enum { BOOT_ID_MAX = 64, JOURNAL_VERSION = 1 };

/* One change that is about to be made. */
struct intent {
    uint64_t claim;
    char from[CLAIM_TEXT_MAX], to[CLAIM_TEXT_MAX];
};

/* What a journal says: the claims that are open, oldest first. */
struct journal_claims {
    struct claim *claims; /* owned */
    size_t n, cap;
    uint64_t last_id;
    bool torn;       /* its last line is incomplete or does not match its checksum: left out */
    bool other_boot; /* it is of an earlier boot: no claim is left */
};

void journal_claims_release(struct journal_claims *claims);
/* The open claim of this id, or NULL. */
struct claim *journal_claims_find(const struct journal_claims *claims, uint64_t id);
/* Room for one more. -ENOSPC beyond CLAIMS_MAX, -ENOMEM. */
int journal_claims_reserve(struct journal_claims *claims);
void journal_claims_remove(struct journal_claims *claims, uint64_t id);

/*
 * A whole journal. 'out' all zero before. -EINVAL with *line, from 1, and the reason in 'why' for a
 * line that is wrong and not the last; -ENOMEM. An empty text is a journal without claims.
 */
int journal_read(const char *text, size_t len, const char *boot_id, struct journal_claims *out,
                 size_t *line, const char **why);

#endif
