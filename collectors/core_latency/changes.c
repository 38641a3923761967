#include "collectors/core_latency/changes.h"

int basis_changes_init(struct basis_changes *changes, struct store *store, const char *owner)
{
    struct family *family;
    int err = store_family(store, &core_latency_basis_changes_desc, owner, &family);
    for (int basis = BASIS_CALM; basis < BASES && !err; basis++) {
        const struct label own = {"basis", basis_name((enum basis)basis)};
        err = series_new(family, NULL, &own, 1, &changes->to[basis]);
    }
    return err;
}

void basis_changes_release(struct basis_changes *changes)
{
    for (int basis = 0; basis < BASES; basis++)
        series_free(changes->to[basis]);
}

void basis_changes_tell(struct basis_changes *changes, struct limits *limits, const char *path,
                        const struct tick *tick, const struct log *log)
{
    enum basis now = limits->basis[LIMIT_BASELINE];
    if (now == BASES || (uint32_t)now == limits->told)
        return;
    if (limits->told != BASES)
        series_add_u64(changes->to[now], 1);
    if (limits->told != BASES && limits->told != BASIS_MACHINE) /* which judges nobody */
        log_info(log, "core_latency", "%s: %.1f ns are normal now, on the basis %s; before, on %s",
                 path, limits->seconds[LIMIT_BASELINE] * 1e9, basis_name(now),
                 basis_name((enum basis)limits->told));
    limits->told = now;
    limits->since_ns = tick->mono_ns;
}
