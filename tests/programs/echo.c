// Echoes its standard input line by line, and counts the lines.

#include <stdio.h>
#include <string.h>

int main(void) {
    char line[256];
    int count = 0;
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        count += 1;
        line[strcspn(line, "\n")] = '\0';
        printf("heard %s\n", line);  // @line
        fflush(stdout);
    }
    printf("lines %d\n", count);  // @eof
    return 0;
}
