/* Needs no memory:  compute STEPS  The control of what waits for none. */
#include "tests/delay/programs/work.h"

int main(int argc, char **argv)
{
    size_t steps = work_argument(argc, argv, 1, 60000000);
    uint64_t state = 1;
    for (size_t i = 0; i < steps; i++)
        state = work_random(&state);
    return work_result(state);
}
