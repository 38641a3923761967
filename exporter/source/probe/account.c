#include "exporter/source/probe/account.h"

#include "exporter/source/probe/burst.h"

enum {
    PARTS_PER_MILLION = 900, /* a tenth of the promised 0.1 % stays in reserve */
    MOST_CREDIT_NS = 8000000,
    FIRST_LOAD_NS = 200,
    SLOWEST_LOAD_NS = 2500, /* so that one slow burst cannot silence the probe for good */
};

static uint64_t earned(uint64_t elapsed_ns)
{
    return elapsed_ns / 1000000 * PARTS_PER_MILLION +
           elapsed_ns % 1000000 * PARTS_PER_MILLION / 1000000;
}

void chase_account_init(struct chase_account *account, uint64_t interval_ns, uint64_t now_ns)
{
    *account = (struct chase_account){
        .credit_ns = earned(interval_ns),
        .share_ns = earned(interval_ns),
        .seen_ns = now_ns,
        .load_ns = FIRST_LOAD_NS,
    };
}

static uint64_t least_burst_ns(const struct chase_account *account)
{
    return account->load_ns * (CHASE_WARM_LOADS + CHASE_RUNS * CHASE_RUN_LOADS);
}

uint64_t chase_account_wait_ns(const struct chase_account *account)
{
    uint64_t least = least_burst_ns(account);
    uint64_t needed = least + account->debt_ns;
    if (account->credit_ns >= needed)
        return 0;
    return (needed - account->credit_ns) * 1000000 / PARTS_PER_MILLION + 1000000;
}

uint64_t chase_account_budget(struct chase_account *account, uint64_t now_ns)
{
    uint64_t least = least_burst_ns(account);
    uint64_t most = 2 * account->share_ns > MOST_CREDIT_NS ? 2 * account->share_ns : MOST_CREDIT_NS;
    uint64_t budget = account->share_ns > least ? account->share_ns : least;
    uint64_t pay = earned(now_ns - account->seen_ns);
    uint64_t repaid = pay < account->debt_ns ? pay : account->debt_ns;
    account->debt_ns -= repaid;
    account->credit_ns += pay - repaid;
    account->seen_ns = now_ns;
    if (account->credit_ns > most)
        account->credit_ns = most;
    return account->credit_ns < least    ? 0
           : budget < account->credit_ns ? budget
                                         : account->credit_ns;
}

void chase_account_spend(struct chase_account *account, uint64_t cpu_ns, uint64_t loads)
{
    uint64_t paid = cpu_ns < account->credit_ns ? cpu_ns : account->credit_ns;
    account->credit_ns -= paid;
    account->debt_ns += cpu_ns - paid;
    if (account->debt_ns > MOST_CREDIT_NS)
        account->debt_ns = MOST_CREDIT_NS;
    if (loads > 0)
        account->load_ns = cpu_ns / loads < SLOWEST_LOAD_NS ? cpu_ns / loads + 1 : SLOWEST_LOAD_NS;
}
