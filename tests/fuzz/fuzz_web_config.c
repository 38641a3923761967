/* --web.config.file: an accepted file is usable; a refused one has one line of explanation. */
#include "exporter/http/web_config/config.h"
#include "tests/fuzz/fuzz.h"

static void check_use(const struct web_config *config)
{
    char error[256] = "", text[WEB_PRIORITY_SIZE];
    const struct web_tls *tls = &config->tls;
    if (web_tls_check(tls, error, sizeof error) == 0)
        check((tls->cert || tls->cert_file) && (tls->key || tls->key_file));
    else
        check(error[0] && !strchr(error, '\n'));
    if (web_users_check(config, error, sizeof error))
        check(error[0] && !strchr(error, '\n'));
    for (size_t i = 0; i < WEB_HEADERS; i++)
        check(!config->headers[i] || !strpbrk(config->headers[i], "\r\n"));
    check(config->limit_interval_ns == 0 || config->limit_burst > 0);
    check(web_priority(tls, WEB_KEY_RSA, WEB_TLS13, text) == (text[0] != '\0'));
    check(web_priority(tls, WEB_KEY_ECDSA, WEB_TLS12, text) == (text[0] != '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct web_config config;
    char error[256] = "";
    if (web_config_parse((const char *)data, size, &config, error, sizeof error) != 0) {
        check(error[0] && !strchr(error, '\n'));
        return 0;
    }
    check_use(&config);
    web_config_release(&config);
    return 0;
}
