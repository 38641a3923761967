/*
 * What the kernel's resctrl says of a monitoring group, and how others name the groups that they
 * make. Pure.
 */
#ifndef IE_SOURCE_RESCTRL_PARSE_H
#define IE_SOURCE_RESCTRL_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Digits of a fraction that are kept of a file of decimals: millionths. */
enum { MON_FRACTION = 6 };

/*
 * The number of a file, in units of 10^-fraction: whole ones have no point where 'fraction' is 0;
 * of more digits the rest is dropped. 0; -ENODATA: the kernel has none ("Unavailable",
 * "Unassigned"); -EIO: "Error"; -ERANGE: not in 64 bits; -EINVAL: what no kernel writes, or not
 * all of it, with the out parameter untouched.
 */
int mon_value_parse(const char *text, size_t len, unsigned fraction, uint64_t *out);

enum mon_kind { MON_POD, MON_CONTAINER, MON_KINDS };

/* Hexadecimal digits of a pod's UID without dashes (32), or of a container's id (64). */
enum { MON_ID_BYTES = 65 };

/*
 * Whose group a name is: a pod's UID, with or without dashes and "pod_" or "pod" before it; or a
 * container's id as runtimes write it, also with their own name before it and ".scope" behind it.
 * False: nobody's that can be known by it; then *kind and id have no meaning.
 */
bool mon_name_parse(const char *name, size_t len, enum mon_kind *kind, char id[MON_ID_BYTES]);

/* Who makes a class (a CTRL_MON group) of this name, as far as the name tells; else "". */
const char *mon_class_owner(const char *name);

#endif
