/* What `reproduce control` says beside its tables. */
#include "tests/simnode/reproductions/control.h"

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
    fputs(
        "\n## Ways and epochs (Subramanian 2015, sections 7.1 and 7.2)\n\n"
        "The paper has 100 workloads for each number of cores, of 100 million cycles. These are "
        "fewer and shorter: see\neach table. The machine is the paper's, with 2 MiB of 16 ways. "
        "At the end of each quantum of 5 million\ncycles, slowdowns with other numbers of ways are "
        "computed from the quantum's hits by stack position (64\nsampled sets), and how fast an "
        "application would be alone is taken from the node's shadow clocks, which need\nno epochs "
        "([RESULTS-shadow.md](RESULTS-shadow.md)). Masks are contiguous; applications that get no "
        "way share one,\nwith UCP as well. Slowdowns are of whole runs, the first quantum "
        "included, over the time alone.\nEpochs are 10,000 cycles; while one lasts, others get "
        "what its application cannot use.\n",
        r->out);
}

void control_text_schemes_reasons(struct reproduction *r)
{
    fputs(
        "\nWhy they differ, as far as we know:\n\n"
        "- **ASM-Cache** has the fairer mean in each table, as in the paper, but by 1 to 7 % "
        "only. Each mean is known less\n  well than that: its deviation over the root of the "
        "number of workloads is 9 % of it at 4 cores, 8 % at 8, and 5\n  and 2 % at 16. So this "
        "does not show that it is fairer than UCP. It is 0 to 2 % faster, and how well that is\n "
        " known is not counted. UCP has the pool here, too, without which 16 applications on 16 "
        "ways would leave it nothing\n  to decide. Our applications are synthetic.\n"
        "- **Epochs** themselves cost nothing in the paper (1 % more fairness, 1 % less "
        "performance); here they make 4\n  cores 15 % less fair and 14 % slower. Whoever has the "
        "epoch goes first at every bank, also where another's\n  row is open. All that ASM-Mem is "
        "compared with has no epochs. Against epochs that everybody has equally\n  often, which is "
        "what the policy itself does, it is 9 to 14 % fairer.\n"
        "- **PARBS** is the paper's fairest scheduler before. Here it is hardly fairer than "
        "FR-FCFS "
        "at 8 cores and less\n  fair at 16: most of our applications read at random, have few row "
        "hits, and so little for it to order.\n"
        "- **ASM-Cache-Mem** pays for the epochs as ASM-Mem does; with two channels, where they "
        "cost least, it is level\n  with PARBS and UCP.\n",
        r->out);
}

void control_text_qos(struct reproduction *r)
{
    fputs(
        "\nIn the paper, with h264ref, Naive-QoS reaches 2.17, and ASM-QoS keeps the bounds that "
        "it "
        "was given, which the text\ndoes not name. Here the bounds of 3.5 and 4 are kept within 5 "
        "%, those of 2.5 and 3 are exceeded by 12 and 10 %.\nThe closer a bound is to what all "
        "ways "
        "give, the more the estimate matters, which knows the last quantum's ways\nonly; and what "
        "the target lost it gets back line by line. The others gain little: two of them do not "
        "depend on the\ncache.\n",
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
