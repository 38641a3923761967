#include "collectors/parts/named_series.h"

bool named_series_relabel(struct series **at, size_t n, struct labelset *labels)
{
    for (size_t i = 0; i < n; i++) {
        if (at[i] && (!labels || series_relabel(at[i], labels) != 0)) {
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
