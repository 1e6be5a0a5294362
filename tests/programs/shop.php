<?php
// PHP's own ways: namespaces, enums, closures, generators, references, exceptions caught and not.

namespace Shop;

use InvalidArgumentException as Bad;

enum Currency: string
{
    case EUR = 'EUR';
}

class Refused extends \RuntimeException
{
}

abstract class Base
{
    private int $secret = 7;
}

final class Cart extends Base
{
    public static int $made = 0;
    private array $lines = [];

    public function __construct(public readonly string $name, private Currency $currency = Currency::EUR)
    {
        self::$made += 1;
    }

    public function add(string $item, int $cents): static
    {
        if ($cents <= 0) {
            throw new Bad("$item costs $cents"); // @bad
        }
        $this->lines[$item] = $cents; // @add
        return $this;
    }

    public function each(): \Generator
    {
        foreach ($this->lines as $item => $cents) {
            yield $item => $cents; // @yield
        }
    }

    public function total(callable $rule): int
    {
        $sum = 0;
        foreach ($this->each() as $item => $cents) {
            $sum += $rule($cents); // @rule
        }
        return $sum;
    }
}

function tally(array &$counts, string $key): void
{
    $counts[$key] = ($counts[$key] ?? 0) + 1; // @tally
}

function fill(Cart $cart, array $rows): int
{
    $refused = 0;
    foreach ($rows as [$item, $cents]) {
        try {
            $cart->add($item, $cents); // @fill
        } catch (\LogicException $problem) {
            $refused += 1; // @caught
        }
    }
    return $refused;
}

$odd = "a\0b\x80\n";
$cart = new Cart('first');
$refused = fill($cart, [['pen', 120], ['ink', 0], ['pad', 400]]);
$counts = [];
tally($counts, 'x');
$half = function (int $cents) use (&$counts) {
    tally($counts, 'half');
    return intdiv($cents, 2); // @half
};
echo $cart->total($half), " $refused\n"; // @total
echo $missing; // @warning
throw new Refused('no more', 3, new \LogicException('because')); // @refused
