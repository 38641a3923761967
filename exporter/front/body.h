/*
 * Bodies of answers in the server's process: the reader's sealed files, mapped read-only.
 */
#ifndef IE_FRONT_BODY_H
#define IE_FRONT_BODY_H

#include <stddef.h>

struct body;
struct body_cache;

/* Bodies that are being sent: one mapping for each, however many clients read it. */
int body_cache_new(struct body_cache **out);
/* Every body must have been released. Accepts NULL. */
void body_cache_free(struct body_cache *cache);

/* Maps a sealed file, or takes the mapping that is there already; the caller still owns fd.
 * -EBADMSG unless it is one, and 'len' long. Any thread. */
int body_map(struct body_cache *cache, int fd, size_t len, struct body **out);
const void *body_bytes(const struct body *body);
/* void for http_response.release. Any thread. */
void body_release(void *body);

#endif
