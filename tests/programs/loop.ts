// Adds up an order: a loop with locals, nested values and a call. Prints, and ends with code 3.
interface Item {
  name: string;
  price: number;
  count: number;
  done?: boolean;
}

function line_amount(price: number, count: number): number {
  const amount = price * count; // @callee
  return amount; // @return
}

function total_of(items: Item[]): number {
  let total = 0; // @first
  for (const [number, item] of items.entries()) {
    const amount = line_amount(item.price, item.count); // @call
    total += amount; // @loop
    item.done = true; // @done
  }
  return total; // @last
}

function main(): number {
  const nothing = null;
  const empty: Item[] = [];
  const order: Item[] = [
    { name: 'pen', price: 2, count: 3 },
    { name: 'ink', price: 5, count: 1 },
    { name: 'pad', price: 4, count: 2 },
  ];
  console.log('adding'); // @print
  const total = total_of(order); // @main
  console.log('total', total);
  console.error('done'); // @after
  return total === 19 ? 3 : 4; // @end
}

process.exit(main());
