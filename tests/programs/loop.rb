# Adds up an order: a loop with locals, nested values and a call. Prints, and ends with code 3.

def line_amount(price, count)
  amount = price * count # @callee
  amount # @return
end

def total_of(items)
  total = 0 # @first
  number = 0
  while number < items.length
    amount = line_amount(items[number][:price], items[number][:count]) # @call
    total += amount # @loop
    items[number][:done] = true # @done
    number += 1
  end
  total # @last
end

def main
  nothing = nil
  order = [
    { name: "pen", price: 2, count: 3 },
    { name: "ink", price: 5, count: 1 },
    { name: "pad", price: 4, count: 2 }
  ]
  puts "adding" # @print
  total = total_of(order) # @main
  puts "total #{total}"
  warn "done" # @after
  total == 19 ? 3 : 4 # @end
end

exit main
