#include "exporter/inspect/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/inspect/question.h"
#include "exporter/service/channel.h"
#include "exporter/source/accesses/own_reader.h"
#include "exporter/source/pmem/pmem.h"

/* Files to read, memory of others, datagrams, memory of one's own, clocks, and the end. */
const char worker_calls[] =
    "openat read pread64 lseek close newfstatat fstat statx access faccessat faccessat2 readlink "
    "readlinkat getdents64 fcntl "
    "process_vm_readv ioctl sendto recvfrom sendmsg recvmsg brk mmap munmap mremap mprotect "
    "madvise "
    "memfd_create clock_gettime futex getrandom getpid gettid rt_sigaction rt_sigprocmask "
    "rt_sigreturn restart_syscall sigaltstack tgkill write exit exit_group";

struct worker {
    struct worker_config config;
    struct process_reader *reader;
    struct pmem *pmem; /* NULL: another rule is configured */
    bool maps_open;
    const char *held; /* a piece that did not fit into the last answer; NULL: none */
    size_t held_len;
    uint8_t in[QUESTION_BYTES], out[ANSWER_BYTES];
};

/* ---- maps ---- */

static void close_maps(struct worker *worker)
{
    if (worker->maps_open)
        worker->reader->ops->close_maps(worker->reader);
    worker->maps_open = false;
    worker->held = NULL;
}

/* As many pieces as fit: 1, 0 when it was the last one, or -errno. */
static int collect_maps(struct worker *worker, uint8_t *out, size_t *len)
{
    int more = worker->maps_open ? 1 : -EINVAL;
    while (more > 0) {
        if (!worker->held)
            more = worker->reader->ops->next_maps(worker->reader, &worker->held, &worker->held_len);
        if (more <= 0)
            break;
        if (worker->held_len > ANSWER_TEXT_BYTES - *len)
            return 1;
        memcpy(out + *len, worker->held, worker->held_len);
        *len += worker->held_len;
        worker->held = NULL;
    }
    close_maps(worker);
    return more;
}

static int open_maps(struct worker *worker, uint32_t number)
{
    close_maps(worker);
    int err = worker->reader->ops->open_maps(worker->reader, number);
    worker->maps_open = err == 0;
    return err;
}

/* ---- answers ---- */

static int read_code(struct worker *worker, const struct question *question, uint8_t *out,
                     size_t *len)
{
    int n = worker->reader->ops->code(worker->reader, question->number, question->address, out);
    *len = n > 0 ? (size_t)n : 0;
    return n;
}

static int is_wide(struct worker *worker, uint32_t number)
{
    bool wide;
    int err = worker->reader->ops->is_wide(worker->reader, number, &wide);
    return err ? err : wide;
}

static int refresh(struct medium_rule *rule)
{
    if (rule->refresh)
        rule->refresh(rule);
    return 0;
}

static int answer(struct worker *worker, const struct question *question, uint8_t *out, size_t *len)
{
    struct medium_rule *rule = worker->config.rule;
    int err;
    switch (question->kind) {
    case QUESTION_MAPS:
        err = open_maps(worker, question->number);
        return err ? err : collect_maps(worker, out, len);
    case QUESTION_MORE:
        return collect_maps(worker, out, len);
    case QUESTION_CODE:
        return read_code(worker, question, out, len);
    case QUESTION_WIDTH:
        return is_wide(worker, question->number);
    case QUESTION_MEDIUM:
        return (int)rule->mapping(rule, (pid_t)question->number, &question->line, question->access);
    case QUESTION_REFRESH:
        return refresh(rule);
    }
    return -EINVAL;
}

/* Who asks cannot name this process in a procfs of another PID namespace: it gets the file. */
static int greet(const struct worker_config *config)
{
    const uint8_t nothing[GREETING_BYTES] = {0};
    int state = fsroot_open(config->fs, FSROOT_PROC, "self/stat", O_RDONLY);
    int err = channel_send(config->channel, nothing, sizeof nothing, &state, state >= 0 ? 1 : 0);
    if (state >= 0)
        close(state);
    return err;
}

static int serve(struct worker *worker)
{
    for (;;) {
        struct question question;
        struct answer reply = {0};
        ssize_t n = recv(worker->config.channel, worker->in, sizeof worker->in, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        reply.result = question_read(worker->in, (size_t)n, &question);
        if (reply.result == 0)
            reply.result = answer(worker, &question, worker->out + ANSWER_HEAD, &reply.len);
        reply.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        size_t len = answer_write(&reply, worker->out);
        while ((n = send(worker->config.channel, worker->out, len, MSG_NOSIGNAL)) < 0 &&
               errno == EINTR)
            ;
        if (n < 0)
            return errno == EPIPE ? 0 : -errno; /* nobody waits for it any more */
    }
}

int worker_run(const struct worker_config *config)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return -ENOMEM;
    worker->config = *config;
    int err = greet(config);
    if (!err)
        err = own_reader_new(config->fs, &worker->reader);
    if (!err && !config->rule)
        err = pmem_new(config->fs, &pmem_files_linux, &worker->pmem);
    if (worker->pmem)
        worker->config.rule = pmem_rule(worker->pmem);
    if (!err)
        err = serve(worker);
    close_maps(worker);
    pmem_free(worker->pmem);
    own_reader_free(worker->reader);
    free(worker);
    return err;
}
