#include "tests/systematic/own_stack.h"

#include <pthread.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define FR_OWN_STACK_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FR_OWN_STACK_ASAN 1
#endif
#endif

#ifdef FR_OWN_STACK_ASAN
#include <sanitizer/asan_interface.h>

/* With detection of use after return, frames lie in memory of their own. */
static bool on_fake_stack(const volatile void *word)
{
    return __asan_addr_is_in_fake_stack(__asan_get_current_fake_stack(), (void *)(uintptr_t)word,
                                        NULL, NULL) != NULL;
}
#else
static bool on_fake_stack(const volatile void *word)
{
    (void)word;
    return false;
}
#endif

fr_own_stack fr_own_stack_find(void)
{
    fr_own_stack stack = {NULL, NULL};
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size_bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return stack;
    (void)pthread_attr_getstack(&attributes, &low, &size_bytes);
    (void)pthread_attr_destroy(&attributes);
    stack.low = low;
    stack.high = stack.low + size_bytes;
    return stack;
}

bool fr_own_stack_holds(const fr_own_stack *stack, const volatile void *word)
{
    const volatile char *at = word;
    return (at >= stack->low && at < stack->high) || on_fake_stack(word);
}
