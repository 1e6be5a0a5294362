# frozen_string_literal: true

# What a value says of itself and holds; runs inside the program. Texts are bounded whatever the
# value is. None of the program's code runs, unless a text was asked for: then an `inspect` that it
# wrote does. Without that an object is shown by its variables, and a kind of Array, Hash or Struct by
# the methods of those.
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
      NAME = Module.instance_method(:name)
      MODULE_TEXT = Module.instance_method(:inspect)
      PAIRS = Hash.instance_method(:to_a)
      ITEMS = Array.instance_method(:to_a)
      MEMBERS = Struct.instance_method(:members)
      MEMBER = Struct.instance_method(:[])
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

      # Run a block in which an `inspect` of the program's may run.
      def asked
        before = Thread.current.thread_variable_get(:freezeframe_asked)
        Thread.current.thread_variable_set(:freezeframe_asked, true)
        yield
      ensure
        Thread.current.thread_variable_set(:freezeframe_asked, before)
      end

      def asked?
        Thread.current.thread_variable_get(:freezeframe_asked)
      end

      def type(object)
        named(CLASS.bind_call(object))
      rescue StandardError
        "?"
      end

      def named(kind)
        NAME.bind_call(kind) || MODULE_TEXT.bind_call(kind)
      end

      def show(object, limit = LIMIT)
        text(object, limit, 0, {}.compare_by_identity)
      rescue Failed => why
        "<#{type(object)}: #{why.message}>"
      end

      def text(object, limit, depth, above)
        case object
        when Range then range(object, limit, depth, above)
        when nil, true, false, Symbol, Float, Rational, Complex then cut(object.inspect, limit)
        when Integer
          object.bit_length > MOST_BITS ? cut("0x#{object.to_s(16)}", limit) : object.to_s
        when String then string(object, limit)
        when Module then named(object)
        when Array, Hash, Struct then container(object, limit, depth, above)
        when Exception, Proc, Method, UnboundMethod, IO, Thread, Time
          may_run?(object) ? own(object, limit) : "#<#{type(object)}>"
        else
          if defined?(::Set) && ::Set === object && !(asked? && own_inspect?(object, ::Set))
            list(object, set_items(object), "Set{", "}", limit, depth, above)
          elsif own_inspect?(object, Kernel) && may_run?(object)
            own(object, limit)
          else
            depth.zero? ? "#<#{type(object)}>" : fields(object, limit, depth, above)
          end
        end
      end

      def container(object, limit, depth, above)
        base = [Array, Hash, Struct].find { |each| each === object }
        return own(object, limit) if own_inspect?(object, base) && may_run?(object)

        case object
        when Array then list(object, items(object), "[", "]", limit, depth, above)
        when Hash then table(object, limit, depth, above)
        else record(object, limit, depth, above)
        end
      end

      # Whether the `inspect` of an object may be called: it was asked for, or is in C and calls nothing.
      def may_run?(object)
        return true if asked?
        return false unless METHOD.bind_call(object, :inspect).source_location.nil?

        !(Exception === object) || %i[to_s message].all? do |name|
          METHOD.bind_call(object, name).source_location.nil?
        end
      rescue StandardError
        false
      end

      # What an Array, a Set or a Hash holds, by its own methods and not those of a kind of it.
      def items(object)
        CLASS.bind_call(object).equal?(Array) ? object : ITEMS.bind_call(object)
      end

      def set_items(object)
        ::Set.instance_method(:to_a).bind_call(object)
      end

      def pairs(object)
        CLASS.bind_call(object).equal?(Hash) ? object : PAIRS.bind_call(object)
      end

      def range(object, limit, depth, above)
        first, last = object.begin, object.end
        dots = object.exclude_end? ? "..." : ".."
        ends = [first, last].map { |each| each.nil? ? "" : inner(each, limit / 2, depth, above) }
        ends.join(dots)
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
        raise Failed, "its inspect took too long" if HANGING.any? { |each| each.equal?(kind) }

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

      def list(object, items, open, close, limit, depth, above)
        inside(object, open, close, above, depth) do |deeper|
          pieces(items.length, limit) { |index, room| inner(items[index], room, depth, deeper) }
        end
      end

      def table(object, limit, depth, above)
        items = pairs(object)
        inside(object, "{", "}", above, depth) do |deeper|
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
        names = MEMBERS.bind_call(object)
        inside(object, "#<struct #{type(object)} ", ">", above, depth) do |deeper|
          pieces(names.length, limit) do |index, room|
            "#{names[index]}=#{inner(MEMBER.bind_call(object, index), room, depth, deeper)}"
          end
        end
      end

      # Return an object within another value by its variables.
      def fields(object, limit, depth, above)
        names = VARIABLES.bind_call(object)
        return "#<#{type(object)}>" if names.empty?

        inside(object, "#<#{type(object)} ", ">", above, depth) do |deeper|
          pieces(names.length, limit) do |index, room|
            "#{names[index]}=#{inner(VARIABLE.bind_call(object, names[index]), room, depth, deeper)}"
          end
        end
      rescue TypeError
        "#<#{type(object)}>" # a BasicObject
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
        when Array then items(object).size
        when Hash then pairs(object).size
        when Struct then MEMBERS.bind_call(object).size
        when *WHOLE then 0
        else
          return set_items(object).size if defined?(::Set) && ::Set === object

          VARIABLES.bind_call(object).size
        end
      end

      # Return names, values and expressions of what a value holds.
      def children(object, expression)
        within = expression =~ /\A[\w@$.\[\]"':]+\z/ ? expression : "(#{expression})"
        case object
        when Array then numbered(items(object), within)
        when Hash
          pairs(object).first(MOST_CHILDREN).map do |key, value|
            [show(key, ELEMENT), value, key?(key) ? "#{within}[#{key.inspect}]" : nil]
          end
        when Struct
          MEMBERS.bind_call(object).map { |m| [m.to_s, MEMBER.bind_call(object, m), "#{within}.#{m}"] }
        else
          if defined?(::Set) && ::Set === object
            numbered(set_items(object), "#{within}.to_a")
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
