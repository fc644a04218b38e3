#include "tests/unit/pin_cases.h"

#include "runtime/store/pin.h"

static fr_pin word;

void pin_case_init(void)
{
    fr_pin_init(&word);
}

bool pin_case_take(void)
{
    return fr_pin_take(&word);
}

bool pin_case_drop(void)
{
    return fr_pin_drop(&word);
}

bool pin_case_exclusive(void)
{
    return fr_pin_exclusive(&word);
}

bool pin_case_exclusive_end(void)
{
    return fr_pin_exclusive_end(&word);
}

bool pin_case_kill(void)
{
    return fr_pin_kill(&word);
}

uint32_t pin_case_count(void)
{
    return fr_pin_count(&word);
}
