#!/bin/sh
# Each public header compiles alone and in odd orders, as C11 and as C++17, with every warning on;
# what must not compile does not. Arguments: the headers.
set -u
include=
for header in "$@"; do
    case $header in
    */ovstage/ovstage.h) include=${header%/ovstage/ovstage.h} ;;
    esac
done
[ -n "$include" ] || { echo "ovstage/ovstage.h is not among the arguments"; exit 1; }
folder=${TEST_TMPDIR:-$(mktemp -d)}
flags="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fsyntax-only"
failed=0

# compile LANGUAGE STANDARD COMPILER PATH-FLAGS: the text of $unit
compile() {
    # shellcheck disable=SC2086
    printf '%s\n' "$unit" | "$3" -x "$1" "-std=$2" $flags $4 - 2>"$folder/errors"
}

must() {
    for compiler in gcc clang; do
        command -v "$compiler" >/dev/null || continue
        for language in "c c11" "c++ c++17"; do
            # shellcheck disable=SC2086
            if ! compile $language "$compiler" "-I$include"; then
                echo "$compiler, $language, refuses:"; printf '%s\n' "$unit"; cat "$folder/errors"
                failed=1
            fi
        done
    done
}

must_not() {
    for language in "c c11" "c++ c++17"; do
        # shellcheck disable=SC2086
        if compile $language gcc "-I$include"; then
            echo "$language takes:"; printf '%s\n' "$unit"
            failed=1
        fi
    done
}

names=
for header in "$@"; do
    name=${header#"$include"/}
    names="$name $names"
    unit="#include <$name>
#include <$name>
int not_empty;"
    must
done

unit=
for name in $names; do # last first
    unit="$unit
#include <$name>"
done
unit="$unit
int not_empty;"
must

# The stage after what other libraries declare for themselves.
unit='typedef unsigned long ovstage_ordinal_t;
#define OVSTAGE_ORDINAL_T_DECLARED
typedef struct ovstage_instance_t ovstage_instance_t;
#define OVSTAGE_INSTANCE_T_DECLARED
#include <ovx/path_dictionary/path_dictionary_utils.h>
#include <ovstage/ovstage.h>
const ovstage_vtable_t *table_of(ovstage_instance_t *instance);
const ovstage_vtable_t *table_of(ovstage_instance_t *instance) { return instance->vtable; }'
must

# DLPack: ours first, the copy of the system first, both names.
for name in dlpack/dlpack.h ovx/dlpack/dlpack.h ovstage/ovstage.h; do
    unit="#include <$name>
#include <ovx/dlpack/dlpack.h>
#include <dlpack/dlpack.h>
struct DLManagedTensorVersioned tensor;"
    for path in "-isystem $include" "-idirafter $include"; do
        compile c c11 gcc "$path" || { echo "$name, $path:"; cat "$folder/errors"; failed=1; }
    done
done

# A literal and nothing else makes a text.
unit='#include <ovx/types.h>
ovx_string_t text(const char *name);
ovx_string_t text(const char *name) { (void)name; return literal_to_ovx_string("name"); }'
must
unit='#include <ovx/types.h>
ovx_string_t text(const char *name);
ovx_string_t text(const char *name) { return literal_to_ovx_string(name); }'
must_not

exit $failed
