// Records every call of its own hooks.
"use strict";
const util = require("util");
const calls = [];
const note = (name, value) => function () { calls.push(name); return value; };
function handler(kind) {
  return new Proxy({}, { get: (_, trap) => (target, ...rest) => { calls.push(kind + "." + String(trap)); return Reflect[trap](target, ...rest); } });
}
class Hooked {
  constructor() { this.plain = 1; }
  get lazy() { calls.push("getter"); return 2; }
  toString() { calls.push("toString"); return "text"; }
  valueOf() { calls.push("valueOf"); return 3; }
  toJSON() { calls.push("toJSON"); return {}; }
  [Symbol.toPrimitive]() { calls.push("toPrimitive"); return 4; }
  get [Symbol.toStringTag]() { calls.push("toStringTag"); return "Tag"; }
  [util.inspect.custom]() { calls.push("inspect"); return "custom"; }
  *[Symbol.iterator]() { calls.push("iterator"); }
  static [Symbol.hasInstance]() { calls.push("hasInstance"); return false; }
}
class MyArray extends Array { get length2() { calls.push("length2"); return 1; } static get [Symbol.species]() { calls.push("species"); return Array; } *[Symbol.iterator]() { calls.push("array.iterator"); } get size() { calls.push("array.size"); return 1; } }
class MyMap extends Map { get size() { calls.push("map.size"); return 9; } entries() { calls.push("map.entries"); return super.entries(); } *[Symbol.iterator]() { calls.push("map.iterator"); } get(k) { calls.push("map.get"); return super.get(k); } forEach() { calls.push("map.forEach"); } }
class MySet extends Set { get size() { calls.push("set.size"); return 9; } values() { calls.push("set.values"); return super.values(); } has() { calls.push("set.has"); return true; } }
class MyError extends Error { get message() { calls.push("error.message"); return "mine"; } toString() { calls.push("error.toString"); return "e"; } get cause() { calls.push("error.cause"); return null; } get errors() { calls.push("error.errors"); return []; } }
class MyDate extends Date { toISOString() { calls.push("date.toISOString"); return "x"; } getTime() { calls.push("date.getTime"); return 0; } toString() { calls.push("date.toString"); return "d"; } }
class MyPromise extends Promise { then(a, b) { calls.push("promise.then"); return super.then(a, b); } static get [Symbol.species]() { calls.push("promise.species"); return Promise; } }
class MyRegExp extends RegExp { get flags() { calls.push("regexp.flags"); return "g"; } get source() { calls.push("regexp.source"); return "x"; } toString() { calls.push("regexp.toString"); return "/x/"; } }
class MyBytes extends Uint8Array { get length() { calls.push("bytes.length"); return 1; } }
function work() {
  const hooked = new Hooked();
  const own = { get a() { calls.push("own getter"); return 1; }, b: hooked };
  const shadow = { get constructor() { calls.push("own constructor"); return Object; }, x: 1 };
  const proxy = new Proxy({ x: 1 }, handler("object"));
  const proxied = new Proxy([1, 2], handler("array"));
  const callable = new Proxy(function f() {}, handler("function"));
  const inherited = Object.create(proxy);
  const array = MyArray.from([1, 2, 3]); const map = new MyMap([[hooked, proxy]]); const set = new MySet([hooked]);
  const error = new MyError("boom"); const date = new MyDate(0); const promise = MyPromise.resolve(1); const regexp = new MyRegExp("a+", "i");
  const bytes = new MyBytes(4);
  const bare = Object.create(null, { hidden: { get() { calls.push("hidden getter"); return 1; }, enumerable: true } });
  const fn = Object.assign(() => 1, {}); Object.defineProperty(fn, "name", { get() { calls.push("function.name"); return "n"; } });
  const klass = Hooked; const held = [proxy, hooked, { deep: [proxy, { own }] }, new Map([["k", own]])];
  const weak = new WeakMap([[hooked, proxy]]); const gen = (function* () { calls.push("generator"); yield 1; })();
  const arrayGetter = [1]; Object.defineProperty(arrayGetter, 1, { get() { calls.push("element getter"); return 5; }, enumerable: true });
  const boxed = Object.assign(Object(1), {}); const errStack = new Error("s"); Object.defineProperty(errStack, "stack", { get() { calls.push("stack getter"); return "st"; } });
  const toString = Object.create({ get [Symbol.toStringTag]() { calls.push("tag on prototype"); return "P"; } });
  const view = new DataView(new ArrayBuffer(4)); const symbol = Symbol("s"); const big = 10n;
  calls.length = 0;
  const one = 1; // @one
  const two = 2;
  const three = 3;
  const four = 4;
  try {
    throw error; // @raised
  } catch (e) {}
  try {
    throw proxy;
  } catch (e) {}
  inner(hooked, proxy);
  return hooked;
}
function inner(argument, other) {
  const five = 5;
  return argument; // @return
}
globalThis.spied = new Proxy({}, handler("global"));
Object.defineProperty(globalThis, "lazyGlobal", { get() { calls.push("global getter"); return 1; }, configurable: true, enumerable: true });
for (const name of ["toString", "hasOwnProperty", "valueOf"]) { const old = Object.prototype[name]; Object.defineProperty(Object.prototype, name, { value: function (...a) { calls.push("Object.prototype." + name); return old.apply(this, a); }, writable: true, configurable: true }); }
for (const name of ["map", "slice", "join", "push2", "forEach", "filter", "indexOf"]) { const old = Array.prototype[name]; if (old) Array.prototype[name] = function (...a) { calls.push("Array.prototype." + name); return old.apply(this, a); }; }
for (const name of ["get", "has", "set", "forEach", "entries"]) { const old = Map.prototype[name]; Map.prototype[name] = function (...a) { calls.push("Map.prototype." + name); return old.apply(this, a); }; }
let globals = Object.getOwnPropertyNames(globalThis).length;
calls.length = 0;
const result = work();
globals = Object.getOwnPropertyNames(globalThis).length - globals;
let text = "";
for (const call of calls) text += call + ";";
console.log("calls [" + text + "]", "globals", globals);
