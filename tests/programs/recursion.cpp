// A recursion with a known depth: 10 frames of `down` at the bottom.

#include <cstdio>

static int down(int depth) {
    if (depth == 0) {
        return 1;  // @bottom
    }
    int below = down(depth - 1);
    return below + 1;  // @up
}

int main() {
    std::printf("%d\n", down(9));  // @start
    return 0;
}
