#include "tests/unit/parked_cases.h"

#include <string.h>

#include "runtime/write/write_op.h"
#include "scheduler/op.h"

const char *parked_case_a_write_reads_nothing(void)
{
    static fr_op op;
    char text[192] = "";
    op.type = &fr_write_op_type;
    /* Pointers in it lead nowhere: who looks at what is behind them does not come back. */
    memset(op.payload, 0xa5, sizeof(op.payload));
    fr_write_op_type.tell(&op, text, sizeof(text));
    return strstr(text, "a stream of a device") ? NULL : "it does not say what it waits for";
}
