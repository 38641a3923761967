/* Files for --web.config.file: what they say, and what is refused, with the line. */
#include <crypt.h>

#include "exporter/http/web_config/config.h"
#include "exporter/http/web_config/credentials.h"
#include "exporter/http/web_config/passwords.h"
#include "exporter/http/web_config/web.h"
#include "tests/unit/support/unit.h"

#define HASH "$2y$04$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"

static struct web_config good(const char *text)
{
    struct web_config config;
    char error[256];
    if (web_config_parse(text, strlen(text), &config, error, sizeof error))
        fail_msg("%s\nfor %s", error, text);
    return config;
}

static void bad_bytes(const char *text, size_t len, const char *words)
{
    struct web_config config;
    char error[256] = "";
    assert_int_equal(web_config_parse(text, len, &config, error, sizeof error), -EINVAL);
    if (!strstr(error, words) || strchr(error, '\n'))
        fail_msg("\"%s\" does not say \"%s\", for\n%s", error, words, text);
}

TEST(test_whole_file)
{
    struct web_config c = good("tls_server_config:\n"
                               "  cert_file: c.pem\n"
                               "  key_file: \"/etc/key.pem\"\n"
                               "  cert: C\n"
                               "  key: |\n    K1\n    K2\n"
                               "  client_ca: A\n"
                               "  client_ca_file: ca.pem\n"
                               "  client_auth_type: RequireAndVerifyClientCert\n"
                               "  client_allowed_sans: [prometheus.example, 10.0.0.1]\n"
                               "  min_version: TLS13\n"
                               "  max_version: TLS13\n"
                               "  cipher_suites:\n"
                               "  - TLS_AES_256_GCM_SHA384\n"
                               "  - TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\n"
                               "  - TLS_AES_256_GCM_SHA384\n"
                               "  curve_preferences: [X25519, CurveP256]\n"
                               "  prefer_server_cipher_suites: false\n"
                               "http_server_config:\n"
                               "  http2: no\n"
                               "  headers:\n"
                               "    Strict-Transport-Security: max-age=31536000\n"
                               "    X-Content-Type-Options: nosniff\n"
                               "    X-Frame-Options: sameorigin\n"
                               "    X-XSS-Protection: ''\n"
                               "    Content-Security-Policy: default-src 'self'\n"
                               "rate_limit:\n  interval: 1.5s\n  burst: 7\n"
                               "basic_auth_users:\n  alice: " HASH "\n  1234: other\n");
    assert_string_equal(c.tls.cert_file, "c.pem");
    assert_string_equal(c.tls.key_file, "/etc/key.pem");
    assert_string_equal(c.tls.cert, "C");
    assert_string_equal(c.tls.key, "K1\nK2\n");
    assert_string_equal(c.tls.client_ca, "A");
    assert_string_equal(c.tls.client_ca_file, "ca.pem");
    assert_int_equal(c.tls.client_auth, WEB_CLIENT_VERIFIED);
    assert_true(c.tls.sans_given);
    assert_int_equal(c.tls.sans.n, 2);
    assert_string_equal(c.tls.sans.at[1], "10.0.0.1");
    assert_int_equal(c.tls.min_version, WEB_TLS13);
    assert_int_equal(c.tls.max_version, WEB_TLS13);
    assert_int_equal(c.tls.n_suites, 2);
    assert_string_equal(web_suites[c.tls.suites[0]].name, "TLS_AES_256_GCM_SHA384");
    assert_int_equal(c.tls.n_curves, 2);
    assert_string_equal(web_curves[c.tls.curves[0]].name, "X25519");
    assert_false(c.tls.prefer_server || c.http2);
    assert_string_equal(c.headers[WEB_STRICT_TRANSPORT_SECURITY], "max-age=31536000");
    assert_string_equal(c.headers[WEB_X_CONTENT_TYPE_OPTIONS], "nosniff");
    assert_string_equal(c.headers[WEB_X_FRAME_OPTIONS], "sameorigin");
    assert_null(c.headers[WEB_X_XSS_PROTECTION]);
    assert_string_equal(c.headers[WEB_CONTENT_SECURITY_POLICY], "default-src 'self'");
    assert_int_equal(c.limit_interval_ns, 1500000000);
    assert_int_equal(c.limit_burst, 7);
    assert_int_equal(c.n_users, 2);
    assert_string_equal(c.users[0].name, "alice");
    assert_string_equal(c.users[0].hash, HASH);
    assert_string_equal(c.users[1].name, "1234");
    web_config_release(&c);
}

TEST(test_defaults)
{
    static const char *const empty[] = {
        "",
        "# nothing\n",
        "---\n",
        "{}",
        "~",
        "tls_server_config:\n",
        "tls_server_config: {}\nhttp_server_config: null\nbasic_auth_users: ~\nrate_limit: {}\n",
        "http_server_config: {headers: }\ntls_server_config: {cipher_suites: , cert_file: ''}\n",
    };
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        struct web_config c = good(empty[i]);
        assert_false(web_tls_wanted(&c.tls));
        assert_int_equal(c.tls.min_version, WEB_TLS12);
        assert_int_equal(c.tls.max_version, WEB_TLS13);
        assert_int_equal(c.tls.client_auth, WEB_CLIENT_NONE);
        assert_int_equal(c.tls.n_suites + c.tls.n_curves + c.n_users, 0);
        assert_true(c.tls.prefer_server && c.http2);
        assert_false(c.tls.sans_given);
        assert_int_equal(c.limit_interval_ns, 0);
        web_config_release(&c);
    }
    /* An empty list of allowed names allows nobody; a null is no list. */
    struct web_config c = good("tls_server_config: {client_allowed_sans: []}");
    assert_true(c.tls.sans_given);
    web_config_release(&c);
    c = good("tls_server_config: {client_allowed_sans: }");
    assert_false(c.tls.sans_given);
    web_config_release(&c);
    c = good("rate_limit: {interval: 0, burst: 0}");
    assert_int_equal(c.limit_interval_ns, 0);
    web_config_release(&c);
    /* What is written once may be used twice. */
    c = good("http_server_config: {headers: {Content-Security-Policy: &a x}}\n"
             "basic_auth_users: {a: *a}");
    assert_string_equal(c.users[0].hash, "x");
    web_config_release(&c);
}

TEST(test_refused)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"- a", "line 1: a mapping of names to values belongs here"},
        {"text", "line 1: a mapping"},
        {"\ntls_config: {}", "line 2: unknown key \"tls_config\""},
        {"tls_server_config:\n  certfile: a", "line 2: unknown key \"certfile\""},
        {"http_server_config: {http3: true}", "unknown key \"http3\""},
        {"rate_limit: {rate: 1}", "unknown key \"rate\""},
        {"\"a\\nb\": 1", "unknown key \"a\\nb\""},
        {"[a]: 1", "a list or a mapping stands where a text belongs"},
        {"tls_server_config: {cert_file: [a]}", "where a text belongs"},
        {"tls_server_config: {cert_file: \"a\\0b\"}", "a text contains a NUL"},
        {"tls_server_config: {cert: a}\ntls_server_config: {}", "line 2: tls_server_config is there"
                                                                " twice"},
        {"tls_server_config:\n  cert: a\n  cert: a", "line 3: cert is there twice"},
        {"basic_auth_users: {a: x, a: y}", "the user \"a\" is there twice"},
        {"basic_auth_users: [a]", "a mapping of users to hashes"},
        {"basic_auth_users: {a: [x]}", "where a text belongs"},
        {"tls_server_config: {client_auth_type: Require}", "unknown client_auth_type \"Require\""},
        {"tls_server_config: {min_version: TLS14}", "unknown TLS version \"TLS14\""},
        {"tls_server_config: {max_version: 1.3}", "unknown TLS version \"1.3\""},
        {"tls_server_config:\n  cipher_suites:\n  - TLS_RSA_WITH_AES_128_CBC_SHA",
         "line 3: unknown cipher suite \"TLS_RSA_WITH_AES_128_CBC_SHA\""},
        {"tls_server_config: {cipher_suites: TLS_AES_128_GCM_SHA256}", "a list belongs here"},
        {"tls_server_config: {curve_preferences: [P256]}", "unknown curve \"P256\""},
        {"tls_server_config: {client_allowed_sans: a}", "a list belongs here"},
        {"tls_server_config: {prefer_server_cipher_suites: maybe}", "neither true nor false"},
        {"http_server_config: {http2: 'true'}", "neither true nor false"},
        {"http_server_config: {headers: {Server: x}}",
         "the HTTP header \"Server\" cannot be configured"},
        {"http_server_config: {headers: {x-frame-options: deny}}", "cannot be configured"},
        {"http_server_config: {headers: {X-Frame-Options: DENY}}",
         "X-Frame-Options can be deny or sameorigin, but is \"DENY\""},
        {"http_server_config: {headers: {X-Content-Type-Options: sniff}}",
         "X-Content-Type-Options can be nosniff, but is \"sniff\""},
        {"http_server_config: {headers: {X-XSS-Protection: \"a\\r\\nb\"}}", "control character"},
        {"http_server_config: {headers: {X-XSS-Protection: 1, X-XSS-Protection: 1}}",
         "X-XSS-Protection is there twice"},
        {"http_server_config: {headers: [a]}", "a mapping of names"},
        {"rate_limit: {interval: 5, burst: 1}", "\"5\" is not a duration such as 100ms or 1s"},
        {"rate_limit: {interval: -1s, burst: 1}", "is not a duration"},
        {"rate_limit: {interval: 0.1ns, burst: 1}", "is not a duration"},
        {"rate_limit: {interval: 1s}", "rate_limit without a burst"},
        {"rate_limit: {burst: -1}", "not a whole number"},
        {"rate_limit: {burst: 1.5}", "not a whole number"},
        {"rate_limit: {burst: 1000000000}", "at most nine digits"},
        {"a: b: c", "line 1: mapping values are not allowed"},
        {"tls_server_config:\n\t- a", "line 2: found character that cannot start any token"},
        {"{", "line"},
        {"a: *b", "undefined alias"},
        {"--- {}\n--- {}", "line 2: a second document"},
        {"{}\n...\n]", "line 3"},
        {"<<: {tls_server_config: {}}", "unknown key \"<<\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        bad_bytes(cases[i].text, strlen(cases[i].text), cases[i].words);
    bad_bytes("tls_server_config: {}\0", 22, "byte 21: control characters are not allowed");
    bad_bytes("a: \xff", 4, "byte 3: invalid leading UTF-8 octet");

    char *large = malloc(WEB_FILE_MAX_BYTES + 1);
    assert_non_null(large);
    memset(large, '#', WEB_FILE_MAX_BYTES + 1);
    bad_bytes(large, WEB_FILE_MAX_BYTES + 1, "larger than 1 MiB");
    size_t len = (size_t)sprintf(large, "basic_auth_users:\n");
    for (int i = 0; i <= WEB_LIST_MAX; i++)
        len += (size_t)sprintf(large + len, "  u%d: x\n", i);
    bad_bytes(large, len, "more than 4096 users");
    free(large);
}

TEST(test_what_tls_needs)
{
    static const struct {
        const char *tls, *words; /* NULL: good */
    } cases[] = {
        {"cert: c, key: k", NULL},
        {"cert_file: c, key_file: k", NULL},
        {"cert_file: c, key: k, client_auth_type: NoClientCert", NULL},
        {"cert: c, key: k, client_auth_type: RequestClientCert", NULL},
        {"cert: c, key: k, client_auth_type: RequireClientCert, client_ca: a", NULL},
        {"cert: c, key: k, client_auth_type: VerifyClientCertIfGiven, client_ca: a", NULL},
        {"cert: c, key: k, client_auth_type: VerifyClientCertIfGiven", NULL},
        {"cert: c, key: k, client_auth_type: RequireAndVerifyClientCert", NULL},
        {"key: k", "missing one of cert or cert_file"},
        {"cert: c", "missing one of key or key_file"},
        {"client_auth_type: NoClientCert", "missing one of cert"},
        {"client_ca_file: a", "missing one of cert"},
        {"cert: c, key: k, client_ca: a", "a client_ca without a client_auth_type"},
        {"cert: c, key: k, client_ca_file: a", "a client_ca without a client_auth_type"},
        {"cert: c, key: k, client_allowed_sans: [a]", "client_allowed_sans without"},
        {"cert: c, key: k, min_version: TLS13, max_version: TLS12", "min_version is above"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256], error[256] = "";
        snprintf(text, sizeof text, "tls_server_config: {%s}", cases[i].tls);
        struct web_config c = good(text);
        assert_true(web_tls_wanted(&c.tls));
        int err = web_tls_check(&c.tls, error, sizeof error);
        if (err != (cases[i].words ? -EINVAL : 0) ||
            (cases[i].words && !strstr(error, cases[i].words)))
            fail_msg("%s: %d %s", cases[i].tls, err, error);
        web_config_release(&c);
    }
}

TEST(test_hashes)
{
    static const char tail[] = "QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi";
    static const struct {
        const char *head;
        bool valid;
    } cases[] = {
        {"$2y$10$", true},  {"$2a$04$", true},  {"$2b$31$", true},   {"$2x$10$", false},
        {"$2$10$", false},  {"$2y$03$", false}, {"$2y$32$", false},  {"$2y$1a$", false},
        {"$1y$10$", false}, {"$2y$10", false},  {"$2y$010$", false}, {"", false},
    };
    char hash[128];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(hash, sizeof hash, "%s%s", cases[i].head, tail);
        if (bcrypt_valid(hash) != cases[i].valid)
            fail_msg("%s", hash);
    }
    snprintf(hash, sizeof hash, "$2y$10$%s", tail);
    hash[20] = '-';
    assert_false(bcrypt_valid(hash));
    bcrypt_decoy("$2b$07$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi", hash);
    assert_memory_equal(hash, "$2y$07$", 7);
    bcrypt_decoy("nonsense", hash);
    assert_memory_equal(hash, "$2y$10$", 7);
    assert_true(bcrypt_valid(hash));

    struct web_config c = good("basic_auth_users: {a: " HASH ", \"b\\nb\": }");
    char error[256];
    assert_int_equal(web_users_check(&c, error, sizeof error), -EINVAL);
    assert_string_equal(error,
                        "basic_auth_users: the hash of \"b\\nb\" is not one of bcrypt ($2a$, "
                        "$2b$ or $2y$)");
    c.n_users--;
    assert_int_equal(web_users_check(&c, error, sizeof error), 0);
    c.n_users++;
    web_config_release(&c);
}

/* The test vector of crypt_blowfish ("U*U"), and the toolkit's hash for nobody. */
TEST(test_bcrypt)
{
    static const char *const vectors[][2] = {
        {"U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"},
        {"fakepassword", "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"},
    };
    struct crypt_data *work = calloc(1, sizeof *work);
    assert_non_null(work);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        assert_true(bcrypt_check(work, vectors[i][1], vectors[i][0]));
        assert_false(bcrypt_check(work, vectors[i][1], "U*u"));
        assert_false(bcrypt_check(work, vectors[i][1], ""));
    }
    assert_false(bcrypt_check(work, "", "U*U"));
    assert_false(
        bcrypt_check(work, "$2x$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U"));
    char longest[BCRYPT_PASSWORD_SIZE + 1];
    memset(longest, 'x', sizeof longest);
    longest[BCRYPT_PASSWORD_SIZE] = '\0';
    assert_false(bcrypt_check(work, vectors[0][1], longest));
    free(work);
}

TEST(test_authorization)
{
    static const struct {
        const char *header, *user, *password; /* user NULL: refused */
    } cases[] = {
        {"Basic YWxpY2U6c2VjcmV0", "alice", "secret"},
        {"basic YWxpY2U6c2VjcmV0", "alice", "secret"},
        {"BASIC YTpiOmM=", "a", "b:c"},
        {"Basic Og==", "", ""},
        {"Basic YTo=", "a", ""},
        {"Basic OmI=", "", "b"},
        {"Basic w6Q6w7Y=", "\xc3\xa4", "\xc3\xb6"},
        {"Basic YWxpY2U=", NULL, NULL}, /* no colon */
        {"Basic YQBiOmM=", NULL, NULL}, /* a NUL in the name */
        {"Basic YTpiAGM=", NULL, NULL}, /* in the password */
        {"Basic ", NULL, NULL},
        {"Basic", NULL, NULL},
        {"", NULL, NULL},
        {"Basic !!!!", NULL, NULL},
        {"Bearer YWxpY2U6c2VjcmV0", NULL, NULL},
        {"Digest username=\"a\"", NULL, NULL},
        {"BasicYWxpY2U6c2VjcmV0", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct web_basic basic;
        int err = web_basic_parse(cases[i].header, strlen(cases[i].header), &basic);
        if (err != (cases[i].user ? 0 : -EINVAL))
            fail_msg("%s: %d", cases[i].header, err);
        if (err)
            continue;
        assert_string_equal(basic.user, cases[i].user);
        assert_string_equal(basic.password, cases[i].password);
        web_basic_release(&basic);
    }
}

TEST(test_limit)
{
    struct web_limit none = {0};
    for (int i = 0; i < 1000; i++)
        assert_true(web_limit_take(&none, 5));
    /* A burst of 3, then one each 10. */
    struct web_limit limit = {.interval_ns = 10, .burst = 3};
    static const struct {
        uint64_t now_ns;
        bool taken;
    } steps[] = {
        {1000, true},  {1000, true}, {1000, true},  {1000, false}, {1009, false}, {1010, true},
        {1010, false}, {1020, true}, {1029, false}, {1049, true},  {1049, true},  {1049, false},
        {2000, true},  {2000, true}, {2000, true},  {2000, false},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (web_limit_take(&limit, steps[i].now_ns) != steps[i].taken)
            fail_msg("step %zu", i);
    struct web_limit largest = {.interval_ns = UINT64_MAX / 4, .burst = 999999999};
    assert_true(web_limit_take(&largest, 1));
}

TEST(test_sans)
{
    char *names[] = {"prometheus.example", "ops@example.org", "10.0.0.1", "2001:db8::1",
                     "spiffe://cluster/prometheus"};
    const struct web_strings allowed = {names, sizeof names / sizeof *names};
    static const struct {
        gnutls_x509_subject_alt_name_t type;
        const char *bytes;
        size_t len;
        bool matches;
    } cases[] = {
        {GNUTLS_SAN_DNSNAME, "prometheus.example", 18, true},
        {GNUTLS_SAN_DNSNAME, "Prometheus.example", 18, false}, /* exact */
        {GNUTLS_SAN_DNSNAME, "*.example", 9, false},
        {GNUTLS_SAN_DNSNAME, "prometheus.example\0.evil", 24, false},
        {GNUTLS_SAN_DNSNAME, "prometheus.exampl", 17, false},
        {GNUTLS_SAN_DNSNAME, "", 0, false},
        {GNUTLS_SAN_RFC822NAME, "ops@example.org", 15, true},
        {GNUTLS_SAN_URI, "spiffe://cluster/prometheus", 27, true},
        {GNUTLS_SAN_URI, "spiffe://cluster/other", 22, false},
        {GNUTLS_SAN_IPADDRESS, "\x0a\0\0\x01", 4, true},
        {GNUTLS_SAN_IPADDRESS, "\x0a\0\0\x02", 4, false},
        {GNUTLS_SAN_IPADDRESS, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x01", 16, true},
        {GNUTLS_SAN_IPADDRESS, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01", 16, true},
        {GNUTLS_SAN_IPADDRESS, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02", 16, false},
        {GNUTLS_SAN_IPADDRESS, "\x0a\0\0", 3, false},
        {GNUTLS_SAN_IPADDRESS, "10.0.0.1", 8, false},
        {GNUTLS_SAN_OTHERNAME, "prometheus.example", 18, false},
        {GNUTLS_SAN_DN, "prometheus.example", 18, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (web_san_matches(cases[i].type, (const unsigned char *)cases[i].bytes, cases[i].len,
                            &allowed) != cases[i].matches)
            fail_msg("case %zu", i);
    const struct web_strings nobody = {0};
    assert_false(web_san_matches(GNUTLS_SAN_DNSNAME, (const unsigned char *)"", 0, &nobody));
}

/* Every name of the tables is one that GnuTLS knows, alone and for each key. */
TEST(test_names)
{
    char text[WEB_PRIORITY_SIZE];
    gnutls_priority_t priority;
    struct web_tls tls = {.min_version = WEB_TLS10, .max_version = WEB_TLS13, .n_suites = 1};
    for (unsigned char i = 0; i < WEB_SUITES; i++) {
        tls.suites[0] = i;
        enum web_key key = web_suites[i].key == WEB_KEY_ANY ? WEB_KEY_RSA : web_suites[i].key;
        assert_true(web_priority(&tls, key, WEB_TLS13, text));
        assert_int_equal(gnutls_priority_init(&priority, text, NULL), 0);
        gnutls_priority_deinit(priority);
        bool up_to_12 = web_priority(&tls, key, WEB_TLS12, text);
        assert_int_equal(up_to_12, web_suites[i].key != WEB_KEY_ANY);
        char plus[64];
        snprintf(plus, sizeof plus, ":+%s", web_suites[i].cipher);
        assert_int_equal(strstr(text, plus) != NULL, up_to_12);
    }
    tls.n_suites = 0;
    for (int max = WEB_TLS10; max <= WEB_TLS13; max++)
        for (int min = WEB_TLS10; min <= max; min++) {
            tls.min_version = (enum web_tls_version)min;
            tls.max_version = (enum web_tls_version)max;
            assert_true(web_priority(&tls, WEB_KEY_RSA, WEB_TLS13, text));
            for (int version = WEB_TLS10; version <= WEB_TLS13; version++)
                assert_int_equal(strstr(text, web_versions[version].gnutls) != NULL,
                                 version >= min && version <= max);
            assert_int_equal(gnutls_priority_init(&priority, text, NULL), 0);
            gnutls_priority_deinit(priority);
        }
    for (unsigned char i = 0; i < WEB_CURVES; i++) {
        tls.curves[0] = i;
        tls.n_curves = 1;
        assert_true(web_priority(&tls, WEB_KEY_ECDSA, WEB_TLS13, text));
        assert_non_null(strstr(text, ":-GROUP-ALL:+"));
        assert_int_equal(gnutls_priority_init(&priority, text, NULL), 0);
        gnutls_priority_deinit(priority);
    }
}

/* A list is about TLS up to 1.2; a key of the other kind leaves TLS 1.3 only. */
TEST(test_lists_of_suites)
{
    char text[WEB_PRIORITY_SIZE];
    struct web_config c = good("tls_server_config: {cipher_suites: "
                               "[TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384]}");
    assert_true(web_priority(&c.tls, WEB_KEY_RSA, WEB_TLS12, text));
    assert_non_null(strstr(text, ":+VERS-TLS1.2:+AES-256-GCM:%SERVER_PRECEDENCE"));
    assert_null(strstr(text, "AES-128-GCM"));
    assert_null(strstr(text, "VERS-TLS1.3"));
    assert_true(web_priority(&c.tls, WEB_KEY_RSA, WEB_TLS13, text));
    assert_non_null(strstr(text, ":+VERS-TLS1.3:+VERS-TLS1.2:+AES-256-GCM:+AES-128-GCM"));
    assert_false(web_priority(&c.tls, WEB_KEY_ECDSA, WEB_TLS12, text));
    assert_true(web_priority(&c.tls, WEB_KEY_ECDSA, WEB_TLS13, text));
    assert_null(strstr(text, "VERS-TLS1.2"));
    c.tls.max_version = WEB_TLS12;
    assert_false(web_priority(&c.tls, WEB_KEY_ECDSA, WEB_TLS13, text));
    c.tls.prefer_server = false;
    assert_true(web_priority(&c.tls, WEB_KEY_RSA, WEB_TLS12, text));
    assert_null(strstr(text, "PRECEDENCE"));
    web_config_release(&c);
}
