/* Flags: the arguments, separated by NUL. Accepted values are in range; rejected ones have one line
 * of explanation. */
#include "exporter/options/options.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/flag_member.h"

static void check_options(const struct options *o)
{
    check(o->n_listen >= 1 && o->n_listen <= OPTIONS_MAX_LISTEN);
    for (size_t i = 0; i < o->n_listen; i++)
        check(o->listen[i] != NULL);
    check(o->telemetry_path[0] == '/' && o->telemetry_path[1]);
    check(o->max_requests <= 100000);
    const double *factor = flag_member(o, "collector.core_latency.threshold-factor");
    check(*factor >= 1 && *factor <= 100);
    check(o->interval_ns >= 100000000 && o->interval_ns <= 3600000000000);
    check(o->containers_max >= 1 && o->containers_max <= 100000);
    check(o->linger_ns <= 86400000000000);
    check(o->linger_max <= 1000000);
    check(o->names <= NAMES_NONE && o->log_level <= LOG_LEVEL_ERROR);
    check(o->log_format <= LOG_FORMAT_JSON && o->source <= SOURCE_REPLAY);
    check(o->help || o->version || (o->source == SOURCE_REPLAY) == (o->replay_file != NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MAX_ARGS = 64 };
    char *argv[MAX_ARGS + 1] = {(char *)"interference_exporter"};
    int argc = 1;
    /* Repetition counts make the C library's regcomp as slow as they ask for. */
    if (memchr(data, '{', size))
        return 0;
    char *text = with_nul(data, size);
    for (size_t at = 0; at < size && argc < MAX_ARGS; at += strlen(text + at) + 1)
        argv[argc++] = text + at;

    struct options options;
    char error[512] = "";
    if (options_parse(&options, argc, argv, error, sizeof error) == 0)
        check_options(&options);
    else
        check(error[0] && !strchr(error, '\n'));
    free(text);
    return 0;
}
