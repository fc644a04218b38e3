#include "tests/support/dictionary_client.h"

#include "runtime/dictionary/dictionary.h"

path_dictionary_instance_t *fr_test_dictionary_open(const fr_test_heap *heap)
{
    fr_dictionary *dictionary = fr_dictionary_acquire(fr_test_heap_allocator(heap));
    return dictionary ? fr_dictionary_instance(dictionary) : NULL;
}

void fr_test_dictionary_close(path_dictionary_instance_t *dictionary)
{
    fr_dictionary_release((fr_dictionary *)dictionary->context);
}
