// A recursion with a known depth: 10 frames of `down` at the bottom.

#include <stdio.h>

static int down(int depth) {
    if (depth == 0) {
        return 1;  // @bottom
    }
    int below = down(depth - 1);
    return below + 1;  // @up
}

int main(void) {
    printf("%d\n", down(9));  // @start
    return 0;
}
