/* A probability as people say it. */
#ifndef IE_BASE_ODDS_H
#define IE_BASE_ODDS_H

#include "exporter/base/textbuf.h"

/* "9 to 1", or "1 to 3" below one half; never beyond 99 to 1. Nothing where it is no probability.
 */
void odds_say(struct textbuf *out, double probability);

/* "4 times an hour", "once an hour", "6 times a day"; nothing below once a day. False: nothing. */
bool odds_say_rate(struct textbuf *out, double per_hour);

#endif
