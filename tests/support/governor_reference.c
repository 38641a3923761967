#include "tests/support/governor_reference.h"

#include "exporter/governor/serve/self_metrics.h"
#include "tests/support/reference.h"

int governor_reference_write(struct textbuf *out)
{
    textbuf_str(out, "# Metrics of interference_governor\n\nThis page is generated from the "
                     "definitions in the code. After changing one, run\n"
                     "`build/plain/programs/governor_reference > exporter/governor/METRICS.md`.\n\n"
                     "The label *container* stands for `namespace`, `pod`, `container` and "
                     "`container_id`. Every value of\nthe other labels is there with 0.\n\n");
    reference_table(governor_descs, GOVERNOR_METRICS, out);
    return textbuf_finish(out);
}
