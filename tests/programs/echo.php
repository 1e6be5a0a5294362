<?php
// Echoes its standard input line by line, and counts the lines.

echo "ready\n";
$count = 0;
while (($line = fgets(STDIN)) !== false) {
    $count += 1;
    echo "heard ", trim($line), "\n"; // @line
}
echo "lines $count\n"; // @eof
