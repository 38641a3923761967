/*
 * The members of a JSON object, taken one by one, with their types and ranges checked. The error is
 * sticky: the first thing that is wrong is reported, and what is taken after it has no meaning.
 */
#ifndef IE_SOURCE_RECORDING_FIELDS_H
#define IE_SOURCE_RECORDING_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/textbuf.h"
#include "exporter/source/machine.h"

struct fields {
    const char *line; /* what the object is, for messages: a line's first-class key */
    json_t *object;   /* borrowed */
    char *error;      /* the caller's buffer */
    size_t error_size;
    bool failed;
    /* Some integer of the text does not fit jansson's, so all were read as doubles. */
    bool rounded;
};

enum fields_need { FIELD_REQUIRED, FIELD_OPTIONAL };

/* The text as an object, in which 'in' stands then. The caller releases it (json_decref); NULL when
 * there is none, and an object may be there beside an error. */
json_t *fields_load(struct fields *in, const char *text, size_t len);

/* What is wrong, unless something was before. */
void fields_fail(struct fields *in, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* To the members of the member that 'line' names. */
void fields_enter(struct fields *in);

bool fields_has(const struct fields *in, const char *key);
/* The member; NULL when it is not there. */
json_t *fields_member(struct fields *in, const char *key, enum fields_need need);

/* What is absent, or wrong, is "", false or 0. Texts live as long as the object. */
const char *fields_text(struct fields *in, const char *key, enum fields_need need);
/* A required text copied to out, of at most size - 1 bytes. */
void fields_word(struct fields *in, const char *key, char *out, size_t size);
bool fields_flag(struct fields *in, const char *key);

/* A whole number from 0 to 2^63, written as an integer or as a real. */
uint64_t fields_whole(struct fields *in, const char *key, enum fields_need need);
/* As fields_whole, of a value that was found already; 'key' is for messages. */
uint64_t fields_whole_value(struct fields *in, const char *key, const json_t *value);
/* From 0 to max. */
int fields_int(struct fields *in, const char *key, enum fields_need need, int max);
/* A finite number that is not negative; 'absent' when it is not there. */
double fields_real(struct fields *in, const char *key, enum fields_need need, double absent);

/*
 * Which CPUs each socket and each NUMA node has, in the header of a recording: optional members of
 * "machine", "socket_cpus" and "numa_node_cpus". Each is an array that has a list of CPUs, written
 * as the kernel does, for each number from 0 on: ["0-15,32-47","16-31,48-63"]. A CPU in no list is
 * not known.
 */

/* 'in' stands in the machine. */
void topology_parse(struct fields *in, struct machine *machine);

/* As further members of an object. Left out where there is but one socket or node: nobody asks. */
void topology_write(struct textbuf *out, const struct machine *machine);

#endif
