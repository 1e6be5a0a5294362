#include <map>
#include <vector>

static void __attribute__((noinline)) soil() {
    volatile long words[512];
    for (int i = 0; i < 512; i++) words[i] = i * 0x100000000L;
}

static int __attribute__((noinline)) build(int first) {
    int count = first;  // @early
    std::vector<int> late;
    late.push_back(count);  // @built
    return late[0];
}

int main() {
    std::vector<int> numbers;
    std::map<int, int> squares;
    for (int i = 0; i < 300; i++) {
        numbers.push_back(i);
        squares[i] = i * i;
    }
    soil();
    return build(numbers[3]) == 3 ? 0 : 1;  // @late
}
