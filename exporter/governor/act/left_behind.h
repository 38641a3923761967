/*
 * What may be held by nobody: where an earlier governor's journal was cut, emptied or removed, the
 * quotas that it told of stay, and only the cgroups still show them.
 */
#ifndef IE_GOVERNOR_LEFT_BEHIND_H
#define IE_GOVERNOR_LEFT_BEHIND_H

#include "exporter/governor/act/enforcer.h"

/* Of all holdings that were seen: a quota that somebody has set, exactly at the least of the
 * container's class, and no claim of it. It may be what its owner asked for. */
bool left_behind_may_be(const struct holding *holding);
/* Says which these are, in one line; none: nothing. */
void left_behind_tell(const struct enforcer *enforcer, const struct log *log);

#endif
