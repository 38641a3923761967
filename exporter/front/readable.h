/* The directories that a server with a web config has to read: certificates are replaced while it
 * runs. */
#ifndef IE_FRONT_READABLE_H
#define IE_FRONT_READABLE_H

#include <stddef.h>

enum { READABLE_MAX = 4 };

/* Descriptors of the directories of the file, and of those that it names now; the caller closes
 * them. Returns how many. NULL: none. A file that is wrong is for the server to complain about. */
size_t readable_directories(const char *web_config_file, int directories[READABLE_MAX]);

#endif
