#include "exporter/governor/terms/claim.h"

#include <string.h>

static const char *const knob_names[KNOB_COUNT] = {
    [KNOB_CPU] = "cpu", [KNOB_WAYS] = "ways", [KNOB_MBA] = "mba", [KNOB_AFFINITY] = "affinity"};

const char *knob_name(enum knob knob)
{
    return knob_names[knob];
}

bool claim_path_is_safe(const char *path)
{
    if (path[0] != '/' || strlen(path) >= CLAIM_PATH_MAX)
        return false;
    for (const char *part = path; part; part = strchr(part + 1, '/')) {
        size_t len = strcspn(part + 1, "/");
        if ((len == 1 && part[1] == '.') || (len == 2 && part[1] == '.' && part[2] == '.'))
            return false;
    }
    return true;
}
