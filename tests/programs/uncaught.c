// Dies of an error that nobody catches.

#include <stdio.h>

static int divide(int left, int right) {
    return left / right;  // @uncaught
}

static int average(const int *numbers, int count) {
    int total = 0;
    for (int index = 0; index < count; index++) {
        total += numbers[index];
    }
    return divide(total, count);  // @caller
}

int main(void) {
    int numbers[] = {1, 2, 3};
    printf("averages\n");
    fflush(stdout);
    printf("%d\n", average(numbers, 3));
    printf("%d\n", average(numbers, 0));
    return 0;
}
