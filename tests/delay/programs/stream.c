/* a[i] = b[i] + 3 c[i], again and again:  stream ELEMENTS ROUNDS */
#include "tests/delay/programs/work.h"

int main(int argc, char **argv)
{
    size_t n = work_argument(argc, argv, 1, 400000), rounds = work_argument(argc, argv, 2, 8);
    volatile uint64_t *a = work_memory(n, sizeof *a), *b = work_memory(n, sizeof *b),
                      *c = work_memory(n, sizeof *c);
    for (size_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < n; i++)
            a[i] = b[i] + 3 * c[i] + round;
    uint64_t sum = a[n / 2];
    free((void *)a);
    free((void *)b);
    free((void *)c);
    return work_result(sum);
}
