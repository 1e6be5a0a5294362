// Prints much: as many megabytes as the first argument says, in lines of 100 bytes.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    double megabytes = argc > 1 ? atof(argv[1]) : 1;
    int lines = (int)(megabytes * 10000);
    char line[101];
    memset(line, 'x', 99);
    strcpy(line + 99, "\n");
    for (int number = 0; number < lines; number++) {
        fputs(line, stdout);
    }
    printf("last line %d\n", lines);  // @end
    return 0;
}
