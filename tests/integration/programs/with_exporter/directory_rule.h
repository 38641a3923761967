/* For tests: what lies in a directory stands for persistent memory. */
#ifndef IE_TESTS_DIRECTORY_RULE_H
#define IE_TESTS_DIRECTORY_RULE_H

#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "exporter/source/accesses/medium.h"

struct directory_rule {
    struct medium_rule rule; /* first */
    const char *path;
};

/* By device and inode: through whichever mount and under whichever name it was opened. */
static inline enum medium in_directory(struct medium_rule *rule, pid_t pid,
                                       const struct maps_line *line, enum access access)
{
    const struct directory_rule *directory = (const struct directory_rule *)rule;
    enum medium medium = MEDIUM_OTHER;
    struct dirent *entry;
    struct stat st;
    (void)pid;
    (void)access;
    DIR *dir = line->inode ? opendir(directory->path) : NULL;
    while (dir && (entry = readdir(dir)))
        if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && S_ISREG(st.st_mode) &&
            st.st_ino == line->inode && major(st.st_dev) == line->major &&
            minor(st.st_dev) == line->minor)
            medium = MEDIUM_NVMM;
    if (dir)
        closedir(dir);
    return medium;
}

#endif
