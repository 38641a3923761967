#include "tests/unit/support/fake_knobs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double number(const char *text)
{
    return (double)strtoull(text, NULL, 10) / 1e6;
}

static void spell(double value, char out[CLAIM_TEXT_MAX])
{
    snprintf(out, CLAIM_TEXT_MAX, "%llu", (unsigned long long)(value * 1e6 + 0.5));
}

void fake_knobs_init(struct fake_knobs *fake)
{
    *fake = (struct fake_knobs){.cpus = 8};
}

void fake_knobs_make(struct fake_knobs *fake, size_t i, double value)
{
    struct fake_knob *knob = &fake->knobs[i];
    snprintf(knob->path, sizeof knob->path, "/%zu", i);
    knob->ino = ++fake->last_ino;
    spell(value, knob->text);
    memcpy(knob->spec, knob->text, sizeof knob->spec);
}

void fake_knobs_end(struct fake_knobs *fake, size_t i)
{
    fake->knobs[i].ino = 0;
}

void fake_knobs_set(struct fake_knobs *fake, size_t i, double value)
{
    spell(value, fake->knobs[i].text);
    memcpy(fake->knobs[i].spec, fake->knobs[i].text, CLAIM_TEXT_MAX);
}

void fake_knobs_reset(struct fake_knobs *fake, size_t i)
{
    memcpy(fake->knobs[i].text, fake->knobs[i].spec, CLAIM_TEXT_MAX);
}

double fake_knobs_value(const struct fake_knobs *fake, size_t i)
{
    return number(fake->knobs[i].text);
}

bool fake_knobs_is_original(const struct fake_knobs *fake, size_t i)
{
    return strcmp(fake->knobs[i].text, fake->knobs[i].spec) == 0;
}

/* ---- the ops ---- */

static struct fake_knob *at_path(struct fake_knobs *fake, const char *path)
{
    for (size_t i = 0; i < FAKE_KNOBS_MAX; i++)
        if (fake->knobs[i].ino && strcmp(fake->knobs[i].path, path) == 0)
            return &fake->knobs[i];
    return NULL;
}

static struct fake_knob *of_claim(struct fake_knobs *fake, const struct claim *claim)
{
    struct fake_knob *knob = at_path(fake, claim->path);
    return knob && knob->ino == claim->ino ? knob : NULL;
}

static int set_limits(const struct fake_knobs *fake, double floor, struct claim *claim)
{
    double most = fmin(number(claim->original), fake->cpus);
    if (floor >= most)
        return -ERANGE;
    claim->least = floor;
    claim->most = most;
    return 0;
}

static int fake_claim(void *self, double floor, struct claim *claim)
{
    struct fake_knobs *fake = self;
    const struct fake_knob *knob = at_path(fake, claim->path);
    if (!knob)
        return -ENOENT;
    if (fake->fail_claims) {
        fake->fail_claims--;
        return -EACCES;
    }
    memcpy(claim->original, knob->text, sizeof claim->original);
    int err = set_limits(fake, floor, claim);
    if (err)
        return err;
    claim->ino = knob->ino;
    claim->value = claim->most;
    claim->from[0] = claim->set[0] = '\0';
    return 0;
}

static int fake_check(void *self, const struct claim *claim, enum claim_state *state,
                      char now[CLAIM_TEXT_MAX])
{
    struct fake_knobs *fake = self;
    const struct fake_knob *knob = of_claim(fake, claim);
    now[0] = '\0';
    if (fake->fail_checks) {
        fake->fail_checks--;
        return -EIO;
    }
    *state = CLAIM_GONE;
    if (!knob)
        return 0;
    memcpy(now, knob->text, CLAIM_TEXT_MAX);
    if (fake->rebase_next) {
        fake->rebase_next = false;
        *state = CLAIM_REBASED;
        return 0;
    }
    if (strcmp(now, claim->set[0] ? claim->set : claim->original) == 0)
        *state = CLAIM_OURS;
    else
        *state = strcmp(now, claim->original) == 0 ? CLAIM_RESET : CLAIM_CHANGED;
    return 0;
}

static int fake_limit(void *self, double floor, struct claim *claim)
{
    return of_claim(self, claim) ? set_limits(self, floor, claim) : -ENODEV;
}

static void fake_format(void *self, const struct claim *claim, double value,
                        char out[CLAIM_TEXT_MAX])
{
    if (value >= claim->most)
        memcpy(out, claim->original, CLAIM_TEXT_MAX);
    else
        spell(value, out);
}

static bool announced(const struct fake_knobs *fake, const struct claim *claim, const char *text)
{
    const struct claim *open =
        fake->journal ? journal_claims_find(&fake->journal->open, claim->id) : NULL;
    return open && strcmp(open->path, claim->path) == 0 && open->ino == claim->ino &&
           (strcmp(text, open->set) == 0 || strcmp(text, open->original) == 0);
}

static int change(struct fake_knobs *fake, struct fake_knob *knob, const struct claim *claim,
                  const char *text)
{
    int err = fake->fail_next;
    fake->fail_next = 0;
    fake->writes++;
    bool inside = number(text) >= claim->least - 1e-6 && number(text) <= number(knob->spec);
    if (!inside || !announced(fake, claim, text))
        fake->wrong++;
    if (!err || fake->fail_after)
        memcpy(knob->text, text, sizeof knob->text);
    fake->fail_after = false;
    return err;
}

static int fake_apply(void *self, const struct claim *claim)
{
    struct fake_knob *knob = of_claim(self, claim);
    if (!knob)
        return -ENODEV;
    if (strcmp(knob->text, claim->from) != 0)
        return -ESTALE;
    return change(self, knob, claim, claim->set);
}

static int fake_release(void *self, const struct claim *claim, enum claim_restored *out)
{
    struct fake_knob *knob = of_claim(self, claim);
    int err = 0;
    *out = RESTORED_GONE;
    if (!knob)
        return 0;
    if (strcmp(knob->text, claim->original) == 0)
        *out = RESTORED_ALREADY;
    else if (!claim->set[0] ||
             (strcmp(knob->text, claim->set) != 0 && strcmp(knob->text, claim->from) != 0))
        *out = RESTORED_FOREIGN;
    else if ((err = change(self, knob, claim, claim->original)) == 0)
        *out = RESTORED;
    return err;
}

static const struct actuator_ops fake_actuator = {
    .name = "fake",
    .knob = KNOB_CPU,
    .claim = fake_claim,
    .check = fake_check,
    .limit = fake_limit,
    .format = fake_format,
    .apply = fake_apply,
    .release = fake_release,
};

struct actuators fake_knobs_actuators(struct fake_knobs *fake)
{
    struct actuators actuators = {0};
    actuators.of[KNOB_CPU] = (struct actuator){&fake_actuator, fake};
    return actuators;
}
