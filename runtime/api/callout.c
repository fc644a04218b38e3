#include "runtime/api/callout.h"

#include "scheduler/os.h"

#include <stddef.h>

static _Thread_local fr_callout *fr_callout_top;

void fr_callout_begin(fr_callout *callout, const void *owner)
{
    fr_calls_client();
    callout->owner = owner;
    callout->outer = fr_callout_top;
    callout->waited.list = NULL;
    callout->waited.count = 0;
    callout->error.length = 0;
    fr_callout_top = callout;
}

void fr_callout_end(fr_callout *callout)
{
    fr_callout_top = callout->outer;
    if (callout->waited.list)
        fr_waited_free(&callout->waited);
}

fr_callout *fr_callout_innermost(void)
{
    return fr_callout_top;
}

bool fr_callout_is_under_way(const void *owner)
{
    for (const fr_callout *callout = fr_callout_top; callout; callout = callout->outer)
        if (callout->owner == owner)
            return true;
    return false;
}
