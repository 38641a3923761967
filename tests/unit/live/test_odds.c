/* A probability, and a rate, as people say them. */
#include <math.h>

#include "exporter/live/words.h"
#include "tests/unit/support/unit.h"

TEST(says_odds)
{
    static const struct {
        double p;
        const char *words;
    } cases[] = {{0.5, "1 to 1"}, {0.9, "9 to 1"},  {0.95, "19 to 1"}, {0.975, "39 to 1"},
                 {1, "99 to 1"},  {0.25, "1 to 3"}, {0, "1 to 99"},    {NAN, ""},
                 {-0.1, ""},      {1.1, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct textbuf text;
        textbuf_init(&text);
        odds_say(&text, cases[i].p);
        assert_string_equal(text.len ? text.data : "", cases[i].words);
        textbuf_release(&text);
    }
}

TEST(says_rates)
{
    static const struct {
        double per_hour;
        const char *words;
    } cases[] = {{4.2, "4 times an hour"}, {1, "once an hour"}, {0.25, "6 times a day"},
                 {0.04, "once a day"},     {0.01, ""},          {NAN, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct textbuf text;
        textbuf_init(&text);
        assert_int_equal(odds_say_rate(&text, cases[i].per_hour), cases[i].words[0] != '\0');
        assert_string_equal(text.len ? text.data : "", cases[i].words);
        textbuf_release(&text);
    }
}
