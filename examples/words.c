/* Counts words, in a table that grows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Entry {
    struct Entry *next;
    const char *word;
    int count;
} Entry;

static Entry **table;
static unsigned width = 2, entries;

static unsigned place(const char *word, unsigned among) {
    unsigned sum = 0;
    while (*word)
        sum = sum * 31 + (unsigned char)*word++;
    return sum % among;
}

static void grow(void) {
    unsigned wider = width * 2;
    Entry **moved = calloc(wider, sizeof *moved);
    for (unsigned i = 0; i < width; i++)
        for (Entry *entry = table[i]; entry; entry = entry->next) {
            unsigned to = place(entry->word, wider);
            entry->next = moved[to];
            moved[to] = entry;
        }
    free(table);
    table = moved;
    width = wider;
}

static void count(const char *word) {
    unsigned at = place(word, width);
    for (Entry *entry = table[at]; entry; entry = entry->next)
        if (strcmp(entry->word, word) == 0) {
            entry->count++;
            return;
        }
    Entry *fresh = malloc(sizeof *fresh);
    *fresh = (Entry){table[at], word, 1};
    table[at] = fresh;
    if (++entries > 2 * width)
        grow();
}

int main(void) {
    char text[] = "the cat and the dog and the owl saw the moon and the sea";
    table = calloc(width, sizeof *table);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        count(word);
    for (unsigned i = 0; i < width; i++)
        for (Entry *entry = table[i]; entry; entry = entry->next)
            printf("%s %d\n", entry->word, entry->count);
    return 0;
}
