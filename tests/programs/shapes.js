// Closures, generators, classes with getters and private fields, collections of every kind.
'use strict';

class Base {
  kind = 'current';
}

class Account extends Base {
  #secret = 7;

  constructor(owner, balance) {
    super();
    this.owner = owner;
    this._balance = balance;
  }

  get balance() {
    throw new Error('a getter was run');
  }

  deposit(amount) {
    this._balance += amount; // @method
    return this._balance + this.#secret - 7;
  }

  static open(owner) {
    return new Account(owner, 0); // @static
  }
}

function counter(step) {
  let seen = 0;
  return function count() {
    seen += step; // @closure
    return seen;
  };
}

function* letters() {
  yield 'a'; // @yield
  yield 'b';
}

const trapped = new Proxy({ a: 1 }, {
  get() {
    throw new Error('a trap was run');
  },
});

function main() {
  const count = counter(2);
  count();
  const account = new Account('Ada', 10);
  const opened = Account.open('Bob');
  const pair = [1, 'two'];
  const holes = [1, , 3];
  const unique = new Set([3, 'x']);
  const prices = new Map([['pen', 2], [{ deep: true }, [1, 2]]]);
  const empty = [{}, [], '', new Set(), null, undefined];
  const numbers = { big: 12345678901234567890n, minus: -0, nan: NaN, tiny: 1e-7 };
  const when = new Date(0);
  const never = new Date(NaN);
  const word = /a+b/gi;
  const failed = new TypeError('bad', { cause: new Error('worse') });
  const bytes = Buffer.from('hello');
  const floats = new Float32Array([1.5, 2]);
  const symbol = Symbol('mark');
  const loop = { name: 'loop' };
  loop.self = loop;
  const bare = Object.create(null);
  const lazy = { get value() { throw new Error('a getter was run'); } };
  const promise = Promise.resolve(4);
  const quoted = 'it\'s "so"';
  const generator = letters();
  const first = generator.next().value;
  const iterators = [prices.entries(), unique.values(), (async function* () {})()];
  const passed = (function () { return arguments; })(1);
  account.deposit(5);
  pair.push({ name: 'new' }); // @changed
  console.log(first, account.owner, opened.owner, trapped === null, lazy === bare, iterators === passed); // @here
  return [holes, unique, prices, empty, numbers, when, never, word, failed, bytes, floats, symbol, promise, quoted];
}

main();
