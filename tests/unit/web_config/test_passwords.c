/* Names and passwords: what is checked, how often, in whose turn, and what is remembered. */
#include <pthread.h>

#include "exporter/http/web_config/passwords.h"
#include "tests/unit/support/unit.h"

/* Of "secret", at the lowest cost. */
#define SECRET "$2b$04$CCCCCCCCCCCCCCCCCCCCC.4K7lyz.nKATbsiu/RcZjqWyDNnj87qG"

/* A request is an object of the test that is resumed some time. */
struct rig {
    struct passwords *passwords;
    struct web_user users[2];
    struct web_config config;
    pthread_mutex_t lock;
    pthread_cond_t resumed_one;
    int suspended, resumed;
    const char *order[64]; /* requests as they were resumed */
};

struct request {
    struct rig *rig;
    const char *name;
};

static void suspend(void *context)
{
    struct request *request = context;
    pthread_mutex_lock(&request->rig->lock);
    request->rig->suspended++;
    pthread_mutex_unlock(&request->rig->lock);
}

static void resume(void *context)
{
    struct request *request = context;
    struct rig *rig = request->rig;
    pthread_mutex_lock(&rig->lock);
    if (rig->resumed < 64)
        rig->order[rig->resumed] = request->name;
    rig->resumed++;
    pthread_cond_broadcast(&rig->resumed_one);
    pthread_mutex_unlock(&rig->lock);
}

/* Held, a check lasts until the test says so. */
static pthread_mutex_t checking = PTHREAD_MUTEX_INITIALIZER;
static char last_hash[BCRYPT_SIZE];

static bool check(struct crypt_data *work, const char *hash, const char *password)
{
    pthread_mutex_lock(&checking);
    memcpy(last_hash, hash, BCRYPT_SIZE);
    bool right = bcrypt_check(work, hash, password);
    pthread_mutex_unlock(&checking);
    return right;
}

static const struct passwords_ops ops = {suspend, resume, check};

static void wait_for(struct rig *rig, int resumed)
{
    pthread_mutex_lock(&rig->lock);
    while (rig->resumed < resumed)
        pthread_cond_wait(&rig->resumed_one, &rig->lock);
    pthread_mutex_unlock(&rig->lock);
}

static int start(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    *state = rig;
    rig->users[0] = (struct web_user){"alice", SECRET};
    rig->users[1] = (struct web_user){"bob", SECRET};
    rig->config = (struct web_config){.users = rig->users, .n_users = 2};
    pthread_mutex_init(&rig->lock, NULL);
    pthread_cond_init(&rig->resumed_one, NULL);
    return passwords_new(&ops, &rig->passwords);
}

static int stop(void **state)
{
    struct rig *rig = *state;
    passwords_free(rig->passwords);
    int lost = rig->suspended - rig->resumed;
    pthread_cond_destroy(&rig->resumed_one);
    pthread_mutex_destroy(&rig->lock);
    free(rig);
    return lost; /* a request that nobody wakes would hang for ever */
}

static enum password_answer ask_once(struct rig *rig, const char *user, const char *password,
                                     uint64_t peer, struct request *request)
{
    return passwords_ask(rig->passwords, &rig->config, user, password, peer, request);
}

/* As a request does: asks, waits, asks again. */
static enum password_answer ask(struct rig *rig, const char *user, const char *password)
{
    struct request request = {rig, user};
    int before = rig->resumed;
    enum password_answer answer = ask_once(rig, user, password, 1, &request);
    if (answer != PASSWORD_WAIT)
        return answer;
    wait_for(rig, before + 1);
    return ask_once(rig, user, password, 1, &request);
}

TEST_ON(test_right_and_wrong, struct rig *rig, start, stop)
{
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ask(rig, "alice", "secret"), PASSWORD_RIGHT);
        assert_int_equal(ask(rig, "alice", "Secret"), PASSWORD_WRONG);
        assert_int_equal(ask(rig, "alice", ""), PASSWORD_WRONG);
    }
    /* Each was checked once. */
    assert_int_equal(passwords_checked(rig->passwords), 3);
    /* The same password for another name is another question. */
    assert_int_equal(ask(rig, "bob", "secret"), PASSWORD_RIGHT);
    assert_int_equal(passwords_checked(rig->passwords), 4);
    /* What is remembered is remembered of that hash. */
    rig->users[0].hash = "$2b$04$CCCCCCCCCCCCCCCCCCCCC.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    assert_int_equal(ask(rig, "alice", "secret"), PASSWORD_WRONG);
    rig->users[0].hash = "nothing of bcrypt"; /* of a file that changed */
    assert_int_equal(ask(rig, "alice", "secret"), PASSWORD_WRONG);
}

/* A name that does not exist costs what a name that exists costs: a call each, of the same cost. */
TEST_ON(test_unknown_users_cost_the_same, struct rig *rig, start, stop)
{
    uint64_t before = passwords_checked(rig->passwords);
    assert_int_equal(ask(rig, "alice", "wrong"), PASSWORD_WRONG);
    uint64_t known = passwords_checked(rig->passwords) - before;
    assert_int_equal(ask(rig, "nobody", "wrong"), PASSWORD_WRONG);
    assert_int_equal(passwords_checked(rig->passwords) - before - known, known);
    assert_int_equal(known, 1);
    /* Of the cost that some user's hash has. */
    char dear[BCRYPT_SIZE] = SECRET;
    memcpy(dear + 4, "06", 2);
    rig->users[0].hash = rig->users[1].hash = dear;
    assert_int_equal(ask(rig, "nobody", "wrong again"), PASSWORD_WRONG);
    assert_memory_equal(last_hash, "$2y$06$", 7);
    /* Also not by the password that the decoy is a hash of. */
    assert_int_equal(ask(rig, "nobody", "fakepassword"), PASSWORD_WRONG);
    rig->config.n_users = 0;
    assert_int_equal(ask(rig, "nobody", "fakepassword"), PASSWORD_WRONG);
}

TEST_ON(test_never_waits, struct rig *rig, start, stop)
{
    assert_int_equal(passwords_recall(rig->passwords, &rig->config, "alice", "secret"),
                     PASSWORD_WRONG);
    assert_int_equal(passwords_checked(rig->passwords), 0);
    assert_int_equal(ask(rig, "alice", "secret"), PASSWORD_RIGHT);
    assert_int_equal(passwords_recall(rig->passwords, &rig->config, "alice", "secret"),
                     PASSWORD_RIGHT);
    char longest[BCRYPT_PASSWORD_SIZE + 1];
    memset(longest, 'x', sizeof longest);
    longest[BCRYPT_PASSWORD_SIZE] = '\0';
    assert_int_equal(ask(rig, "alice", longest), PASSWORD_WRONG);
    assert_int_equal(passwords_checked(rig->passwords), 1);
}

/* However many wrong passwords are tried, who was right is not asked to wait again. */
TEST_ON(test_wrong_ones_push_out_no_right_ones, struct rig *rig, start, stop)
{
    assert_int_equal(ask(rig, "alice", "secret"), PASSWORD_RIGHT);
    for (int i = 0; i < 3 * PASSWORDS_REMEMBERED; i++) {
        char password[32];
        snprintf(password, sizeof password, "wrong %d", i);
        assert_int_equal(ask(rig, "alice", password), PASSWORD_WRONG);
    }
    uint64_t before = passwords_checked(rig->passwords);
    assert_int_equal(before, 1 + 3 * PASSWORDS_REMEMBERED);
    assert_int_equal(ask(rig, "alice", "secret"), PASSWORD_RIGHT);
    assert_int_equal(passwords_checked(rig->passwords), before);
}

TEST_ON(test_turns, struct rig *rig, start, stop)
{
    struct request greedy[3] = {{rig, "greedy 0"}, {rig, "greedy 1"}, {rig, "greedy 2"}};
    struct request honest = {rig, "honest"}, twin = {rig, "twin"};
    pthread_mutex_lock(&checking);
    assert_int_equal(ask_once(rig, "alice", "0", 7, &greedy[0]), PASSWORD_WAIT);
    assert_int_equal(ask_once(rig, "alice", "1", 7, &greedy[1]), PASSWORD_WAIT);
    /* Two of one peer are enough; nobody else is concerned, and the same question costs nothing. */
    assert_int_equal(ask_once(rig, "alice", "2", 7, &greedy[2]), PASSWORD_BUSY);
    assert_int_equal(ask_once(rig, "bob", "secret", 8, &honest), PASSWORD_WAIT);
    assert_int_equal(ask_once(rig, "bob", "secret", 7, &twin), PASSWORD_WAIT);
    pthread_mutex_unlock(&checking);
    wait_for(rig, 4);
    /* The peer's second one comes after the other peer, which came last. */
    assert_string_equal(rig->order[0], "greedy 0");
    assert_string_equal(rig->order[1], "honest");
    assert_string_equal(rig->order[2], "twin");
    assert_string_equal(rig->order[3], "greedy 1");
    assert_int_equal(passwords_checked(rig->passwords), 3);
    assert_int_equal(ask_once(rig, "bob", "secret", 7, &twin), PASSWORD_RIGHT);
}

TEST_ON(test_full, struct rig *rig, start, stop)
{
    static struct request requests[PASSWORDS_CHECKS + 1];
    int busy = 0;
    pthread_mutex_lock(&checking);
    for (int i = 0; i <= PASSWORDS_CHECKS; i++) {
        char password[32];
        snprintf(password, sizeof password, "%d", i);
        requests[i] = (struct request){rig, "any"};
        busy += ask_once(rig, "alice", password, (uint64_t)i, &requests[i]) == PASSWORD_BUSY;
    }
    assert_int_equal(busy, 1);
    /* All that wait are told at once; the one that runs ends. */
    pthread_mutex_unlock(&checking);
    passwords_stop(rig->passwords);
    assert_int_equal(rig->resumed, PASSWORDS_CHECKS);
    assert_int_equal(ask_once(rig, "bob", "secret", 1, &requests[0]), PASSWORD_BUSY);
}

TEST_ON(test_many_wait_for_one, struct rig *rig, start, stop)
{
    static struct request requests[PASSWORDS_WAITING + 1];
    pthread_mutex_lock(&checking);
    for (int i = 0; i < PASSWORDS_WAITING; i++) {
        requests[i] = (struct request){rig, "any"};
        assert_int_equal(ask_once(rig, "alice", "x", 3, &requests[i]), PASSWORD_WAIT);
    }
    requests[PASSWORDS_WAITING] = (struct request){rig, "any"};
    assert_int_equal(ask_once(rig, "alice", "x", 3, &requests[PASSWORDS_WAITING]), PASSWORD_BUSY);
    pthread_mutex_unlock(&checking);
    wait_for(rig, PASSWORDS_WAITING);
    assert_int_equal(passwords_checked(rig->passwords), 1);
}
