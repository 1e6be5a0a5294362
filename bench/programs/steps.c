// A loop that never ends, with the variables of an ordinary function.

struct seen {
    int a;
    int b[3];
};

static void work(int first, int second, const char *label) {
    int total = 0;
    struct seen seen = {1, {1, 2, 3}};
    const char *words[] = {"one", "two", "three"};
    for (;;) {
        total = (total + first) % 1000;
        second = total % 7;  // @stop
        label = words[second % 3];
        seen.a = label[0];
    }
}

int main(void) {
    work(3, 5, "start");
}
