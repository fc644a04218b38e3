#include "tests/support/looks.h"

#include "scheduler/os.h"

uint64_t fr_test_looks(void)
{
#ifdef FR_CHECK_LOCKS
    return fr_looks();
#else
    return 0;
#endif
}
