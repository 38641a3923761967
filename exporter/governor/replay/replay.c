#include "exporter/governor/replay/replay.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exporter/daemon/exporter.h"
#include "exporter/governor/decide/forecast.h"
#include "exporter/governor/decide/governor.h"
#include "exporter/governor/serve/governor_pages.h"
#include "exporter/service/confine.h"

struct replayed {
    const struct config *config;
    const struct log *log;
    double cpus; /* of the machine that was recorded */
    struct actuators actuators;
    struct governor *governor; /* NULL before the first tick */
    struct forecast *forecast;
    struct view view;
    struct textbuf decisions; /* a list of JSON */
    uint64_t ticks, first_wall_ns, last_wall_ns, first_ns, last_ns;
    char *error;
    size_t error_size;
};

/* ---- quotas of a machine that is not here ---- */

static int quota_limit(void *self, double floor, struct claim *claim)
{
    const struct replayed *replayed = self;
    claim->least = floor;
    claim->most = replayed->cpus;
    return claim->least < claim->most ? 0 : -ERANGE;
}

static int quota_claim(void *self, double floor, struct claim *claim)
{
    int err = quota_limit(self, floor, claim);
    strcpy(claim->original, "max");
    claim->value = claim->most;
    claim->from[0] = claim->set[0] = '\0';
    return err;
}

static int quota_check(void *self, const struct claim *claim, enum claim_state *state,
                       char now[CLAIM_TEXT_MAX])
{
    (void)self;
    strcpy(now, claim->original);
    *state = CLAIM_OURS;
    return 0;
}

static void format_cores(void *self, const struct claim *claim, double value,
                         char out[CLAIM_TEXT_MAX])
{
    (void)self;
    if (value >= claim->most)
        strcpy(out, claim->original);
    else
        snprintf(out, CLAIM_TEXT_MAX, "%.6g", value);
}

/* A dry run neither applies nor releases anything. */
static const struct actuator_ops quota_ops = {.name = "recorded",
                                              .knob = KNOB_CPU,
                                              .claim = quota_claim,
                                              .check = quota_check,
                                              .limit = quota_limit,
                                              .format = format_cores};

/* ---- a tick ---- */

static void on_decision(void *context, const struct decision *decision)
{
    struct replayed *replayed = context;
    forecast_decided(replayed->forecast, decision);
    if (replayed->decisions.len > 0)
        textbuf_char(&replayed->decisions, ',');
    governor_pages_add_decision(&replayed->decisions, decision);
}

static int begin(struct replayed *replayed, const struct machine *machine, const struct tick *tick)
{
    const struct governor_setup setup = {.config = replayed->config,
                                         .look_only = true,
                                         .recorded = true,
                                         .actuators = &replayed->actuators,
                                         .log = replayed->log,
                                         .decided = on_decision,
                                         .context = replayed};
    replayed->cpus = machine->cpus;
    replayed->actuators.of[KNOB_CPU] = (struct actuator){.ops = &quota_ops, .self = replayed};
    replayed->first_ns = tick->mono_ns;
    replayed->first_wall_ns = tick->wall_ns;
    if (machine->cpus > 0)
        return governor_new(&setup, tick->mono_ns, &replayed->governor, replayed->error,
                            replayed->error_size);
    snprintf(replayed->error, replayed->error_size,
             "the recording does not say how many CPUs its machine has");
    return -EINVAL;
}

static int on_tick(void *context, const struct machine *machine, const struct tick *tick,
                   const struct textbuf *document)
{
    struct replayed *replayed = context;
    struct governor_state state;
    int err = replayed->governor ? 0 : begin(replayed, machine, tick);
    if (!err)
        err = view_parse(document->data, document->len, &replayed->view, replayed->error,
                         replayed->error_size);
    if (err)
        return err;
    for (size_t i = 0; i < replayed->view.n; i++) /* there is none here to compare it with */
        replayed->view.containers[i].cgroup_id = 0;
    replayed->ticks++;
    replayed->last_ns = tick->mono_ns;
    replayed->last_wall_ns = tick->wall_ns;
    governor_look(replayed->governor, &state);
    forecast_take(replayed->forecast, replayed->config, state.enforcer, &replayed->view,
                  tick->wall_ns);
    governor_take(replayed->governor, &replayed->view, tick->mono_ns, tick->wall_ns);
    return 0;
}

/* ---- the recording ---- */

static int play(struct replayed *replayed, const struct plan *plan)
{
    struct exporter *exporter;
    int err = exporter_new(plan, replayed->log, NULL, NULL, &exporter, replayed->error,
                           replayed->error_size);
    if (err)
        return err;
    err = exporter_replay(exporter, on_tick, replayed, replayed->error, replayed->error_size);
    if (err && !replayed->error[0])
        snprintf(replayed->error, replayed->error_size, "%s", strerror(-err));
    exporter_free(exporter);
    return err;
}

/* Recordings are strangers' bytes: who reads them writes no file and has no network. */
static void give_up(const struct plan *plan, const struct log *log)
{
    int err = plan_drop_privileges(plan);
    if (!err)
        err = plan_enclose(plan);
    if (err)
        log_warn(log, "main", "cannot drop privileges: %s", strerror(-err));
    (void)plan_confine(plan);
    (void)confine_actions(getpid(), false);
}

static int replay(const struct flags *flags, struct replayed *replayed)
{
    char file[4096];
    char *argv[] = {"interference_governor", "--once", file};
    struct options options;
    struct plan plan;
    int n = snprintf(file, sizeof file, "--source.replay.file=%s", flags->replay_file);
    if (n < 0 || (size_t)n >= sizeof file)
        return -ENAMETOOLONG;
    int err = options_parse(&options, 3, argv, replayed->error, replayed->error_size);
    if (!err)
        err = plan_init(&plan, &options, NULL, replayed->error, replayed->error_size);
    if (err)
        return err;
    give_up(&plan, replayed->log);
    err = play(replayed, &plan);
    plan_release(&plan);
    return err;
}

/* ---- the report ---- */

static void add_json(const struct replayed *replayed, struct textbuf *out)
{
    textbuf_printf(out,
                   "{\"ticks\":%llu,\"seconds\":%.9g,\"first_timestamp_seconds\":%.3f,"
                   "\"last_timestamp_seconds\":%.3f,\"cpus\":%g,\"forgotten\":%zu,\"held\":",
                   (unsigned long long)replayed->ticks,
                   (double)(replayed->last_ns - replayed->first_ns) * 1e-9,
                   (double)replayed->first_wall_ns * 1e-9, (double)replayed->last_wall_ns * 1e-9,
                   replayed->cpus, forecast_forgotten(replayed->forecast));
    forecast_list(replayed->forecast, out);
    textbuf_str(out, ",\"decisions\":[");
    textbuf_add(out, replayed->decisions.data ? replayed->decisions.data : "",
                replayed->decisions.len);
    textbuf_str(out, "]}\n");
}

static void add_time(struct textbuf *out, uint64_t wall_ns)
{
    time_t seconds = (time_t)(wall_ns / 1000000000);
    struct tm tm;
    char text[32] = "-";
    if (gmtime_r(&seconds, &tm))
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &tm);
    textbuf_str(out, text);
}

/* "24.0 (18.1 to 29.9)" */
static void add_interval(struct textbuf *out, double value, double sd, double unit, int digits)
{
    enum { WIDTH = 24 };
    char text[64] = "not known";
    if (!isnan(value))
        snprintf(text, sizeof text, "%.*f (%.*f to %.*f)", digits, value * unit, digits,
                 (value - FORECAST_WIDE * sd) * unit, digits, (value + FORECAST_WIDE * sd) * unit);
    textbuf_printf(out, "  %-*s", WIDTH, text);
}

static void add_row(const struct forecast_pair *pair, struct textbuf *out)
{
    struct forecast_brought brought;
    forecast_pair_brought(pair, &brought);
    textbuf_printf(out, "%-40s  %-40s  ", pair->container, pair->victim);
    add_time(out, pair->first_wall_ns);
    textbuf_str(out, "  ");
    add_time(out, pair->last_wall_ns);
    textbuf_printf(out, "  %8.0f", pair->seconds);
    if (isnan(brought.cores))
        textbuf_printf(out, "  %11s  %6s", "not known", "");
    else
        textbuf_printf(out, "  %11.1f  %6.2f", pair->core_seconds, brought.cores);
    add_interval(out, brought.won, brought.won_sd, 1e9, 1);
    add_interval(out, brought.per_core, brought.per_core_sd, 1e9, 1);
    add_interval(out, brought.slowdown_won, brought.slowdown_sd, 1, 3);
    textbuf_char(out, '\n');
}

static void add_table(const struct replayed *replayed, struct textbuf *out)
{
    size_t n, shown = 0;
    const struct forecast_pair *pairs = forecast_pairs(replayed->forecast, &n);
    textbuf_printf(out, "%llu ticks, from ", (unsigned long long)replayed->ticks);
    add_time(out, replayed->first_wall_ns);
    textbuf_str(out, " to ");
    add_time(out, replayed->last_wall_ns);
    textbuf_char(out, '\n');
    for (size_t i = 0; i < n; i++) {
        if (!(pairs[i].seconds > 0))
            continue;
        if (!shown++)
            textbuf_printf(out, "\n%-40s  %-40s  %-20s  %-20s  %8s  %11s  %6s  %-24s  %-24s  %s\n",
                           "would have been held", "for", "first", "last", "seconds", "CPU seconds",
                           "cores", "ns a read less", "ns less for a core", "slowdown less");
        add_row(&pairs[i], out);
    }
    textbuf_str(out, shown ? "\n" : "Nobody would have been held.\n");
    if (forecast_forgotten(replayed->forecast) > 0)
        textbuf_printf(out, "%zu more, which were held before these, are left out.\n",
                       forecast_forgotten(replayed->forecast));
    for (size_t i = 0; i < n; i++) {
        if (!(pairs[i].seconds > 0))
            continue;
        forecast_pair_say(&pairs[i], out);
        textbuf_char(out, '\n');
    }
}

static int print(const struct replayed *replayed, bool json, FILE *out)
{
    struct textbuf text = TEXTBUF_INIT;
    if (json)
        add_json(replayed, &text);
    else
        add_table(replayed, &text);
    int err = textbuf_finish(&text);
    if (!err && (fwrite(text.data, 1, text.len, out) != text.len || fflush(out) != 0))
        err = -EIO;
    textbuf_release(&text);
    return err;
}

int replay_report(const struct flags *flags, const struct config *config, const struct log *log,
                  FILE *out, char *error, size_t error_size)
{
    struct replayed replayed = {.config = config,
                                .log = log,
                                .decisions = TEXTBUF_INIT,
                                .error = error,
                                .error_size = error_size};
    int err = forecast_new(&replayed.forecast);
    if (!err)
        err = replay(flags, &replayed);
    if (!err && replayed.ticks == 0) {
        snprintf(error, error_size, "%s: the recording has no tick", flags->replay_file);
        err = -EINVAL;
    }
    if (!err)
        err = print(&replayed, flags->report == REPORT_JSON, out);
    if (err && !error[0])
        snprintf(error, error_size, "%s", strerror(-err));
    governor_free(replayed.governor);
    forecast_free(replayed.forecast);
    view_release(&replayed.view);
    textbuf_release(&replayed.decisions);
    return err;
}
