/* The first lines of the log: what runs, where, and how it was asked to. */
#ifndef IE_DAEMON_INTRODUCE_H
#define IE_DAEMON_INTRODUCE_H

#include "exporter/base/log.h"
#include "exporter/base/textbuf.h"
#include "exporter/source/machine.h"

/* Which program this is. Constants; any thread. */

/* The release, e.g. "0.1.0". */
const char *version_release(void);
/* The commit of the source when the build was configured, "-dirty" behind it where files were
 * changed; "unknown" outside a repository. */
const char *version_revision(void);
/* The compiler, e.g. "gcc 12.2.0". */
const char *version_compiler(void);

/* The arguments as a shell would take them. argv[0] is the program. */
void introduce_flags(struct textbuf *out, int argc, char *const *argv);
/* "Intel(R) Xeon(R) ..., 2 sockets, 96 CPUs, 2 NUMA nodes"; what is not known is left out. */
void describe_machine(struct textbuf *out, const struct machine *machine);

/* The line of the program, and the line of the machine. */
void introduce_program(const struct log *log, int argc, char *const *argv);
void introduce_machine(const struct log *log, const struct machine *machine, const char *source);

#endif
