/* Stands in the source tree where DLPack's own header stands in an installed tree (see
 * include/README.md): it takes the system's copy, wherever the include path has it.
 *
 * First it asks for <dlpack/dlpack.h> like anybody else. If that leads to the system's copy, all is
 * done. If it leads to our forwarder, and so back here, the copy must be further down the path.
 * No guard of its own: DLPack's guard tells whether there is anything left to do. */
#if defined(__GNUC__)
#pragma GCC system_header /* #include_next is an extension, which -Wpedantic reports */
#endif

#ifndef DLPACK_DLPACK_H_
#ifndef OVX_DLPACK_LOOKING
#define OVX_DLPACK_LOOKING
#include <dlpack/dlpack.h>
#undef OVX_DLPACK_LOOKING
#ifndef DLPACK_DLPACK_H_
#error "DLPack is missing: install libdlpack-dev 1.0 or newer"
#endif
#elif defined(__has_include_next)
#if __has_include_next(<dlpack/dlpack.h>)
#include_next <dlpack/dlpack.h>
#endif
#endif
#endif
