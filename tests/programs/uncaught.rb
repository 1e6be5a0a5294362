# Dies of an error that nobody catches.

def divide(left, right)
  left / right # @uncaught
end

def average(numbers)
  total = numbers.sum
  divide(total, numbers.length) # @caller
end

puts "averages"
puts average([1, 2, 3])
puts average([])
