/* What holds of the node now, in a sentence or two of plain text. Pure. */
#ifndef IE_LIVE_VERDICT_H
#define IE_LIVE_VERDICT_H

#include "exporter/base/textbuf.h"
#include "exporter/live/live.h"
#include "exporter/live/words.h"

enum live_mood {
    LIVE_FINE,    /* none waits or is slowed down, and memory is as fast as usual */
    LIVE_UNKNOWN, /* that is not known, not yet, or of fewer than half of the containers */
    LIVE_TROUBLE, /* one waits or is slowed down, or memory is slow */
};

/* 'view' is sorted (order.h). 'all': suspicions and limits that /metrics does not show may be
 * told. */
enum live_mood live_verdict(const struct live_view *view, bool all, struct textbuf *out);

/* Who loses most of its time here, why, and what to do: two sentences. False, and nothing, where
 * that is nobody. */
bool live_say_costliest(struct textbuf *out, const struct live_view *view, bool all);

/* For a terminal: the verdict in one line, then a line for each container, who loses most first,
 * with the CPUs that it uses, the share of time that it loses, and why. 'view' is sorted
 * (order.h). 0 or -ENOMEM. */
int live_table(const struct live_view *view, struct textbuf *out);

#endif
