#include "collectors/parts/node_traffic.h"

/* Reads per second that a socket serves without anyone noticing: 320 MB/s of the 100 GB/s and more
 * that it can do. Without a floor a node on which nobody reads much is never calm. */
static const double unnoticed_rate = 5e6;

void node_traffic_begin(struct node_traffic *traffic, const struct facts *facts)
{
    traffic->rate = 0;
    traffic->blind = facts->containers_unseen > 0;
}

void node_traffic_add(struct node_traffic *traffic, double reads_per_second)
{
    traffic->rate += reads_per_second;
}

void node_traffic_miss(struct node_traffic *traffic)
{
    traffic->blind = true;
}

void node_traffic_end(struct node_traffic *traffic, const struct tick *tick,
                      const struct facts *facts)
{
    rate_peak_add(&traffic->peak, tick->mono_ns, traffic->rate);
    double peak = rate_peak_find(&traffic->peak);
    double floor = 10 * unnoticed_rate * (facts->machine.sockets > 0 ? facts->machine.sockets : 1);
    traffic->high_rate = peak > floor ? peak : floor;
}
