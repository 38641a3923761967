/* What cmocka.h takes, cmocka.h, and what nearly every unit test uses beside it. */
#ifndef IE_TESTS_UNIT_H
#define IE_TESTS_UNIT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#endif
