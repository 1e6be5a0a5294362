<?php
// Runs the program under phpdbg. The program's standard error goes to a file, because phpdbg would
// mix it with its own output. The functions here answer queries about values.

namespace Freezeframe {
    const LINE = 240;

    /** A stream filter that redirects what is written to the file. */
    final class Diverted extends \php_user_filter
    {
        public function filter($in, $out, &$consumed, bool $closing): int
        {
            while ($bucket = \stream_bucket_make_writeable($in)) {
                write($bucket->data);
                $consumed += $bucket->datalen;
            }
            return \PSFS_FEED_ME;
        }
    }

    function write(string $text): void
    {
        static $open;
        $open ??= \fopen($GLOBALS['argv'][1], 'w');
        \fwrite($open, $text);
    }

    function reply($answer): string
    {
        // phpdbg prints what it evaluates.
        return "\n@freezeframe " . \json_encode($answer, \JSON_INVALID_UTF8_SUBSTITUTE) . "\n";
    }

    function quoted(string $text): string
    {
        $cut = \strlen($text) > 1000 ? \substr($text, 0, 1000) : $text;
        if (!\preg_match('//u', $cut)) {
            $cut = \preg_replace_callback('/[\x80-\xff]/', fn($m) => \sprintf('\\x%02X', \ord($m[0])), \addcslashes($cut, '\\'));
            $cut = \preg_replace_callback('/[\x00-\x1f"\x7f]/', '\Freezeframe\escaped', $cut);
        } else {
            $cut = \preg_replace_callback('/[\x00-\x1f"\\\\\x7f]/', '\Freezeframe\escaped', $cut);
        }
        return \strlen($text) > 1000 ? "\"$cut…\" (" . \strlen($text) . ' bytes)' : "\"$cut\"";
    }

    function escaped(array $match): string
    {
        $named = ["\n" => '\n', "\r" => '\r', "\t" => '\t', '"' => '\"', '\\' => '\\\\', "\e" => '\e'];
        return $named[$match[0]] ?? \sprintf('\\x%02X', \ord($match[0]));
    }

    function text($value, int $depth = 2, int $room = LINE): string
    {
        if (\is_string($value)) {
            return quoted($value);
        }
        if (\is_float($value)) {
            return \is_finite($value) ? \json_encode($value, \JSON_PRESERVE_ZERO_FRACTION) : (string) $value;
        }
        if ($value instanceof \UnitEnum) {
            return \get_class($value) . '::' . $value->name;
        }
        if ($value instanceof \Closure) {
            $names = \array_map(fn($p) => '$' . $p->getName(), (new \ReflectionFunction($value))->getParameters());
            return 'Closure(' . \implode(', ', $names) . ')';
        }
        if (\is_array($value) || \is_object($value)) {
            $name = \is_object($value) ? kind($value) . ' ' : '';
            [$open, $close] = $name ? ['{', '}'] : ['[', ']'];
            $parts = $name ? fields($value) : $value;
            if ($depth === 0 && $parts) {
                return $name ? "$name{…}" : 'array(' . \count($parts) . ')';
            }
            $listed = !$name && \array_is_list($parts);
            $shown = [];
            $length = 0;
            foreach ($parts as $key => $part) {
                $label = $name ? bare($key) . ': ' : ($listed ? '' : (\is_int($key) ? $key : quoted($key)) . ' => ');
                $piece = $label . text($part, $depth - 1, \max(\intdiv($room, 2), 20));
                if ($shown && $length + \strlen($piece) > $room) {
                    break;
                }
                $shown[] = $piece;
                $length += \strlen($piece) + 2;
            }
            $left = \count($parts) - \count($shown);
            return $name . $open . \implode(', ', $shown) . ($left ? ", … +$left" : '') . $close;
        }
        if (\is_resource($value)) {
            return 'resource(' . \get_resource_id($value) . ', ' . \get_resource_type($value) . ')';
        }
        return $value === null ? 'null' : (\is_bool($value) ? ($value ? 'true' : 'false') : (string) $value);
    }

    /** The name of a class, without the location that PHP appends to an anonymous one. */
    function kind(object $value): string
    {
        return \explode("\0", \get_class($value))[0];
    }

    /** The contents of a built-in container, by a built-in method. */
    function fields(object $value): array
    {
        $own = $value instanceof \SplObjectStorage || $value instanceof \SplDoublyLinkedList
            || $value instanceof \SplHeap || $value instanceof \SplPriorityQueue;
        if (!$own || !(new \ReflectionMethod($value, '__debugInfo'))->isInternal()) {
            return (array) $value;
        }
        return $value->__debugInfo();
    }

    /** "\0Shop\0lines" → lines */
    function bare($key): string
    {
        $at = \strrpos((string) $key, "\0");
        return $at === false ? (string) $key : \substr($key, $at + 1);
    }

    function value(string $name, $value, ?string $expression): array
    {
        $parts = \is_array($value) ? $value : (\is_object($value) ? (array) $value : []);
        $opens = $parts && !$value instanceof \UnitEnum && !$value instanceof \Closure;
        return [
            'name' => $name,
            'text' => text($value),
            'type' => \is_object($value) ? kind($value) : \get_debug_type($value),
            'ref' => $opens && $expression !== null ? 1 : 0,
            'count' => \is_array($value) ? \count($value) : null,
            'expression' => $expression,
        ];
    }

    function scope(array $variables): string
    {
        $hidden = ['GLOBALS', '_GET', '_POST', '_COOKIE', '_FILES', '_ENV', '_REQUEST', '_SERVER', '__freezeframe'];
        $found = [];
        foreach ($variables as $name => $value) {
            if (!\in_array($name, $hidden, true)) {
                $found[] = value("\$$name", $value, "\$$name");
            }
        }
        return reply($found);
    }

    function globals(): string
    {
        $found = [];
        foreach (\array_diff_key($GLOBALS, \array_flip(['_GET', '_POST', '_COOKIE', '_FILES', '_ENV', '_REQUEST', '_SERVER'])) as $name => $value) {
            $found[] = value("\$$name", $value, "\$GLOBALS['$name']");
        }
        return reply($found);
    }

    function children($value, string $expression, int $start, int $count): array
    {
        $found = [];
        $parts = \is_array($value) ? $value : (array) $value;
        foreach (\array_slice($parts, $start, $count < 0 ? null : $count, true) as $key => $part) {
            if (\is_array($value)) {
                $literal = \is_int($key) ? $key : \var_export($key, true);
                $found[] = value('[' . (\is_int($key) ? $key : quoted($key)) . ']', $part, "{$expression}[$literal]");
            } else {
                $name = bare($key);
                $public = $name === (string) $key && \preg_match('/^\w+$/', $name);
                $found[] = value($name, $part, $public || $expression === '$this' ? "$expression->$name" : null);
            }
        }
        return $found;
    }

    function parameters(string $function): string
    {
        [$class, $method] = \strpos($function, '::') ? \explode('::', $function) : [null, $function];
        $made = $class === null ? new \ReflectionFunction($method) : new \ReflectionMethod($class, $method);
        return reply(\array_map(fn($p) => '$' . $p->getName(), $made->getParameters()));
    }

    /** The code of an evaluation, which prints the result or the error. */
    function code(string $encoded, string $how, string $before, string ...$more): string
    {
        $code = \base64_decode($encoded);
        $before = \base64_decode($before);
        if ($how === 'run') {
            try {
                \token_get_all("<?php return $code\n;", \TOKEN_PARSE);
            } catch (\ParseError $problem) {
                return guarded("$before $code\n; return \\Freezeframe\\reply(null);");
            }
            $how = 'show';
        }
        $expression = \var_export($code, true);
        $call = [
            'show' => "value($expression, ($code\n), $expression)",
            'truth' => "truth($code\n)",
            'text' => "plain($code\n)",
            'children' => "children(($code\n), $expression, " . \implode(', ', $more) . ')',
        ][$how];
        return guarded("$before return \\Freezeframe\\reply(\\Freezeframe\\$call);");
    }

    /** Evaluates in the global scope. */
    function outside(string $__code)
    {
        foreach (\array_keys($GLOBALS) as $__name) {
            if ($__name !== '__code' && $__name !== '__name') {
                $$__name = &$GLOBALS[$__name];
            }
        }
        unset($__name);
        return eval($__code);
    }

    function truth($value): bool
    {
        return (bool) $value;
    }

    function guarded(string $statements): string
    {
        return 'set_error_handler(\'\Freezeframe\strict\', E_WARNING | E_NOTICE); try { return eval('
            . \var_export($statements, true) . '); } catch (\Throwable $__freezeframe) { try { return '
            . '\Freezeframe\failed($__freezeframe); } finally { unset($__freezeframe); } } '
            . 'finally { restore_error_handler(); }';
    }

    function strict(int $number, string $message, string $file): bool
    {
        if (\strpos($file, "eval()'d code") !== false) {
            throw new \ErrorException($message, 0, $number);
        }
        return false;
    }

    function failed(\Throwable $problem): string
    {
        $type = $problem instanceof \ErrorException ? '' : \get_class($problem) . ': ';
        return reply(['failed' => $type . $problem->getMessage()]);
    }

    function plain($value): string
    {
        return \is_string($value) ? $value : text($value);
    }

    \stream_filter_register('freezeframe', Diverted::class);
    write('');
    \stream_filter_append(\STDERR, 'freezeframe', \STREAM_FILTER_WRITE);
}

namespace {
    $GLOBALS['argv'] = \json_decode(\getenv('FREEZEFRAME_PHP_PROGRAM'), true);
    \putenv('FREEZEFRAME_PHP_PROGRAM');
    unset($_SERVER['FREEZEFRAME_PHP_PROGRAM'], $_ENV['FREEZEFRAME_PHP_PROGRAM']);
    $GLOBALS['argc'] = \count($GLOBALS['argv']);
    $_SERVER['argv'] = $GLOBALS['argv'];
    $_SERVER['argc'] = $GLOBALS['argc'];
    require $GLOBALS['argv'][0]; // @entry
}
