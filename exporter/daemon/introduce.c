#include "exporter/daemon/introduce.h"

#include <string.h>
#include <sys/utsname.h>

const char *version_release(void)
{
    return IE_VERSION;
}

const char *version_revision(void)
{
    return IE_REVISION;
}

const char *version_compiler(void)
{
#ifdef __clang__
    return __VERSION__; /* begins with its name */
#else
    return "gcc " __VERSION__;
#endif
}

static bool is_plain(const char *text)
{
    return *text && text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789-_=./:,@%+[]")] == '\0';
}

static void add_argument(struct textbuf *out, const char *text)
{
    if (is_plain(text)) {
        textbuf_str(out, text);
        return;
    }
    textbuf_char(out, '\'');
    for (; *text; text++)
        if (*text == '\'')
            textbuf_str(out, "'\\''");
        else
            textbuf_char(out, *text);
    textbuf_char(out, '\'');
}

void introduce_flags(struct textbuf *out, int argc, char *const *argv)
{
    for (int i = 1; i < argc; i++) {
        if (i > 1)
            textbuf_char(out, ' ');
        add_argument(out, argv[i]);
    }
    if (argc < 2)
        textbuf_str(out, "none");
}

static void add_count(struct textbuf *out, int n, const char *what)
{
    if (n > 0)
        textbuf_printf(out, ", %d %s%s", n, what, n == 1 ? "" : "s");
}

void describe_machine(struct textbuf *out, const struct machine *machine)
{
    textbuf_str(out, machine->cpu_model[0] ? machine->cpu_model : "unknown CPU");
    if (machine->microarchitecture[0])
        textbuf_printf(out, " (%s)", machine->microarchitecture);
    add_count(out, machine->sockets, "socket");
    add_count(out, machine->cpus, "CPU");
    add_count(out, machine->numa_nodes, "NUMA node");
}

void introduce_program(const struct log *log, int argc, char *const *argv)
{
    struct textbuf flags = TEXTBUF_INIT;
    introduce_flags(&flags, argc, argv);
    log_info(log, "main", "interference_exporter %s (revision %s, %s) starts; flags: %s",
             version_release(), version_revision(), version_compiler(),
             textbuf_finish(&flags) ? "unknown" : flags.data);
    textbuf_release(&flags);
}

void introduce_machine(const struct log *log, const struct machine *machine, const char *source)
{
    struct utsname kernel;
    struct textbuf words = TEXTBUF_INIT;
    describe_machine(&words, machine);
    if (uname(&kernel) != 0)
        memset(&kernel, 0, sizeof kernel);
    log_info(log, "main", "source %s: %s; this kernel: %s %s", source,
             textbuf_finish(&words) ? "unknown" : words.data, kernel.sysname, kernel.release);
    textbuf_release(&words);
}
