/* Sorts numbers by their bits, a byte at a time, the lowest first:  sort NUMBERS */
#include "tests/delay/programs/work.h"

static void sort_by_byte(const uint32_t *from, uint32_t *to, size_t n, int shift)
{
    size_t starts[257] = {0};
    for (size_t i = 0; i < n; i++)
        starts[(from[i] >> shift & 255) + 1]++;
    for (int i = 0; i < 256; i++)
        starts[i + 1] += starts[i];
    for (size_t i = 0; i < n; i++)
        to[starts[from[i] >> shift & 255]++] = from[i];
}

int main(int argc, char **argv)
{
    size_t n = work_argument(argc, argv, 1, 1000000);
    uint32_t *numbers = work_memory(n, sizeof *numbers), *others = work_memory(n, sizeof *others);
    uint64_t seed = 1, sum = 0;
    for (size_t i = 0; i < n; i++)
        numbers[i] = (uint32_t)work_random(&seed);
    for (int shift = 0; shift < 32; shift += 16) {
        sort_by_byte(numbers, others, n, shift);
        sort_by_byte(others, numbers, n, shift + 8);
    }
    for (size_t i = 1; i < n; i++)
        sum += numbers[i - 1] <= numbers[i];
    free(numbers);
    free(others);
    return work_result(sum) || sum != n - 1;
}
