/* Placeholders inside configuration texts. */
#ifndef OVX_CONFIG_TOKENS_H
#define OVX_CONFIG_TOKENS_H

/* A static loader puts the folder of the running executable in its place. The shared library leaves
 * it as it is. */
#define OVX_CONFIG_EXECUTABLE_DIR_TOKEN "${executable_dir}"

#endif
