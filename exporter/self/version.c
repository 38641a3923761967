/* IE_REVISION is for this file only (CMakeLists.txt), so that a commit compiles nothing else. */
#include "exporter/self/version.h"

const char *version_release(void)
{
    return IE_VERSION;
}

const char *version_revision(void)
{
    return IE_REVISION;
}

const char *version_compiler(void)
{
#ifdef __clang__
    return __VERSION__; /* begins with its name */
#else
    return "gcc " __VERSION__;
#endif
}
