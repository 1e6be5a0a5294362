<?php
// A recursion with a known depth: 10 frames of `down` at the bottom.

function down(int $depth): int
{
    if ($depth === 0) {
        return 1; // @bottom
    }
    $below = down($depth - 1);
    return $below + 1; // @up
}

echo down(9), "\n"; // @start
