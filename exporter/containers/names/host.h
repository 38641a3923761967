/* Files below the host's root. */
#ifndef IE_CONTAINERS_NAMES_HOST_H
#define IE_CONTAINERS_NAMES_HOST_H

#include "exporter/base/fsroot.h"

/*
 * Opens a path below the host's root without leaving it: the host's absolute symbolic links (a
 * docker data root elsewhere) are meant from its own root, not from ours. The last component may
 * not be a link, and opening a FIFO does not wait. A descriptor to read, or -errno.
 */
int host_open(const struct fsroot *fs, const char *relative, int flags);

#endif
