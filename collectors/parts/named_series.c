#include "collectors/parts/named_series.h"

bool named_series_relabel(struct series **at, size_t n, struct labelset *labels)
{
    for (size_t i = 0; i < n; i++) {
        if (at[i] && (!labels || series_relabel(&at[i], labels) != 0)) {
            named_series_release(at, n);
            return false;
        }
    }
    return true;
}

void named_series_release(struct series **at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        series_free(at[i]);
        at[i] = NULL;
    }
}

int named_series_new(struct family *family, struct labelset *common, const struct label *own,
                     size_t n_own, struct series **out)
{
    int err = series_new(family, common, own, n_own, out);
    if (err)
        *out = NULL;
    else
        series_clear(*out);
    return err;
}

int named_series_register(struct store *store, const struct metric_desc *desc, const char *owner,
                          struct series **out)
{
    struct family *family;
    int err = store_family(store, desc, owner, &family);
    return err ? err : named_series_new(family, NULL, NULL, 0, out);
}
