// Three workers; all of them live while the second one stands at its marker.

#include <pthread.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static pthread_barrier_t together, finish;
static std::mutex lock;
static std::map<int, int> results;

static void keep(int number, int square) {
    std::lock_guard<std::mutex> guard(lock);
    results[number] = square;
}

static void work(int number) {
    int square = number * number;
    pthread_setname_np(pthread_self(), ("worker-" + std::to_string(number)).c_str());
    pthread_barrier_wait(&together);
    if (number == 2) {
        keep(number, square);  // @worker
    }
    pthread_barrier_wait(&finish);
    keep(number, square);
}

int main() {
    pthread_barrier_init(&together, nullptr, 4);
    pthread_barrier_init(&finish, nullptr, 4);
    std::vector<std::thread> workers;
    for (int number = 1; number <= 3; number++) {
        workers.emplace_back(work, number);
    }
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&finish);  // @main
    for (std::thread &worker : workers) {
        worker.join();
    }
    std::printf("%d %d %d\n", results[1], results[2], results[3]);  // @joined
}
