/* usage: stress SECONDS [SEED]
 *
 * Several clients of one stage at the same time, on the driver of this machine: writers, each with
 * a column of its own, whose producers are late by random times; readers of whatever is sealed, on
 * devices and on the host; one that seals. What a column holds at a moment follows from its number
 * and the moment alone, so each read is checked in full. After the second third of the time neither
 * what the stage keeps nor what the devices have in use may grow. Exit status 1 if anything failed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/devices/client.h"

enum {
    WRITERS = 3,
    READERS = 2,
    ROWS = 512,
    AHEAD = 12,  /* ordinals that writers may be ahead of the seal */
    SOURCES = 8, /* of a writer, used in turn */
    HELD = 4,    /* groups that a reader holds while others write */
    MOST_LATE_US = 300,
    WINDOWS = 3
};

/* Of a third of the time: the most that there was. */
typedef struct use {
    uint64_t stage_bytes, device_bytes, resident_bytes;
} use;

typedef struct stress {
    client_driver driver;
    client owner;
    ovstage_query_handle_t all;
    ovx_token_t columns[WRITERS];
    uint64_t seed, begin_ns, duration_ns;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t submitted[WRITERS]; /* the newest ordinal of each writer */
    uint64_t sealed;
    uint64_t writes, reads;
    bool is_over;
    char failure[1024];
    use most[WINDOWS];
} stress;

typedef struct actor {
    stress *of;
    uint32_t number;
    uint64_t random;
    client self;
    pthread_t thread;
} actor;

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint32_t below(actor *self, uint32_t limit)
{
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return (uint32_t)((self->random >> 16) % limit);
}

/* --- What is where. --- */

/* Every third moment writes every fifth row only, from a row that moves on. */
static bool is_part(uint64_t ordinal)
{
    return ordinal % 3 == 0;
}

static bool writes_row(uint64_t ordinal, uint32_t row)
{
    return !is_part(ordinal) || row % 5 == ordinal % 5;
}

/* Small enough to be exact. */
static float first_of(uint32_t column, uint64_t ordinal)
{
    return (float)((ordinal % 2048) * 4096 + column * 1024);
}

/* Of the newest write at or below the moment: of a part's rows those behind each other. */
static float value_of(uint32_t column, uint64_t ordinal, uint32_t row)
{
    while (!writes_row(ordinal, row))
        ordinal--;
    uint32_t place = is_part(ordinal) ? row / 5 : row;
    return first_of(column, ordinal) + (float)place;
}

static void expect_column(actor *self, const float *values, uint32_t column, uint64_t ordinal)
{
    client *own = &self->self;
    for (uint32_t row = 0; row < ROWS; row++)
        if (values[row] != value_of(column, ordinal, row)) {
            client_fail(own, "column %u at ordinal %llu, row %u: %g, not %g", column,
                        (unsigned long long)ordinal, row, (double)values[row],
                        (double)value_of(column, ordinal, row));
            return;
        }
}

/* --- The clients. --- */

/* What the others must know: it is over when one fails, too. */
static void end_of(actor *self)
{
    stress *of = self->of;
    bool fine = client_end(&self->self);
    pthread_mutex_lock(&of->mutex);
    if (!fine && of->failure[0] == '\0')
        memcpy(of->failure, self->self.failure, sizeof(of->failure));
    of->is_over = of->is_over || !fine;
    pthread_cond_broadcast(&of->changed);
    pthread_mutex_unlock(&of->mutex);
}

static bool is_over(actor *self)
{
    stress *of = self->of;
    pthread_mutex_lock(&of->mutex);
    if (now_ns() - of->begin_ns >= of->duration_ns || self->self.failure[0] != '\0') {
        of->is_over = true;
        pthread_cond_broadcast(&of->changed);
    }
    bool over = of->is_over;
    pthread_mutex_unlock(&of->mutex);
    return over;
}

/* A stream of the client's, and memory for work that takes time. */
typedef struct producer {
    fr_cu_stream stream;
    fr_cu_device_ptr scratch;
    size_t half_bytes;
} producer;

static producer producer_make(client *self, int device)
{
    producer made = {client_stream(self, device), 0, self->driver->is_simulated ? 4096 : 32 << 20};
    made.scratch = client_memory(self, device, 2 * made.half_bytes);
    CLIENT_CHECK(self, self->cu->cuMemsetD8Async(made.scratch, 1, 2 * made.half_bytes,
                                                 made.stream) == FR_CU_SUCCESS);
    return made;
}

typedef struct writer_source {
    client_source rows;
    fr_cu_event written;
    ovstage_enqueue_result_t pending;
    bool with_event, is_used;
    float on_host[ROWS];
} writer_source;

/* Late in one of the ways that there are, or not at all. */
static void be_late(actor *self, const producer *late)
{
    client *own = &self->self;
    uint32_t kind = below(self, 4);
    if (kind == 0 && client_can_hold(own))
        client_delay(own, late->stream, below(self, MOST_LATE_US));
    for (uint32_t k = 0; kind == 1 && k < 4; k++)
        CLIENT_CHECK(own,
                     own->cu->cuMemcpyDtoDAsync(late->scratch + late->half_bytes, late->scratch,
                                                late->half_bytes, late->stream) == FR_CU_SUCCESS);
}

/* Until the source may be written over. */
static void finish_write(actor *self, writer_source *source)
{
    client *own = &self->self;
    if (!source->is_used)
        return;
    source->is_used = false;
    client_finish(own, source->pending);
    if (source->with_event)
        CLIENT_CHECK(own, own->cu->cuEventSynchronize(source->written) == FR_CU_SUCCESS);
}

/* The next moment of a writer's column: from the host now and then, else of a late producer. */
static void write_next(actor *self, uint64_t ordinal, writer_source *source,
                       ovstage_query_handle_t query, const producer *producers)
{
    client *own = &self->self;
    stress *of = self->of;
    int device = source->rows.device;
    float first = first_of(self->number, ordinal);
    const producer *by = &producers[below(self, 2)];
    client_source rows = source->rows;
    if (is_part(ordinal))
        rows.count = (ROWS - (uint32_t)(ordinal % 5) + 4) / 5;
    source->with_event = below(self, 4) != 0;
    ovstage_placement_t place = client_place(device, below(self, 4) == 0 ? by->stream : NULL,
                                             source->with_event ? source->written : NULL);
    source->is_used = true;
    if (below(self, 8) == 0) {
        int64_t count = rows.count;
        for (uint32_t k = 0; k < rows.count; k++)
            source->on_host[k] = first + (float)k;
        DLTensor tensor = client_tensor((DLDevice){kDLCPU, 0}, source->on_host, &count, 1);
        ovstage_write_data_t data = {.tensors = &tensor, .tensor_count = 1};
        source->pending =
            client_write(own, query, of->columns[self->number], ordinal, data, &place);
        return;
    }
    client_use(own, device);
    be_late(self, by);
    client_produce(own, by->stream, &rows, first);
    source->pending = client_write_floats(own, query, of->columns[self->number], ordinal, &rows,
                                          (ovstage_cuda_sync_t){(uintptr_t)by->stream, 0}, &place);
}

static void *write_all(void *argument)
{
    actor *self = argument;
    stress *of = self->of;
    client *own = &self->self;
    writer_source *sources = calloc(SOURCES, sizeof(*sources));
    ovstage_query_handle_t parts[5];
    client_join(own, &of->owner);
    int device = (int)self->number % of->driver.device_count;
    const producer producers[2] = {producer_make(own, device), producer_make(own, device)};
    for (uint32_t k = 0; k < SOURCES; k++) {
        sources[k].rows = client_source_make(own, device, ROWS);
        sources[k].written = client_event(own, device);
    }
    for (uint32_t k = 0; k < 5; k++) {
        uint32_t rows[ROWS], count = 0;
        for (uint32_t row = k; row < ROWS; row += 5)
            rows[count++] = row;
        parts[k] = client_query(own, rows, count);
    }
    for (uint64_t ordinal = 1; !is_over(self); ordinal++) {
        writer_source *source = &sources[ordinal % SOURCES];
        finish_write(self, source);
        write_next(self, ordinal, source, is_part(ordinal) ? parts[ordinal % 5] : of->all,
                   producers);
        pthread_mutex_lock(&of->mutex);
        if (own->failure[0] == '\0')
            of->submitted[self->number] = ordinal;
        of->writes++;
        pthread_cond_broadcast(&of->changed);
        /* New keys are written all together until they are sealed. */
        while (!of->is_over && (of->sealed == 0 || ordinal >= of->sealed + AHEAD))
            pthread_cond_wait(&of->changed, &of->mutex);
        pthread_mutex_unlock(&of->mutex);
    }
    for (uint32_t k = 0; k < SOURCES; k++)
        finish_write(self, &sources[k]);
    end_of(self);
    free(sources);
    return NULL;
}

typedef struct held_group {
    ovstage_read_group_t group; /* no id: none is held */
    uint32_t column;
    uint64_t moment;
    fr_cu_stream consumer; /* NULL: on the host */
} held_group;

/* What a reader has on each device. */
typedef struct reader_device {
    fr_cu_stream consumer;
    fr_cu_event readable;
} reader_device;

/* It shows what it showed, whatever was written meanwhile. */
static void end_held(actor *self, held_group *held)
{
    client *own = &self->self;
    float values[ROWS];
    if (held->group.read_group_id == 0)
        return;
    const DLTensor *tensor = &held->group.data.tensors[0];
    if (CLIENT_CHECK(own, tensor->shape[0] == ROWS)) {
        if (held->consumer)
            client_download(own, held->consumer, values, (uintptr_t)tensor->data, sizeof(values));
        else
            memcpy(values, tensor->data, sizeof(values));
        if (own->failure[0] == '\0')
            expect_column(self, values, held->column, held->moment);
    }
    client_release_group(own, &held->group);
    held->group.read_group_id = 0;
}

/* A column at the newest moment, read somewhere, and a group of it that is held for some turns. */
static void read_one(actor *self, held_group *held, const reader_device *devices,
                     client_shown *shown, uint64_t moment)
{
    client *own = &self->self;
    stress *of = self->of;
    uint32_t column = below(self, WRITERS);
    int device = (int)below(self, (uint32_t)of->driver.device_count);
    bool on_device = below(self, 3) != 0;
    ovstage_placement_t place = client_place(device, NULL, NULL),
                        *where = on_device ? &place : NULL;
    client_show(own, of->all, of->columns[column], (ovstage_ordinal_range_t){.end_ordinal = moment},
                where, shown);
    if (CLIENT_CHECK(own, shown->value_count == ROWS))
        expect_column(self, shown->values, column, moment);
    end_held(self, held);
    *held = (held_group){
        .group = client_hold_group(own, of->all, of->columns[column], moment, where),
        .column = column,
        .moment = moment,
        .consumer = on_device ? devices[device].consumer : NULL,
    };
}

static void *read_all(void *argument)
{
    actor *self = argument;
    stress *of = self->of;
    client *own = &self->self;
    client_shown *shown = calloc(1, sizeof(*shown));
    held_group held[HELD] = {0};
    reader_device devices[CLIENT_DEVICES] = {{NULL, NULL}};
    client_join(own, &of->owner);
    for (int device = 0; device < of->driver.device_count; device++)
        devices[device] = (reader_device){client_stream(own, device), client_event(own, device)};
    for (uint64_t turn = 0; !is_over(self); turn++) {
        const flyrail_snapshot_desc_t newest = {.struct_size = sizeof(newest), .newest = true};
        flyrail_snapshot_t snapshot = 0;
        uint64_t moment = 0;
        client_accepted(own, flyrail_snapshot_open(own->stage, &newest, &snapshot, &moment),
                        "flyrail_snapshot_open");
        if (moment > 0)
            read_one(self, &held[turn % HELD], devices, shown, moment);
        client_accepted(own, flyrail_snapshot_close(own->stage, snapshot),
                        "flyrail_snapshot_close");
        pthread_mutex_lock(&of->mutex);
        of->reads += moment > 0;
        while (!of->is_over && of->sealed == 0)
            pthread_cond_wait(&of->changed, &of->mutex);
        pthread_mutex_unlock(&of->mutex);
    }
    for (uint32_t k = 0; k < HELD; k++)
        end_held(self, &held[k]);
    end_of(self);
    free(shown);
    return NULL;
}

/* --- Sealing, and what is in use. --- */

static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%llu %llu", &pages, &resident) != 2)
            resident = 0;
        fclose(file);
    }
    return resident * 4096;
}

static void look_at_use(actor *self)
{
    stress *of = self->of;
    client *own = &self->self;
    flyrail_statistics_t now = {.struct_size = sizeof(now)};
    uint64_t window = (now_ns() - of->begin_ns) * WINDOWS / of->duration_ns;
    use *most = &of->most[window < WINDOWS ? window : WINDOWS - 1], seen = {0};
    client_accepted(own, flyrail_get_statistics(own->stage, &now), "flyrail_get_statistics");
    seen.stage_bytes =
        now.payload_bytes + now.pooled_bytes + now.cache_bytes + now.table_bytes + now.op_bytes;
    for (int device = 0; device < of->driver.device_count; device++) {
        size_t free_bytes = 0, total_bytes = 0;
        client_use(own, device);
        CLIENT_CHECK(own, own->cu->cuMemGetInfo(&free_bytes, &total_bytes) == FR_CU_SUCCESS);
        seen.device_bytes += total_bytes - free_bytes;
    }
    seen.resident_bytes = resident_bytes();
    if (seen.stage_bytes > most->stage_bytes)
        most->stage_bytes = seen.stage_bytes;
    if (seen.device_bytes > most->device_bytes)
        most->device_bytes = seen.device_bytes;
    if (seen.resident_bytes > most->resident_bytes)
        most->resident_bytes = seen.resident_bytes;
}

/* What all writers have submitted. Looks at memory now and then. */
static void *seal_all(void *argument)
{
    actor *self = argument;
    stress *of = self->of;
    client_join(&self->self, &of->owner);
    for (uint64_t turn = 0; !is_over(self); turn++) {
        pthread_mutex_lock(&of->mutex);
        uint64_t least;
        do {
            least = of->submitted[0];
            for (uint32_t k = 1; k < WRITERS; k++)
                least = of->submitted[k] < least ? of->submitted[k] : least;
            if (least == of->sealed && !of->is_over)
                pthread_cond_wait(&of->changed, &of->mutex);
        } while (least == of->sealed && !of->is_over);
        bool is_new = least > of->sealed;
        pthread_mutex_unlock(&of->mutex);
        if (is_new)
            client_seal(&self->self, least);
        if (turn % 16 == 0)
            look_at_use(self);
        pthread_mutex_lock(&of->mutex);
        if (self->self.failure[0] == '\0')
            of->sealed = least;
        pthread_cond_broadcast(&of->changed);
        pthread_mutex_unlock(&of->mutex);
    }
    end_of(self);
    return NULL;
}

/* Slack for what happens to be under way; what a simulation knows of its past grows by itself. */
static bool is_flat(const stress *of)
{
    const uint64_t slack_bytes = 64 << 20, stage_slack_bytes = 4 << 20;
    const use *before = &of->most[WINDOWS - 2], *last = &of->most[WINDOWS - 1];
    return before->stage_bytes > 0 && last->stage_bytes > 0 &&
           last->stage_bytes <= before->stage_bytes + stage_slack_bytes &&
           last->device_bytes <= before->device_bytes + slack_bytes &&
           (of->driver.is_simulated ||
            last->resident_bytes <= before->resident_bytes + slack_bytes);
}

static bool report(stress *of)
{
    static const char *const thirds[WINDOWS] = {"first", "second", "last"};
    printf("%llu writes, %llu reads, %llu ordinals sealed\n", (unsigned long long)of->writes,
           (unsigned long long)of->reads, (unsigned long long)of->sealed);
    for (int k = 0; k < WINDOWS; k++)
        printf("at most in the %s third: %.1f MiB of the stage, %.1f MiB of devices, %.1f MiB of "
               "the process\n",
               thirds[k], (double)of->most[k].stage_bytes / 1048576,
               (double)of->most[k].device_bytes / 1048576,
               (double)of->most[k].resident_bytes / 1048576);
    bool worked = of->failure[0] == '\0' && of->reads > 0 && of->sealed > 0;
    bool flat = is_flat(of);
    printf("%s: values of %llu reads%s%s\n", worked ? "passed" : "FAILED",
           (unsigned long long)of->reads, worked ? "" : ": ", of->failure);
    printf("%s: memory is flat\n", flat ? "passed" : "FAILED");
    printf("%d passed, %d failed, 0 not run\n", worked + flat, !worked + !flat);
    return worked && flat;
}

int main(int argc, char **argv)
{
    static stress of;
    static actor actors[WRITERS + READERS + 1];
    const char *why = client_driver_open(&of.driver);
    if (argc < 2 || why) {
        printf("%s\n", why ? why : "usage: stress SECONDS [SEED]");
        return 1;
    }
    of.duration_ns = strtoull(argv[1], NULL, 10) * 1000000000u;
    of.seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    printf("on %s, %d of its devices, seed %llu\n", of.driver.name, of.driver.device_count,
           (unsigned long long)of.seed);
    pthread_mutex_init(&of.mutex, NULL);
    pthread_cond_init(&of.changed, NULL);
    client_begin(&of.owner, &of.driver, FLYRAIL_WORKERS_AUTO, 2);
    of.all = client_query(&of.owner, NULL, ROWS);
    for (uint32_t k = 0; k < WRITERS; k++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "column %u", k);
        of.columns[k] = client_token(&of.owner, name);
    }
    of.begin_ns = now_ns();
    uint32_t started = 0;
    for (uint32_t k = 0; k < WRITERS + READERS + 1; k++) {
        void *(*run)(void *) = k < WRITERS             ? write_all
                               : k < WRITERS + READERS ? read_all
                                                       : seal_all;
        actors[k].of = &of;
        actors[k].number = k;
        actors[k].random = of.seed * 0x9e3779b97f4a7c15u + k + 1;
        if (pthread_create(&actors[k].thread, NULL, run, &actors[k]) != 0)
            break;
        started++;
    }
    for (uint32_t k = 0; k < started; k++)
        pthread_join(actors[k].thread, NULL);
    if (!client_end(&of.owner) && of.failure[0] == '\0')
        memcpy(of.failure, of.owner.failure, sizeof(of.failure));
    client_driver_close(&of.driver);
    return report(&of) && started == WRITERS + READERS + 1 ? 0 : 1;
}
