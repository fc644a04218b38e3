/* Blocks of ids are packed and used again while others read and release (scheduler/op_table.h).
 *
 * One id X stands in a full block; the table's owner packs the block (X stays held) and uses it for the id Y. Readers ask for X the
 * whole time. With RELEASE, X is not held but released by two threads at once, and one of them may be late: the block stands for Y
 * by then.
 *
 * All accesses here are acquire or release, so they are seen in order.
 *
 * Checked: X is found done while it is held; exactly one release of X succeeds; Y is never touched by it. */

#define NONE 0
#define PENDING 1
#define DONE_X 2
#ifdef FR_MUTATE_OP_TABLE_NO_GENERATION
#define DONE_Y 2 /* a done entry does not say of which block it is */
#else
#define DONE_Y 3
#endif

#define X 1
#define Y 2

byte key = X, entry = DONE_X; /* the full block */
bool linked = true;
byte packed_key;              /* the packed one: its bit for X is set */
bool packed_linked;
byte version;
bool owner_over;
byte released;                /* successful releases of X */

/* What a lookup of X by hand over the chain finds: packed blocks are linked in front. */
inline find()
{
    found_packed = false;
    found = false;
    if
    :: packed_linked -> found_packed = (packed_key == X)
    :: else
    fi;
    if
    :: !found_packed ->
        if
        :: linked -> found = (key == X)
        :: else
        fi
    :: else
    fi
}

#ifndef RELEASE
proctype owner()
{
    packed_key = X;
    packed_linked = true;
#ifndef FR_MUTATE_OP_TABLE_NO_VERSION
    version++;
#endif
    key = 0;
    linked = false;
    /* The next use. */
    entry = NONE;
    key = Y;
    linked = true;
    entry = PENDING;
    entry = DONE_Y;
    owner_over = true
}

proctype reader()
{
    byte seen_version, word;
    bool found, found_packed;
again:
    seen_version = version;
    find();
    if
    :: found_packed -> goto out
    :: found ->
        word = entry;
#ifndef FR_MUTATE_OP_TABLE_NO_RECHECK
        if
        :: key != X -> goto again
        :: else
        fi;
#endif
        assert(word == DONE_X)
    :: else ->
        if
        :: version != seen_version -> goto again
        :: else -> assert(false) /* the id is held */
        fi
    fi;
out:
    skip
}

init
{
    atomic { run owner(); run reader(); run reader() }
}
#else
proctype owner()
{
    (released == 1); /* the last id of the block was released: it is used again */
    version++;
    key = 0;
    linked = false;
    entry = NONE;
    key = Y;
    linked = true;
    entry = PENDING;
    entry = DONE_Y;
    owner_over = true
}

proctype releaser()
{
    byte word;
    bool found, found_packed;
    find();
    if
    :: found ->
        word = entry;
        if
        :: word == DONE_X ->
            atomic { /* the swap */
                if
                :: entry == word -> entry = NONE; released++
                :: else
                fi
            }
        :: else
        fi
    :: else
    fi
}

proctype monitor()
{
    timeout -> assert(released == 1);
    assert(!owner_over || entry == DONE_Y)
}

init
{
    atomic { run owner(); run releaser(); run releaser(); run monitor() }
}
#endif
