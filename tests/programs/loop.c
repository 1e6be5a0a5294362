// Adds up an order: a loop with locals, nested values and a call. Prints, and ends with code 3.

#include <stdbool.h>
#include <stdio.h>

struct item {
    const char *name;
    int price;
    int count;
    bool done;
};

static int line_amount(int price, int count) {
    int amount = price * count;  // @callee
    return amount;  // @return
}

static int total_of(struct item *items, int length) {
    int total = 0;  // @first
    for (int number = 0; number < length; number++) {
        int amount = line_amount(items[number].price, items[number].count);  // @call
        total += amount;  // @loop
        items[number].done = true;  // @done
    }
    return total;  // @last
}

int main(void) {
    const char *nothing = NULL;
    struct item order[] = {
        {"pen", 2, 3, nothing != NULL},
        {"ink", 5, 1, false},
        {"pad", 4, 2, false},
    };
    printf("adding\n");  // @print
    fflush(stdout);
    int total = total_of(order, 3);  // @main
    printf("total %d\n", total);
    fprintf(stderr, "done\n");  // @after
    return total == 19 ? 3 : 4;  // @end
}
