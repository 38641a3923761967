/* exporter/governor/METRICS.md: every metric of the governor, from its definition. */
#ifndef IE_SUPPORT_GOVERNOR_REFERENCE_H
#define IE_SUPPORT_GOVERNOR_REFERENCE_H

#include "exporter/base/textbuf.h"

/* The whole page, Markdown. 0 or -ENOMEM. */
int governor_reference_write(struct textbuf *out);

#endif
