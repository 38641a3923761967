/* reproduce control: what the papers do with what they measure. */
#include "tests/research/control_loop.h"

int reproduce_control(struct reproduction *r)
{
    static int (*const tables[])(struct reproduction *) = {
        control_table_threshold, control_table_hours,   control_table_schemes,   control_table_qos,
        control_table_loops,     control_table_billing, control_table_placement, control_table_nvmm,
    };
    int err = 0;

    for (size_t i = 0; !err && i < sizeof(tables) / sizeof(tables[0]); i++) {
        err = tables[i](r);
        fflush(r->out);
    }
    return err;
}
