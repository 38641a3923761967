/*
 * Why the kernel does not take the program, in words with the remedy. Pure.
 */
#ifndef IE_SOURCE_BPF_REFUSAL_H
#define IE_SOURCE_BPF_REFUSAL_H

#include <stdbool.h>

#include "exporter/base/reason.h"

/* For the -errno of loading or attaching it. 'knows_cap_bpf': the kernel has that capability (since
 * Linux 5.8); before, CAP_SYS_ADMIN stands for it, which the exporter does not use for that. */
void bpf_refusal(int err, bool knows_cap_bpf, struct verdict *why);

#endif
