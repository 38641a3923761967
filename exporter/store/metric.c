#include "exporter/store/metric.h"

#include <math.h>
#include <string.h>

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && memcmp(text + n - m, end, m) == 0;
}

const char *metric_unit(const struct metric_desc *desc)
{
    static const char *const endings[] = {"_seconds", "_bytes", "_hertz", "_ratio", "_cycles"};
    if (desc->type == METRIC_INFO)
        return ""; /* OpenMetrics allows none */
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_with(desc->name, endings[i]))
            return endings[i] + 1;
    return "";
}

static bool valid_name(const char *name)
{
    if (!name || !*name || (*name >= '0' && *name <= '9'))
        return false;
    for (; *name; name++)
        if (!((*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
              (*name >= '0' && *name <= '9') || *name == '_' || *name == ':'))
            return false;
    return true;
}

static bool valid_edges(const struct metric_desc *desc)
{
    if (!desc->edges || desc->n_edges == 0 || desc->edges[0] <= 0)
        return false;
    for (size_t i = 0; i < desc->n_edges; i++)
        if (!isfinite(desc->edges[i]) || (i > 0 && desc->edges[i] <= desc->edges[i - 1]))
            return false;
    return true;
}

bool metric_valid(const struct metric_desc *desc)
{
    static const char *const reserved[] = {"_total", "_created", "_bucket", "_info"};
    if (!valid_name(desc->name) || strlen(desc->name) > METRIC_NAME_MAX)
        return false;
    if (!desc->help || !*desc->help)
        return false;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (ends_with(desc->name, reserved[i]))
            return false;
    return desc->type != METRIC_HISTOGRAM || valid_edges(desc);
}

size_t metric_suffixes(enum metric_type type, const char *out[METRIC_SUFFIXES])
{
    static const char *const suffixes[][METRIC_SUFFIXES] = {
        [METRIC_COUNTER] = {"", "_total", "_created"},
        [METRIC_GAUGE] = {""},
        [METRIC_INFO] = {"", "_info"},
        [METRIC_HISTOGRAM] = {"", "_bucket", "_count", "_sum", "_created"},
        [METRIC_NOTE] = {""},
    };
    size_t n = 0;
    while (n < METRIC_SUFFIXES && suffixes[type][n]) {
        out[n] = suffixes[type][n];
        n++;
    }
    return n;
}
