#include "collectors/parts/node_peak.h"

void node_peak_update(struct node_peak *peak, const struct tick *tick, uint64_t node_reads)
{
    uint64_t length_ns =
        peak->last_mono_ns ? tick->mono_ns - peak->last_mono_ns : tick->interval_ns;
    peak->last_mono_ns = tick->mono_ns;
    double rate = length_ns ? (double)node_reads / ((double)length_ns * 1e-9) : 0;
    if (rate > peak->rate)
        peak->rate = rate;
}
