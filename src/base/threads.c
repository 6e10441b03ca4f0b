/* Workers that wait for jobs.  They are started at the first job, and again in a child process
 * after fork(), which inherits the pz_threads but none of its threads.  A job lives on the stack of
 * the thread that waits for it, and that thread works on it like a worker: jobs make progress even
 * if no worker could be started. */
#define _POSIX_C_SOURCE 200809L
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

struct job {
    void (*task)(void *arg, size_t i);
    void *arg;
    size_t count, begun, finished;
    struct job *next;
};

struct pz_threads {
    unsigned count; /* the calling thread included */
    void (*run)(void *user, void (*task)(void *arg, size_t i), void *arg, size_t count);
    void *user;

    _Atomic long process; /* whose the workers are; its negative while they are being started */
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t work;  /* a job has come, or stopping */
    pthread_cond_t done;  /* a job has been finished */
    struct job *jobs;     /* that have calls to begin */
    bool stopping;
    unsigned started;
    pthread_t workers[]; /* count - 1, the first `started` of them run */
};

static unsigned processors(void)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);

    return count > 0 ? (unsigned)count : 1;
}

pz_status pz_threads_new(const pz_threads_options *options, pz_threads **threads)
{
    const pz_threads_options none = {sizeof none, 0, NULL, NULL};
    pz_threads *made;
    unsigned count;

    if (options == NULL)
        options = &none;
    if (threads == NULL || options->size != sizeof *options || options->threads > PZ_THREADS_MAX)
        return PZ_ERR_ARGUMENT;
    count = options->threads != 0 ? options->threads : processors();
    count = count < PZ_THREADS_MAX ? count : PZ_THREADS_MAX;
    made = calloc(1, sizeof *made + (count - 1) * sizeof made->workers[0]);
    if (made == NULL)
        return PZ_ERR_MEMORY;
    made->count = count;
    made->run = options->run;
    made->user = options->user;
    *threads = made;
    return PZ_OK;
}

unsigned pz_threads_count(const pz_threads *threads)
{
    return threads != NULL ? threads->count : 1;
}

/* Begins and ends one call of the first job; with the lock, which is open during the call. */
static void work_once(pz_threads *threads, struct job *job)
{
    const size_t i = job->begun++;

    if (job->begun == job->count) {
        struct job **link = &threads->jobs;

        while (*link != job)
            link = &(*link)->next;
        *link = job->next;
    }
    pthread_mutex_unlock(&threads->lock);
    job->task(job->arg, i);
    pthread_mutex_lock(&threads->lock);
    if (++job->finished == job->count)
        pthread_cond_broadcast(&threads->done);
}

static void *worker(void *arg)
{
    pz_threads *const threads = arg;

    pthread_mutex_lock(&threads->lock);
    while (!threads->stopping) {
        if (threads->jobs != NULL)
            work_once(threads, threads->jobs);
        else
            pthread_cond_wait(&threads->work, &threads->lock);
    }
    pthread_mutex_unlock(&threads->lock);
    return NULL;
}

/* Signals are for the threads of the program, not for ours.  Fewer workers are no error. */
static void start_workers(pz_threads *threads)
{
    sigset_t all, before;

    pthread_mutex_init(&threads->lock, NULL);
    pthread_cond_init(&threads->work, NULL);
    pthread_cond_init(&threads->done, NULL);
    threads->jobs = NULL;
    threads->started = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (threads->started < threads->count - 1 &&
           pthread_create(&threads->workers[threads->started], NULL, worker, threads) == 0)
        threads->started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Makes sure that the workers are those of this process.  Of several threads that come first, one
 * starts them and the others wait. */
static void claim_workers(pz_threads *threads)
{
    const long mine = (long)getpid();
    long owner = atomic_load(&threads->process);

    while (owner != mine) {
        if (owner == -mine) {
            sched_yield();
            owner = atomic_load(&threads->process);
        } else if (atomic_compare_exchange_strong(&threads->process, &owner, -mine)) {
            start_workers(threads);
            atomic_store(&threads->process, mine);
            owner = mine;
        }
    }
}

static void run_on_workers(pz_threads *threads, struct job *job)
{
    struct job **end;

    claim_workers(threads);
    pthread_mutex_lock(&threads->lock);
    for (end = &threads->jobs; *end != NULL; end = &(*end)->next)
        continue;
    *end = job;
    pthread_cond_broadcast(&threads->work);
    while (job->begun < job->count)
        work_once(threads, job);
    while (job->finished < job->count)
        pthread_cond_wait(&threads->done, &threads->lock);
    pthread_mutex_unlock(&threads->lock);
}

void pzi_run(pz_threads *threads, void (*task)(void *arg, size_t i), void *arg, size_t count)
{
    struct job job = {task, arg, count, 0, 0, NULL};

    if (threads == NULL || threads->count == 1 || count <= 1) {
        for (size_t i = 0; i < count; i++)
            task(arg, i);
    } else if (threads->run != NULL) {
        threads->run(threads->user, task, arg, count);
    } else {
        run_on_workers(threads, &job);
    }
}

void pz_threads_free(pz_threads *threads)
{
    if (threads != NULL && atomic_load(&threads->process) == (long)getpid()) {
        pthread_mutex_lock(&threads->lock);
        threads->stopping = true;
        pthread_cond_broadcast(&threads->work);
        pthread_mutex_unlock(&threads->lock);
        for (unsigned i = 0; i < threads->started; i++)
            pthread_join(threads->workers[i], NULL);
        pthread_mutex_destroy(&threads->lock);
        pthread_cond_destroy(&threads->work);
        pthread_cond_destroy(&threads->done);
    }
    free(threads);
}
