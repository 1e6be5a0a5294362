// Never ends by itself, and writes a file when it has begun.

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

static void spin(const std::string &path) {
    long turns = 0;
    std::ofstream(path) << "spinning";
    for (;;) {
        turns += 1;  // @turn
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

int main(int argc, char **argv) {
    spin(argc > 1 ? argv[1] : "spinning.txt");
}
