/* Prints exporter/governor/METRICS.md. */
#include <stdio.h>

#include "tests/support/governor_reference.h"

int main(void)
{
    struct textbuf page = TEXTBUF_INIT;
    int err = governor_reference_write(&page);
    if (err || fwrite(page.data, 1, page.len, stdout) != page.len || fflush(stdout) != 0) {
        fprintf(stderr, "governor_reference: cannot write\n");
        err = 1;
    }
    textbuf_release(&page);
    return err ? 1 : 0;
}
