#include "exporter/expose/expose.h"
#include "tests/unit/support/unit.h"

#define TEXT EXPOSE_TEXT_004
#define OPEN EXPOSE_OPENMETRICS_100
#define BUFFERS EXPOSE_PROTOBUF
#define OM "application/openmetrics-text"
#define PB "application/vnd.google.protobuf"
#define PROTO ";proto=io.prometheus.client.MetricFamily"

TEST(test_accept)
{
    static const struct {
        const char *accept;
        enum expose_format format;
    } cases[] = {
        {NULL, TEXT},
        {"", TEXT},
        {"*/*", TEXT}, /* curl */
        {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", TEXT},
        /* Prometheus 2.42 */
        {OM ";version=1.0.0," OM ";version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
         OPEN},
        /* Prometheus 2.42 with --enable-feature=native-histograms */
        {PB PROTO ";encoding=delimited," OM ";version=1.0.0;q=0.8," OM
                  ";version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
         BUFFERS},
        /* Prometheus 3: as a client that wants native histograms, one that prefers others to them,
         * and one without */
        {PB PROTO ";encoding=delimited;q=0.6," OM ";version=1.0.0;escaping=allow-utf-8;q=0.5," OM
                  ";version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
                  "text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
         BUFFERS},
        {OM ";version=1.0.0;escaping=allow-utf-8;q=0.6," OM
            ";version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
            "text/plain;version=0.0.4;q=0.3," PB PROTO ";encoding=delimited;q=0.2,*/*;q=0.1",
         OPEN},
        {OM ";version=1.0.0;escaping=allow-utf-8;q=0.5," OM
            ";version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
            "text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
         OPEN},
        /* protobuf is for who names message and encoding, and no other encoding is served */
        {PB PROTO ";encoding=delimited", BUFFERS},
        {PB " ; encoding=\"delimited\" ; proto=\"io.prometheus.client.MetricFamily\"", BUFFERS},
        {PB PROTO ";encoding=delimited;q=0", TEXT},
        {PB PROTO ";encoding=delimited;q=0.4,text/plain;q=0.5", TEXT},
        {PB PROTO ";encoding=text", TEXT},
        {PB PROTO ";encoding=compact-text," OM ";q=0.1", OPEN},
        {PB PROTO, TEXT},
        {PB ";encoding=delimited", TEXT},
        {PB ";proto=other.Message;encoding=delimited", TEXT},
        {PB, TEXT},
        {"application/*;q=0.9,text/plain;q=0.1," PB PROTO ";encoding=delimited;q=0.2", OPEN},
        {"text/plain;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.5," OM
         ";version=1.0.0;escaping=allow-utf-8;q=0.4,*/*;q=0.1",
         TEXT},
        /* Prometheus before 2.31: an OpenMetrics that we do not speak */
        {OM "; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", TEXT},
        {OM, OPEN},
        {"APPLICATION/OpenMetrics-Text; Version=1.0.0; charset=utf-8", OPEN},
        {OM ";version=\"1.0.0\"", OPEN},
        {OM ";version=2.0.0", TEXT},
        {OM ";q=0", TEXT},
        {OM ";q=0.0,*/*", TEXT},
        {OM ";q=0.001", OPEN},
        {OM ";q=0.5,text/plain;q=0.5", OPEN}, /* a draw: the first */
        {"text/plain;q=0.5," OM ";q=0.5", TEXT},
        {"text/plain;q=0.4," OM ";q=0.5", OPEN},
        {"text/plain;q=0," OM ";q=0", TEXT}, /* an answer all the same */
        {"text/*;q=0.3," OM ";q=0.2", TEXT},
        {"application/*", OPEN},
        {"application/*,text/plain", TEXT}, /* a draw: who is named more closely */
        {OM ";version=1.0.0;q=0.2,application/*;q=0.9,text/plain;q=0.3", TEXT},
        {"text/plain;version=0.0.4;q=0.3,text/plain;q=0.9," OM ";q=0.5", OPEN},
        {"application/json," OM ";q=0.1", OPEN},
        {"text/plain;version=0.0.4;q=0.2, " OM " ; version=1.0.0 ; q=0.9", OPEN},
        /* a broken weight makes its element void */
        {OM ";q=2", TEXT},
        {OM ";q=-1", TEXT},
        {OM ";q=0.1234", TEXT},
        {OM ";q=1.001", TEXT},
        {OM ";q=", TEXT},
        {OM ";q=x," OM ";q=0.5", OPEN},
        {OM ";q", OPEN},
        /* quotes hide separators */
        {"a/b;x=\"," OM "\"", TEXT},
        {"a/b;x=\"\\\"," OM "\"", TEXT},
        {"a/b;x=\"," OM, TEXT},
        {";;;,,,===,\"\"\"," OM, TEXT},
        {",,," OM ",,", OPEN},
        {"text/plain text/plain, " OM "x", TEXT},
        {";q=1", TEXT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (expose_negotiate(cases[i].accept) != cases[i].format)
            fail_msg("wrong format for %s", cases[i].accept);
}

TEST(test_accept_encoding)
{
    static const struct {
        const char *text;
        bool gzip;
    } cases[] = {
        {NULL, false},
        {"", false},
        {"gzip", true},
        {"GZIP", true},
        {"x-gzip", true},
        {"gzip, deflate, br", true},
        {"deflate", false},
        {"identity", false},
        {"*", true},
        {"*;q=0", false},
        {"gzip;q=0", false},
        {"gzip;q=0.000, *", false},
        {"gzip;q=0.001, *;q=0", true},
        {"deflate, gzip;q=0.5", true},
        {"gzip;q=9", false},
        {"gzipped", false},
        {"gzi", false},
        {" gzip ; q=1.0 ", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (expose_accepts_gzip(cases[i].text) != cases[i].gzip)
            fail_msg("wrong answer for %s", cases[i].text);
}

TEST(test_names)
{
    assert_string_equal(expose_content_type(EXPOSE_TEXT_004),
                        "text/plain; version=0.0.4; charset=utf-8");
    assert_string_equal(expose_content_type(EXPOSE_OPENMETRICS_100),
                        "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert_string_equal(expose_content_type(EXPOSE_PROTOBUF),
                        PB "; proto=io.prometheus.client.MetricFamily; encoding=delimited");
    assert_string_equal(expose_format_name(EXPOSE_PROTOBUF), "protobuf");
    assert_string_equal(expose_format_name(EXPOSE_TEXT_004), "text");
    assert_string_equal(expose_format_name(EXPOSE_OPENMETRICS_100), "openmetrics");
}
