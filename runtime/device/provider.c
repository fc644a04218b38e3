#include "runtime/device/provider.h"

/* Weak: a program that has a backend has two of these. */
__attribute__((weak)) const fr_device_table *const fr_device_provider = NULL;
