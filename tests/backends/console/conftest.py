"""Programs that are compiled once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from .driving import Source, build

LOOP = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
struct item { int qty; const char *name; double price; };
struct cart { struct item items[3]; int count; struct item *best; };
volatile int counter;
static int shared = 7;
static void tick(int n) {
    counter += n; // @tick
} // @ticked
static int total(struct cart *cart) {
    int sum = 0;
    for (int i = 0; i < cart->count; i++) {
        sum += cart->items[i].qty; // @sum
    }
    return sum; // @return
}
int main(int argc, char **argv) {
    struct cart cart = {{{1, "one", 1.5}, {2, "two", 2.5}, {3, "three", 3.5}}, 3, 0}; // @first
    cart.best = &cart.items[2];
    printf("hello %d\n", argc);
    fprintf(stderr, "warned\n");
    for (int i = 1; i <= 10; i++) { // @loop
        tick(i); // @call
    }
    int sum = total(&cart); // @total
    printf("total %d\n", sum); // @print
    char line[64];
    while (argc > 1 && !strcmp(argv[1], "read") && fgets(line, sizeof line, stdin))
        printf("read %s", line); // @read
    return sum == 6 ? 3 : 65;
}
"""


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("native programs")


@pytest.fixture(scope="session")
def loop(programs: Path) -> Source:
    return build(programs, "loop.c", LOOP)
