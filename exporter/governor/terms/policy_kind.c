#include "exporter/governor/terms/policy_kind.h"

static const char *const names[POLICY_KINDS] = {[POLICY_THRESHOLD] = "threshold",
                                                [POLICY_WAYS] = "ways",
                                                [POLICY_MBA] = "mba",
                                                [POLICY_ADVICE] = "advice",
                                                [POLICY_EPOCHS] = "epochs",
                                                [POLICY_NVMM_CORES] = "nvmm_cores"};

const char *policy_kind_name(enum policy_kind kind)
{
    return names[kind];
}
