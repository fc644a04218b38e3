/* Forwards to the DLPack header that belongs to this include root. It shares the guard
 * DLPACK_DLPACK_H_ with every other copy of DLPack, so whichever copy an include path finds first
 * is the one that a translation unit sees. */
#include <ovx/dlpack/dlpack.h>
