<?php
// Dies of an error that nobody catches.

function divide(int $left, int $right): int
{
    return intdiv($left, $right); // @uncaught
}

function average(array $numbers): int
{
    $total = array_sum($numbers);
    return divide($total, count($numbers)); // @caller
}

echo "averages\n";
echo average([1, 2, 3]), "\n";
echo average([]), "\n";
