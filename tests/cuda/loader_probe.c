/* What a program finds that looks for the driver by its name. */
#include <stdio.h>

#include "cuda/loader.h"

int main(void)
{
    fr_cuda_library library;
    if (fr_cuda_library_open(&library))
        printf("driver %d, %d devices\n", library.version, library.device_count);
    else
        printf("no CUDA: %s\n", library.why);
    fr_cuda_library_close(&library);
    return 0;
}
