/* Akiyama's program: a matrix times a vector:  matvec N ROUNDS */
#include "tests/delay/programs/work.h"

int main(int argc, char **argv)
{
    size_t n = work_argument(argc, argv, 1, 600), rounds = work_argument(argc, argv, 2, 2);
    volatile double *matrix = work_memory(n * n, sizeof *matrix),
                    *vector = work_memory(n, sizeof *vector);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        vector[i] = (double)i;
    for (size_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < n; k++)
                sum += matrix[i * n + k] * vector[k];
    free((void *)matrix);
    free((void *)vector);
    return work_result((uint64_t)sum);
}
