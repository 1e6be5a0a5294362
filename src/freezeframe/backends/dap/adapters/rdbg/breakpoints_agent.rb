# frozen_string_literal: true

# Breakpoints: where they are bound, and what a hit does. Runs inside the program. The debug gem's
# breakpoints are not used: 1.4 deletes none, and no version has hit counts, logpoints or functions
# over DAP.
module DEBUGGER__
  module Freezeframe
    LIBRARY = File.dirname(__FILE__)

    # The frames that are searched for the caller of a block.
    NEAR = 50

    # One breakpoint of the user.
    Point = Struct.new(:id, :condition, :hits, :log, :hit_count, :key, :failure)

    # A line of loaded code with its breakpoints.
    class BreakpointLocation
      # The labels of the code that the line belongs to, and of blocks that begin and end on it.
      attr_reader :points, :labels, :inner
      # Whether the method of a function breakpoint is known.
      attr_accessor :found

      def initialize
        @points = []
        @labels = []
        @inner = []
        @traces = []
      end

      def arm(iseq, line)
        trace = TracePoint.new(:line) { |tp| Freezeframe.at_line(self, tp) }
        trace.enable(target: iseq, target_line: line)
        @traces << trace
        @labels << iseq.label
      rescue ArgumentError
        nil # the line no longer exists
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

      # Set the breakpoints of a file; return the state of each.
      def set_lines(given, entries)
        path = real(given)
        (@lines.delete(path) || {}).each_value(&:disarm)
        (@calls.delete(path) || []).each(&:disarm)
        points = entries.map { |entry| [point(entry), entry["line"]] }
        points.empty? ? @requested.delete(path) : @requested[path] = points
        bind_lines(path)
      end

      def point(entry)
        @before ||= {}
        key = entry.values_at("line", "name", "condition", "hitCondition", "logMessage")
        old = @before[key]
        # A breakpoint that stays keeps its count.
        hits = entry["hitCondition"] && eval("->(count) { #{entry["hitCondition"]} }")
        fields = [entry["condition"], hits, entry["freezeframeLog"]]
        @before[key] = Point.new(@ids += 1, *fields, old ? old.hit_count : 0, entry["freezeframe"])
      end

      def bind_lines(path)
        roots = all_code.select { |iseq| (iseq.absolute_path || iseq.path) == path }
        # Before the program is read, empty code of its name exists already.
        loaded = roots.any? { |iseq| !iseq.trace_points.empty? }
        outline = loaded ? outline_of(roots) : compiled(path)
        @requested.fetch(path, []).map { |point, line| bind_line(path, point, line, outline, loaded) }
      end

      def all_code
        found = []
        ObjectSpace.each_iseq { |iseq| found << iseq }
        found
      end

      # Return [line, event, iseq] of code, without nested code, which is in the list too.
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
          location = BreakpointLocation.new.tap { |each| each.points << point }
          outline.each { |l, event, iseq| location.arm_call(iseq) if l == line && event == :call }
          (@calls[path] ||= []) << location
        else
          location = ((@lines[path] ||= {})[at] ||= BreakpointLocation.new)
          arm_line(location, lines, at) unless location.armed?
          location.points << point
        end
        { id: point.id, verified: true, line: at }
      end

      # A template is compiled to Ruby while the program runs, with its own line numbers.
      def not_ruby(path, point, line)
        name = File.basename(path)
        if name.end_with?(".rb")
          return { id: point.id, verified: false, reason: "failed", message: "#{name} cannot be read as Ruby" }
        end

        why = "#{name} is bound when the program makes Ruby of it"
        { id: point.id, verified: false, line: line, message: why }
      end

      # A block on the line of its call also has that line: bind the outer one, whose trace also sees
      # nested code, so the label is checked. The body of an `ensure` is compiled twice.
      def arm_line(location, lines, at)
        there = lines.select { |line, _, _| line == at }.map(&:last).uniq
        again, once = there.partition { |iseq| iseq.label.start_with?("ensure in") }
        outer = once.group_by { |iseq| iseq.label.scan(/block|levels/).size }.min&.last || again
        outer.each { |iseq| location.arm(iseq, at) }
        location.labels.concat(again.map(&:label))
        location.inner.concat(once.map(&:label) - location.labels)
      end

      # Return whether the line begins. A block that is called later (a handler, a lambda) begins it
      # again; one that its own line calls is a part of that line.
      def begins?(location, stack)
        return true if location.labels.include?(label(stack.first))
        return false unless location.inner.include?(label(stack.first))

        path, line = stack.first.absolute_path, stack.first.lineno
        stack.drop(1).none? do |each|
          each.lineno == line && each.absolute_path == path && location.labels.include?(label(each))
        end
      end

      def set_functions(entries)
        @functions.each { |_, location, _| location.disarm }
        @functions = entries.map do |entry|
          point = point(entry)
          [entry["name"], BreakpointLocation.new.tap { |location| location.points << point }, point]
        end
        methods = all_code.select { |iseq| method?(iseq) }
        @functions.map { |name, location, point| bind_function(name, location, point, methods) }
      end

      # *classes*: the names of the classes and modules around each method, where they are known.
      def bind_function(name, location, point, methods, classes = {})
        bare = name[/[^.#:]+\z/]
        there = methods.select { |iseq| iseq.base_label == bare || iseq.label == bare }
        there.each { |iseq| location.arm_call(iseq) }
        location.labels.replace([name])
        owner = name[/\A(.+)[.#][^.#]+\z/, 1]
        first = owner ? there.find { |iseq| owned?(iseq, owner, bare, classes[iseq]) } : there.first
        location.found ||= !first.nil?
        return { id: point.id, verified: false, message: "no method #{name} is defined yet" } unless first

        bound_at(point, first.absolute_path || first.path, first.first_lineno)
      end

      def bound_at(point, path, line)
        { id: point.id, verified: true, line: line, source: { path: path } }
      end

      # Return whether a class of that name, as far as is known, has the method of that code.
      def owned?(iseq, owner, bare, around)
        return around == owner || around.end_with?("::#{owner}") if around && !around.empty?

        kind = loaded_module(owner)
        [kind, kind&.singleton_class].compact.any? do |each|
          LOOKUP.bind_call(each, bare).source_location == [iseq.path, iseq.first_lineno]
        rescue NameError
          false
        end
      end

      LOOKUP = Module.instance_method(:instance_method)

      # Nothing is loaded, and no hook of the program is called.
      def loaded_module(name)
        name.split("::").reduce(Object) do |within, each|
          return nil if !each.match?(/\A[A-Z]\w*\z/) || within.autoload?(each) || !within.const_defined?(each, false)

          found = within.const_get(each, false)
          Module === found ? found : (return nil)
        end
      end

      def method?(iseq)
        iseq.to_a[9] == :method && !iseq.path.start_with?(LIBRARY, "<internal:")
      end

      # Code was loaded: bind the breakpoints that waited for it.
      def loaded(iseq)
        watch_runner(iseq)
        path = iseq.absolute_path || iseq.path
        if @requested.key?(path)
          (@lines.delete(path) || {}).each_value(&:disarm)
          (@calls.delete(path) || []).each(&:disarm)
          bind_lines(path).each { |bound| report_bound(bound) }
        end
        return if @functions.empty?

        methods = []
        classes = {}.compare_by_identity
        within = lambda do |each, around|
          methods << each if method?(each)
          classes[each] = around
          name = each.label[/\A<(?:class|module):(.+)>\z/, 1]
          each.each_child { |inner| within.call(inner, name ? [around, name].reject(&:empty?).join("::") : around) }
        end
        within.call(iseq, "")
        @functions.each do |name, location, point|
          new = !location.found
          bound = bind_function(name, location, point, methods, classes)
          report_bound(bound) if new && location.found
        end
      end

      def report_bound(bound)
        @ui&.send_event("breakpoint", reason: "changed", breakpoint: bound)
      end

      def real(path)
        File.realpath(path)
      rescue SystemCallError
        path
      end

      # --- breakpoint hits

      def at_line(location, tp)
        return unless (client = client())

        walk = walk(client)
        # During a step, the step checks every line first.
        frames = location.inner.empty? ? 1 : NEAR
        return if walk.trace&.enabled? || !begins?(location, caller_locations(2, frames))

        ids = judge(location.points, tp.binding)
        stop(client, tp, "breakpoint", DEBUGGER__.frame_depth - 1, ids: ids) unless ids.empty?
      end

      def at_call(location, tp, depth, empty:)
        return unless (client = client())
        return unless location.labels.empty? || named?(location.labels.first, tp)

        unless location.found || location.labels.empty?
          location.found = true
          location.points.each { |point| report_bound(bound_at(point, tp.path, tp.lineno)) }
        end
        ids = judge(location.points, tp.binding)
        return if ids.empty?
        return stop(client, tp, "breakpoint", depth, ids: ids) if empty

        # Its first line is where all variables are visible.
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

      # Return the breakpoints of a call that has reached its first line.
      def entered(walk, depth)
        return [] if walk.ids.nil? || depth > walk.entry

        ids, walk.ids = walk.ids, nil
        depth == walk.entry ? ids : []
      end

      # Return whether a call is of the method that `Class#name`, `Class.name` or `name` names.
      def named?(name, tp)
        owner, op = name.match(/\A(.+)([.#])[^.#]+\z/)&.captures
        return true unless owner

        kind = op == "." && Module === tp.self ? tp.self : Values::CLASS.bind_call(tp.self)
        kind.ancestors.any? { |each| each.name == owner || each.name.to_s.end_with?("::#{owner}") }
      end

      # Count the hit, write log messages; return the breakpoints that stop.
      def judge(points, binding)
        points.filter_map do |point|
          next unless holds?(point, binding)

          point.hit_count += 1
          next unless point.hits.nil? || point.hits.call(point.hit_count)

          point.log ? write(point, binding) : point.id
        end
      end

      def holds?(point, binding)
        return true unless point.condition

        point.failure = nil
        quietly { binding.eval(point.condition) }
      rescue Exception => error
        # The program stops, and the stop says why.
        point.failure = "#{error.class}: #{error.message.lines.first&.chomp}"
        true
      end

      # Return why conditions could not be evaluated, by the keys of their breakpoints.
      def failures(*keys)
        there = (@before || {}).values.select { |each| each.failure && keys.include?(each.key) }
        [JSON.generate(there.to_h { |each| [each.key, each.failure[0, 150]] })].pack("m0")
      end

      def write(point, binding)
        message = point.log.map { |part| String === part ? part : log_text(part[0], binding) }.join
        @ui&.send_event("output", category: "log", output: "#{message}\n")
        nil
      end

      def log_text(code, binding)
        value = quietly { binding.eval(code) }
        String === value ? value : Values.show(value)
      rescue Exception => error
        "<#{error.class}: #{error.message.lines.first&.chomp}>"
      end

      # Run the user's code on this thread without stopping at breakpoints.
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
