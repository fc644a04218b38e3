/* The store on the seeded scheduler, for C++. */
#ifndef FR_TESTS_SYSTEMATIC_STORE_CASES_H
#define FR_TESTS_SYSTEMATIC_STORE_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

/* A reader on the quick path, while a seal replaces the head and the record of the old one is used
 * anew for a write to another attribute. */
void body_store_head(void *unused);
/* Two writers of different ordinals and a reader, while a seal lays out and folds. */
void body_store_seal(void *unused);
/* A reader of an older state, while a seal over a held head wants what that state lies in. */
void body_store_older(void *unused);
/* A reader of values below the oldest state, while seals cut states and archive rows of them. */
void body_store_values(void *unused);
/* Deletes and writes of several ordinals, earlier ops that are judged and later ones that they must
 * not see, and a reader, while seals make tombstones of the marks. */
void body_store_deletes(void *unused);
/* A judgement, while the first write that it must not see comes late. */
void body_store_late(void *unused);
/* A judgement, while a seal without memory merges away what it is judged by. */
void body_store_lost(void *unused);
/* Who asks for a deleted prim, and a delete that adds to the marks of an ordinal, while a seal of
 * another attribute takes those away. */
void body_store_marks(void *unused);
/* Writers of two ordinals, one of which is judged, and a reader, while a seal makes keys and moves
 * them and those that were there into one segment. */
void body_store_rehomed(void *unused);
/* A reader alone, while a seal does that. */
void body_store_moved(void *unused);
/* A write and then a read by where its keys were, while a seal moves them. */
void body_store_moved_open(void *unused);
/* A reader of two segments, while rows of both are derived at a sealed ordinal, twice. */
void body_store_derived(void *unused);

#ifdef __cplusplus
}
#endif

#endif
