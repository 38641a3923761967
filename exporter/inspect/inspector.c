#include "exporter/inspect/inspector.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/base/process_stat.h"
#include "exporter/inspect/question.h"
#include "exporter/inspect/warden.h"
#include "exporter/service/channel.h"
#include "exporter/service/privileges.h"
#include "exporter/service/supervisor.h"

struct inspector {
    struct process_reader reader; /* first */
    struct medium_rule rule;
    pid_t warden;
    int control; /* to the warden */
    int worker;  /* -1: none is known */
    pid_t worker_pid;
    bool greeted;     /* it has begun: what it waits for may be what it looks at */
    int state;        /* its line of proc(5); -1: not known */
    uint64_t look_ns; /* not for another one before this */
    bool may_read, may_identify, may_search; /* the workers */
    uint64_t cpu_ns, worker_cpu_ns;          /* of all; of this one */
    _Atomic uint64_t unanswered, hung;
    struct answer maps; /* the piece to be handed out next, in 'in' */
    bool has_maps;
    uint8_t in[ANSWER_BYTES], out[QUESTION_BYTES];
};

static struct inspector *self_of(struct process_reader *reader)
{
    return (struct inspector *)reader;
}

/* ---- the worker ---- */

static void forget_worker(struct inspector *self)
{
    close(self->worker);
    if (self->state >= 0)
        close(self->state);
    self->worker = self->state = -1;
    self->greeted = false;
    self->cpu_ns += self->worker_cpu_ns;
    self->worker_cpu_ns = 0;
    self->has_maps = false;
}

static bool take_worker(struct inspector *self)
{
    struct warden_message message;
    const struct timeval deadline = {.tv_usec = INSPECT_DEADLINE_MS * 1000};
    size_t n_fds = 1;
    uint64_t now_ns = clock_mono_ns();
    if (now_ns < self->look_ns)
        return false;
    self->look_ns = now_ns + 1000000;
    int n = channel_receive(self->control, 0, &message, sizeof message, &self->worker, &n_fds);
    if (n != (int)sizeof message || n_fds != 1) {
        self->worker = -1;
        return false;
    }
    self->worker_pid = message.worker;
    if (setsockopt(self->worker, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline) == 0)
        return true;
    forget_worker(self);
    return false;
}

/* One thread counts, others look. */
static void count(_Atomic uint64_t *counter)
{
    uint64_t n = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, n + 1, memory_order_relaxed);
}

static int give_up(struct inspector *self, bool hung)
{
    const struct warden_message message = {.worker = self->worker_pid};
    count(&self->unanswered);
    if (hung) {
        count(&self->hung);
        channel_send(self->control, &message, sizeof message, NULL, 0);
    }
    forget_worker(self);
    return -EAGAIN;
}

/* ---- questions ---- */

/* The worker's greeting: what tells its state. 0 or -errno, -ETIMEDOUT before it has begun. */
static int receive_greeting(struct inspector *self)
{
    uint8_t nothing[GREETING_BYTES];
    int state = -1;
    size_t n_fds = 1;
    int n =
        channel_receive(self->worker, INSPECT_DEADLINE_MS, nothing, sizeof nothing, &state, &n_fds);
    if (n < 0)
        return n;
    if (n_fds == 1)
        self->state = state;
    self->greeted = true;
    return n == (int)sizeof nothing ? 0 : -EPROTO;
}

/* Whether it would answer if it had a CPU. Until it has begun it waits for nothing else. */
static bool waits_for_cpu(const struct inspector *self)
{
    char text[PROCESS_STAT_BYTES], state;
    return !self->greeted ||
           (self->state >= 0 && fsroot_read_fd(self->state, text, sizeof text, NULL) == 0 &&
            process_state(text, &state) == 0 && state == 'R');
}

/* The answer's length; 0 at the end; -ETIMEDOUT; other -errno. */
static ssize_t receive_answer(struct inspector *self, int flags)
{
    ssize_t n = recv(self->worker, self->in, sizeof self->in, flags);
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EWOULDBLOCK ? -ETIMEDOUT : -errno;
}

/* As receive_answer(). */
static ssize_t receive(struct inspector *self)
{
    const uint64_t end_ns = clock_mono_ns() + INSPECT_PATIENCE_MS * UINT64_C(1000000);
    for (;;) {
        ssize_t n = self->greeted ? 0 : receive_greeting(self);
        if (n == 0)
            n = receive_answer(self, 0);
        if (n != -ETIMEDOUT && n != -EINTR)
            return n;
        /* Who sleeps now may have answered just after the wait was over. */
        if (n == -ETIMEDOUT && (clock_mono_ns() >= end_ns || !waits_for_cpu(self)))
            return self->greeted ? receive_answer(self, MSG_DONTWAIT) : n;
    }
}

/* 0 with *answer, whose bytes are valid until the next question; -EAGAIN. */
static int ask(struct inspector *self, const struct question *question, struct answer *answer)
{
    int len = question_write(question, self->out);
    if (len < 0)
        return len;
    if (self->worker < 0 && !take_worker(self))
        return -EAGAIN;
    if (channel_send(self->worker, self->out, (size_t)len, NULL, 0) != 0)
        return give_up(self, false);
    ssize_t n = receive(self);
    if (n == -ETIMEDOUT)
        return give_up(self, true);
    if (n <= 0 || answer_read(self->in, (size_t)n, answer) != 0)
        return give_up(self, false);
    self->worker_cpu_ns = answer->cpu_ns;
    return 0;
}

static int ask_maps(struct inspector *self, const struct question *question)
{
    int err = ask(self, question, &self->maps);
    if (!err && self->maps.result < 0)
        err = self->maps.result;
    self->has_maps = !err;
    return err;
}

static int open_maps(struct process_reader *reader, uint32_t number)
{
    const struct question question = {.kind = QUESTION_MAPS, .number = number};
    return ask_maps(self_of(reader), &question);
}

static int next_maps(struct process_reader *reader, const char **text, size_t *len)
{
    const struct question question = {.kind = QUESTION_MORE};
    struct inspector *self = self_of(reader);
    if (!self->has_maps) {
        int err = self->maps.result > 0 ? ask_maps(self, &question) : 0;
        if (err || !self->has_maps)
            return err;
    }
    self->has_maps = false;
    *text = (const char *)self->maps.bytes;
    *len = self->maps.len;
    return self->maps.len > 0;
}

static void close_maps(struct process_reader *reader)
{
    self_of(reader)->has_maps = false; /* the worker closes them with the next ones */
}

static int code(struct process_reader *reader, uint32_t number, uint64_t address,
                uint8_t out[ACCESS_CODE_BYTES])
{
    const struct question question = {.kind = QUESTION_CODE, .number = number, .address = address};
    struct answer answer;
    int err = ask(self_of(reader), &question, &answer);
    if (err || answer.result <= 0)
        return err ? err : answer.result;
    if (answer.len > ACCESS_CODE_BYTES || answer.len != (size_t)answer.result)
        return -EIO;
    memcpy(out, answer.bytes, answer.len);
    return answer.result;
}

static int is_wide(struct process_reader *reader, uint32_t number, bool *out)
{
    const struct question question = {.kind = QUESTION_WIDTH, .number = number};
    struct answer answer;
    int err = ask(self_of(reader), &question, &answer);
    if (err || answer.result < 0)
        return err ? err : answer.result;
    *out = answer.result > 0;
    return 0;
}

static struct inspector *self_of_rule(struct medium_rule *rule)
{
    return (struct inspector *)((char *)rule - offsetof(struct inspector, rule));
}

static enum medium mapping(struct medium_rule *rule, pid_t pid, const struct maps_line *line,
                           enum access access)
{
    const struct question question = {
        .kind = QUESTION_MEDIUM, .number = (uint32_t)pid, .line = *line, .access = access};
    struct answer answer;
    int err = ask(self_of_rule(rule), &question, &answer);
    return !err && answer.result >= 0 && answer.result < MEDIA ? (enum medium)answer.result
                                                               : MEDIUM_UNKNOWN;
}

static void refresh(struct medium_rule *rule)
{
    const struct question question = {.kind = QUESTION_REFRESH};
    struct answer answer;
    (void)ask(self_of_rule(rule), &question, &answer); /* a new worker knows nothing old */
}

/* ---- what is known of it ---- */

static bool may(const struct process_reader *reader, int capability)
{
    const struct inspector *self = (const struct inspector *)reader;
    return capability == CAP_SYS_PTRACE        ? self->may_read
           : capability == CAP_DAC_READ_SEARCH ? self->may_search
                                               : self->may_identify;
}

static bool is_ready(struct process_reader *reader)
{
    struct inspector *self = self_of(reader);
    return self->worker >= 0 || take_worker(self);
}

static uint64_t unanswered(const struct process_reader *reader, uint64_t *hung)
{
    const struct inspector *self = (const struct inspector *)reader;
    *hung = atomic_load_explicit(&self->hung, memory_order_relaxed);
    return atomic_load_explicit(&self->unanswered, memory_order_relaxed);
}

static uint64_t cpu_ns(const struct process_reader *reader)
{
    const struct inspector *self = (const struct inspector *)reader;
    return self->cpu_ns + self->worker_cpu_ns;
}

static const struct process_reader_ops ops = {
    .open_maps = open_maps,
    .next_maps = next_maps,
    .close_maps = close_maps,
    .code = code,
    .is_wide = is_wide,
    .may = may,
    .is_ready = is_ready,
    .unanswered = unanswered,
    .cpu_ns = cpu_ns,
};

struct process_reader *inspector_reader(struct inspector *inspector)
{
    return &inspector->reader;
}

struct medium_rule *inspector_rule(struct inspector *inspector)
{
    return &inspector->rule;
}

bool inspector_is_lost(const struct inspector *inspector)
{
    struct pollfd end = {.fd = inspector->control, .events = POLLRDHUP};
    return poll(&end, 1, 0) > 0 && (end.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* ---- life ---- */

static void init(struct inspector *self)
{
    self->reader.ops = &ops;
    self->rule = (struct medium_rule){.mapping = mapping, .refresh = refresh};
    self->worker = self->state = -1;
    self->may_read = privileges_has(CAP_SYS_PTRACE);
    self->may_search = privileges_has(CAP_DAC_READ_SEARCH);
    self->may_identify = privileges_has(CAP_CHECKPOINT_RESTORE) || privileges_has(CAP_SYS_ADMIN);
}

int inspector_fork(const struct fsroot *fs, struct medium_rule *rule, const struct log *log,
                   struct inspector **out, int *status)
{
    int control;
    pid_t warden;
    struct inspector *self = calloc(1, sizeof *self);
    int err = self ? supervisor_fork(&control, &warden) : -ENOMEM;
    if (err > 0) {
        free(self);
        *status = warden_run(control, fs, rule, log);
        return 1;
    }
    if (err) {
        free(self);
        return err;
    }
    init(self);
    self->warden = warden;
    self->control = control;
    *out = self;
    return 0;
}

void inspector_free(struct inspector *inspector)
{
    if (!inspector)
        return;
    if (inspector->worker >= 0)
        forget_worker(inspector);
    close(inspector->control);
    supervisor_wait(inspector->warden, 1000); /* it ends by itself, or with this process */
    free(inspector);
}
