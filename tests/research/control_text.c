/* What `reproduce control` says beside its tables. */
#include "tests/research/control.h"

/* Why a whole run has the numbers that it has; a reduced one has others. */
static void put_reasons(const struct reproduction *r, const char *text)
{
    if (!r->reduced)
        fputs(text, r->out);
}

void control_text_introduction(struct reproduction *r)
{
    fprintf(
        r->out,
        "# Control: what the papers do with what they measure\n\n"
        "    tests/simnode/reproduce control\n\n"
        "**This shows policies on a modelled machine, not on silicon.** Workloads are drawn with "
        "seed %u. The papers'\nnumbers are those in their text; bars of figures that the text "
        "does not name are not known.\n",
        r->seed);
}

void control_text_threshold(struct reproduction *r)
{
    fputs("\nThe loop is the code that ships: the exporter's collector counts the node, and the "
          "governor "
          "sets its quotas. In the\npaper (two Gold 6252, 9 threads of a recommendation model "
          "beside 6 of "
          "stress-ng; figure 4, whose bars the text\ndoes not name) work on memory breaks the "
          "bound unless "
          "it has one core, work on CPUs never does, and algorithm 1\nkeeps the bound and leaves "
          "work on "
          "CPUs much more than one core. So here. Theta is the mean of calm seconds in\nthe paper, "
          "which "
          "half of all calm seconds exceed; here it is the exporter's baseline, and with the "
          "factor 1 it\n"
          "does what can be expected of that. The exporter learns the baseline in the ticks before "
          "best-effort work begins.\n",
          r->out);
}

void control_text_schemes(struct reproduction *r)
{
    fputs("\n"
          "## Ways and epochs (Subramanian 2015, sections 7.1 and 7.2)\n"
          "\n"
          "The paper has 100 workloads for each number of cores, of 100 million cycles. These are "
          "fewer and shorter: see each\n"
          "table. ± is the standard error over the workloads. The machine is the paper's, with 2 "
          "MiB of 16 ways. At the end of\n"
          "each quantum of 5 million cycles, slowdowns with other numbers of ways are computed "
          "from the quantum's hits by stack\n"
          "position (64 sampled sets), and how fast an application would be alone is taken from "
          "the node's shadow clocks, which\n"
          "need no epochs ([RESULTS-shadow.md](RESULTS-shadow.md)). Masks are contiguous; "
          "applications that get no way share one,\n"
          "with UCP as well (\"a way for each\": nobody shares). Slowdowns are of whole runs, over "
          "the time alone. In the first\n"
          "quantum no scheme acts yet, and it is an eighth of a run here, a twentieth in the "
          "paper; so tables also have what\n"
          "comes after it.\n"
          "\n"
          "Epochs are 10,000 cycles; while one lasts, others get what its application cannot use. "
          "Its reads go first at every\n"
          "bank, also where another's row is open, and interrupt drains of writes. \"After rows\": "
          "neither; rows that are open and\n"
          "drains that have begun are finished first.\n",
          r->out);
}

void control_text_schemes_reasons(struct reproduction *r)
{
    put_reasons(
        r, "\n"
           "Why they differ from the paper, as far as we know:\n"
           "\n"
           "- **Short runs.** After the first quantum most differences are greater: ASM-Mem after "
           "rows is fairer than PARBS by\n"
           "  13.8 ± 4.1 % at 8 cores, not 9.4 ± 5.8, at 16 by 18.0 ± 1.8, not 13.8 ± 1.3.\n"
           "- **ASM-Cache** with one channel is fairer than UCP by 3.3 ± 1.4 % at 4, 5.7 ± 3.1 at "
           "8, 2.6 ± 0.6 at 16; the paper\n"
           "  has 12.5 and 15.8. How much it is depends on what UCP does with many applications. "
           "Here it has the shared way, too.\n"
           "  With a way for each, 16 applications on 16 ways leave it nothing to decide, and "
           "ASM-Cache is fairer by 35.5 ± 2.4 %\n"
           "  at 16 cores, by 10.6 ± 4.3 at 8. The paper's 15.8 lies between the two, its 12.5 "
           "within the error of the second.\n"
           "  Which of them its UCP is like, we do not know.\n"
           "- **Epochs** cost 1 % of performance in the paper, 14.4 ± 1.0 % at 4 cores here, but "
           "6.4 ± 0.9 % after rows: more than\n"
           "  half of it is the controller's way of serving them, not the policy. In the 5 of the "
           "30 workloads of 4 cores in which\n"
           "  nobody reads a stream, it is 8.0 ± 1.0 %, and 0.3 ± 0.2 after rows, next to nothing. "
           "What remains is where somebody\n"
           "  does: who streams can fill the channel alone in its epochs, and needs 8 % less time "
           "than without epochs, the others\n"
           "  18 % more.\n"
           "- **ASM-Mem** pays for the epochs, and PARBS has none. After rows it is fairer than "
           "PARBS by 2.9 ± 3.1 % at 4 cores,\n"
           "  9.4 ± 5.8 at 8 (paper: 5.5), 13.8 ± 1.3 at 16 (12): as in the paper, as well as it "
           "is known. With two channels and\n"
           "  16 cores it is by 11.0 ± 1.9 %, and by 6 in the paper; why more, we do not know. "
           "Against as many epochs for\n"
           "  everybody, which tells the policy from its actuator, it is fairer in each row.\n"
           "- **ASM-Cache-Mem** likewise: after rows it is fairer than PARBS and UCP by 10.5 ± 6.7 "
           "% at 16 cores (paper: 14.6),\n"
           "  and as fast (+0.5 ± 0.5 %; paper: within 1 %). With two channels it is by 3.6 ± 3.9 "
           "% (paper: 8.9), after the first\n"
           "  quantum by 7.1 ± 3.1 %: too few workloads to tell whether that is less.\n"
           "- **PARBS** is the paper's fairest scheduler before. Here it does not differ from "
           "FR-FCFS at 4 and 8 cores, and is\n"
           "  less fair by 7.6 ± 1.2 % at 16. In the 5 workloads of 4 cores without a stream it is "
           "fairer by 12.1 ± 7.4 % and\n"
           "  faster by 4.5 ± 2.2 %, in the others neither (+0.8 ± 2.5 and +0.4 ± 0.7 %). Why "
           "streams undo it, we do not know.\n"
           "- **Deviations** of so few workloads are hardly known. One difference is beyond twice "
           "its error wherever it is told:\n"
           "  ASM-Mem's, which is 11 to 30 % smaller than with as many epochs for everybody.\n");
}

void control_text_qos(struct reproduction *r)
{
    fputs(
        "\nIn the paper, with h264ref, Naive-QoS reaches 2.17, and ASM-QoS keeps the bounds that "
        "it was given, which the text\ndoes not name. Here all four are kept within 3 % from the "
        "eighth quantum on. Over all from the third on, 3.5 and 4\nare kept within 5 %, which was "
        "the "
        "target; 2.5 and 3 miss it, by 12 and 10 %. Why, the quanta say:\n\n"
        "- **The start is cold.** At the end of the first quantum nobody's lines have come yet, "
        "so ways seem to matter little:\n  one is predicted to be enough, and is given. The run "
        "alone, which slowdowns are over, starts as cold.\n"
        "- **Lines come back one by one.** What the model says of more ways is true when they are "
        "full. 2.42 was predicted\n  with 8 ways in the fourth quantum, and 3.48 came: it takes "
        "some five quanta until all lines that were lost\n  to others are back, for the target "
        "alone brings them, by its misses. Naive-QoS, too, which gives all ways from\n  the second "
        "quantum on, ends at 2.20 after 2.56.\n"
        "- **The model** itself is within 1 % with few ways that stay, and up to 4 % too low with "
        "many.\n"
        "- **Not** the memory channel or the granularity of ways: with 13 ways, all but one for "
        "each of the others, the target\n  has 2.39, so that each bound can be kept; and one way "
        "more or less is 4 to 7 % of a slowdown.\n\n"
        "The others gain little: two of them do not depend on the cache.\n",
        r->out);
}

void control_text_placement(struct reproduction *r)
{
    fputs(
        "\nThe paper has no algorithm and no number for this. The advice looks at the node that is "
        "held only: what the\ncandidate will do to the other one, nobody knows before.\n",
        r->out);
}

void control_text_nvmm(struct reproduction *r)
{
    fputs(
        "\n"
        "The policy is the code that ships, from the exporter's two documents to the CPUs of "
        "threads, which are those of a\n"
        "scheduler on the node: a queue for each CPU, as the kernel has, and a thread goes to "
        "another queue when that is at\n"
        "least two shorter. The documents are made from the node's samples of stores. A slice is "
        "40,000 cycles, told as a\n"
        "25th of a second, for the policy's times are seconds. The thesis manages from one "
        "writer on: so does the simulated\n"
        "column; by default the governor begins above 8. Times are of steady rates: nobody ends.\n"
        "\n"
        "Why they differ, as far as we know:\n"
        "\n"
        "- **Queues of single CPUs** explain most of what fair shares leave open. 16 threads on "
        "13 CPUs are 10 with a CPU of\n"
        "  their own and 6 with half of one, which nobody moves, for no queue is two shorter: "
        "their summed time is 1.375,\n"
        "  where fair shares say 1.2308. The thesis's two numbers for managed writers are within "
        "3 percentage points of\n"
        "  that. It does not state its sampler's CPU time apart, which we left out, so this may "
        "in part be chance.\n"
        "- **At 32 writers** a few of them show no store for 2.1 s now and then, are forgotten, "
        "and "
        "run elsewhere until they\n"
        "  do: the simulated 2.1 s are 53 slices of 19 us, of which a writer gets five.\n"
        "- **From 1 to 16 writers** unmanaged ones take what fair shares say, 6 to 33 % per "
        "doubling; the thesis has 5 to\n"
        "  30 %.\n"
        "- **Bytes stored** hardly change: the node's persistent memory loses no bandwidth to "
        "more writers. What could be put\n"
        "  in would be fitted to the thesis, and show only itself.\n"
        "- **A switch** costs nothing here, and each thread keeps its caches.\n",
        r->out);
}

void control_text_loops(struct reproduction *r)
{
    fputs(
        "\n## Ways, bandwidth and epochs by the governor\n\n"
        "The loop is the code that ships: the exporter's collectors count the node, its document "
        "is the governor's view, and\nwhat the policies `ways`, `mba` and `epochs` decide becomes "
        "masks and a throttle of the node's containers. No CPU\nof today has what the paper's "
        "schemes look at, curves and priorities; the governor moves one way, or one step of\n"
        "bandwidth, and looks what comes of it. A step is a second here instead of ten, and a "
        "second is a million cycles.\nFloors are one way and 10 %. Slowdowns in the tables are "
        "true; the policies go by the model `shadow`, unless it is\nsaid that they go by "
        "`passive`, which learns while somebody is alone. 4 cores, 1 channel.\n\n"
        "Peers (mode `fair`), beside the paper's schemes on the same workloads:\n",
        r->out);
}

void control_text_loop_bound(struct reproduction *r)
{
    fprintf(r->out, "\nOne that is protected (mode `bound`); the others begin after 24 seconds. "
                    "The second half counts:\n");
}

void control_text_loop_epochs(struct reproduction *r)
{
    fputs("\nSlowdown by measuring (`epochs`): the others are held for two seconds of a hundred, "
          "which are of 10 million cycles,\nor of a million in short ones. Beside it the paper's "
          "epochs, in which memory serves one application first:\n\n"
          "| protected | beside | slowdown | by `epochs` | work that the others lose, % | by "
          "`epochs` of short seconds | work that they lose in ASM's epochs, % |\n"
          "|---|---|---|---|---|---|---|\n",
          r->out);
}

void control_text_loop_peers(struct reproduction *r)
{
    put_reasons(
        r,
        "\n- **`ways`** by itself makes nobody's greatest slowdown smaller here: a hot set that "
        "needs eight ways is no faster with\n  a fifth one, so the step is undone after three "
        "looks and its pair barred. ASM-Cache's look-ahead sees the knee and\n  gives all at once: "
        "who is slowest takes 46 % less time. The governor has no curves to look ahead on.\n"
        "- **`mba`** takes 15 % off who is slowest, and the others need 7 % more. ASM-Mem takes "
        "3 % off, and they need\n  20 % more; but its epochs alone cost everybody 18 to 23 % "
        "here (above), so that the policy itself gains more.\n"
        "- Standard errors are large, since the workloads differ.\n");
}

void control_text_loop_bound_reasons(struct reproduction *r)
{
    put_reasons(
        r,
        "\n- **flow** loses its time in the cache: `ways` takes them one by one, and ends 5 % "
        "below "
        "the bound by `shadow`, 4 %\n  above it by `passive`; ASM-QoS is on it. The others, most "
        "of whom do not need the cache, need 2 to 6 % more\n  time. By `shadow`, `mba` has no "
        "cause to act. By `passive` it has: the bound is kept by far, and the others\n  need up to "
        "about twice the time.\n"
        "- **quantum** reads a stream: no ways help it, neither the governor's, which takes none, "
        "nor ASM-QoS's. `mba` keeps\n  the bound, and those who need bandwidth need 15 and 49 % "
        "more time.\n"
        "- `mba` makes about a change a second: over the bound it takes a step from all, and gives "
        "one back after three\n  calm ones.\n");
}

void control_text_loop_epochs_reasons(struct reproduction *r)
{
    put_reasons(
        r,
        "\nWhat `epochs` says is too low, by 13 to 31 %. As far as we know: the others are held, "
        "not gone, and three of them at\n10 % may still use 30 % of the channel. In short seconds "
        "the warm-up does not bring all lines back: the\nmiss ratio still falls, and nothing is "
        "told (what was told before this was looked at, was less than half for\nflow and zip). It "
        "costs the others less than 1 % of their work, the paper's epochs 34 to 43 %.\n");
}
