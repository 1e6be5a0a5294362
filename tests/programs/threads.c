// Three workers; all of them live while the second one stands at its marker.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

static pthread_barrier_t together, finish;
static int results[4];

static void *work(void *argument) {
    int number = *(int *)argument;
    int square = number * number;
    char name[16];
    snprintf(name, sizeof name, "worker-%d", number);
    pthread_setname_np(pthread_self(), name);
    pthread_barrier_wait(&together);
    if (number == 2) {
        results[number] = square;  // @worker
    }
    pthread_barrier_wait(&finish);
    results[number] = square;
    return NULL;
}

int main(void) {
    pthread_t workers[3];
    int numbers[] = {1, 2, 3};
    pthread_barrier_init(&together, NULL, 4);
    pthread_barrier_init(&finish, NULL, 4);
    for (int index = 0; index < 3; index++) {
        pthread_create(&workers[index], NULL, work, &numbers[index]);
    }
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&finish);  // @main
    for (int index = 0; index < 3; index++) {
        pthread_join(workers[index], NULL);
    }
    printf("%d %d %d\n", results[1], results[2], results[3]);  // @joined
    return 0;
}
