// Never ends by itself, and writes a file when it has begun.

#include <stdio.h>
#include <unistd.h>

static void spin(const char *path) {
    long turns = 0;
    FILE *file = fopen(path, "w");
    fputs("spinning", file);
    fclose(file);
    for (;;) {
        turns += 1;  // @turn
        usleep(1000);
    }
}

int main(int argc, char **argv) {
    spin(argc > 1 ? argv[1] : "spinning.txt");
}
