#include "collectors/attribution/ledger/readings.h"

#include <math.h>
#include <string.h>

static const double prior_odds = 0.05 / 0.95;
static const double least_shown = 0.4;
enum { SHOWN_BEFORE = 15, SHOWN_NOW = 3 };
static const double watched_before = 7200;

double ledger_x(const struct ledger_workload *w, uint64_t reading)
{
    uint32_t bits = (uint32_t)w->x[reading % ONSET_WINDOW] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

bool ledger_has_told(const struct ledger *ledger, uint32_t workload)
{
    for (unsigned i = 0; i < ledger->n_told; i++)
        if (ledger->told[i].workload == workload)
            return true;
    return false;
}

double ledger_lambda(const struct ledger *ledger)
{
    return (1 + ledger->outside) / (watched_before + ledger->watched);
}

double ledger_probability(const struct ledger_workload *workload, double evidence)
{
    double odds = prior_odds * exp(evidence + (double)workload->elsewhere);
    return odds / (1 + odds);
}

void ledger_expect(struct ledger *ledger, size_t workload, double probability)
{
    double odds = isnan(probability) ? prior_odds : probability / (1 - probability);
    ledger->at[workload].elsewhere = (float)log(odds / prior_odds);
}

double ledger_evidence(const struct ledger_workload *workload, double probability)
{
    return log(probability / (1 - probability) / prior_odds) - (double)workload->elsewhere;
}

bool ledger_knows(const struct ledger *ledger)
{
    return ledger->restored || ledger->readings > LEDGER_LEARNING;
}

unsigned ledger_groups(const struct ledger *ledger)
{
    return ledger_knows(ledger) ? ledger->n_groups : 0;
}

uint64_t ledger_first(const struct ledger *ledger, unsigned n)
{
    uint64_t t = ledger->readings, first = t + 1 > n ? t + 1 - n : 1;
    return first > ledger->from ? first : ledger->from;
}

double ledger_mean_y(const struct ledger *ledger, uint64_t first, unsigned n, uint32_t but)
{
    double sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += ledger_unexplained(ledger, first + i, but);
    return sum / n;
}

bool ledger_shows(const struct ledger *ledger, const struct ledger_workload *w, double effect)
{
    uint64_t t = ledger->readings, start = w->last_start;
    uint32_t number = (uint32_t)(w - ledger->at);
    if (start == 0 || start < ledger_first(ledger, ONSET_WINDOW) + SHOWN_BEFORE ||
        t < start + SHOWN_NOW)
        return true;
    double before = ledger_mean_y(ledger, start - SHOWN_BEFORE, SHOWN_BEFORE, number);
    double now = ledger_mean_y(ledger, t + 1 - SHOWN_NOW, SHOWN_NOW, number);
    return now - before >= least_shown * effect;
}

double ledger_mean_x(const struct ledger_workload *w, uint64_t first, unsigned n)
{
    double sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += ledger_x(w, first + i);
    return n ? sum / n : 0;
}

double ledger_unexplained(const struct ledger *ledger, uint64_t reading, uint32_t but)
{
    double y = (double)ledger->y[reading % ONSET_WINDOW];
    for (unsigned i = 0; i < ledger->n_told; i++) {
        const struct ledger_told *told = &ledger->told[i];
        if (told->workload != but)
            y -= told->slope *
                 fmax(0, ledger_x(&ledger->at[told->workload], reading) - told->before);
    }
    return y;
}

void ledger_window(const struct ledger *ledger, uint64_t first, uint32_t but,
                   struct onset_window *out)
{
    uint64_t t = ledger->readings;
    out->n = (unsigned)(t + 1 - first);
    out->sigma = ledger->sigma;
    for (unsigned i = 0; i < out->n; i++)
        out->y[i] = ledger_unexplained(ledger, first + i, but);
    onset_window_begin(out);
}

double ledger_past_evidence(const struct ledger *ledger, uint32_t workload)
{
    double evidence = (double)ledger->at[workload].evidence;
    for (unsigned i = 0; i < ledger->n_episodes; i++)
        if (ledger->episode[i].workload == workload)
            evidence -= (double)ledger->episode[i].factor;
    return evidence;
}
