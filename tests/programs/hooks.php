<?php
// Records every call of its own hooks.
$calls = [];
function note($what) { global $calls; $calls[] = $what; }
spl_autoload_register(function ($name) { note("autoload $name"); });
set_error_handler(function ($no, $text) { note("error $text"); return true; });
class Hooked implements ArrayAccess, IteratorAggregate, Countable, JsonSerializable, Stringable {
    public $plain = 1; private $secret = 2; public int $unset;
    public function __construct() { unset($this->unset); }
    public function __get($name) { note("__get $name"); return 5; }
    public function __isset($name) { note("__isset $name"); return true; }
    public function __set($name, $value) { note("__set $name"); }
    public function __call($name, $a) { note("__call $name"); return 1; }
    public static function __callStatic($name, $a) { note("__callStatic $name"); return 1; }
    public function __toString(): string { note("__toString"); return "text"; }
    public function __debugInfo() { note("__debugInfo"); return ["debug" => 1]; }
    public function __serialize(): array { note("__serialize"); return []; }
    public function __sleep() { note("__sleep"); return []; }
    public function __clone() { note("__clone"); }
    public function __destruct() { note("__destruct"); }
    public function __invoke() { note("__invoke"); }
    public static function __set_state($a) { note("__set_state"); }
    public function offsetExists(mixed $o): bool { note("offsetExists"); return true; }
    public function offsetGet(mixed $o): mixed { note("offsetGet"); return 1; }
    public function offsetSet(mixed $o, mixed $v): void { note("offsetSet"); }
    public function offsetUnset(mixed $o): void { note("offsetUnset"); }
    public function getIterator(): Iterator { note("getIterator"); return new ArrayIterator([]); }
    public function count(): int { note("count"); return 3; }
    public function jsonSerialize(): mixed { note("jsonSerialize"); return 1; }
}
class MyError extends Exception { public function __toString(): string { note("error.__toString"); return "e"; } }
class MyObject extends ArrayObject { public function offsetGet($k): mixed { note("ao.offsetGet"); return 1; } public function count(): int { note("ao.count"); return 1; } }
class MyDate extends DateTime { public function format($f): string { note("date.format"); return "x"; } }
class MyQueue extends SplObjectStorage { public function getHash($o): string { note("getHash"); return spl_object_hash($o); } }
function gen() { note("generator"); yield 1; }
function inner($argument, $other) {
    $five = 5;
    return $argument; // @return
}
function work() {
    $hooked = new Hooked(); $held = [$hooked, ["deep" => [$hooked]]]; $error = new MyError("boom");
    $ao = new MyObject(); $date = new MyDate("2020-01-01"); $g = gen(); $closure = function () use ($hooked) { return 1; };
    $storage = new MyQueue(); $storage[$hooked] = 1; $ref = &$held; $class = "Nothing"; $bound = [$hooked, "anything"];
    $GLOBALS["calls"] = [];
    $one = 1; // @one
    $two = 2;
    $three = 3;
    $four = 4;
    try {
        throw $error; // @raised
    } catch (Exception $e) {
    }
    inner($hooked, $held);
    return $hooked;
}
$result = work();
echo "calls [", implode(";", $calls), "]\n";
$calls = [];
