// Adds up an order: a loop with locals, nested values and a call. Prints, and ends with code 3.

#include <cstdio>
#include <string>
#include <vector>

struct Item {
    std::string name;
    int price;
    int count;
    bool done = false;
};

static int line_amount(int price, int count) {
    int amount = price * count;  // @callee
    return amount;  // @return
}

static int total_of(std::vector<Item> &items) {
    int total = 0;  // @first
    for (int number = 0; number < 3; number++) {
        int amount = line_amount(items[number].price, items[number].count);  // @call
        total += amount;  // @loop
        items[number].done = true;  // @done
    }
    return total;  // @last
}

int main() {
    const char *nothing = nullptr;
    std::vector<int> empty;
    std::vector<Item> order{{"pen", 2, 3, nothing != nullptr}, {"ink", 5, 1}, {"pad", 4, 2}};
    std::printf("adding\n");  // @print
    std::fflush(stdout);
    int total = total_of(order);  // @main
    std::printf("total %d\n", total);
    std::fprintf(stderr, "done\n");  // @after
    return total == 19 ? 3 : 4;  // @end
}
