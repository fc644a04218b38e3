/* Where a thread's stack lies: stores to it are not delayed, since they could land in a frame that
 * is gone. */
#ifndef FR_TESTS_OWN_STACK_H
#define FR_TESTS_OWN_STACK_H

#include <stdbool.h>

typedef struct fr_own_stack {
    const volatile char *low, *high;
} fr_own_stack;

/* The calling thread's. */
fr_own_stack fr_own_stack_find(void);
/* True when the word lies on the stack that the calling thread has found. */
bool fr_own_stack_holds(const fr_own_stack *stack, const volatile void *word);

#endif
