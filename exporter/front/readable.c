#include "exporter/front/readable.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "exporter/http/web_config/config.h"
#include "exporter/http/web_config/file.h"

/* The directory of a path, or the one we are in. */
static size_t add(const char *path, int *directories, size_t n)
{
    char directory[4096];
    const char *slash = strrchr(path, '/');
    if (slash)
        snprintf(directory, sizeof directory, "%.*s", slash == path ? 1 : (int)(slash - path),
                 path);
    int fd = open(slash ? directory : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        directories[n++] = fd;
    return n;
}

/* A relative name is below the config's own directory, which is in the list already unless it
 * climbs out of it with "..": then joined. */
static size_t add_named(const char *config, const char *file, int *directories, size_t n)
{
    char path[4096];
    const char *slash = strrchr(config, '/');
    if (!file || !*file)
        return n;
    if (*file == '/' || !slash)
        return add(file, directories, n);
    snprintf(path, sizeof path, "%.*s/%s", (int)(slash - config), config, file);
    return add(path, directories, n);
}

size_t readable_directories(const char *web_config_file, int directories[READABLE_MAX])
{
    struct web_text text = {0};
    struct web_stamp stamp;
    struct web_config config;
    char error[256];
    if (!web_config_file)
        return 0;
    size_t n = add(web_config_file, directories, 0);
    if (web_file_read(web_config_file, &text, &stamp) == 0 &&
        web_config_parse(text.bytes, text.len, &config, error, sizeof error) == 0) {
        n = add_named(web_config_file, config.tls.cert_file, directories, n);
        n = add_named(web_config_file, config.tls.key_file, directories, n);
        n = add_named(web_config_file, config.tls.client_ca_file, directories, n);
        web_config_release(&config);
    }
    web_text_release(&text);
    return n;
}
