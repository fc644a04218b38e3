/* What the library, built with FR_CHECK_LOCKS, has counted: allocations under locks, calls of
 * clients' code and of drivers under locks, and steps of walks. */
#ifndef FR_TESTS_LOCKS_LOCK_RULE_H
#define FR_TESTS_LOCKS_LOCK_RULE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In the process until now. */
uint64_t lock_rule_breaks(void);
/* Deleters, tasks and such that were called with a mutex held, of either kind. */
uint64_t lock_rule_clients_called(void);
/* With one of each kind held, and with none. */
uint64_t lock_rule_call_clients(void);
/* Drivers that were called with a mutex held, but one that is held long. */
uint64_t lock_rule_devices_called(void);
/* With one of each kind held, and with none. */
uint64_t lock_rule_call_devices(void);
/* The most steps of walks under locks that were not given back in between. */
uint64_t lock_rule_most_looks(void);
/* Takes three of them so, and others. */
void lock_rule_look(void);
/* Allocates with a mutex held; how many that counted for. Those of a kind that is held long, of
 * which there must be none, come second. */
uint64_t lock_rule_break(void);
uint64_t lock_rule_break_long(void);

#ifdef __cplusplus
}
#endif

#endif
