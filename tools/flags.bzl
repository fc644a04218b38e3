"""The compiler flags of the house, one list for each language."""

C_COPTS = [
    "-std=c11",
    "-D_GNU_SOURCE",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wshadow",
    "-Werror",
    "-fvisibility=hidden",
]

CXX_COPTS = [
    "-std=c++17",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wshadow",
    "-Werror",
]

# GoogleTest bodies: compiling them is most of the time of a build, and what they do is little. They
# hand values to C that no enumerator has: what a client can do, the library must refuse. And looking
# for undefined behaviour in them would take more time than compiling them does.
TEST_BODY_COPTS = CXX_COPTS + [
    "-O0",
    "-U_FORTIFY_SOURCE",
    "-fno-sanitize=undefined",
]

# Of bodies that do much work: the oracle's model.
OPTIMIZED_BODY_COPTS = CXX_COPTS + [
    "-O2",
    "-fno-sanitize=undefined",
]
