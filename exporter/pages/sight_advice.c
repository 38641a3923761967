/* What to do next, with the names filled in. */
#include <ctype.h>
#include <string.h>

#include "exporter/pages/sight.h"

/* As Kubernetes names its objects: nothing that a shell or kubectl takes for anything else. */
static bool is_kubernetes_name(const char *name)
{
    if (!isalnum((unsigned char)name[0]))
        return false;
    return name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-")] == '\0';
}

static bool in_kubernetes(const struct live_container *c)
{
    return is_kubernetes_name(c->namespace_) && is_kubernetes_name(c->pod);
}

static void add_command(struct textbuf *out, const char *words, const char *command)
{
    textbuf_printf(out, "<li>%s<pre>%s</pre></li>\n", words, command);
}

static void add_pod_command(struct textbuf *out, const char *words, const char *before,
                            const struct live_container *c, const char *verb, const char *after)
{
    textbuf_printf(out, "<li>%s<pre>%skubectl -n %s %s %s%s</pre></li>\n", words, before,
                   c->namespace_, verb, c->pod, after);
}

static void advise_move(struct textbuf *out, const struct live_container *c)
{
    textbuf_str(out, "<p>About <b>");
    sight_name(out, c);
    textbuf_str(out, "</b>, which makes memory slow for the others:</p>\n");
    if (!in_kubernetes(c)) {
        textbuf_str(out, "<p>It is not Kubernetes that runs it. Limit its CPUs by the means of its "
                         "runtime, or run it elsewhere.</p>\n");
        return;
    }
    textbuf_str(out, "<ol>\n");
    add_pod_command(out, "Whose is it?", "", c, "get pod", " -o wide --show-labels");
    add_pod_command(out,
                    "Move it, unless a DaemonSet owns it or it has no controller: its controller "
                    "starts it on another node.",
                    "node=$(", c, "get pod",
                    " -o jsonpath='{.spec.nodeName}') &amp;&amp;\n  kubectl cordon \"$node\"");
    add_pod_command(out, "", "", c, "delete pod", "");
    add_command(out, "When it runs elsewhere:", "kubectl uncordon \"$node\"");
    textbuf_str(out, "</ol>\n");
}

static void advise_look(struct textbuf *out, const struct live_container *c, bool cause_known)
{
    textbuf_str(out, "<p>About <b>");
    sight_name(out, c);
    textbuf_str(out, "</b>, which waits:</p>\n");
    if (in_kubernetes(c)) {
        textbuf_str(out, "<ol>\n");
        add_pod_command(out,
                        "Whose is it, and does its work suffer? Look at its p99 or its throughput.",
                        "", c, "get pod", " -o wide --show-labels");
        textbuf_str(out, "</ol>\n");
    }
    if (!cause_known)
        textbuf_str(out, "<p>Who may be the cause: those that read most, or use most CPU time, in "
                         "the table above.</p>\n");
}

/* Those of the NUMA node that the first of them is suspected at. */
static void advise_group(struct textbuf *out, const struct sight *sight, int numa_node)
{
    textbuf_str(out, "<p>One of these makes memory slow, and it is not known which: limit one and "
                     "look whether memory gets faster.</p>\n<ul>\n");
    for (size_t i = 0; i < sight->view.n; i++) {
        const struct live_container *c = &sight->view.containers[i];
        if (c->suspicion != LIVE_IN_GROUP || c->caused_numa_node != numa_node)
            continue;
        textbuf_str(out, "<li><b>");
        sight_name(out, c);
        textbuf_str(out, "</b></li>\n");
    }
    textbuf_str(out, "</ul>\n");
}

static void advise_wait(struct textbuf *out, const struct live_container *c)
{
    textbuf_str(out, "<p>Nothing yet about <b>");
    sight_name(out, c);
    textbuf_str(out,
                "</b>: it is suspected, and may well be innocent. Wait until it is named, or until "
                "latency follows it again.</p>\n");
}

/* A command is only for one that is named: the others may well be innocent. */
static void advise_cause(struct textbuf *out, const struct sight *sight,
                         const struct live_container *c)
{
    if (c->suspicion == LIVE_NAMED)
        advise_move(out, c);
    else if (c->suspicion == LIVE_IN_GROUP)
        advise_group(out, sight, c->caused_numa_node);
    else
        advise_wait(out, c);
}

static const struct live_container *surest(const struct sight *sight)
{
    const struct live_container *found = NULL;
    for (size_t i = 0; i < sight->view.n; i++) {
        const struct live_container *c = &sight->view.containers[i];
        bool told = sight->all || c->suspicion == LIVE_NAMED;
        if (told && c->suspicion >= LIVE_SUSPECTED && (!found || c->suspicion > found->suspicion))
            found = c;
    }
    return found;
}

/* What it loses most of its time for; slow memory is advised on by itself. */
static void advise_costliest(struct textbuf *out, const struct sight *sight,
                             const struct live_container *c)
{
    struct textbuf why = TEXTBUF_INIT;
    live_why(&why, &sight->view, c, sight->all);
    textbuf_str(out, "<p>About <b>");
    sight_name(out, c);
    textbuf_str(out, "</b>: ");
    if (!textbuf_finish(&why))
        textbuf_html(out, why.data);
    textbuf_str(out, "</p>\n");
    textbuf_release(&why);
}

void sight_advice(struct textbuf *out, const struct sight *sight)
{
    const struct live_container *costliest = live_costliest(&sight->view);
    const struct live_container *cause = surest(sight);
    const struct live_container *victim =
        sight->view.n > 0 && sight->view.containers[0].waits ? sight->view.containers : NULL;
    textbuf_str(out, "<section id=\"next\" class=\"live\">");
    if (cause || victim || costliest)
        textbuf_str(out, "<h2>What to do next</h2>\n");
    if (costliest)
        advise_costliest(out, sight, costliest);
    if (cause)
        advise_cause(out, sight, cause);
    if (victim)
        advise_look(out, victim, cause != NULL);
    textbuf_str(out, "</section>\n");
}
