/* Follows pointers in random order through lines of 64 bytes:  chase LINES STEPS [THREADS]  Each
 * thread has lines of its own. */
#include <pthread.h>

#include "tests/delay/programs/work.h"

struct line {
    size_t next;
    char rest[56];
};

struct chase {
    struct line *line;
    size_t lines, steps, at;
    uint64_t seed;
};

/* One cycle through all of them (Sattolo's shuffle). */
static void *run(void *argument)
{
    struct chase *chase = argument;
    struct line *lines = chase->line;
    for (size_t i = 0; i < chase->lines; i++)
        lines[i].next = i;
    for (size_t i = chase->lines - 1; i > 0; i--) {
        size_t k = work_random(&chase->seed) % i, kept = lines[i].next;
        lines[i].next = lines[k].next;
        lines[k].next = kept;
    }
    for (size_t i = 0; i < chase->steps; i++)
        chase->at = ((volatile struct line *)lines)[chase->at].next;
    return NULL;
}

int main(int argc, char **argv)
{
    enum { MOST = 8 };
    struct chase chases[MOST];
    pthread_t threads[MOST];
    size_t n = work_argument(argc, argv, 3, 1), sum = 0;
    if (n < 1 || n > MOST)
        return 2;
    for (size_t i = 0; i < n; i++)
        chases[i] = (struct chase){
            .line = work_memory(work_argument(argc, argv, 1, 65536), sizeof(struct line)),
            .lines = work_argument(argc, argv, 1, 65536),
            .steps = work_argument(argc, argv, 2, 1000000),
            .seed = i + 1};
    for (size_t i = 1; i < n; i++)
        if (pthread_create(&threads[i], NULL, run, &chases[i]) != 0)
            return 1;
    run(&chases[0]);
    for (size_t i = 1; i < n; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < n; i++) {
        sum += chases[i].at;
        free(chases[i].line);
    }
    return work_result(sum);
}
