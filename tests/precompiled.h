// What every GoogleTest body begins with. Nothing else: a file of a test must name what it uses.
#include <gtest/gtest.h>
