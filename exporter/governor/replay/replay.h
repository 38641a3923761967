/*
 * --replay: what the governor would have done over a recording, and what that would have brought.
 *
 * The exporter's own collectors read the recording, in this process, and the governor decides by
 * what they say, tick by tick; forecast.h says what is taken to have come of it. CPU quotas alone:
 * a recording tells neither ways nor groups of bandwidth. It does not tell quotas and requests
 * either: everybody is taken to have all CPUs of its machine, and to have asked for none.
 *
 * Nothing is written, and nobody is asked.
 */
#ifndef IE_GOVERNOR_REPLAY_H
#define IE_GOVERNOR_REPLAY_H

#include "exporter/governor/config/flags.h"

/* The report on 'out', as the flags have it. Gives up what it has no use for, for good. 0; -EINVAL
 * for what is wrong with the recording, or another -errno, with the message in error. */
int replay_report(const struct flags *flags, const struct config *config, const struct log *log,
                  FILE *out, char *error, size_t error_size);

#endif
