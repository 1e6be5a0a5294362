# frozen_string_literal: true

# Breakpoints: where they are bound, what passing one means. Runs inside the program. Of the debug
# gem's own nothing is used: 1.4 removes none, and no version has hit counts, logpoints or functions
# over DAP.
module DEBUGGER__
  module Freezeframe
    LIBRARY = File.dirname(__FILE__)

    # One breakpoint of the user's.
    Point = Struct.new(:id, :condition, :hits, :log, :passes, :key, :failure)

    # A line of loaded code with the breakpoints that stand there.
    class Place
      attr_reader :points, :labels

      def initialize
        @points = []
        @labels = []
        @traces = []
      end

      def arm(iseq, line)
        trace = TracePoint.new(:line) { |tp| Freezeframe.at_line(self, tp) }
        trace.enable(target: iseq, target_line: line)
        @traces << trace
        @labels << iseq.label
      rescue ArgumentError
        nil # the line has gone
      end

      def arm_call(iseq)
        empty = iseq.trace_points.none? { |_, event| event == :line }
        trace = TracePoint.new(:call) do |tp|
          Freezeframe.at_call(self, tp, DEBUGGER__.frame_depth, empty: empty)
        end
        trace.enable(target: iseq)
        @traces << trace
        return if empty

        # Enabled now: while a call is dispatched it would come too late for that call.
        first = TracePoint.new(:line) { |tp| Freezeframe.at_first(tp, DEBUGGER__.frame_depth) }
        first.enable(target: iseq)
        @traces << first
      rescue ArgumentError
        nil
      end

      def armed?
        !@traces.empty?
      end

      def disarm
        @traces.each(&:disable)
        @traces.clear
      end
    end

    class << self
      # --- breakpoints

      # Make these the breakpoints of a file; return what became of each.
      def set_lines(given, entries)
        path = real(given)
        (@lines.delete(path) || {}).each_value(&:disarm)
        (@calls.delete(path) || []).each(&:disarm)
        points = entries.map { |entry| [point(entry), entry["line"]] }
        points.empty? ? @wanted.delete(path) : @wanted[path] = points
        bind_lines(path)
      end

      def point(entry)
        @before ||= {}
        key = entry.values_at("line", "name", "condition", "hitCondition", "logMessage")
        old = @before[key]
        # One that stays keeps its count.
        words = entry.values_at("condition", "hitCondition", "logMessage")
        @before[key] = Point.new(@ids += 1, *words, old ? old.passes : 0, entry["freezeframe"])
      end

      def bind_lines(path)
        roots = all_code.select { |iseq| (iseq.absolute_path || iseq.path) == path }
        # Before the program is read there is code of its name already, in which nothing stands.
        loaded = roots.any? { |iseq| !iseq.trace_points.empty? }
        outline = loaded ? outline_of(roots) : compiled(path)
        @wanted.fetch(path, []).map { |point, line| bind_line(path, point, line, outline, loaded) }
      end

      def all_code
        found = []
        ObjectSpace.each_iseq { |iseq| found << iseq }
        found
      end

      # Return [line, event, iseq] of code; without those inside, for all of them are there.
      def outline_of(iseqs)
        iseqs.flat_map { |iseq| iseq.trace_points.map { |line, event| [line, event, iseq] } }
      end

      def compiled(path)
        root = RubyVM::InstructionSequence.compile_file(path)
        found = []
        within = lambda do |iseq|
          found << iseq
          iseq.each_child(&within)
        end
        within.call(root)
        outline_of(found)
      rescue SyntaxError, SystemCallError, IOError
        []
      end

      def bind_line(path, point, line, outline, loaded)
        method = outline.any? { |at, event, iseq| [at, event, iseq.first_lineno] == [line, :call, line] }
        lines = outline.select { |_, event, _| event == :line }
        at = method ? line : lines.map(&:first).select { |each| each >= line }.min
        unless at
          why = "there is no code at or after line #{line}"
          return not_ruby(path, point, line) if outline.empty? && !loaded

          return { id: point.id, verified: false, reason: "failed", message: why }
        end
        unless loaded
          why = "#{File.basename(path)} is not loaded yet"
          return { id: point.id, verified: false, line: at, message: why }
        end

        if method
          place = Place.new.tap { |each| each.points << point }
          outline.each { |l, event, iseq| place.arm_call(iseq) if l == line && event == :call }
          (@calls[path] ||= []) << place
        else
          place = ((@lines[path] ||= {})[at] ||= Place.new)
          arm_line(place, lines, at) unless place.armed?
          place.points << point
        end
        { id: point.id, verified: true, line: at }
      end

      # A template is made into Ruby while the program runs, with the lines that it has.
      def not_ruby(path, point, line)
        name = File.basename(path)
        if name.end_with?(".rb")
          return { id: point.id, verified: false, reason: "failed", message: "#{name} cannot be read as Ruby" }
        end

        why = "#{name} is bound when the program makes Ruby of it"
        { id: point.id, verified: false, line: line, message: why }
      end

      # A block on the line of its call has a place of its own there: the outer one is meant. The
      # body of an `ensure` is there twice. A trace sees code inside too, so the label tells.
      def arm_line(place, lines, at)
        there = lines.select { |line, _, _| line == at }.map(&:last).uniq
        again, once = there.partition { |iseq| iseq.label.start_with?("ensure in") }
        outer = once.group_by { |iseq| iseq.label.scan(/block|levels/).size }.min&.last || again
        outer.each { |iseq| place.arm(iseq, at) }
        place.labels.concat(again.map(&:label))
      end

      def set_functions(entries)
        @functions.each { |_, place, _| place.disarm }
        @functions = entries.map do |entry|
          point = point(entry)
          [entry["name"], Place.new.tap { |place| place.points << point }, point]
        end
        methods = all_code.select { |iseq| method?(iseq) }
        @functions.map { |name, place, point| bind_function(name, place, point, methods) }
      end

      def bind_function(name, place, point, methods)
        bare = name[/[^.#:]+\z/]
        there = methods.select { |iseq| iseq.base_label == bare || iseq.label == bare }
        there.each { |iseq| place.arm_call(iseq) }
        place.labels.replace([name])
        unless (first = there.first)
          return { id: point.id, verified: false, message: "no method #{bare} is defined yet" }
        end

        source = { path: first.absolute_path || first.path }
        { id: point.id, verified: true, line: first.first_lineno, source: source }
      end

      def method?(iseq)
        iseq.to_a[9] == :method && !iseq.path.start_with?(LIBRARY, "<internal:")
      end

      # Code was loaded: what waited for it is bound now.
      def loaded(iseq)
        watch_runner(iseq)
        path = iseq.absolute_path || iseq.path
        if @wanted.key?(path)
          (@lines.delete(path) || {}).each_value(&:disarm)
          (@calls.delete(path) || []).each(&:disarm)
          bind_lines(path).each { |bound| tell_bound(bound) }
        end
        return if @functions.empty?

        methods = []
        within = lambda do |each|
          methods << each if method?(each)
          each.each_child(&within)
        end
        within.call(iseq)
        @functions.each do |name, place, point|
          new = !place.armed?
          bound = bind_function(name, place, point, methods)
          tell_bound(bound) if new && place.armed?
        end
      end

      def tell_bound(bound)
        @ui&.send_event("breakpoint", reason: "changed", breakpoint: bound)
      end

      def real(path)
        File.realpath(path)
      rescue SystemCallError
        path
      end

      # --- passing a breakpoint

      def at_line(place, tp)
        return unless (client = client())

        walk = walk(client)
        # While it steps, the step looks at every line first.
        return if walk.trace&.enabled? || !place.labels.include?(label(caller_locations(2, 1).first))

        ids = judge(place.points, tp.binding)
        stop(client, tp, "breakpoint", DEBUGGER__.frame_depth - 1, ids: ids) unless ids.empty?
      end

      def at_call(place, tp, depth, empty:)
        return unless (client = client())
        return unless place.labels.empty? || named?(place.labels.first, tp)

        ids = judge(place.points, tp.binding)
        return if ids.empty?
        return stop(client, tp, "breakpoint", depth, ids: ids) if empty

        # Its first line is where everything can be seen.
        walk = walk(client)
        walk.ids = ids | (walk.entry == depth ? walk.ids.to_a : [])
        walk.entry = depth
      end

      def at_first(tp, depth)
        return unless (client = client())

        walk = walk(client)
        return if walk.trace&.enabled? || walk.ids.nil?

        ids = entered(walk, depth)
        stop(client, tp, "breakpoint", depth, ids: ids) unless ids.empty?
      end

      # Return the breakpoints of a call that has come to its first line.
      def entered(walk, depth)
        return [] if walk.ids.nil? || depth > walk.entry

        ids, walk.ids = walk.ids, nil
        depth == walk.entry ? ids : []
      end

      # Whether a call is of the method that `Class#name`, `Class.name` or `name` means.
      def named?(name, tp)
        owner, op = name.match(/\A(.+)([.#])[^.#]+\z/)&.captures
        return true unless owner

        kind = op == "." && Module === tp.self ? tp.self : Values::CLASS.bind_call(tp.self)
        kind.ancestors.any? { |each| each.name == owner || each.name.to_s.end_with?("::#{owner}") }
      end

      # Count the pass, write what is to be logged; return the breakpoints that want to stop.
      def judge(points, binding)
        points.filter_map do |point|
          next unless holds?(point, binding)

          point.passes += 1
          next unless counts?(point)

          point.log ? write(point, binding) : point.id
        end
      end

      def holds?(point, binding)
        return true unless point.condition

        point.failure = nil
        quietly { binding.eval(point.condition) }
      rescue Exception => error
        # It stops, and the stop says why.
        point.failure = "#{error.class}: #{error.message.lines.first&.chomp}"
        true
      end

      # Return why conditions could not be evaluated, by the keys of their breakpoints.
      def failures(*keys)
        there = (@before || {}).values.select { |each| each.failure && keys.include?(each.key) }
        [JSON.generate(there.to_h { |each| [each.key, each.failure[0, 150]] })].pack("m0")
      end

      def counts?(point)
        return true unless point.hits

        op, number = point.hits.match(/\A\s*(==|=|!=|>=|<=|>|<|%)?\s*(\d+)/)&.captures
        number = number.to_i
        case op
        when ">=" then point.passes >= number
        when ">" then point.passes > number
        when "<=" then point.passes <= number
        when "<" then point.passes < number
        when "!=" then point.passes != number
        when "%" then number.positive? && (point.passes % number).zero?
        else point.passes == number
        end
      end

      def write(point, binding)
        said = point.log.gsub(/\{\{|\}\}|\{([^{}]*)\}/) do |each|
          next each[0] if each == "{{" || each == "}}"

          value = quietly { binding.eval(Regexp.last_match(1)) }
          String === value ? value : Values.show(value)
        rescue Exception => error
          "<#{error.class}: #{error.message.lines.first&.chomp}>"
        end
        @ui&.send_event("output", category: "log", output: "#{said}\n")
        nil
      end

      # Run the user's words on this thread without meeting breakpoints.
      def quietly
        walk = walk(ThreadClient.current)
        before, walk.busy = walk.busy, true
        yield
      ensure
        walk.busy = before
      end
    end
  end
end
