# frozen_string_literal: true

# Texts and children of values; runs inside the program. Texts are bounded for any value. No code of
# the program runs, except inside `allow_inspect`: then a user-defined `inspect` does. Otherwise an
# object is shown by its variables, and a subclass of Array, Hash or Struct by the methods of those.
# The debug gem has loaded it (1.4, 1.9); in a signal handler, where 1.4 evaluates this file when a
# client attaches, `require` cannot take its lock.
require "objspace" unless ObjectSpace.respond_to?(:reachable_objects_from)

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
      CLONE = Kernel.instance_method(:clone)
      FORGET = Object.instance_method(:remove_instance_variable)
      RENAMED = Exception.instance_method(:exception)
      TO_S = Exception.instance_method(:to_s)
      MISSING = NameError.instance_method(:name)
      RECEIVER = NameError.instance_method(:receiver)
      TAG = UncaughtThrowError.instance_method(:tag)
      # Shown completely in their text.
      WHOLE = [
        String, Module, Numeric, Symbol, Proc, Method, UnboundMethod, nil, true, false, Range, IO, Thread, Time
      ].freeze
      # Classes whose `inspect` had to be interrupted: it is not called again.
      HANGING = []

      # An `inspect` that returned no text.
      class Failed < StandardError; end

      # Raised in a thread that takes too long to show something.
      class Stuck < Exception; end

      module_function

      # Run a block in which a user-defined `inspect` may run.
      def allow_inspect
        before = Thread.current.thread_variable_get(:freezeframe_inspect_allowed)
        Thread.current.thread_variable_set(:freezeframe_inspect_allowed, true)
        yield
      ensure
        Thread.current.thread_variable_set(:freezeframe_inspect_allowed, before)
      end

      def inspect_allowed?
        Thread.current.thread_variable_get(:freezeframe_inspect_allowed)
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
        when Exception then inspect_allowed? ? own_text(object, limit) : exception(object, limit, depth, above)
        when Proc, Method, UnboundMethod, IO, Thread, Time
          may_run?(object) ? own_text(object, limit) : "#<#{type(object)}>"
        else
          if defined?(::Set) && ::Set === object && !(inspect_allowed? && own_inspect?(object, ::Set))
            list(object, set_items(object), "Set{", "}", limit, depth, above)
          elsif own_inspect?(object, Kernel) && may_run?(object)
            own_text(object, limit)
          else
            depth.zero? ? "#<#{type(object)}>" : fields(object, limit, depth, above)
          end
        end
      end

      def container(object, limit, depth, above)
        base = [Array, Hash, Struct].find { |each| each === object }
        return own_text(object, limit) if own_inspect?(object, base) && may_run?(object)

        case object
        when Array then list(object, items(object), "[", "]", limit, depth, above)
        when Hash then table(object, limit, depth, above)
        else record(object, limit, depth, above)
        end
      end

      # Return whether `inspect` may be called: it is allowed, or is in C and calls nothing.
      def may_run?(object)
        return true if inspect_allowed?

        METHOD.bind_call(object, :inspect).source_location.nil?
      rescue StandardError
        false
      end

      # Class and message of an exception: what it was given, without running `message`, `to_s` or
      # `inspect` of the program.
      def exception(object, limit, depth, above)
        shown = message_of(object, limit, depth, above)
        cut(shown.nil? ? "#<#{type(object)}>" : "#<#{type(object)}: #{shown}>", limit)
      rescue StandardError
        "#<#{type(object)}>"
      end

      def message_of(object, limit, depth, above)
        # Cloning would run these.
        hooks = %i[initialize_clone initialize_copy]
        return unless hooks.all? { |name| METHOD.bind_call(object, name).source_location.nil? }

        held, given = given_message(object)
        # nil, or a number or symbol.
        return TO_S.bind_call(object) unless held
        if UncaughtThrowError === object && given == "uncaught throw %p"
          return "uncaught throw #{inner(TAG.bind_call(object), limit, depth, above)}"
        end
        return given.dup.encode("UTF-8", invalid: :replace, undef: :replace).scrub if String === given
        return inner(given, limit, depth, above) unless NameError === object

        # Ruby makes the message from the receiver's `inspect` on demand.
        receiver = RECEIVER.bind_call(object)
        return TO_S.bind_call(object) if plain?(receiver)

        "#{MISSING.bind_call(object).inspect} of #{inner(receiver, limit, depth, above)}"
      end

      # Return whether an exception holds an object as its message, and that object.
      def given_message(object)
        bare = CLONE.bind_call(object, freeze: false)
        VARIABLES.bind_call(bare).each { |name| FORGET.bind_call(bare, name) }
        other = RENAMED.bind_call(bare, nil)
        without = ObjectSpace.reachable_objects_from(other)
        found = ObjectSpace.reachable_objects_from(bare).reject { |each| without.any? { |one| one.equal?(each) } }
        found.empty? ? [false, nil] : [true, found.first]
      end

      # Return whether Ruby shows an object without code of the program.
      def plain?(object)
        case object
        when nil, true, false, Numeric, String, Symbol, Module
          METHOD.bind_call(object, :inspect).source_location.nil?
        else object.equal?(TOPLEVEL_BINDING.receiver)
        end
      end

      # Contents of an Array, a Set or a Hash, by its own methods and not those of a subclass.
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

      # Return whether `inspect` was defined elsewhere than in *base*.
      def own_inspect?(object, base)
        owner = METHOD.bind_call(object, :inspect).owner
        owner != base && owner != Kernel && !(base != Kernel && base.ancestors.include?(owner))
      rescue StandardError
        false
      end

      def own_text(object, limit)
        kind = CLASS.bind_call(object)
        raise Failed, "its inspect took too long" if HANGING.any? { |each| each.equal?(kind) }

        shown = object.inspect
        raise Failed, "its inspect gave no text" unless String === shown

        cut(shown.encode("UTF-8", invalid: :replace, undef: :replace).scrub, limit)
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
        shown = String.instance_method(:inspect).bind_call(object)
        shown.encode("UTF-8", invalid: :replace, undef: :replace)
      end

      def gap(count)
        "…+#{count.to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, ",")} chars…"
      end

      def cut(shown, limit)
        return shown if shown.length <= limit

        head, tail = limit * 2 / 3, limit / 3
        "#{shown[0, head]}#{gap(shown.length - head - tail)}#{shown[-tail, tail]}"
      end

      def list(object, items, open, close, limit, depth, above)
        inside(object, open, close, above, depth) do |deeper|
          pieces(items.length, limit) { |index, budget| inner(items[index], budget, depth, deeper) }
        end
      end

      def table(object, limit, depth, above)
        items = pairs(object)
        inside(object, "{", "}", above, depth) do |deeper|
          keys = items.first(limit / 4 + 1)
          pieces(items.length, limit) do |index, budget|
            key, value = keys[index]
            next nil if index >= keys.length

            shown = inner(value, budget, depth, deeper)
            if Symbol === key && !ROCKET
              "#{key.inspect.delete_prefix(":")}: #{shown}"
            else
              "#{inner(key, budget, depth, deeper)}#{ROCKET ? "=>" : " => "}#{shown}"
            end
          end
        end
      end

      def record(object, limit, depth, above)
        names = MEMBERS.bind_call(object)
        inside(object, "#<struct #{type(object)} ", ">", above, depth) do |deeper|
          pieces(names.length, limit) do |index, budget|
            "#{names[index]}=#{inner(MEMBER.bind_call(object, index), budget, depth, deeper)}"
          end
        end
      end

      # Return an object within another value by its variables.
      def fields(object, limit, depth, above)
        names = VARIABLES.bind_call(object)
        return "#<#{type(object)}>" if names.empty?

        inside(object, "#<#{type(object)} ", ">", above, depth) do |deeper|
          pieces(names.length, limit) do |index, budget|
            "#{names[index]}=#{inner(VARIABLE.bind_call(object, names[index]), budget, depth, deeper)}"
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

      # Join texts up to the limit; say how many are left out.
      def pieces(count, limit)
        shown = []
        size = 0
        count.times do |index|
          piece = yield(index, [limit - size, ELEMENT].max)
          full = size > limit && index.positive?
          return "#{shown.join(", ")}, …(#{count - index} more)" if piece.nil? || full

          shown << piece
          size += piece.length + 2
        end
        shown.join(", ")
      end

      def inner(object, budget, depth, above)
        text(object, budget, depth + 1, above)
      rescue Failed => why
        "<#{type(object)}: #{why.message}>"
      end

      # --- children

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

      # Return names, values and expressions of a value's children.
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

      # Return the call that yields a variable: its `attr_reader`, if it has one.
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
