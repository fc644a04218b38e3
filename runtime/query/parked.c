#include "runtime/query/parked.h"

fr_query *fr_parked_put(fr_parked *parked, fr_query *query)
{
    if (query->count == 0 || query->count > FR_PARKED_PRIMS)
        return query;
    fr_mutex_lock(&parked->lock);
    uint32_t place = 0;
    while (place < FR_PARKED_PLACES && parked->places[place])
        place++;
    if (place == FR_PARKED_PLACES) {
        place = parked->next;
        parked->next = (place + 1) % FR_PARKED_PLACES;
    }
    fr_query *gone = parked->places[place];
    parked->places[place] = query;
    fr_mutex_unlock(&parked->lock);
    return gone;
}

fr_query *fr_parked_take(fr_parked *parked, const ovx_primpath_t *prims, size_t count)
{
    fr_query *found = NULL;
    fr_mutex_lock(&parked->lock);
    for (uint32_t place = 0; place < FR_PARKED_PLACES && !found; place++) {
        fr_query *query = parked->places[place];
        if (query && query->prims == prims && query->count == count) {
            found = query;
            parked->places[place] = NULL;
        }
    }
    fr_mutex_unlock(&parked->lock);
    return found;
}

fr_query *fr_parked_take_any(fr_parked *parked)
{
    fr_query *found = NULL;
    fr_mutex_lock(&parked->lock);
    for (uint32_t place = 0; place < FR_PARKED_PLACES && !found; place++) {
        found = parked->places[place];
        parked->places[place] = NULL;
    }
    fr_mutex_unlock(&parked->lock);
    return found;
}
