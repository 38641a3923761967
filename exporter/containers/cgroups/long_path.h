/*
 * Directories whose path is longer than the kernel takes at once (PATH_MAX): whoever may make
 * directories below one another makes such.
 */
#ifndef IE_CGROUPS_LONG_PATH_H
#define IE_CGROUPS_LONG_PATH_H

/* As open(2), piece by piece where the path is too long; flags must not create. A descriptor or
 * -errno. */
int long_path_open(const char *path, int flags);

#endif
