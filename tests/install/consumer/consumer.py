"""Opens the library while the process runs, as a host with plug-ins does. Argument: its path."""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
library.flyrail_version_string.restype = ctypes.c_char_p
stage = ctypes.c_void_p()
assert library.ovstage_create_instance(None, ctypes.byref(stage)) == 0
assert library.ovstage_destroy_instance(stage) == 0
print("flyrail %s works" % library.flyrail_version_string().decode())
