#include "exporter/governor/decide/policies/survey.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool has_nothing(const struct holding *holding, unsigned knobs)
{
    return holding->why == -ERANGE || holding->why == -ENOENT ||
           (holding->why == -ENODEV && !(knobs >> holding->claim.knob & 1));
}

static void look_at(struct survey *survey, const struct enforcer *enforcer,
                    const struct holding *holding)
{
    survey->knobs |= 1u << holding->claim.knob;
    if (holding->claim.value == holding->claim.least && !holding->unsure) {
        survey->n_held++;
        return;
    }
    survey->n_free++;
    enum guard_verdict verdict = enforcer_would(enforcer, holding);
    if (verdict == GUARD_PASS)
        return;
    survey->stuck = holding;
    survey->why = guard_verdict_names[verdict];
}

void survey_take(struct survey *survey, const struct policy_tick *tick, enum policy_kind policy,
                 unsigned knobs)
{
    *survey = (struct survey){.n_held = 0};
    for (size_t i = 0; i < tick->n; i++)
        for (int knob = 0; knob < KNOB_COUNT; knob++) {
            const struct holding *holding = tick->governed[i].holdings[knob];
            if (!holding || holding->policy != policy)
                continue;
            if (holding->known) {
                look_at(survey, tick->enforcer, holding);
            } else if (!has_nothing(holding, knobs)) {
                survey->stuck = holding;
                survey->why = strerror(-holding->why);
            }
        }
}

void survey_obstacle(const struct survey *survey, const struct room *room,
                     char out[SURVEY_OBSTACLE_MAX])
{
    out[0] = '\0';
    if (survey->stuck)
        snprintf(out, SURVEY_OBSTACLE_MAX, "the %s of %s cannot be held: %s",
                 knob_name(survey->stuck->claim.knob), survey->stuck->claim.container, survey->why);
    else if (survey->n_free > room->claims || survey->n_free > room->most_writes)
        snprintf(out, SURVEY_OBSTACLE_MAX,
                 "%zu settings are to be held in one tick: limits.claims leaves %zu, "
                 "limits.writes_per_second %zu",
                 survey->n_free, room->claims, room->most_writes);
}
