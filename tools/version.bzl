"""The version of the library; include/flyrail/flyrail.h says the same, and a test compares them."""

VERSION = "0.1.0"

# The number in the name that programs look for at run time: it changes when old programs would break.
SOVERSION = "0"
