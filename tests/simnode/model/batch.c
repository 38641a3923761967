/*
 * Parallelism-aware batch scheduling: Mutlu and Moscibroda 2008, "Parallelism-Aware Batch
 * Scheduling", section 4.
 *
 * When no read of the last batch is left, the oldest reads of each application in each bank, up to
 * a cap, become the next one. Its reads go before all others. Of these, row hits go first, then who
 * has the least of the batch, so that his reads are served in parallel and he is soon through: by
 * the most reads that he has in any one bank, then by all that he has. Ties are the paper's to
 * break at random; here the first application goes first, and every run is the same.
 */
#include "tests/simnode/model/dram.h"

static void mark_bank(struct dram_channel *channel, struct dram_bank *bank)
{
    for (int app = 0; app < channel->apps; app++)
        channel->shares[app].in_bank = 0;
    for (struct request *r = bank->reads.head; r; r = r->next) {
        struct dram_share *share = r->app >= 0 ? &channel->shares[r->app] : NULL;

        if (!share || share->in_bank >= channel->config->batch_cap)
            continue;
        r->marked = true;
        channel->marked++;
        share->reads++;
        if (++share->in_bank > share->most_in_bank)
            share->most_in_bank = share->in_bank;
    }
}

static bool goes_before(const struct dram_share *a, const struct dram_share *b)
{
    if (a->most_in_bank != b->most_in_bank)
        return a->most_in_bank < b->most_in_bank;
    return a->reads != b->reads ? a->reads < b->reads : a < b;
}

void dram_form_batch(struct dram_channel *channel)
{
    if (channel->reads == 0)
        return;
    for (int app = 0; app < channel->apps; app++)
        channel->shares[app] = (struct dram_share){0};
    for (int64_t i = 0; i < channel->config->banks; i++) {
        mark_bank(channel, &channel->banks[i]);
        channel->banks[i].stale[0] = true;
    }
    for (int a = 0; a < channel->apps; a++)
        for (int b = 0; b < channel->apps; b++)
            channel->shares[a].position += goes_before(&channel->shares[b], &channel->shares[a]);
}
