/*
 * Samples on their way from the sampler's thread to the loop's: neither ever waits for the other.
 *
 * One thread puts, one takes. When the loop does not come, samples are dropped, for the putting
 * side to count: the estimate from the rest stays right, for it is a share.
 */
#ifndef IE_SOURCE_ACCESSES_QUEUE_H
#define IE_SOURCE_ACCESSES_QUEUE_H

#include "exporter/source/sample.h"

struct sample_queue;

/* 'cap' is rounded up to a power of two. 0, -ENOMEM, or -EINVAL for none or more than 2^24. */
int sample_queue_new(size_t cap, struct sample_queue **out);
/* Both threads have ended with it. Accepts NULL. */
void sample_queue_free(struct sample_queue *queue);

/* The putting thread. Takes a copy; false when there was no room for it. */
bool sample_queue_put(struct sample_queue *queue, const struct access_sample *sample);
/* All samples of accesses before this time have been put. */
void sample_queue_settle(struct sample_queue *queue, uint64_t time_ns);

/* The taking thread: up to 'cap' samples, in the order in which they were put; returns how many. */
size_t sample_queue_take(struct sample_queue *queue, struct access_sample *out, size_t cap);
/* What the other side settled. Asked before taking, it holds for what is then taken. Any thread. */
uint64_t sample_queue_settled(const struct sample_queue *queue);

#endif
