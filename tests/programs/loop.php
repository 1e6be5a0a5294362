<?php
// Adds up an order: a loop with locals, nested values and a call. Prints, and ends with code 3.

function line_amount(int $price, int $count): int // @entered
{
    $amount = $price * $count; // @callee
    return $amount; // @return
}

function total_of(array &$items): int
{
    $total = 0; // @first
    $number = 0;
    while ($number < count($items)) {
        $amount = line_amount($items[$number]['price'], $items[$number]['count']); // @call
        $total += $amount; // @loop
        $items[$number]['done'] = true; // @done
        $number += 1;
    }
    return $total; // @last
}

function main(): int
{
    $nothing = null;
    $order = [
        ['name' => 'pen', 'price' => 2, 'count' => 3],
        ['name' => 'ink', 'price' => 5, 'count' => 1],
        ['name' => 'pad', 'price' => 4, 'count' => 2],
    ];
    echo "adding\n"; // @print
    $total = total_of($order); // @main
    echo "total $total\n";
    fwrite(STDERR, "done\n"); // @after
    return $total === 19 ? 3 : 4; // @end
}

exit(main());
