// Dies of an error that nobody catches.
type Numbers = number[];

function divide(left: number, right: number): bigint {
  return BigInt(left) / BigInt(right); // @uncaught
}

function average(numbers: Numbers): bigint {
  const total = numbers.reduce((sum, each) => sum + each, 0);
  return divide(total, numbers.length); // @caller
}

console.log('averages');
console.log(average([1, 2, 3]));
console.log(average([]));
