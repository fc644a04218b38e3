#include "bench/process.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* jemalloc's, when the program is linked with it. */
__attribute__((weak)) int mallctl(const char *name, void *old, size_t *old_size, void *new,
                                  size_t new_size);

uint64_t process_resident_bytes(void)
{
    unsigned long total = 0, resident = 0, of_files = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return 0;
    if (fscanf(file, "%lu %lu %lu", &total, &resident, &of_files) != 3)
        resident = of_files = 0;
    fclose(file);
    return (uint64_t)(resident - of_files) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t cpu_ns(clockid_t of)
{
    struct timespec time;
    clock_gettime(of, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t process_cpu_ns(void)
{
    return cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t process_others_cpu_ns(void)
{
    uint64_t own_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t all_ns = process_cpu_ns(); /* read later: never less */
    return all_ns - own_ns;
}

/* 4096 stands for all arenas. */
void process_trim(void)
{
    if (mallctl)
        mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
}

/* Sections that are loaded and not written to. */
static uint64_t sum_text(FILE *file, const Elf64_Ehdr *header)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < header->e_shnum; i++) {
        Elf64_Shdr section;
        long place = (long)(header->e_shoff + (uint64_t)i * header->e_shentsize);
        if (fseek(file, place, SEEK_SET) != 0 || fread(&section, sizeof(section), 1, file) != 1)
            return 0;
        if ((section.sh_flags & SHF_ALLOC) && !(section.sh_flags & SHF_WRITE))
            sum += section.sh_size;
    }
    return sum;
}

uint64_t process_text_bytes(const char *path)
{
    Elf64_Ehdr header;
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    bool fine = fread(&header, sizeof(header), 1, file) == 1 &&
                __builtin_memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                header.e_ident[EI_CLASS] == ELFCLASS64;
    uint64_t sum = fine ? sum_text(file, &header) : 0;
    fclose(file);
    return sum;
}
