# A recursion with a known depth: 10 frames of `down` at the bottom.

def down(depth)
  if depth.zero?
    return 1 # @bottom
  end
  below = down(depth - 1)
  below + 1 # @up
end

puts down(9) # @start
