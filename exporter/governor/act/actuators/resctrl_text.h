/*
 * What the kernel's resctrl file system says and takes (Documentation/arch/x86/resctrl.rst), and
 * the names of the governor's groups. Pure.
 *
 *     schemata                   "    L3:0=7ff;1=7ff\n    MB:0=100;1= 50\n": masks in hexadecimal,
 *                                bandwidth in percent, one for each domain
 *     cpu_resctrl_groups         "res:/\nmon:\n" of a task in the root group, "res:NAME\nmon:\n"
 *     ig_MASK_PERCENT            a group of the governor, named by what its members get
 */
#ifndef IE_GOVERNOR_RESCTRL_TEXT_H
#define IE_GOVERNOR_RESCTRL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCHEMATA_DOMAINS = 128, RESCTRL_GROUP_MAX = 256, RESCTRL_SCHEMATA_MAX = 8192 };

/* One resource: a value for each domain. */
struct schemata_line {
    unsigned n; /* 0: there is no such resource */
    bool fixed; /* no value of ours: what is written is what each domain has here */
    uint32_t ids[SCHEMATA_DOMAINS], values[SCHEMATA_DOMAINS];
};

struct schemata {
    struct schemata_line l3, mb;
};

/* -EINVAL: a line of L3 or MB that is no such, or two of one; -E2BIG: more domains. Other resources
 * are passed over. */
int schemata_parse(const char *text, size_t len, struct schemata *out);
/* What all domains have; false when they differ, or there are none. */
bool schemata_value(const struct schemata_line *line, uint32_t *value);
bool schemata_same(const struct schemata_line *a, const struct schemata_line *b);
/* What is to be written for these values, into RESCTRL_SCHEMATA_MAX bytes: both resources where
 * they are there. Returns the length. */
size_t schemata_format(const struct schemata *like, uint32_t mask, uint32_t percent, char *out);

/* The group's name, "" for the root group, into RESCTRL_GROUP_MAX bytes. -EINVAL: it says nothing
 * of that. */
int resctrl_group_parse(const char *text, size_t len, char *out);

/* "ig_7_50". */
void resctrl_name_format(uint32_t mask, uint32_t percent, char *out);
/* False: it is no group of the governor's. */
bool resctrl_name_parse(const char *name, uint32_t *mask, uint32_t *percent);

/* So many of the lowest ways of 'whole', which is contiguous; not beyond it. Worked: 3 of 7ff -> 7;
 * 2 of ff0 -> 30. */
uint32_t resctrl_mask(uint32_t whole, unsigned ways);
/* Intel's hardware takes no other. */
bool resctrl_mask_is_contiguous(uint32_t mask);

#endif
