#include "exporter/source/recording/places.h"

#include "exporter/base/kernel_text.h"

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

void places_parse(struct fields *in, struct machine *machine)
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

void places_write(struct textbuf *out, const struct machine *machine)
{
    for (size_t i = 0; i < PLACES; i++)
        write_place(out, machine, &places[i]);
}
