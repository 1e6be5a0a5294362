# Classes, blocks, structs, and an inspect that fails; an error that is rescued, one that is not.

require "set"

module Shop
  Item = Struct.new(:name, :price, :count) do
    def amount
      price * count # @amount
    end
  end

  class Cart
    attr_reader :items

    def self.of(*items)
      new(items) # @of
    end

    def initialize(items)
      @items = items # @init
      @log = []
    end

    def total
      sum = 0
      items.each do |item| # @each
        amount = item.amount # @block
        sum += amount # @sum
      end
      sum # @total
    end

    # a comment, where no code is @comment
    def find(name)
      found = items.find { |item| item.name == name } # @one
      raise ArgumentError, "no item #{name}" unless found # @raise

      found
    rescue ArgumentError => error
      @log << error.message # @rescued
      nil
    ensure
      @log << "asked for #{name}" # @ensure
    end
  end
end

class Evil
  def inspect
    raise "not today"
  end
end

class Endless
  def inspect
    loop {}
  end
end

def nothing
end

cart = Shop::Cart.of(Shop::Item.new("pen", 2, 3), Shop::Item.new("ink", 5, 1))
evil = Evil.new
set = Set.new([1, "two", :three])
me = [1]
me << me
long = "x" * 5_000
table = { "a" => [1, nil], b: 2.5 }
nothing # @nothing
puts cart.total # @call
cart.find("pad")
endless = Endless.new
begin
  Integer("x") # @begin
rescue ArgumentError
  raise TypeError, "wrapped" # @fatal
end
