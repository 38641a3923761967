/* collectors/EVENTS.md: what each CPU counts, from the event tables. */
#ifndef IE_SUPPORT_EVENTS_REFERENCE_H
#define IE_SUPPORT_EVENTS_REFERENCE_H

#include "exporter/base/textbuf.h"

/* The whole page, Markdown. 0 or -ENOMEM. */
int events_reference_write(struct textbuf *out);

#endif
