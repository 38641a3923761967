/*
 * Where this kernel's tasks have their cgroups, as its own description of its types says (BTF).
 */
#ifndef IE_SOURCE_BPF_TASK_H
#define IE_SOURCE_BPF_TASK_H

#include <stdint.h>

#include "exporter/base/fsroot.h"

/* Bytes from the beginning of a task_struct to the pointer to its css_set. 0: the kernel does not
 * say. Reads some 6 MB; for the start. */
uint32_t bpf_task_css_set(const struct fsroot *fs);

#endif
