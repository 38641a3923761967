/* The keeper and the server, as they run in their processes; for front.c. */
#ifndef IE_FRONT_KEEPER_H
#define IE_FRONT_KEEPER_H

#include "exporter/base/log.h"
#include "exporter/front/server_counts.h"

/* What the keeper gives up before anything else, and the server on top of it as soon as it serves.
 * For good. With a web config they keep their user, whose files it names, and read its directories.
 * Bits of enum confined. */
unsigned keeper_confine(const char *web_config_file);
unsigned server_confine(const char *web_config_file);

/* 'control' is to the reader: the start comes from there; at its end all is over. 'dispatcher' is
 * the server's; the file may be NULL. Until the reader is gone; in a server that it forked, until
 * that has ended. Returns the process's status; descriptors are left to its end. */
int keeper_run(int control, int dispatcher, struct server_counts *counts,
               const char *web_config_file, const struct log *log);

#endif
