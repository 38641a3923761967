#include "collectors/nvmm/windows.h"

void nvmm_windows_count(struct nvmm_windows *windows, uint64_t events, uint64_t end_ns)
{
    uint32_t number = windows->open;

    if (nvmm_windows_full(windows))
        number--;
    else
        windows->ring[++windows->open % NVMM_RING].sums = (struct nvmm_window){0};
    windows->ring[number % NVMM_RING].end_ns = end_ns;
    windows->ring[number % NVMM_RING].sums.events += events;
}

uint32_t nvmm_windows_number(const struct nvmm_windows *windows, uint64_t time_ns)
{
    uint32_t number = windows->first;

    while (number != windows->open && time_ns >= windows->ring[number % NVMM_RING].end_ns)
        number++;
    return number;
}

void nvmm_windows_add(struct nvmm_windows *windows, uint32_t number,
                      const struct access_sample *sample)
{
    struct nvmm_window *sums = &windows->ring[number % NVMM_RING].sums;

    if (sample->medium == MEDIUM_UNKNOWN) {
        sums->unknown++;
        return;
    }
    sums->known++;
    if (sample->medium != MEDIUM_NVMM)
        return;
    sums->nvmm++;
    if (sample->bytes > 0) {
        sums->sized++;
        sums->bytes += sample->bytes;
    } else if (access_size_unknowable(sample->size)) {
        sums->unsizable++;
    }
}

bool nvmm_windows_settle(struct nvmm_windows *windows, uint64_t settled_ns,
                         struct nvmm_settled *out)
{
    uint32_t number = windows->first;

    if (nvmm_windows_empty(windows) || settled_ns < windows->ring[number % NVMM_RING].end_ns)
        return false;
    *out =
        (struct nvmm_settled){.number = number, .window = windows->ring[number % NVMM_RING].sums};
    windows->first++;
    nvmm_estimate(&windows->carry, &out->window, &out->usage);
    return true;
}
