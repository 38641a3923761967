/* Tables of models' errors: of a set, by class, by application. */
#include <math.h>

#include "tests/research/slowdown_set.h"

static const int paper_models[] = {SLOW_ASM,  SLOW_ASM_SAMPLED,  SLOW_MISE,    SLOW_FST,
                                   SLOW_PTCA, SLOW_PTCA_SAMPLED, SLOW_PASSIVE, SLOW_ONE};
const struct slow_columns slow_paper_columns = {paper_models, SLOW_PAPER_MODELS};

void slow_table_models(struct reproduction *r, const struct slow_set *set,
                       const struct slow_columns *columns)
{
    fprintf(r->out,
            "| model | mean error | deviation | mean signed error | under 20 %% | largest | quanta "
            "without estimate |\n|---|---|---|---|---|---|---|\n");
    for (size_t c = 0; c < columns->n; c++) {
        int m = columns->models[c];
        struct slow_statistics s = slow_statistics_of(set, m, slow_everyone, 0, 0);

        fprintf(r->out, "| %s | %.1f %% | %.1f | %+.1f %% | %.1f %% | %.0f %% | %.1f %% |\n",
                slow_model_names[m], s.mean * 100, s.deviation * 100, s.bias * 100,
                s.under_20 * 100, s.largest * 100, 100.0 * s.without / s.quanta);
    }
}

static bool shows_sign(int model)
{
    return model == SLOW_ASM || model == SLOW_PASSIVE || model >= SLOW_PAPER_MODELS;
}

static void row_of_errors(struct reproduction *r, const struct slow_set *set,
                          const struct slow_columns *columns, const char *name, slow_chosen *choose,
                          double a, double b)
{
    struct slow_statistics one = slow_statistics_of(set, SLOW_ONE, choose, a, b);

    if (one.n == 0)
        return;
    fprintf(r->out, "| %s | %zu | %.2f |", name, one.n, one.actual);
    for (size_t c = 0; c < columns->n; c++) {
        int m = columns->models[c];
        struct slow_statistics s = slow_statistics_of(set, m, choose, a, b);

        if (s.n == 0)
            fprintf(r->out, " |");
        else if (shows_sign(m))
            fprintf(r->out, " %.1f (%+.1f) |", s.mean * 100, s.bias * 100);
        else
            fprintf(r->out, " %.1f |", s.mean * 100);
    }
    fprintf(r->out, "\n");
}

static void head_of_errors(struct reproduction *r, const struct slow_columns *columns,
                           const char *what)
{
    fprintf(r->out, "\n| %s | instances | actual |", what);
    for (size_t c = 0; c < columns->n; c++)
        fprintf(r->out, " %s |", slow_model_names[columns->models[c]]);
    fprintf(r->out, "\n|---|---|---|");
    for (size_t c = 0; c < columns->n; c++)
        fprintf(r->out, "---|");
    fprintf(r->out, "\n");
}

void slow_tables_by_class(struct reproduction *r, const struct slow_set *set,
                          const struct slow_columns *columns)
{
    static const char *const intensities[] = {"low", "medium", "high"};
    static const char *const sensitivities[] = {"low", "high"};
    struct slow_quartile quartiles[SLOW_QUARTILES];

    head_of_errors(r, columns, "memory intensity");
    for (int i = 0; i < INTENSITIES; i++)
        row_of_errors(r, set, columns, intensities[i], slow_of_intensity, i, 0);
    head_of_errors(r, columns, "cache sensitivity");
    for (int i = 0; i < SENSITIVITIES; i++)
        row_of_errors(r, set, columns, sensitivities[i], slow_of_sensitivity, i, 0);
    if (slow_quartiles(set, quartiles) == 0) {
        head_of_errors(r, columns, "quartile of the actual slowdown");
        for (int q = 0; q < SLOW_QUARTILES; q++) {
            char name[64];

            snprintf(name, sizeof(name), "%.2f to %.2f", quartiles[q].from, quartiles[q].largest);
            row_of_errors(r, set, columns, name, slow_slowed_between, quartiles[q].from,
                          quartiles[q].to);
        }
    }
    head_of_errors(r, columns, "application");
    for (size_t i = 0; i < slow_n_apps; i++)
        row_of_errors(r, set, columns, slow_apps[i].name, slow_of_app, (double)i, 0);
}

void slow_table_distribution(struct reproduction *r, const struct slow_set *set,
                             const struct slow_columns *columns)
{
    static const double edges[] = {0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, INFINITY};
    static const char *const names[] = {"under 5 %", "to 10", "to 15", "to 20",
                                        "to 30",     "to 40", "to 50", "above"};

    fprintf(r->out, "\n"
                    "| model |");
    for (size_t k = 0; k < 8; k++)
        fprintf(r->out, " %s |", names[k]);
    fprintf(r->out, "\n|---|---|---|---|---|---|---|---|---|\n");
    for (size_t c = 0; c < columns->n; c++) {
        int m = columns->models[c];
        size_t count[8] = {0}, all = 0;

        for (size_t i = 0; i < set->n; i++) {
            double error = set->instances[i].error[m];
            size_t k = 0;

            if (isnan(error))
                continue;
            while (!(error < edges[k]))
                k++;
            count[k]++;
            all++;
        }
        fprintf(r->out, "| %s |", slow_model_names[m]);
        for (size_t k = 0; k < 8; k++)
            fprintf(r->out, " %.1f |", all ? 100.0 * (double)count[k] / (double)all : 0);
        fprintf(r->out, "\n");
    }
}
