<?php
// Never ends by itself, and writes a file when it has begun.

function spin(string $path): void
{
    $turns = 0;
    file_put_contents($path, "spinning");
    while (true) {
        $turns += 1; // @turn
        usleep(1000);
    }
}

spin($argv[1] ?? "spinning.txt");
