/*
 * A text file read line by line, plain or in pieces of packed.h; memory is that of the longest
 * line, or of a piece.
 */
#ifndef IE_SOURCE_RECORDING_FILE_LINES_H
#define IE_SOURCE_RECORDING_FILE_LINES_H

#include <stddef.h>
#include <stdint.h>

struct libdeflate_decompressor;

struct lines {
    int fd;                                 /* owned */
    struct libdeflate_decompressor *unpack; /* owned; NULL: the file is plain text */
    uint8_t *piece;                         /* owned; of packed text */
    size_t piece_cap;
    char *buffer;
    size_t start, end, cap; /* unread bytes are buffer[start..end) */
    size_t max;             /* longest line, without its newline */
    uint64_t number;        /* of the line handed out last, from 1; 0 before */
    int at_end;             /* read(2) gave 0 */
    int torn;               /* the line handed out last has no newline */
};

/* Opens the file, which may be a pipe that somebody writes; one that nobody does is empty. 0 or
 * -errno. */
int lines_init(struct lines *lines, const char *path, size_t max);
void lines_release(struct lines *lines);

/*
 * 1 with the next line, without its newline, valid until the next call; 0 at the end of the file;
 * -EMSGSIZE for a line that is longer than max ('number' is then its number); -EBADMSG for packed
 * text that another program packed, or that was damaged; otherwise read's -errno or -ENOMEM. A last
 * line without newline is a line. Packed text ends before a piece that is not whole.
 */
int lines_next(struct lines *lines, const char **text, size_t *len);

#endif
