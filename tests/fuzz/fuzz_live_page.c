/* The page of the node and the document of containers, with names and query arguments as anybody
 * may write them: whatever they hold, markup is ours alone, and JSON is JSON. */
#include <jansson.h>
#include <math.h>

#include "collectors/contract/container_labels.h"
#include "exporter/pages/pages.h"
#include "tests/fuzz/fuzz.h"

enum { ARGUMENTS = 5, NAMES = 3, SIZE_MAX_INPUT = 4096 };

static const char *const argument_names[ARGUMENTS] = {"namespace", "sort", "limit", "offset",
                                                      "pretty"};

struct input {
    char bytes[SIZE_MAX_INPUT + 1];
    const char *arguments[ARGUMENTS]; /* NULL: not given */
    const char *names[NAMES];         /* namespace, pod, container */
};

static struct input input;
static struct container container;
static bool shown;

/* Strings one behind the other; "" at the end. */
static void take(const uint8_t *data, size_t size)
{
    const char *at = input.bytes, *end = input.bytes + size;
    memcpy(input.bytes, data, size);
    input.bytes[size] = '\0';
    for (size_t i = 0; i < ARGUMENTS + NAMES; i++) {
        const char *text = at;
        at += strlen(at) + (at + strlen(at) < end);
        if (i < NAMES)
            input.names[i] = text;
        else
            input.arguments[i - NAMES] = *text ? text : NULL;
    }
}

static size_t query(const struct http_request *request, const char *name, const char **values,
                    size_t cap)
{
    for (size_t i = 0; i < ARGUMENTS; i++)
        if (cap > 0 && input.arguments[i] && strcmp(name, argument_names[i]) == 0) {
            values[0] = input.arguments[i];
            return 1;
        }
    return 0;
}

static const struct container *next(void *context)
{
    shown = !shown;
    return shown ? &container : NULL;
}

/* A tag begins with a letter, "/" or "!", and none has a line break or a "<" inside; a script is
 * only ever referred to. */
static void check_page(const char *text, size_t len)
{
    size_t scripts = 0;
    bool inside = false;
    for (size_t i = 0; i < len; i++) {
        check(text[i] != '\0');
        if (text[i] == '<') {
            check(!inside && i + 1 < len && strchr("abcdefghijklmnopqrstuvwxyz/!", text[i + 1]));
            scripts += i + 7 < len && memcmp(text + i, "<script", 7) == 0;
            inside = true;
        } else if (text[i] == '>') {
            check(inside);
            inside = false;
        }
    }
    check(!inside && scripts == 1);
}

static void check_document(const struct http_response *response)
{
    if (response->status == 400)
        return;
    check(response->status == 200);
    json_t *root = json_loadb(response->bytes, response->len, JSON_REJECT_DUPLICATES, NULL);
    check(root && json_is_array(json_object_get(root, "containers")));
    json_decref(root);
}

static void ask(const struct pages *pages, const char *path)
{
    size_t n;
    const struct http_route *routes = pages_routes(pages, &n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(routes[i].path, path) != 0)
            continue;
        const struct http_request request = {.path = path, .local = true, .query = query};
        struct http_response response = {0};
        routes[i].handle((void *)(uintptr_t)pages, &request, &response);
        if (strcmp(path, "/") == 0) {
            check(response.status == 200);
            check_page(response.bytes, response.len);
        } else {
            check_document(&response);
        }
        if (response.release)
            response.release(response.release_context);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > SIZE_MAX_INPUT)
        return 0;
    take(data, size);
    struct store *store;
    struct expose *expose;
    struct container_labels *labels;
    struct live *live;
    struct pages *pages;
    container = (struct container){.gen = 1,
                                   .named = true,
                                   .short_id = "0123456789ab",
                                   .path = "/x",
                                   .id = "",
                                   .namespace_ = input.names[0],
                                   .pod = input.names[1],
                                   .name = input.names[2],
                                   .workload = input.names[1],
                                   .image = "",
                                   .pod_uid = "",
                                   .runtime = "",
                                   .qos_class = ""};
    struct container *list[] = {&container};
    const struct container_diff diff = {.added = {list, 1}, .named = {list, 1}};
    const struct tick tick = {.number = 1, .mono_ns = 1, .wall_ns = 1, .interval_ns = 1};
    check(store_new(&store) == 0);
    check(expose_new(store, false, &expose) == 0);
    check(container_labels_new(store, &labels) == 0);
    check(live_new(&live) == 0);
    const struct pages_config config = {.telemetry_path = "/metrics",
                                        .version = "1",
                                        .live = live,
                                        .expose = expose,
                                        .store = store};
    check(pages_new(&config, &pages) == 0);
    check(container_labels_reconcile(labels, &diff) == 0 && live_reserve(live, 1) == 0);
    live_begin(live);
    live_suspect(live, &container, 0, LIVE_NAMED, 1e-8, 1e-9, NAN);
    live_latency(live, 0, 0, &tick, 1e-7);
    live_explain(live, 0, LIVE_CAUSE_NAMED, 9e-8, 0, NAN);
    shown = false;
    live_show(live, &tick, next, NULL);
    check(store_publish(store, &tick) == 0);
    ask(pages, "/");
    ask(pages, "/api/v1/containers");
    pages_free(pages);
    live_free(live);
    container_labels_free(labels);
    expose_free(expose);
    store_free(store);
    return 0;
}
