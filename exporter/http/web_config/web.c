#include "exporter/http/web_config/web.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/clock.h"

/* ---- tries ---- */

/* What is missing in the bucket, in time: full_ns - now_ns. A token fits as long as with it no more
 * than 'burst' are missing. */
bool web_limit_take(struct web_limit *limit, uint64_t now_ns)
{
    unsigned __int128 most = (unsigned __int128)limit->interval_ns * limit->burst;
    if (limit->interval_ns == 0)
        return true;
    uint64_t missing = limit->full_ns > now_ns ? limit->full_ns - now_ns : 0;
    if ((unsigned __int128)missing + limit->interval_ns > most)
        return false;
    limit->full_ns = now_ns + missing + limit->interval_ns;
    return true;
}

enum { WORDS_SIZE = 512 };

struct web {
    const struct log *log;
    char *path;
    bool tls;
    struct passwords *passwords;
    pthread_mutex_t lock; /* what follows is under it */
    struct web_limit limit;
    struct web_stamp stamp;
    struct web_snapshot *snapshot; /* NULL: the file is wrong */
    struct web_credentials *credentials;
    char wrong[WORDS_SIZE], wrong_tls[WORDS_SIZE]; /* logged already; "": nothing is wrong */
};

/* ---- the file ---- */

/* "certs/a.pem" in /etc/web.yml is /etc/certs/a.pem. */
static int join(const char *path, char **file)
{
    const char *slash = strrchr(path, '/');
    if (!*file || **file == '/' || !slash)
        return 0;
    char *joined;
    if (asprintf(&joined, "%.*s/%s", (int)(slash - path), path, *file) < 0)
        return -ENOMEM;
    free(*file);
    *file = joined;
    return 0;
}

static int join_files(const char *path, struct web_tls *tls)
{
    int err = join(path, &tls->cert_file);
    if (!err)
        err = join(path, &tls->key_file);
    return err ? err : join(path, &tls->client_ca_file);
}

static int parse(const char *path, const struct web_text *text, struct web_snapshot **out,
                 char *error, size_t error_size)
{
    struct web_snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (!snapshot)
        return -ENOMEM;
    int err = web_config_parse(text->bytes, text->len, &snapshot->config, error, error_size);
    if (err) {
        free(snapshot);
        return err;
    }
    atomic_init(&snapshot->refs, 1);
    err = join_files(path, &snapshot->config.tls);
    if (err)
        web_snapshot_unref(snapshot);
    else
        *out = snapshot;
    return err;
}

/* error: "PATH: what is wrong". */
static int read_config(const char *path, struct web_snapshot **out, struct web_stamp *stamp,
                       char *error, size_t error_size)
{
    char why[WORDS_SIZE - 128] = "out of memory";
    struct web_text text = {0};
    *stamp = (struct web_stamp){0};
    int err = web_file_read(path, &text, stamp);
    if (err)
        snprintf(why, sizeof why, "%s", strerror(-err));
    else
        err = parse(path, &text, out, why, sizeof why);
    web_text_release(&text);
    if (err)
        snprintf(error, error_size, "%s: %s", path, why);
    return err;
}

/* Once for each new trouble, and once when it is over. Under the lock. */
static void say(struct web *web, char *said, const char *error)
{
    if (strcmp(said, error) == 0)
        return;
    if (*error)
        log_error(web->log, "web", "%s", error);
    else
        log_info(web->log, "web", "%s is used again", web->path);
    snprintf(said, WORDS_SIZE, "%s", error);
}

/* Under the lock. */
static void refresh(struct web *web)
{
    char error[WORDS_SIZE] = "";
    struct web_snapshot *snapshot = NULL;
    if (web_file_unchanged(web->path, &web->stamp))
        return;
    read_config(web->path, &snapshot, &web->stamp, error, sizeof error);
    say(web, web->wrong, error);
    web_snapshot_unref(web->snapshot);
    web->snapshot = snapshot;
}

struct web_snapshot *web_snapshot_get(struct web *web)
{
    pthread_mutex_lock(&web->lock);
    refresh(web);
    struct web_snapshot *snapshot = web->snapshot;
    if (snapshot)
        web_snapshot_ref(snapshot);
    pthread_mutex_unlock(&web->lock);
    return snapshot;
}

/* ---- sessions ---- */

/* On the thread of the session. */
static void client_refused(void *context, const char *why)
{
    const struct web *web = context;
    log_warn(web->log, "web", "client certificate refused: %s", why);
}

static int no_tls(char *error, size_t error_size)
{
    snprintf(error, error_size, "tls_server_config is no longer there: every connection fails");
    return -EINVAL;
}

/* Under the lock. */
static void refresh_credentials(struct web *web)
{
    struct web_credentials *fresh = NULL;
    char why[WORDS_SIZE - 128], error[WORDS_SIZE] = "";
    refresh(web);
    if (web->snapshot && web->credentials && web_credentials_fresh(web->credentials, web->snapshot))
        return;
    web_credentials_unref(web->credentials);
    web->credentials = NULL;
    if (!web->snapshot)
        return;
    int err = web_tls_wanted(&web->snapshot->config.tls)
                  ? web_credentials_new(web->snapshot, client_refused, web, &fresh, why, sizeof why)
                  : no_tls(why, sizeof why);
    if (err)
        snprintf(error, sizeof error, "%s: %s", web->path, why);
    say(web, web->wrong_tls, error);
    web->credentials = fresh;
}

struct web_credentials *web_session_begin(struct web *web, gnutls_session_t session)
{
    pthread_mutex_lock(&web->lock);
    refresh_credentials(web);
    struct web_credentials *credentials = web->credentials;
    if (credentials)
        web_credentials_ref(credentials);
    pthread_mutex_unlock(&web->lock);
    if (credentials && web_credentials_begin(credentials, session)) {
        web_credentials_unref(credentials);
        credentials = NULL;
    }
    return credentials;
}

int web_no_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                       gnutls_pcert_st **certificates, unsigned *n, gnutls_ocsp_data_st **ocsp,
                       unsigned *n_ocsp, gnutls_privkey_t *key, unsigned *flags)
{
    (void)session;
    (void)info;
    (void)certificates;
    (void)n;
    (void)ocsp;
    (void)n_ocsp;
    (void)key;
    (void)flags;
    return -1;
}

/* ---- the whole ---- */

bool web_has_tls(const struct web *web)
{
    return web->tls;
}

bool web_admits(struct web *web)
{
    pthread_mutex_lock(&web->lock);
    bool admitted = web_limit_take(&web->limit, clock_mono_ns());
    pthread_mutex_unlock(&web->lock);
    return admitted;
}

struct passwords *web_passwords(struct web *web)
{
    return web->passwords;
}

/* What must be right at the start: the file, the hashes, what TLS needs. */
static int check_all(struct web *web, char *error, size_t error_size)
{
    char why[WORDS_SIZE - 128];
    const struct web_config *config = &web->snapshot->config;
    int err = web_users_check(config, why, sizeof why);
    web->tls = web_tls_wanted(&config->tls);
    if (!err && web->tls)
        err = web_credentials_new(web->snapshot, client_refused, web, &web->credentials, why,
                                  sizeof why);
    if (err)
        snprintf(error, error_size, "%s: %s", web->path, why);
    return err;
}

static void announce(const struct web *web)
{
    const struct web_config *config = &web->snapshot->config;
    log_info(web->log, "web", "%s: TLS %s, %zu users%s", web->path, web->tls ? "on" : "off",
             config->n_users, config->limit_interval_ns ? ", rate limit" : "");
    if (config->n_users && !web->tls)
        log_warn(web->log, "web",
                 "%s asks for passwords without TLS: they cross the network as plain text",
                 web->path);
}

int web_new(const char *path, const struct passwords_ops *ops, const struct log *log,
            struct web **out, char *error, size_t error_size)
{
    struct web *web = calloc(1, sizeof *web);
    snprintf(error, error_size, "out of memory");
    if (!web)
        return -ENOMEM;
    int err = -pthread_mutex_init(&web->lock, NULL);
    if (err) {
        free(web);
        return err;
    }
    web->log = log;
    web->path = strdup(path);
    if (!web->path)
        err = -ENOMEM;
    else
        err = read_config(path, &web->snapshot, &web->stamp, error, error_size) ? -EINVAL : 0;
    if (!err)
        err = check_all(web, error, error_size);
    if (!err && (err = passwords_new(ops, &web->passwords)))
        snprintf(error, error_size, "cannot check passwords: %s", strerror(-err));
    if (err) {
        web_free(web);
        return err;
    }
    web->limit = (struct web_limit){.interval_ns = web->snapshot->config.limit_interval_ns,
                                    .burst = web->snapshot->config.limit_burst};
    announce(web);
    *out = web;
    return 0;
}

void web_free(struct web *web)
{
    if (!web)
        return;
    passwords_free(web->passwords);
    web_credentials_unref(web->credentials);
    web_snapshot_unref(web->snapshot);
    pthread_mutex_destroy(&web->lock);
    free(web->path);
    free(web);
}
