# frozen_string_literal: true

# What a value says of itself and holds; runs inside the program. Texts are bounded whatever the
# value is. The only code of the program's own that runs is an `inspect` that it wrote.
module DEBUGGER__
  module Freezeframe
    module Values
      LIMIT = 600
      ELEMENT = 60
      DEEPEST = 6
      MOST_CHILDREN = 2_000
      MOST_BITS = 4_000
      ROCKET = RUBY_VERSION < "3.4"
      CLASS = Kernel.instance_method(:class)
      VARIABLES = Kernel.instance_method(:instance_variables)
      VARIABLE = Kernel.instance_method(:instance_variable_get)
      METHOD = Kernel.instance_method(:method)
      # What is shown whole in its text.
      WHOLE = [
        String, Module, Numeric, Symbol, Proc, Method, UnboundMethod, nil, true, false, Range, IO, Thread, Time
      ].freeze
      # Classes whose `inspect` had to be interrupted: it is not called again.
      HANGING = []

      # An `inspect` that gave no text.
      class Failed < StandardError; end

      # Raised into a thread that takes too long to show something.
      class Stuck < Exception; end

      module_function

      def type(object)
        CLASS.bind_call(object).name || CLASS.bind_call(object).to_s
      rescue StandardError
        "?"
      end

      def show(object, limit = LIMIT)
        text(object, limit, 0, {}.compare_by_identity)
      rescue Failed => why
        "<#{type(object)}: #{why.message}>"
      end

      def text(object, limit, depth, above)
        case object
        when nil, true, false, Symbol, Float, Range, Rational, Complex then cut(object.inspect, limit)
        when Integer
          object.bit_length > MOST_BITS ? cut("0x#{object.to_s(16)}", limit) : object.to_s
        when String then string(object, limit)
        when Module then object.name || object.inspect
        when Array, Hash, Struct then container(object, limit, depth, above)
        when Exception, Proc, Method, UnboundMethod, IO, Thread, Time then own(object, limit)
        else
          if defined?(::Set) && ::Set === object && !own_inspect?(object, ::Set)
            list(object.to_a, "Set{", "}", limit, depth, above)
          elsif own_inspect?(object, Kernel)
            own(object, limit)
          else
            "#<#{type(object)}>"
          end
        end
      end

      def container(object, limit, depth, above)
        base = [Array, Hash, Struct].find { |each| each === object }
        return own(object, limit) if own_inspect?(object, base)

        case object
        when Array then list(object, "[", "]", limit, depth, above)
        when Hash then table(object, limit, depth, above)
        else record(object, limit, depth, above)
        end
      end

      # Whether `inspect` was written elsewhere than in *base*.
      def own_inspect?(object, base)
        owner = METHOD.bind_call(object, :inspect).owner
        owner != base && owner != Kernel && !(base != Kernel && base.ancestors.include?(owner))
      rescue StandardError
        false
      end

      def own(object, limit)
        kind = CLASS.bind_call(object)
        raise Failed, "its inspect took too long" if HANGING.include?(kind)

        said = object.inspect
        raise Failed, "its inspect gave no text" unless String === said

        cut(said.encode("UTF-8", invalid: :replace, undef: :replace).scrub, limit)
      rescue Failed
        raise
      rescue Stuck
        HANGING << kind
        raise Failed, "its inspect took too long"
      rescue Exception => error
        raise Failed, "inspect raised #{CLASS.bind_call(error)}: #{error.message.to_s[0, 80]}"
      end

      def string(object, limit)
        return cut(plain(object), limit) if object.length <= limit

        head, tail = limit * 2 / 3, limit / 3
        left = object.length - head - tail
        "#{plain(object[0, head])[0..-2]}#{gap(left)}#{plain(object[-tail, tail])[1..]}"
      end

      def plain(object)
        said = String.instance_method(:inspect).bind_call(object)
        said.encode("UTF-8", invalid: :replace, undef: :replace)
      end

      def gap(count)
        "…+#{count.to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, ",")} chars…"
      end

      def cut(said, limit)
        return said if said.length <= limit

        head, tail = limit * 2 / 3, limit / 3
        "#{said[0, head]}#{gap(said.length - head - tail)}#{said[-tail, tail]}"
      end

      def list(items, open, close, limit, depth, above)
        inside(items, open, close, above, depth) do |deeper|
          pieces(items.length, limit) { |index, room| inner(items[index], room, depth, deeper) }
        end
      end

      def table(items, limit, depth, above)
        inside(items, "{", "}", above, depth) do |deeper|
          keys = items.first(limit / 4 + 1)
          pieces(items.length, limit) do |index, room|
            key, value = keys[index]
            next nil if index >= keys.length

            said = inner(value, room, depth, deeper)
            if Symbol === key && !ROCKET
              "#{key.inspect.delete_prefix(":")}: #{said}"
            else
              "#{inner(key, room, depth, deeper)}#{ROCKET ? "=>" : " => "}#{said}"
            end
          end
        end
      end

      def record(object, limit, depth, above)
        names = object.members
        inside(object, "#<struct #{type(object)} ", ">", above, depth) do |deeper|
          pieces(names.length, limit) do |index, room|
            "#{names[index]}=#{inner(object[index], room, depth, deeper)}"
          end
        end
      end

      def inside(object, open, close, above, depth)
        return "#{open}…#{close}" if above.key?(object) || depth > DEEPEST

        above[object] = true
        "#{open}#{yield above}#{close}"
      ensure
        above.delete(object)
      end

      # Join texts until there is no room; say how many are left out.
      def pieces(count, limit)
        said = []
        size = 0
        count.times do |index|
          piece = yield(index, [limit - size, ELEMENT].max)
          full = size > limit && index.positive?
          return "#{said.join(", ")}, …(#{count - index} more)" if piece.nil? || full

          said << piece
          size += piece.length + 2
        end
        said.join(", ")
      end

      def inner(object, room, depth, above)
        text(object, room, depth + 1, above)
      rescue Failed => why
        "<#{type(object)}: #{why.message}>"
      end

      # --- what it holds

      # Return how many children a value has.
      def count(object)
        case object
        when Array, Hash, Struct then object.size
        when *WHOLE then 0
        else
          return object.size if defined?(::Set) && ::Set === object

          VARIABLES.bind_call(object).size
        end
      end

      # Return names, values and expressions of what a value holds.
      def children(object, expression)
        within = expression =~ /\A[\w@$.\[\]"':]+\z/ ? expression : "(#{expression})"
        case object
        when Array then numbered(object, within)
        when Hash
          object.first(MOST_CHILDREN).map do |key, value|
            [show(key, ELEMENT), value, key?(key) ? "#{within}[#{key.inspect}]" : nil]
          end
        when Struct then object.members.map { |m| [m.to_s, object[m], "#{within}.#{m}"] }
        else
          if defined?(::Set) && ::Set === object
            numbered(object, "#{within}.to_a")
          else
            VARIABLES.bind_call(object).map do |name|
              path = expression == "self" ? name.to_s : "#{within}.#{reader(object, name)}"
              [name.to_s, VARIABLE.bind_call(object, name), path]
            end
          end
        end
      end

      # Return the call that yields a variable: its `attr_reader`, where it has one.
      def reader(object, name)
        short = name.to_s.delete_prefix("@").to_sym
        type = CLASS.bind_call(object)
        found = type.instance_method(short) if type.public_method_defined?(short)
        found && RubyVM::InstructionSequence.of(found).nil? ? short : "instance_variable_get(:#{name})"
      rescue StandardError
        "instance_variable_get(:#{name})"
      end

      def numbered(items, within)
        items.first(MOST_CHILDREN).each_with_index.map { |v, i| [i.to_s, v, "#{within}[#{i}]"] }
      end

      def key?(key)
        case key
        when String, Symbol, Integer, nil, true, false then true
        else false
        end
      end
    end
  end
end
