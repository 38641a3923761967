/* Counts words in an open hash table:  hash ENTRIES LOOKUPS */
#include "tests/delay/programs/work.h"

struct entry {
    uint64_t key, count;
};

int main(int argc, char **argv)
{
    size_t n = work_argument(argc, argv, 1, 1 << 17),
           lookups = work_argument(argc, argv, 2, 600000);
    struct entry *table = work_memory(n, sizeof *table);
    uint64_t seed = 1, most = 0;
    for (size_t i = 0; i < lookups; i++) {
        uint64_t key = work_random(&seed) % (n / 2) + 1;
        size_t at = key * UINT64_C(0x9e3779b97f4a7c15) % n;
        while (table[at].key != 0 && table[at].key != key)
            at = (at + 1) % n;
        table[at].key = key;
        if (++table[at].count > most)
            most = table[at].count;
    }
    free(table);
    return work_result(most);
}
