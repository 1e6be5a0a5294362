/* A recursion that is called 44 times, and a loop of ten rounds with known values. */
#include <stdio.h>

static int ackermann(int m, int n) {
    if (m == 0) { // @entry
        return n + 1;
    }
    if (n == 0) {
        return ackermann(m - 1, 1);
    }
    return ackermann(m - 1, ackermann(m, n - 1));
}

static int squares(void) {
    int total = 0;
    for (int i = 0; i < 10; i++) {
        int square = i * i;
        total += square; // @square
    }
    return total;
}

int main(void) {
    printf("%d\n", squares());
    printf("%d\n", ackermann(2, 3));
    return 0;
}
