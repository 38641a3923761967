/* What the kernel holds for the connections of a port on this machine. */
#ifndef IE_TESTS_TCP_MEMORY_H
#define IE_TESTS_TCP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tcp_memory {
    size_t sockets;      /* also those that no process holds any more */
    size_t bytes;        /* charged to them: both directions, with the kernel's overhead */
    size_t unsent_bytes; /* of these: data that the other side has not taken */
};

/* All IPv4 connections with this local port, but not the listening socket. False when the kernel
 * does not tell. */
bool tcp_memory_read(uint16_t port, struct tcp_memory *out);

#endif
