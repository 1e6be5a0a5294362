// Describes values and lists their children; runs inside the program. An expression: a function
// that takes node's `util`, or null where there is none, and returns the agent's functions.
//
// No code of the program runs: no getter, no iterator, no custom toString, no trap of a proxy. The
// built-in functions used here were saved before the program could change them, and where `vm` is
// available the agent has its own realm, which no program changes. Texts are bounded for every
// value.
(function (util) {
  'use strict';
  const uncurry = (f) => f && Function.prototype.call.bind(f);
  const { getOwnPropertyDescriptor: own, getPrototypeOf, getOwnPropertySymbols } = Object;
  const { ownKeys } = Reflect;
  const { isArray } = Array;
  const types = util ? util.types : null;
  const getter = (prototype, name) => uncurry((own(prototype, name) || {}).get);
  const functionText = uncurry(Function.prototype.toString);
  const numberText = uncurry(Number.prototype.toString);
  const symbolText = uncurry(Symbol.prototype.toString);
  const dateText = uncurry(Date.prototype.toISOString);
  const dateValue = uncurry(Date.prototype.getTime);
  const regexpSource = getter(RegExp.prototype, 'source');
  const FLAGS = { hasIndices: 'd', global: 'g', ignoreCase: 'i', multiline: 'm', dotAll: 's', unicode: 'u', unicodeSets: 'v', sticky: 'y' };
  const flags = ownKeys(FLAGS).map((name) => [getter(RegExp.prototype, name), FLAGS[name]]);
  const kindText = uncurry(Object.prototype.toString);
  const slice = uncurry(String.prototype.slice);
  const mapSize = getter(Map.prototype, 'size');
  const setSize = getter(Set.prototype, 'size');
  const mapEntries = uncurry(Map.prototype.entries);
  const mapNext = uncurry(getPrototypeOf(new Map().entries()).next);
  const setValues = uncurry(Set.prototype.values);
  const setNext = uncurry(getPrototypeOf(new Set().values()).next);
  const typedLength = getter(getPrototypeOf(Uint8Array.prototype), 'length');
  const typedKind = getter(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);
  const bufferSize = getter(ArrayBuffer.prototype, 'byteLength');
  // As in the program's own code, what `deref` returns stays alive until the current job ends.
  const deref = typeof WeakRef === 'function' ? uncurry(WeakRef.prototype.deref) : undefined;
  const stringify = JSON.stringify;
  const seen = new WeakSet();
  const isSeen = uncurry(WeakSet.prototype.has);
  const addSeen = uncurry(WeakSet.prototype.add);
  const MAX_DEPTH = 5;
  const MAX_ITEMS = 200;
  const ELEMENT = 40;

  const succeeds = (f, value) => {
    try { f(value); return true; } catch { return false; }
  };
  // Without `util` (in another context) the type of a value is found by what works on it.
  const is = {
    proxy: types ? types.isProxy : () => false,
    map: types ? types.isMap : (v) => succeeds(mapSize, v),
    set: types ? types.isSet : (v) => succeeds(setSize, v),
    date: types ? types.isDate : (v) => succeeds(dateValue, v),
    regexp: types ? types.isRegExp : (v) => kindText(v) === '[object RegExp]',
    error: types ? types.isNativeError : (v) => kindText(v) === '[object Error]',
    promise: types ? types.isPromise : (v) => kindText(v) === '[object Promise]',
    boxed: types ? types.isBoxedPrimitive : () => false,
    buffer: types ? types.isAnyArrayBuffer : (v) => succeeds(bufferSize, v),
    typed: ArrayBuffer.isView,
    weak: types ? (v) => types.isWeakMap(v) || types.isWeakSet(v) : () => false,
    ref: (v) => deref !== undefined && succeeds(deref, v),
    module: types ? types.isModuleNamespaceObject : () => false,
  };

  // --- names

  function className(value) {
    for (let at = value, steps = 0; at !== null && at !== undefined && steps < 50; steps++) {
      if (is.proxy(at)) return 'Object';
      const described = own(at, 'constructor');
      if (described && typeof described.value === 'function' && !is.proxy(described.value)) {
        const name = own(described.value, 'name');
        if (name && typeof name.value === 'string' && name.value !== '') return name.value;
      }
      at = getPrototypeOf(at);
    }
    return null;
  }

  function typeName(value) {
    if (value === null) return 'null';
    const kind = typeof value;
    if (kind === 'function') return isClass(value) ? 'class' : 'function';
    if (kind !== 'object') return kind;
    if (is.proxy(value)) return 'Proxy';
    return className(value) || 'Object';
  }

  function isClass(value) {
    return !is.proxy(value) && slice(functionText(value), 0, 5) === 'class';
  }

  const PLAIN = /^[A-Za-z_$][\w$]*$/;
  const keyText = (key) => (typeof key === 'symbol' ? `[${symbolText(key)}]` : PLAIN.test(key) ? key : quoted(key, 100));

  // --- text

  function gap(count) {
    return `…+${count} chars…`;
  }

  function elided(text, limit) {
    if (text.length <= limit) return text;
    const head = Math.floor((limit * 2) / 3);
    const tail = Math.floor(limit / 3);
    return slice(text, 0, head) + gap(text.length - head - tail) + slice(text, text.length - tail);
  }

  function quoted(text, limit) {
    const raw = text.length > limit ? elided(text, limit) : text;
    const body = slice(stringify(raw), 1, -1);
    if (!body.includes("'")) return `'${body.replaceAll('\\"', '"')}'`;
    if (!body.includes('\\"')) return `"${body}"`;
    return `'${body.replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
  }

  function show(value, limit, depth, above) {
    switch (typeof value) {
      case 'string': return quoted(value, limit);
      case 'number': return Object.is(value, -0) ? '-0' : numberText(value);
      case 'bigint': return elided(`${value}n`, limit);
      case 'symbol': return symbolText(value);
      case 'function': return functionLabel(value);
      case 'object': break;
      default: return String(value);
    }
    if (value === null) return 'null';
    if (is.proxy(value)) return proxyText(value, limit);
    if (above.includes(value)) return '[circular]';
    if (depth > MAX_DEPTH || limit < 8) return brief(value);
    try {
      const text = shape(value, limit, depth, [...above, value]);
      // Private fields of an inner object are not read: it must not look as if it had none.
      if (!above.length || slice(text, -1) !== '}' || !hasPrivate(value)) return text;
      return `${slice(text, 0, -1)}${slice(text, -2) === '{}' ? '' : ', '}…}`;
    } catch (error) {
      return brief(value);
    }
  }

  function brief(value) {
    if (isArray(value)) return value.length ? `[…+${value.length}]` : '[]';
    return `${className(value) || 'Object'} {…}`;
  }

  function functionLabel(value) {
    if (is.proxy(value)) return 'Proxy {function}';
    const named = own(value, 'name');
    const name = named && typeof named.value === 'string' ? named.value : '';
    if (isClass(value)) {
      const parent = getPrototypeOf(value);
      const of = typeof parent === 'function' && !is.proxy(parent) && own(parent, 'name');
      return `[class ${name || '(anonymous)'}${of && of.value ? ` extends ${of.value}` : ''}]`;
    }
    const start = slice(functionText(value), 0, 20);
    const kind = /^async\s*(function)?\s*\*/.test(start) ? 'AsyncGeneratorFunction'
      : /^async\b/.test(start) ? 'AsyncFunction'
        : /^(function\s*\*|\*)/.test(start) ? 'GeneratorFunction' : 'Function';
    return name ? `[${kind}: ${name}]` : `[${kind} (anonymous)]`;
  }

  function proxyText(value, limit) {
    if (!util) return 'Proxy {…}';
    const options = { showProxy: true, depth: 1, breakLength: Infinity, customInspect: false, maxArrayLength: 20, maxStringLength: 200 };
    return elided(util.inspect(value, options), limit);
  }

  // Only node can see the state of a promise. It adds async ids in debugged programs, which are
  // noise.
  const NUMBERED = /(, )?\[Symbol\((?:trigger_)?async_id_symbol\)\]: \d+/g;

  function promiseText(value, limit) {
    if (!util) return 'Promise {…}';
    const options = { depth: 1, breakLength: Infinity, customInspect: false, showProxy: true, maxArrayLength: 10, maxStringLength: 200 };
    const text = util.inspect(value, options).replace(NUMBERED, '').replace(/\s*\n\s*/g, ' ');
    return elided(text.replace('{ ', '{').replace(/ }$/, '}'), limit);
  }

  function refText(value, limit, inner) {
    const target = deref(value);
    return `${className(value)} {${target === undefined ? '<collected>' : inner(target, limit - 10)}}`;
  }

  // Build `open a, b, …+3 close`; *part* returns the text of one of *total* parts.
  function joined(open, close, total, limit, part, most = MAX_ITEMS) {
    let text = open;
    let room = limit - open.length - close.length;
    for (let index = 0; index < total; index++) {
      if (index >= most || room < 6) return `${text}, …+${total - index}${close}`.replace(`${open}, …`, `${open}…`);
      const left = total - index;
      const one = part(index, Math.max(ELEMENT, Math.min(room, Math.floor((room * 2) / Math.min(left, 3)))));
      text += index ? `, ${one}` : one;
      room -= one.length + 2;
    }
    return text + close;
  }

  function shape(value, limit, depth, above) {
    const inner = (child, room) => show(child, room, depth + 1, above);
    if (isArray(value)) return arrayText(value, limit, inner);
    if (is.typed(value)) return typedText(value, limit);
    if (is.map(value)) {
      const found = entries(value, MAX_ITEMS);
      const part = (i, room) => `${inner(found[i][0], room >> 1)} => ${inner(found[i][1], room >> 1)}`;
      return joined(`${prefix(value, 'Map')}(${mapSize(value)}) {`, '}', mapSize(value), limit, part);
    }
    if (is.set(value)) {
      const found = members(value, MAX_ITEMS);
      return joined(`${prefix(value, 'Set')}(${setSize(value)}) {`, '}', setSize(value), limit, (i, room) => inner(found[i], room));
    }
    if (is.date(value)) return Number.isNaN(dateValue(value)) ? 'Invalid Date' : dateText(value);
    if (is.regexp(value)) return elided(`/${regexpSource(value)}/${flags.map(([has, letter]) => (has && has(value) ? letter : '')).join('')}`, limit);
    if (is.error(value)) return errorText(value, limit, inner);
    if (is.promise(value)) return promiseText(value, limit);
    if (types && types.isGeneratorObject(value)) return `${builtinTag(value) || 'Generator'} {}`;
    if (is.boxed(value)) return `[${className(value)}: ${inner(value.valueOf === Object.prototype.valueOf ? value : boxedValue(value), limit)}]`;
    if (is.buffer(value)) return `${className(value)} {byteLength: ${value.byteLength}}`;
    // Node could list them, and would run getters of their members.
    if (is.weak(value)) return `${className(value)} {<items unknown>}`;
    if (is.ref(value)) return refText(value, limit, inner);
    const name = className(value);
    const tag = name === 'Object' ? builtinTag(value) : '';
    if (tag) return fieldsText(value, `${tag} {`, limit, inner);
    const open = name === 'Object' ? '{' : name === null ? '[Object: null prototype] {' : `${is.module(value) ? 'module' : name} {`;
    return fieldsText(value, open, limit, inner);
  }

  // Iterators and generators have no class; their prototypes name their type.
  function builtinTag(value) {
    if (types && types.isArgumentsObject(value)) return 'Arguments';
    for (let at = getPrototypeOf(value), steps = 0; at !== null && steps < 4; steps++, at = getPrototypeOf(at)) {
      if (is.proxy(at)) return '';
      const tag = (own(at, Symbol.toStringTag) || {}).value;
      if (typeof tag === 'string') return slice(tag, 0, 60);
    }
    return '';
  }

  function boxedValue(value) {
    for (const kind of [Number, String, Boolean, BigInt, Symbol]) {
      try { return kind.prototype.valueOf.call(value); } catch { /* another kind */ }
    }
    return undefined;
  }

  const prefix = (value, base) => className(value) || base;

  function fieldsText(value, open, limit, inner) {
    const keys = ownKeys(value);
    const part = (i, room) => `${keyText(keys[i])}: ${fieldText(value, keys[i], room, inner)}`;
    return joined(open, '}', keys.length, limit, part, 100);
  }

  function fieldText(value, key, room, inner) {
    const described = own(value, key);
    if (!described) return '<gone>';
    if ('value' in described) return inner(described.value, room);
    return accessor(described);
  }

  const accessor = (described) => (described.get ? (described.set ? '<getter, setter>' : '<getter>') : '<setter>');

  function arrayText(value, limit, inner) {
    const name = className(value);
    const open = name === 'Array' || name === null ? '[' : `${name}(${value.length}) [`;
    const part = (i, room) => {
      const described = own(value, i);
      return !described ? '<empty>' : 'value' in described ? inner(described.value, room) : accessor(described);
    };
    const extra = value.length <= MAX_ITEMS ? ownKeys(value).filter((key) => typeof key === 'string' && !isIndex(key) && key !== 'length') : [];
    if (!extra.length) return joined(open, ']', value.length, limit, part);
    const all = (i, room) => (i < value.length ? part(i, room) : `${keyText(extra[i - value.length])}: ${fieldText(value, extra[i - value.length], room, inner)}`);
    return joined(open, ']', value.length + extra.length, limit, all);
  }

  const isIndex = (key) => /^(0|[1-9]\d*)$/.test(key);

  function typedText(value, limit) {
    if (!typedKind(value)) return `${className(value)} {byteLength: ${value.byteLength}}`;
    const length = typedLength(value);
    const name = className(value) || typedKind(value);
    if (name === 'Buffer') {
      const hex = [];
      for (let i = 0; i < Math.min(length, 50); i++) hex.push((value[i] < 16 ? '0' : '') + numberText(value[i], 16));
      return `<Buffer${hex.length ? ' ' : ''}${hex.join(' ')}${length > 50 ? ` …+${length - 50} bytes` : ''}>`;
    }
    return joined(`${name}(${length}) [`, ']', length, limit, (i) => show(value[i], 40, 0, []));
  }

  function dataField(value, key) {
    for (let at = value, steps = 0; at !== null && steps < 20; steps++, at = getPrototypeOf(at)) {
      if (is.proxy(at)) return undefined;
      const described = own(at, key);
      if (described) return 'value' in described ? described.value : undefined;
    }
    return undefined;
  }

  function errorHead(value) {
    const named = dataField(value, 'name');
    const name = className(value);
    // A class that inherits from an error has the name of its parent, unless it sets its own.
    const shown = typeof named === 'string' && named !== '' && !ERRORS.has(named) ? named : name || 'Error';
    const message = dataField(value, 'message');
    return [shown, message === undefined ? '' : typeof message === 'string' ? message : show(message, 200, 0, [])];
  }

  const ERRORS = new Set(['Error', 'AggregateError', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError']);
  const QUIET = new Set(['stack', 'message', 'name', 'constructor']);

  function errorText(value, limit, inner) {
    const [name, message] = errorHead(value);
    const head = elided(message ? `${name}: ${message}` : name, limit);
    const extra = ownKeys(value).filter((key) => !QUIET.has(key));
    if (!extra.length) return head;
    const part = (i, room) => `${keyText(extra[i])}: ${fieldText(value, extra[i], room, inner)}`;
    return `${head} ${joined('{', '}', extra.length, Math.max(60, limit - head.length), part, 20)}`;
  }

  // --- children

  function entries(map, most) {
    const found = [];
    const iterator = mapEntries(map);
    for (let step = mapNext(iterator); !step.done && found.length < most; step = mapNext(iterator)) found.push(step.value);
    return found;
  }

  function members(set, most) {
    const found = [];
    const iterator = setValues(set);
    for (let step = setNext(iterator); !step.done && found.length < most; step = setNext(iterator)) found.push(step.value);
    return found;
  }

  function size(value) {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || is.proxy(value)) return null;
    if (isArray(value)) return value.length;
    if (is.typed(value)) return typedKind(value) ? typedLength(value) : null;
    if (is.map(value)) return mapSize(value);
    if (is.set(value)) return setSize(value);
    return ownKeys(value).length + (is.ref(value) ? 1 : 0);
  }

  function described(value, limit) {
    const text = show(value, limit, 0, []);
    const count = size(value);
    return [text, typeName(value), count ? 1 : 0, count];
  }

  // The keys of a value's children: one letter for the kind, then the index or name.
  function keysOf(value, start, count) {
    const end = start + count;
    const found = [];
    let position = 0;
    const put = (key, name) => {
      if (position >= start && position < end) found.push([key, name]);
      position++;
    };
    if (isArray(value) || (is.typed(value) && typedKind(value))) {
      const length = isArray(value) ? value.length : typedLength(value);
      for (let i = start; i < Math.min(length, end); i++) found.push([`p${i}`, String(i)]);
      position = length;
      if (length > 100000) return found;
    } else if (is.map(value)) {
      const inside = entries(value, end);
      inside.forEach((entry, i) => put(`m${i}`, show(entry[0], 60, 1, [])));
      position = Math.max(position, mapSize(value));
    } else if (is.set(value)) {
      members(value, end).forEach((_, i) => put(`e${i}`, String(i)));
      position = Math.max(position, setSize(value));
    }
    if (is.ref(value)) put('r', 'deref()');
    const listed = isArray(value) || is.typed(value);
    for (const key of ownKeys(value)) {
      if (typeof key === 'symbol' && /async_id_symbol/.test(symbolText(key))) continue;
      if (typeof key === 'symbol') put(`s${getOwnPropertySymbols(value).indexOf(key)}`, `[${symbolText(key)}]`);
      else if (!listed || (!isIndex(key) && key !== 'length')) put(`p${key}`, key);
    }
    return found;
  }

  function part(value, key) {
    const where = key.slice(1);
    switch (key[0]) {
      case 'm': return entries(value, Number(where) + 1)[Number(where)][1];
      case 'r': return deref(value);
      case 'e': return members(value, Number(where) + 1)[Number(where)];
      default: {
        const described = own(value, key[0] === 's' ? getOwnPropertySymbols(value)[Number(where)] : where);
        return described && described.value;
      }
    }
  }

  // Only the debugger can see private fields; the class shows whether there may be any.
  function hasPrivate(value) {
    if (typeof value === 'function') return isClass(value) && functionText(value).includes('#');
    if (typeof value !== 'object' || value === null || is.proxy(value)) return false;
    for (let at = getPrototypeOf(value), steps = 0; at !== null && steps < 8; steps++, at = getPrototypeOf(at)) {
      if (is.proxy(at)) return false;
      const maker = (own(at, 'constructor') || {}).value;
      if (typeof maker === 'function' && !is.proxy(maker)) {
        const text = functionText(maker);
        if (slice(text, 0, 5) === 'class' && text.includes('#')) return true;
      }
    }
    return false;
  }

  function row(value, key, name, limit) {
    try {
      if (key[0] === 'p' || key[0] === 's') {
        const found = own(value, key[0] === 's' ? getOwnPropertySymbols(value)[Number(key.slice(1))] : key.slice(1));
        if (!found) return [key, name, '<empty>', 'undefined', 0, null, 0];
        if (!('value' in found)) return [key, name, accessor(found), 'accessor', 0, null, 0];
      }
      const child = part(value, key);
      const definition = typeof child === 'function' && !is.proxy(child) && (own(child, 'name') || {}).value === name;
      return [key, name, ...described(child, limit), definition ? 1 : hasPrivate(child) ? 4 : 0];
    } catch (error) {
      return [key, name, String(error), null, 0, null, 2];
    }
  }

  return {
    text: (value, limit) => show(value, limit, 0, []),
    log: (value) => (typeof value === 'string' ? value : show(value, 2000, 0, [])),
    one: described,
    hasPrivate,
    names: (value) => ownKeys(value).filter((key) => typeof key === 'string'),
    part,
    list(value, start, count, limit) {
      if (value === null || (typeof value !== 'object' && typeof value !== 'function') || is.proxy(value)) return [];
      return keysOf(value, start, count).map(([key, name]) => row(value, key, name, limit));
    },
    kinds(value) {
      const found = [];
      for (let at = value; typeof at === 'object' && at !== null && !is.proxy(at) && found.length < 20; at = getPrototypeOf(at)) {
        const maker = (own(at, 'constructor') || {}).value;
        if (typeof maker === 'function' && !is.proxy(maker)) found.push(String((own(maker, 'name') || {}).value));
      }
      return [...found, typeName(value)];
    },
    // Return whether the agent was not asked about an object before.
    isNew(value) {
      const isKnown = isSeen(seen, value);
      if (!isKnown) addSeen(seen, value);
      return !isKnown;
    },
    error(value) {
      const isError = typeof value === 'object' && value !== null && !is.proxy(value) && is.error(value);
      if (!isError) return [typeName(value), show(value, 2000, 0, []), '', []];
      const causes = [];
      let cause = dataField(value, 'cause');
      while (cause !== undefined && causes.length < 8) {
        const nested = typeof cause === 'object' && cause !== null && !is.proxy(cause) && is.error(cause);
        causes.push(nested ? errorHead(cause).filter(Boolean).join(': ') : show(cause, 200, 0, []));
        cause = nested ? dataField(cause, 'cause') : undefined;
      }
      let stack = dataField(value, 'stack');
      // V8 12 made `stack` an internal accessor, which runs no code of the program.
      if (stack === undefined) {
        try { stack = value.stack; } catch { stack = ''; }
      }
      return [...errorHead(value), typeof stack === 'string' ? stack : '', causes];
    },
  };
})
