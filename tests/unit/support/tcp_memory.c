#include "tests/unit/support/tcp_memory.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool ask(int fd)
{
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } message = {
        .header = {.nlmsg_len = sizeof message,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .request = {.sdiag_family = AF_INET,
                    .sdiag_protocol = IPPROTO_TCP,
                    .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
                    .idiag_states = ~(1u << TCP_LISTEN)},
    };
    return send(fd, &message, sizeof message, 0) == (ssize_t)sizeof message;
}

static void add_socket(const struct nlmsghdr *header, uint16_t port, struct tcp_memory *out)
{
    struct inet_diag_msg *socket = NLMSG_DATA(header);
    if (socket->id.idiag_sport != htons(port))
        return;
    out->sockets++;
    out->unsent_bytes += socket->idiag_wqueue;
    unsigned len = header->nlmsg_len - (unsigned)NLMSG_LENGTH(sizeof *socket);
    for (struct rtattr *at = (struct rtattr *)(socket + 1); RTA_OK(at, len);
         at = RTA_NEXT(at, len)) {
        if (at->rta_type != INET_DIAG_SKMEMINFO)
            continue;
        uint32_t memory[SK_MEMINFO_VARS] = {0};
        size_t size = RTA_PAYLOAD(at);
        memcpy(memory, RTA_DATA(at), size < sizeof memory ? size : sizeof memory);
        out->bytes += memory[SK_MEMINFO_RMEM_ALLOC] + memory[SK_MEMINFO_FWD_ALLOC] +
                      memory[SK_MEMINFO_WMEM_QUEUED] + memory[SK_MEMINFO_OPTMEM] +
                      memory[SK_MEMINFO_BACKLOG];
    }
}

bool tcp_memory_read(uint16_t port, struct tcp_memory *out)
{
    static char bytes[65536] __attribute__((aligned(8)));
    *out = (struct tcp_memory){0};
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    bool more = fd >= 0 && ask(fd), whole = false;
    while (more) {
        ssize_t n = recv(fd, bytes, sizeof bytes, 0);
        more = n > 0;
        unsigned len = more ? (unsigned)n : 0;
        for (struct nlmsghdr *at = (struct nlmsghdr *)bytes; NLMSG_OK(at, len);
             at = NLMSG_NEXT(at, len)) {
            whole |= at->nlmsg_type == NLMSG_DONE;
            if (at->nlmsg_type == NLMSG_DONE || at->nlmsg_type == NLMSG_ERROR)
                more = false;
            else
                add_socket(at, port, out);
        }
    }
    if (fd >= 0)
        close(fd);
    return whole;
}
