#include "collectors/formulas/control_shares.h"

#include <math.h>

void control_mba_map(const double *slowdowns, size_t n, unsigned floor, unsigned gran,
                     unsigned *percent)
{
    double greatest = 1;
    for (size_t i = 0; i < n; i++)
        greatest = fmax(greatest, slowdowns[i]);
    for (size_t i = 0; i < n; i++) {
        double share = 100 * fmax(1, slowdowns[i]) / greatest / gran;
        /* 25 of 100 in steps of 10 is 2.5, whatever rounding made of it. */
        unsigned rounded = (unsigned)(share + 0.5 + 1e-9) * gran;
        rounded = rounded + gran > 100 ? 100 : rounded; /* 100 may be no multiple */
        percent[i] = rounded < floor ? floor : rounded;
    }
}

unsigned control_mba_step(unsigned set, unsigned want, unsigned gran)
{
    if (set > want)
        return set - want > gran ? set - gran : want;
    return want - set > gran ? set + gran : want;
}
