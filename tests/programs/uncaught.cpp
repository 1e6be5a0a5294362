// Dies of an error that nobody catches.

#include <cstdio>
#include <stdexcept>
#include <vector>

static int divide(int left, int right) {
    if (right == 0) {
        throw std::domain_error("division by zero");  // @uncaught
    }
    return left / right;
}

static int average(const std::vector<int> &numbers) {
    int total = 0;
    for (int number : numbers) {
        total += number;
    }
    return divide(total, static_cast<int>(numbers.size()));  // @caller
}

int main() {
    std::printf("averages\n");
    std::fflush(stdout);
    std::printf("%d\n", average({1, 2, 3}));
    std::printf("%d\n", average({}));
}
