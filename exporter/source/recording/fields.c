#include "exporter/source/recording/fields.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "exporter/base/kernel_text.h"

static const double two_to_53 = 9007199254740992.0;
static const double two_to_63 = 9223372036854775808.0;

void fields_fail(struct fields *in, const char *format, ...)
{
    if (in->failed)
        return;
    in->failed = true;
    va_list args;
    va_start(args, format);
    vsnprintf(in->error, in->error_size, format, args);
    va_end(args);
}

json_t *fields_load(struct fields *in, const char *text, size_t len)
{
    json_error_t why;
    if (len == 0) {
        fields_fail(in, "the line is empty");
        return NULL;
    }
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
    if (!root && json_error_code(&why) == json_error_numeric_overflow) {
        root = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &why);
        in->rounded = root != NULL;
    }
    if (!root)
        fields_fail(in, "malformed JSON at column %d: %s", why.column, why.text);
    else if (!json_is_object(root))
        fields_fail(in, "a line must be an object");
    in->object = root;
    return root;
}

void fields_enter(struct fields *in)
{
    json_t *inner = json_object_get(in->object, in->line);
    if (!json_is_object(inner))
        fields_fail(in, "\"%s\" must be an object", in->line);
    in->object = inner;
}

bool fields_has(const struct fields *in, const char *key)
{
    return json_object_get(in->object, key) != NULL;
}

json_t *fields_member(struct fields *in, const char *key, enum fields_need need)
{
    json_t *value = json_object_get(in->object, key);
    if (!value && need == FIELD_REQUIRED)
        fields_fail(in, "%s: \"%s\" is missing", in->line, key);
    return value;
}

const char *fields_text(struct fields *in, const char *key, enum fields_need need)
{
    json_t *value = fields_member(in, key, need);
    if (!value)
        return "";
    if (!json_is_string(value)) {
        fields_fail(in, "%s: \"%s\" must be a string", in->line, key);
        return "";
    }
    return json_string_value(value);
}

void fields_word(struct fields *in, const char *key, char *out, size_t size)
{
    const char *text = fields_text(in, key, FIELD_REQUIRED);
    if (strlen(text) >= size)
        fields_fail(in, "%s: \"%s\" is longer than %zu bytes", in->line, key, size - 1);
    else
        memcpy(out, text, strlen(text) + 1);
}

bool fields_flag(struct fields *in, const char *key)
{
    json_t *value = fields_member(in, key, FIELD_OPTIONAL);
    if (value && !json_is_boolean(value))
        fields_fail(in, "%s: \"%s\" must be true or false", in->line, key);
    return value && json_is_true(value);
}

uint64_t fields_whole_value(struct fields *in, const char *key, const json_t *value)
{
    if (json_is_integer(value)) {
        json_int_t whole = json_integer_value(value);
        if (whole < 0)
            fields_fail(in, "%s: \"%s\" is negative", in->line, key);
        return (uint64_t)whole;
    }
    if (!json_is_real(value)) {
        fields_fail(in, "%s: \"%s\" must be a number", in->line, key);
        return 0;
    }
    double real = json_real_value(value);
    if (real < 0)
        fields_fail(in, "%s: \"%s\" is negative", in->line, key);
    else if (!(real <= two_to_63))
        fields_fail(in, "%s: \"%s\" is larger than 2^63", in->line, key);
    else if (real != floor(real))
        fields_fail(in, "%s: \"%s\" must be a whole number", in->line, key);
    else if (in->rounded && real > two_to_53 && real < two_to_63)
        fields_fail(in, "%s: \"%s\" cannot be read exactly beside an integer larger than 2^63",
                    in->line, key);
    else
        return (uint64_t)real;
    return 0;
}

uint64_t fields_whole(struct fields *in, const char *key, enum fields_need need)
{
    json_t *value = fields_member(in, key, need);
    return value ? fields_whole_value(in, key, value) : 0;
}

int fields_int(struct fields *in, const char *key, enum fields_need need, int max)
{
    uint64_t value = fields_whole(in, key, need);
    if (value > (uint64_t)max)
        fields_fail(in, "%s: \"%s\" is larger than %d", in->line, key, max);
    return in->failed ? 0 : (int)value;
}

double fields_real(struct fields *in, const char *key, enum fields_need need, double absent)
{
    json_t *value = fields_member(in, key, need);
    if (!value)
        return absent;
    if (!json_is_number(value)) {
        fields_fail(in, "%s: \"%s\" must be a number", in->line, key);
        return absent;
    }
    double real = json_number_value(value);
    if (!isfinite(real) || real < 0)
        fields_fail(in, "%s: \"%s\" is negative", in->line, key);
    return real;
}

static const struct place {
    const char *key, *what;
    int most;
    int (*of)(const struct machine *machine, int cpu);
    void (*put)(struct machine *machine, int cpu, int number);
} places[] = {
    {"socket_cpus", "socket", MACHINE_SOCKETS, machine_socket_of, machine_place_cpu},
    {"numa_node_cpus", "NUMA node", MACHINE_NODES, machine_numa_node_of, machine_place_cpu_on_node},
};
enum { PLACES = sizeof places / sizeof *places };

static void parse_list(struct fields *in, const struct place *place, size_t number,
                       const json_t *list, struct machine *machine)
{
    int cpus[MACHINE_CPUS];
    size_t n;
    if (!json_is_string(list) ||
        cpulist_parse(json_string_value(list), json_string_length(list), cpus, MACHINE_CPUS, &n)) {
        fields_fail(in, "machine: \"%s\" has no list of CPUs for %s %zu", place->key, place->what,
                    number);
        return;
    }
    for (size_t i = 0; i < n && i < MACHINE_CPUS; i++) {
        if (place->of(machine, cpus[i]) >= 0)
            fields_fail(in, "machine: \"%s\" has CPU %d twice", place->key, cpus[i]);
        place->put(machine, cpus[i], (int)number);
    }
}

void topology_parse(struct fields *in, struct machine *machine)
{
    for (size_t i = 0; i < PLACES && !in->failed; i++) {
        json_t *lists = fields_member(in, places[i].key, FIELD_OPTIONAL), *list;
        size_t number;
        if (lists && (!json_is_array(lists) || json_array_size(lists) > (size_t)places[i].most)) {
            fields_fail(in, "machine: \"%s\" must be an array of at most %d lists of CPUs",
                        places[i].key, places[i].most);
            return;
        }
        json_array_foreach(lists, number, list) parse_list(in, &places[i], number, list, machine);
    }
}

/* Ascending. */
static void add_cpus_of(struct textbuf *out, const struct machine *machine,
                        const struct place *place, int number)
{
    const char *comma = "";
    textbuf_char(out, '"');
    for (int first = 0, end; first < MACHINE_CPUS; first = end) {
        end = first + 1;
        if (place->of(machine, first) != number)
            continue;
        while (place->of(machine, end) == number)
            end++;
        textbuf_printf(out, "%s%d", comma, first);
        if (end - first > 1)
            textbuf_printf(out, "-%d", end - 1);
        comma = ",";
    }
    textbuf_char(out, '"');
}

static void write_place(struct textbuf *out, const struct machine *machine,
                        const struct place *place)
{
    int n = 0;
    for (int cpu = 0; cpu < MACHINE_CPUS; cpu++)
        if (place->of(machine, cpu) >= n)
            n = place->of(machine, cpu) + 1;
    if (n < 2)
        return;
    textbuf_printf(out, ",\"%s\":[", place->key);
    for (int number = 0; number < n; number++) {
        if (number > 0)
            textbuf_char(out, ',');
        add_cpus_of(out, machine, place, number);
    }
    textbuf_char(out, ']');
}

void topology_write(struct textbuf *out, const struct machine *machine)
{
    for (size_t i = 0; i < PLACES; i++)
        write_place(out, machine, &places[i]);
}
