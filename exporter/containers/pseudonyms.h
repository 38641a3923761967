/*
 * Names in the place of names, for who shows others what happened and not to whom.
 *
 * The same name always gets the same other one: the kind and a number, in the order in which names
 * come, so that one recording always gives the same. One thread.
 */
#ifndef IE_CONTAINERS_PSEUDONYMS_H
#define IE_CONTAINERS_PSEUDONYMS_H

struct pseudonyms;

/* 0 or -ENOMEM. */
int pseudonyms_new(struct pseudonyms **out);
void pseudonyms_free(struct pseudonyms *pseudonyms);

/* "KIND-NUMBER" for a name of this kind, a constant; "" stays "". Lives as long as they do; NULL:
 * out of memory. */
const char *pseudonym_of(struct pseudonyms *pseudonyms, const char *kind, const char *name);
/* In the place of an id: 64 hex digits that begin with the number, twelve digits long. */
const char *pseudonym_of_id(struct pseudonyms *pseudonyms, const char *id);

#endif
