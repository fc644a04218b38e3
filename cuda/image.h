/* The compiled kernels, in the order in which a device tries them.
 *
 * A build with nvcc has a fat binary first: code for the devices of its time, which only a driver
 * takes that is not much older than that nvcc. The text is in every build, and any driver that the
 * loader takes can compile it. */
#ifndef FR_CUDA_IMAGE_H
#define FR_CUDA_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fr_cuda_image {
    const char *name;
    const unsigned char *bytes; /* a 0 follows */
    size_t size_bytes;
} fr_cuda_image;

extern const fr_cuda_image fr_cuda_images[];
extern const uint32_t fr_cuda_image_count;

#ifdef __cplusplus
}
#endif

#endif
