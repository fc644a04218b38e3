/* An edge that is linked while its producer completes (scheduler/edge.h).
 *
 * Both sides write one word and then look at the other's: the linker pushes its edge, fences, and looks at the entry; the completer
 * ends the entry, then looks at the users. Without the order between the two, the look may be done before the write is visible.
 *
 * Checked: the consumer counts exactly the edges that are linked, so its count ends at zero, and no edge is both taken back and
 * counted. */

bool entry_done;  /* changed by a compare-and-swap */
bool users;       /* the edge stands in the list */
bool landing_done, landing_users;
byte deps = 1;    /* the consumer's own share */
bool linked, linker_over;

proctype machine()
{
end:
    do
    :: atomic { landing_done -> landing_done = false; entry_done = true }
    :: atomic { landing_users -> landing_users = false; users = true }
    od
}

proctype linker()
{
    bool pending, mine;
    deps++; /* before it is known: the share of the edge to come */
    landing_users = true;
#ifndef FR_MUTATE_EDGE_NO_FENCE
    (!landing_users);
#endif
    pending = !entry_done;
    linked = true;
#ifndef FR_MUTATE_EDGE_NO_CLOSE
    (!landing_users); /* the second swap is of the same word */
    if
    :: pending -> skip
    :: else ->
        atomic {
            mine = users;
            users = false
        };
        if
        :: mine -> linked = false
        :: else
        fi
    fi;
#endif
    if
    :: linked -> skip
    :: else -> deps--
    fi;
    deps--; /* the own share */
    linker_over = true
}

proctype completer()
{
    bool edge;
    landing_done = true;
#ifndef FR_MUTATE_EDGE_NO_COMPLETION_ORDER
    (!landing_done);
#endif
    atomic {
        edge = users;
        users = false
    };
    if
    :: edge -> deps--
    :: else
    fi
}

proctype monitor()
{
    timeout -> assert(linker_over && deps == 0 && entry_done)
}

init
{
    atomic { run machine(); run linker(); run completer(); run monitor() }
}
