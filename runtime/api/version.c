#include <flyrail/flyrail.h>

#define FR_TEXT_OF(number) #number
#define FR_VERSION_TEXT(major, minor, patch) \
    FR_TEXT_OF(major) "." FR_TEXT_OF(minor) "." FR_TEXT_OF(patch)

const char *flyrail_version_string(void)
{
    return FR_VERSION_TEXT(FLYRAIL_VERSION_MAJOR, FLYRAIL_VERSION_MINOR, FLYRAIL_VERSION_PATCH);
}
