<?php
// Prints much: as many megabytes as the first argument says, in lines of 100 bytes.

$megabytes = (float) ($argv[1] ?? 1);
$lines = (int) ($megabytes * 10_000);
$block = str_repeat(str_repeat("x", 99) . "\n", 1000);
for ($done = 0; $done < $lines; $done += 1000) {
    echo $block;
}
echo "last line $lines\n"; // @end
