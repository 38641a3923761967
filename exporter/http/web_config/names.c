#include "exporter/http/web_config/config.h"

#include <string.h>

#include "exporter/base/textbuf.h"

const struct web_suite web_suites[WEB_SUITES] = {
    {"TLS_AES_128_GCM_SHA256", "AES-128-GCM", WEB_KEY_ANY, WEB_TLS13},
    {"TLS_AES_256_GCM_SHA384", "AES-256-GCM", WEB_KEY_ANY, WEB_TLS13},
    {"TLS_CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305", WEB_KEY_ANY, WEB_TLS13},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "AES-128-GCM", WEB_KEY_ECDSA, WEB_TLS12},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "AES-128-GCM", WEB_KEY_RSA, WEB_TLS12},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "AES-256-GCM", WEB_KEY_ECDSA, WEB_TLS12},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "AES-256-GCM", WEB_KEY_RSA, WEB_TLS12},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305", WEB_KEY_ECDSA,
     WEB_TLS12},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305", WEB_KEY_RSA, WEB_TLS12},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "AES-128-CBC", WEB_KEY_ECDSA, WEB_TLS10},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "AES-128-CBC", WEB_KEY_RSA, WEB_TLS10},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "AES-256-CBC", WEB_KEY_ECDSA, WEB_TLS10},
    {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "AES-256-CBC", WEB_KEY_RSA, WEB_TLS10},
};

const struct web_name web_curves[WEB_CURVES] = {
    {"CurveP256", "GROUP-SECP256R1"},
    {"CurveP384", "GROUP-SECP384R1"},
    {"CurveP521", "GROUP-SECP521R1"},
    {"X25519", "GROUP-X25519"},
};

const struct web_name web_versions[WEB_VERSIONS] = {
    [WEB_TLS10] = {"TLS10", "VERS-TLS1.0"},
    [WEB_TLS11] = {"TLS11", "VERS-TLS1.1"},
    [WEB_TLS12] = {"TLS12", "VERS-TLS1.2"},
    [WEB_TLS13] = {"TLS13", "VERS-TLS1.3"},
};

static void add(struct textbuf *out, const char *word)
{
    textbuf_str(out, ":+");
    textbuf_str(out, word);
}

/* Suites of that key in the order of the list, or of the table. Returns how many. */
static size_t add_suites(struct textbuf *out, const struct web_tls *tls, enum web_key key,
                         enum web_tls_version newest)
{
    size_t n = tls->n_suites ? tls->n_suites : WEB_SUITES, added = 0;
    for (size_t i = 0; i < n; i++) {
        const struct web_suite *suite = &web_suites[tls->n_suites ? tls->suites[i] : i];
        if (suite->key != key || suite->from > newest)
            continue;
        add(out, suite->cipher);
        added++;
    }
    return added;
}

static void add_all_of_tls13(struct textbuf *out)
{
    for (size_t i = 0; i < WEB_SUITES; i++)
        if (web_suites[i].key == WEB_KEY_ANY)
            add(out, web_suites[i].cipher);
}

static void add_curves(struct textbuf *out, const struct web_tls *tls)
{
    if (tls->n_curves == 0)
        return;
    textbuf_str(out, ":-GROUP-ALL");
    for (size_t i = 0; i < tls->n_curves; i++)
        add(out, web_curves[tls->curves[i]].gnutls);
}

bool web_priority(const struct web_tls *tls, enum web_key key, enum web_tls_version up_to,
                  char out[WEB_PRIORITY_SIZE])
{
    char ciphers[WEB_PRIORITY_SIZE];
    struct textbuf listed, text;
    enum web_tls_version newest = up_to < tls->max_version ? up_to : tls->max_version;
    enum web_tls_version oldest = tls->min_version;
    textbuf_init_fixed(&listed, ciphers, sizeof ciphers);
    textbuf_str(&listed, "");
    if (add_suites(&listed, tls, key, newest < WEB_TLS12 ? newest : WEB_TLS12) == 0)
        oldest = WEB_TLS13;
    out[0] = '\0';
    if (oldest > newest)
        return false;
    textbuf_init_fixed(&text, out, WEB_PRIORITY_SIZE);
    textbuf_str(&text, "NORMAL:-VERS-ALL:-KX-ALL:-CIPHER-ALL:-MAC-ALL:+AEAD:+SHA1");
    add(&text, key == WEB_KEY_RSA ? "ECDHE-RSA" : "ECDHE-ECDSA");
    for (int version = newest; version >= (int)oldest; version--)
        add(&text, web_versions[version].gnutls);
    textbuf_str(&text, ciphers);
    if (newest == WEB_TLS13)
        add_all_of_tls13(&text);
    add_curves(&text, tls);
    if (tls->prefer_server)
        textbuf_str(&text, ":%SERVER_PRECEDENCE");
    return textbuf_finish(&text) == 0;
}
