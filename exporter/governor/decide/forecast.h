/*
 * What holding would have brought, where nobody is held: in mode observe, and of recordings.
 *
 * Of who would be held, and uses u cores where it may have q < u, it is taken that it would give up
 * u - q, and (u - q) / u of the latency that the exporter says it causes, for everybody whose
 * memory that is: a straight line, as the exporter itself has it. By so much the latencies of
 * protected containers are lowered before the governor looks at them, so that it goes on as if it
 * had acted. Where it names nobody, nothing is known of what holding brings, and nothing is
 * lowered.
 *
 * Worked: it uses 4 cores, may have 1, and causes 40 ns, one standard deviation 4: 3 cores, 30 ns,
 * 95 % between 30 - 1.96 * 3 and 30 + 1.96 * 3; 10 ns for each core.
 *
 * One thread; nothing is allocated after new.
 */
#ifndef IE_GOVERNOR_FORECAST_H
#define IE_GOVERNOR_FORECAST_H

#include "exporter/base/textbuf.h"
#include "exporter/governor/act/enforcer.h"
#include "exporter/governor/config/config.h"

enum { FORECAST_PAIRS_MAX = 256 };
/* So many standard deviations to both sides of an estimate are 95 %. */
#define FORECAST_WIDE 1.96

/* Who would have been held, and for whom: the one that waited when it was cut last. */
struct forecast_pair {
    char container[CLAIM_NAME_MAX], victim[CLAIM_NAME_MAX]; /* victim "": nobody waited */
    uint64_t first_wall_ns, last_wall_ns; /* at the ends of ticks; 0, and when it was cut */
    double seconds;                       /* for which it would have been held */
    double known_seconds, core_seconds;   /* its use is known, and what it gives */
    /* The victim reads, and the other one is named; products with these seconds. */
    double told_seconds, won, won_sd, per_core, per_core_sd;
    /* Cycles of the victim: without anybody else, and those that it would not have lost to memory;
     * the same of one standard deviation more. By model passive. */
    double alone, saved, saved_sd;
    struct view_loss before; /* the victim's counters in the last tick; NaN: not known */
    bool counted;            /* in this tick */
    bool current;            /* of all with this container, the last */
};

/* What comes of it; NaN: not known. Seconds, but for cores. */
struct forecast_brought {
    double cores;                     /* given up, the mean */
    double won, won_sd;               /* of a read's latency, the mean */
    double per_core, per_core_sd;     /* of latency, for each core: the response to the quota */
    double slowdown_won, slowdown_sd; /* of the victim's slowdown */
};

struct forecast;

/* 0 or -ENOMEM. */
int forecast_new(struct forecast **out);
/* Accepts NULL. */
void forecast_free(struct forecast *run);

/* Each decision of the governor's, which says who is held for whom. */
void forecast_decided(struct forecast *run, const struct decision *decision);
/* A tick, before the governor takes it: adds up, and lowers latencies in *view. 'enforcer' has what
 * would have been held until then. A tick that was taken already changes nothing. */
void forecast_take(struct forecast *run, const struct config *config,
                   const struct enforcer *enforcer, struct view *view, uint64_t wall_ns);

/* In the order in which they began. */
const struct forecast_pair *forecast_pairs(const struct forecast *run, size_t *n);
/* How many are not among them any more: beyond FORECAST_PAIRS_MAX, who was held last stays. */
size_t forecast_forgotten(const struct forecast *run);
void forecast_pair_brought(const struct forecast_pair *pair, struct forecast_brought *out);
/* "would have taken 2.1 cores from batch/report for 14 minutes; shop/cart-0/cart would have waited
 * 24 ns less (18 to 29)"; " in 5 minutes of them" where that is known of less than all. */
void forecast_pair_say(const struct forecast_pair *pair, struct textbuf *out);
/* The same, and all figures, as a list of JSON. */
void forecast_list(const struct forecast *run, struct textbuf *out);

#endif
