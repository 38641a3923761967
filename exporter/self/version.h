/* Which program this is. Constants; any thread. */
#ifndef IE_SELF_VERSION_H
#define IE_SELF_VERSION_H

/* The release, e.g. "0.1.0". */
const char *version_release(void);
/* The commit of the source when the build was configured, "-dirty" behind it where files were
 * changed; "unknown" outside a repository. */
const char *version_revision(void);
/* The compiler, e.g. "gcc 12.2.0". */
const char *version_compiler(void);

#endif
