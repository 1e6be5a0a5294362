"""TypeScript as its compiler and its loaders make it: source maps of every kind."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from harness import programs
from harness.compilers import TYPESCRIPT_MODULES
from harness.reports import frame_of, place, printed, shown, texts
from harness.requirements import give_up

LIB = """export interface Item { name: string; price: number }

export class Cart {
  private items: Item[] = [];
  constructor(readonly owner: string) {} // @constructor
  add(item: Item): number {
    const price: number = item.price; // @add
    this.items.push(item);
    return price * 2; // @price
  }
}

export async function later<T>(value: T): Promise<T> {
  await null;
  if (!value) throw new TypeError('nothing'); // @thrown
  return value;
}
"""
MAIN = """import { Cart, later, type Item } from './lib.js';

interface Options {
  verbose: boolean; // @type
}

const options: Options = { verbose: true }; // @options
const cart = new Cart('Ada');
for (const item of [{ name: 'pen', price: 2 }] as Item[]) {
  console.log(cart.add(item), options.verbose); // @call
}
later(0); // @later
"""


@pytest.fixture(autouse=True)
def packages():
    if not TYPESCRIPT_MODULES.is_dir():
        give_up("there is no typescript: sh check.sh, which fetches it with npm")


@pytest.fixture
def sources(project):
    """The two sources in src/."""
    lib = programs.write("src/lib.ts", LIB, project)
    main = programs.write("src/main.ts", MAIN, project)
    return main, lib


def compile_with(project, *options: str, module: str) -> None:
    """Compile src/ to dist/ with the real compiler."""
    (project / "package.json").write_text(
        json.dumps({"type": "module" if module == "es2022" else "commonjs"})
    )
    words = [
        str(TYPESCRIPT_MODULES / ".bin" / "tsc"),
        *("--target", "es2022", "--module", module, "--moduleResolution", "node"),
        *("--ignoreDeprecations", "5.0", "--lib", "es2022,dom"),
        *("--outDir", "dist", "--rootDir", "src", *options, "src/main.ts"),
    ]
    done = subprocess.run(words, cwd=project, capture_output=True, text=True, check=False)
    assert (project / "dist" / "main.js").exists(), done.stdout


@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("commonjs", ("--sourceMap",)),
        ("es2022", ("--inlineSourceMap", "--inlineSources")),
        ("es2022", ("--sourceMap", "--sourceRoot", "../src")),
    ],
    ids=["external", "inline", "root"],
)
def test_breakpoints_steps_and_values_are_those_of_the_source(
    dbg, project, sources, module, options
):
    main, lib = sources
    compile_with(project, *options, module=module)

    first = dbg.data("start", "dist/main.js", "-b", main.at("type"), "-b", lib.at("add"))
    assert place(first) == f"main.ts:{main.line('options')}"
    inside = dbg.data("continue")
    assert place(inside) == f"lib.ts:{lib.line('add')}"
    assert frame_of(inside)["function"] == "Cart.add"
    assert texts(inside)["item"] == "{name: 'pen', price: 2}"
    dbg.data("next")
    assert place(dbg.data("next")) == f"lib.ts:{lib.line('price')}"
    assert dbg.data("finish")["returned"]["text"] == "4"
    [stack] = dbg.data("backtrace")["stacks"]
    assert stack["frames"][0]["path"] == str(main.path)


def test_what_nobody_catches_is_shown_in_the_source(dbg, project, sources):
    _, lib = sources
    compile_with(project, "--sourceMap", module="commonjs")

    report = dbg.data("start", "dist/main.js")

    assert shown(report) == f"lib.ts:{lib.line('thrown')}"
    assert report["source"]["path"] == str(lib.path)
    traceback = report["stop"]["exception"]["traceback"]
    assert (str(lib.path), lib.line("thrown")) in [(t["path"], t["line"]) for t in traceback]


def test_a_function_is_broken_at_in_its_source(dbg, project, sources):
    _, lib = sources
    compile_with(project, "--sourceMap", module="commonjs")

    report = dbg.data("start", "dist/main.js", "-b", "Cart.add")

    assert place(report) == f"lib.ts:{lib.line('add')}"


def test_a_breakpoint_added_while_it_stands_is_bound_in_its_source(dbg, project, sources):
    main, lib = sources
    compile_with(project, "--sourceMap", module="commonjs")
    dbg.data("start", "dist/main.js", "-b", main.at("options"))

    added = dbg.data("break", lib.at("price"))["breakpoint"]

    assert (added["state"], added["line"]) == ("bound", lib.line("price"))
    assert place(dbg.data("continue")) == f"lib.ts:{lib.line('price')}"


def test_a_source_that_is_not_here_is_shown_from_the_map(dbg, project, sources):
    _, lib = sources
    compile_with(project, "--sourceMap", "--inlineSources", module="commonjs")
    dbg.data("break", lib.at("add"))
    shutil.rmtree(project / "src")

    report = dbg.data("start", "dist/main.js")

    assert frame_of(report)["line"] == lib.line("add")
    [current] = [line for line in report["source"]["lines"] if line["current"]]
    assert "item.price" in current["text"]


@pytest.mark.parametrize("loader", ["tsx", "ts-node"])
def test_a_source_is_started_by_the_loader_of_its_project(dbg, project, sources, loader):
    main, lib = sources
    modules = project / "node_modules"
    modules.mkdir()
    for each in TYPESCRIPT_MODULES.iterdir():
        if each.name not in ("tsx", "ts-node") or each.name == loader:
            (modules / each.name).symlink_to(each)
    if loader == "ts-node":
        config = {"compilerOptions": {"module": "commonjs", "target": "es2022"}}
        config |= {"ts-node": {"transpileOnly": True}}
        (project / "tsconfig.json").write_text(json.dumps(config))
        main.path.write_text(MAIN.replace("./lib.js", "./lib"))

    report = dbg.data("start", "src/main.ts", "-b", lib.at("add"), "-b", main.at("type"))

    assert place(report) == f"main.ts:{main.line('options')}"
    inside = dbg.data("continue")
    assert place(inside) == f"lib.ts:{lib.line('add')}"
    assert texts(inside)["item"] == "{name: 'pen', price: 2}"
    dbg.data("breakpoint", "remove", "--all")
    dbg.data("catch", "off")
    assert printed(dbg.data("continue"), "stdout") == "4 true\n"

    # The loader hands a failure on: it stops where it is thrown all the same.
    main.path.write_text("function fail(n: number) { throw new RangeError(`${n}`); }\nfail(7);\n")
    dbg.data("catch", "default")
    failed = dbg.data("start", "src/main.ts")
    assert (shown(failed), texts(failed)["n"]) == ("main.ts:1", "7")

    # The entry is the program's, not the loader's, and in no function of it.
    entered = dbg.data("start", "src/main.ts", "--stop-on-entry")
    assert entered["stop"]["reason"] == "entry"
    assert place(entered).startswith("main.ts:")
    assert "n" not in texts(entered)
    while shown(entered) == "main.ts:1":
        entered = dbg.data("next")
    assert shown(entered) == "main.ts:2"


GUARDS = """function check(n: number): boolean {
  return n > 90; // @check
}
function name(n: number): string {
  if (check(n)) return 'big'; // @first
  if (n < 0) return 'negative';
  if (n == 0) return 'zero'; // @third
  n++; // @behind
  return `n ${n}`;
}
async function later(n: number): Promise<number> {
  if (await Promise.resolve(n < 0)) return 0;
  n += 10; // @awaited
  return n;
}
for (const n of [-1, 0, 1, 99, 2]) console.log(name(n));
later(-1).then(() => later(3)); // @later
export const twice = (n: number): number => {
  return n * 2; // @twice
};
export const half = async function (n: number): Promise<number> {
  return n / 2; // @half
};
half(twice(4));
"""


def test_a_line_behind_a_guard_is_stopped_at_in_code_without_blanks(dbg, project):
    """tsx writes `if(n<0)return;n++`, where V8 has one location for both."""
    (project / "node_modules").symlink_to(TYPESCRIPT_MODULES)
    guards = programs.write("guards.ts", GUARDS, project)
    (project / "package.json").write_text('{"type": "module"}')

    def stops(*marks):
        dbg.data("breakpoint", "remove", "--all")
        wanted = [word for mark in marks for word in ("-b", guards.at(mark))]
        report, found = dbg.data("start", "guards.ts", *wanted), []
        while report["state"] == "stopped":
            found.append((shown(report), texts(report)["n"]))
            report = dbg.data("continue")
        return found

    third, behind, check, awaited = (
        f"guards.ts:{guards.line(mark)}" for mark in ("third", "behind", "check", "awaited")
    )
    expected = [(third, "0"), (third, "1"), (behind, "1"), (third, "2"), (behind, "2")]
    assert stops("third", "behind") == expected
    # A stop on the way there does not lead astray.
    checks = [(check, n) for n in ("-1", "0", "1", "99", "2")]
    assert stops("check", "behind") == [*checks[:3], (behind, "1"), *checks[3:], (behind, "2")]
    assert stops("awaited") == [(awaited, "3")]
    # Functions that are values keep their names behind a call of the loader's.
    twice, half = (f"guards.ts:{guards.line(mark)}" for mark in ("twice", "half"))
    dbg.data("breakpoint", "remove", "--all")
    report = dbg.data("start", "guards.ts", "-b", "twice", "-b", "half")
    assert (shown(report), texts(report)["n"]) == (twice, "4")
    assert {each["state"] for each in dbg.data("breakpoint", "list")["breakpoints"]} == {"bound"}
    assert shown(dbg.data("continue")) == half

    (project / "package.json").write_text('{"type": "commonjs"}')
    assert stops("third", "behind") == expected

    dbg.data("breakpoint", "remove", "--all")
    dbg.data("break", guards.at("behind"), "--condition", "n == 2")
    dbg.data("break", guards.at("third"), "--log", "third {n}")
    report = dbg.data("start", "guards.ts", "-b", guards.at("first"))
    assert (shown(report), texts(report)["n"]) == (f"guards.ts:{guards.line('first')}", "-1")
    dbg.data("breakpoint", "remove", str(report["stop"]["breakpoints"][0]))
    report = dbg.data("continue")
    assert (shown(report), texts(report)["n"]) == (behind, "2")
    assert printed(report, "log") == "third 0\nthird 1\nthird 2\n"
    # A step from a guard that holds goes back to the caller, not to the line behind.
    dbg.data("breakpoint", "remove", "--all")
    report = dbg.data("start", "guards.ts", "-b", guards.at("first"))
    dbg.data("next")
    assert shown(dbg.data("next")) == f"guards.ts:{guards.line('later') - 1}"


def test_variables_of_a_minified_bundle_have_the_names_of_the_source(dbg, project):
    (project / "src.js").write_text(
        "function total(items, rate) {\n"
        "  let sum = 0;\n"
        "  for (const item of items) {\n"
        "    const price = item.price * rate;\n"
        "    sum += price;\n"
        "  }\n"
        "  return sum;\n"
        "}\n"
        "console.log(total([{ price: 2 }, { price: 3 }], 10));\n"
    )
    (project / "out.js").write_text(
        "function total(t,c){let o=0;for(const e of t){const n=e.price*c;o+=n}return o}"
        "console.log(total([{price:2},{price:3}],10));\n//# sourceMappingURL=out.js.map\n"
    )
    mappings = (
        "AAAA,SAAS,MAAMA,EAAOC,EAAM,CAC1B,IAAIC,EAAM,EACV,UAAWC,KAAQH,EAAO,CACxB,MAAMI,EAAQD,EAAK,MAAQF,EAC3BC,GAAOE,CACT,"
        "CACA,OAAOF,CACT,CACA,QAAQ,IAAI,MAAM,CAAC,CAAE,MAAO,CAAE,EAAG,CAAE,MAAO,CAAE,CAAC,EAAG,EAAE,CAAC"
    )
    names = ["items", "rate", "sum", "item", "price"]
    described = {"version": 3, "sources": ["src.js"], "names": names, "mappings": mappings}
    (project / "out.js.map").write_text(json.dumps(described))

    report = dbg.data("start", "out.js", "-b", "src.js:5")

    assert place(report) == "src.js:5"
    assert {"price": "20", "rate": "10", "sum": "0"}.items() <= texts(report).items()
    assert dbg.data("print", "price + sum")["value"]["text"] == "20"
    dbg.data("set", "sum", "100")
    # In the source `n` is not a variable.
    assert "minified name of `price`" in dbg("print", "n").err
    assert texts(dbg.data("next"))["sum"] == "120"

    # Conditions and log messages are in the names of the source as well.
    dbg.data("breakpoint", "remove", "--all")
    dbg.data("break", "src.js:5", "--condition", "price === 30 && sum === 20")
    dbg.data("break", "src.js:7", "--log", "{{sum}} is {sum} at {rate}")
    report = dbg.data("start", "out.js")
    assert texts(report)["price"] == "30"
    report = dbg.data("continue")
    assert printed(report, "log") == "{sum} is 50 at 10\n"
    dbg.data("breakpoint", "remove", "--all")
    dbg("start", "out.js", "--stop-on-entry")
    # Names of a function are none of the module's around it.
    assert "rate is not defined" in dbg.error("print", "rate")["message"]
    refused = dbg.data("break", "src.js:5", "--condition", "n > 1")["breakpoint"]
    assert refused["state"] == "rejected"
    assert "minified name of `price`" in refused["message"]


def test_an_imported_name_means_what_the_source_imports_in_compiled_code_too(dbg, project):
    programs.write("src/lib.ts", "export const twice = (n: number) => n * 2;\n", project)
    programs.write(
        "src/main.ts",
        "import { twice as double } from './lib';\n"
        "function run(n: number): number {\n  return double(n);\n}\nconsole.log(run(4));\n",
        project,
    )
    compile_with(project, "--sourceMap", module="commonjs")

    dbg.data("start", "dist/main.js", "-b", "src/main.ts:3")

    assert dbg.data("print", "double(n) + double(1)")["value"]["text"] == "10"
    assert "twice is not defined" in dbg.error("print", "twice(1)")["message"]


def test_functions_of_a_minified_bundle_have_the_names_of_the_source(dbg, project):
    (project / "src.js").write_text("function run(n) {\n  return n + 1;\n}\nconsole.log(run(1));\n")
    (project / "out.js").write_text(
        "function o(n){return n+1}console.log(o(1));\n//# sourceMappingURL=out.js.map\n"
    )
    mappings = "AAAA,SAASA,EAAI,EAAG,CACd,OAAO,EAAI,CACb,CACA,QAAQ,IAAIA,EAAI,CAAC,CAAC"
    described = {"version": 3, "sources": ["src.js"], "names": ["run"], "mappings": mappings}
    (project / "out.js.map").write_text(json.dumps(described))

    report = dbg.data("start", "out.js", "-b", "src.js:2")

    assert frame_of(report)["function"] == "run"


def test_code_that_a_loader_puts_around_a_module_has_no_line_of_the_source(dbg, project):
    # As tsx does: a function around the module, on lines of its own without a source.
    (project / "hook.cjs").write_text(
        "const fs = require('fs');\n"
        "require.extensions['.ts'] = (module, file) => {\n"
        "  const text = fs.readFileSync(file, 'utf8').trimEnd().split('\\n');\n"
        "  const mappings = ';' + text.map((_, at) => (at ? 'AACA' : 'AAAA')).join(';') + ';';\n"
        "  const map = JSON.stringify({ version: 3, sources: [file], mappings });\n"
        "  const url = 'data:application/json;base64,' + Buffer.from(map).toString('base64');\n"
        "  const code = ['(()=>{', ...text, '})()', '//# sourceMappingURL=' + url];\n"
        "  module._compile(code.join('\\n'), file);\n"
        "};\n"
    )
    (project / "app.ts").write_text(
        "function run(n) {\n  return n + 1\n}\n\nconst list = [1]\n\nconsole.log(list.map(run))\n"
    )

    dbg.data("start", "node", "-r", "./hook.cjs", "app.ts", "-b", "app.ts:2")
    stack = dbg("backtrace").out

    assert "1  app.ts:7 in <module>\n" in stack
    assert stack.count("app.ts:") == 2
    assert "app.ts:9" not in dbg("backtrace", "--all").out
