// A recursion with a known depth: 10 frames of `down` at the bottom.
type Depth = number;

function down(depth: Depth): number {
  if (depth === 0) {
    return 1; // @bottom
  }
  const below = down(depth - 1);
  return below + 1; // @up
}

console.log(down(9)); // @start
