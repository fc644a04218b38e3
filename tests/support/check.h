/* Checks in C bodies: a body returns NULL, or the text of the first check that does not hold. */
#ifndef FR_TESTS_SUPPORT_CHECK_H
#define FR_TESTS_SUPPORT_CHECK_H

#define FR_CHECK_TEXT(x) #x
#define FR_CHECK_LINE(x) FR_CHECK_TEXT(x)
#define FR_CHECK(condition) \
    do { \
        if (!(condition)) \
            return __FILE__ ":" FR_CHECK_LINE(__LINE__) ": " #condition; \
    } while (0)

#endif
