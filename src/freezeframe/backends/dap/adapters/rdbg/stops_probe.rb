# frozen_string_literal: true

# Where the program stops: breakpoints, steps, exceptions, its beginning. Runs inside the program.
# Of the debug gem's own breakpoints and steps nothing is used: 1.4 removes none, none of its
# versions has hit counts, logpoints or functions over DAP, and a step passes over a line whose
# breakpoint does not hold.
module DEBUGGER__
  module Freezeframe
    LIBRARY = File.dirname(__FILE__)

    # One breakpoint of the user's.
    Point = Struct.new(:id, :condition, :hits, :log, :passes, :key, :failure)

    # What one thread does between stops.
    Walk = Struct.new(:goal, :depth, :line, :path, :next_line, :ids, :trace, :returns, :returned, :info, :busy, :at)

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
        trace = TracePoint.new(:call) { |tp| Freezeframe.at_call(self, tp, DEBUGGER__.frame_depth) }
        trace.enable(target: iseq)
        @traces << trace
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
      attr_reader :exception_types

      def prepare_stops
        @lines = {} # path → {line → Place}, in loaded code
        @wanted = {} # path → [[Point, line]]
        @calls = {} # line places on a `def`, by path
        @functions = [] # [name, Place, Point]
        @ids = 0
        @walks = {}.compare_by_identity
        @turn = Mutex.new
        @thrown = [] # the last exceptions, with the frames they were raised in
        @pid = Process.pid
        @filters = {}
        @raises = TracePoint.new(:raise) { |tp| Freezeframe.raised(tp) }
        at_exit { Freezeframe.ending($!) }
      end

      def walk(client)
        @walks[client] ||= Walk.new
      end

      # Return the debugger's client of this thread, where it may stop.
      def client
        return nil if @left || Process.pid != @pid

        client = ThreadClient.current
        client unless client.management? || walk(client).busy
      end

      # --- breakpoints

      # Make these the breakpoints of a file; return what became of each.
      def set_lines(path, entries)
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
        @before[key] = Point.new(@ids += 1, entry["condition"], entry["hitCondition"], entry["logMessage"], old ? old.passes : 0, entry["freezeframe"])
      end

      def bind_lines(path)
        real = real(path)
        roots = all_code.select { |iseq| (iseq.absolute_path || iseq.path) == real }
        loaded = !roots.empty?
        outline = loaded ? outline_of(roots) : compiled(real)
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
        method = outline.find { |at, event, iseq| at == line && event == :call && iseq.first_lineno == line }
        lines = outline.select { |_, event, _| event == :line }
        at = method ? line : lines.map(&:first).select { |each| each >= line }.min
        unless at
          why = outline.empty? && !loaded ? "#{File.basename(path)} cannot be read as Ruby" : "there is no code at or after line #{line}"
          return { id: point.id, verified: false, reason: "failed", message: why }
        end
        return { id: point.id, verified: false, line: at, message: "#{File.basename(path)} is not loaded yet" } unless loaded

        if method
          place = Place.new.tap { |each| each.points << point }
          outline.each { |l, event, iseq| place.arm_call(iseq) if l == line && event == :call }
          (@calls[path] ||= []) << place
        else
          place = ((@lines[path] ||= {})[at] ||= Place.new)
          arm_line(place, lines, at) unless place.armed?
          place.points << point
        end
        { id: point.id, verified: true, line: at, source: { path: path, name: File.basename(path) } }
      end

      # A block on the line of its call has a place of its own there: the outer one is meant. The
      # body of an `ensure` is there twice.
      def arm_line(place, lines, at)
        there = lines.select { |line, _, _| line == at }.map(&:last).uniq
        outer = there.reject { |iseq| iseq.label.start_with?("ensure in") }
        outer = outer.group_by { |iseq| iseq.label.delete_prefix("rescue in ").scan(/block|levels/).size }.min_by(&:first)&.last || []
        (outer + there.select { |iseq| iseq.label.start_with?("ensure in") }).each { |iseq| place.arm(iseq, at) }
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
        return { id: point.id, verified: false, message: "no method #{bare} is defined yet" } if there.empty?

        first = there.first
        { id: point.id, verified: true, line: first.first_lineno, source: { path: first.absolute_path || first.path } }
      end

      def method?(iseq)
        iseq.to_a[9] == :method && !iseq.path.start_with?(LIBRARY, "<internal:")
      end

      # Code was loaded: what waited for it is bound now.
      def loaded(iseq)
        path = iseq.absolute_path || iseq.path
        waiting = @wanted.keys.find { |each| each == path || real(each) == path }
        if waiting
          (@lines.delete(waiting) || {}).each_value(&:disarm)
          (@calls.delete(waiting) || []).each(&:disarm)
          bind_lines(waiting).each { |bound| tell_bound(bound) }
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
        return if walk.trace&.enabled?

        ids = judge(place.points, tp.binding)
        stop(client, tp, "breakpoint", DEBUGGER__.frame_depth - 1, ids: ids) unless ids.empty?
      end

      def at_call(place, tp, depth)
        return unless (client = client())
        return unless place.labels.empty? || named?(place.labels.first, tp)

        ids = judge(place.points, tp.binding)
        return if ids.empty?

        # Its first line is where everything can be seen; an empty method has none.
        iseq = RubyVM::InstructionSequence.of(tp.self.method(tp.method_id)) rescue nil
        if iseq && iseq.trace_points.none? { |_, event| event == :line }
          stop(client, tp, "breakpoint", depth, ids: ids)
        else
          walk = walk(client)
          walk.ids = ids
          go(client, :enter, depth)
        end
      end

      # Whether a call is of the method that `Class#name`, `Class.name` or `name` means.
      def named?(name, tp)
        owner, op = name.match(/\A(.+)([.#])[^.#]+\z/)&.captures
        return true unless owner

        own = op == "." && Module === tp.self ? tp.self.ancestors : Values::CLASS.bind_call(tp.self).ancestors
        own.any? { |each| each.name == owner || each.name.to_s.end_with?("::#{owner}") }
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

      # --- stopping

      def stop(client, tp, reason, depth, **info)
        walk = walk(client)
        walk.goal = nil
        walk.returns&.disable
        # One at a time: the debug gem lets a thread go on that stops while another is looked at.
        @turn.synchronize do
          @walks.each_value { |each| each.goal = nil }
          walk.info = { reason: reason, **info }
          walk.at = depth
          client.suspend(tp ? tp.event : :line, tp)
        end
      end

      def told(client, kind)
        walk = walk(client)
        if walk.info.nil?
          # A signal of ours, or a word like `debugger` in the program.
          walk.info = { reason: kind == :suspend_trap ? "pause" : "breakpoint" }
          walk.at = nil
        end
        info = walk.info
        body = { reason: info[:reason] }
        body[:hitBreakpointIds] = info[:ids] if info[:ids]
        body.merge!(description: info[:exception].class.to_s, text: info[:exception].message.to_s) if info[:exception]
        body
      end

      # The debug gem leaves out its own files, which are read from disk; ours stand on top.
      def without_ours(frames)
        ours = frames.first(16).rindex { |frame| frame.path&.start_with?(LIBRARY) }
        ours ? frames.drop(ours + 1) : frames
      end

      # --- steps

      # Let a thread go on until *goal*: a step into, over, out; the first line of a call.
      def go(client, goal, depth)
        walk = walk(client)
        walk.goal, walk.depth = goal, depth
        walk.trace ||= TracePoint.new(:line) { |tp| Freezeframe.walked(client, tp, DEBUGGER__.frame_depth) }
        walk.trace.enable(target_thread: client.thread) unless walk.trace.enabled?
        return unless goal == :out

        walk.returns ||= TracePoint.new(:return, :b_return) { |tp| Freezeframe.came_back(client, tp, DEBUGGER__.frame_depth) }
        walk.returns.enable(target_thread: client.thread) unless walk.returns.enabled?
      end

      def came_back(client, tp, depth)
        walk = walk(client)
        return unless depth == walk.depth

        walk.returned = [tp.method_id.to_s, tp.return_value]
        walk.returns.disable
      end

      def walked(client, tp, depth)
        walk = walk(client)
        return if walk.busy || tp.path.start_with?(LIBRARY)

        place = @lines.empty? ? nil : @lines[tp.path]&.[](tp.lineno)
        place = nil unless place&.labels&.include?(label(caller_locations(2, 1).first))
        unless walk.goal
          # The line after the step's: breakpoints see to themselves again.
          walk.trace.disable
          return
        end
        ids = place && client() ? judge(place.points, tp.binding) : []
        if walk.goal == :enter && arrived?(walk, tp, depth)
          ids |= walk.ids
          walk.ids = nil
          stop(client, tp, "breakpoint", depth, ids: ids)
        elsif !ids.empty?
          stop(client, tp, "breakpoint", depth, ids: ids)
        elsif arrived?(walk, tp, depth) && client()
          stop(client, tp, "step", depth)
        end
      end

      def label(location)
        location.label.sub(/\S+[#.](?=\S+\z)/, "")
      end

      def arrived?(walk, tp, depth)
        return false if tp.path.start_with?("<internal:") || skipped?(tp.path)

        case walk.goal
        when :into then true
        when :over then depth <= walk.depth || (tp.path == walk.path && tp.lineno > walk.line && tp.lineno <= walk.next_line)
        when :out then depth < walk.depth || (walk.returned && depth <= walk.depth)
        when :enter then depth <= walk.depth
        end
      end

      def skipped?(path)
        return false unless @own_code

        @foreign ||= [RbConfig::CONFIG["rubylibdir"], RbConfig::CONFIG["vendordir"], *(defined?(Gem) ? Gem.path : [])].compact
        path.start_with?(*@foreign)
      end

      # Begin a step; *client* stands still.
      def step(client, goal)
        walk = walk(client)
        walk.returned = nil
        frame = client.instance_variable_get(:@target_frames)&.first
        if frame && goal == :over
          walk.path, walk.line = frame.path, frame.location.lineno
          last = frame.iseq && frame.iseq.to_a[4][:code_location][2]
          after = frame.iseq ? frame.iseq.trace_points.map(&:first).select { |line| line > walk.line }.min : nil
          walk.next_line = after || last || walk.line
        end
        go(client, goal, walk.at || (frame ? frame.frame_depth + 1 : 0))
      end

      # --- exceptions

      QUIET = ["<internal:", "#{RbConfig::CONFIG["rubylibdir"]}/rubygems", "#{RbConfig::CONFIG["rubylibdir"]}/bundler"].freeze

      # *filters*: name → the types it is narrowed to, or nil.
      def set_filters(filters)
        @filters = filters
        filters.empty? ? @raises.disable : (@raises.enable unless @raises.enabled?)
      end

      def raised(tp)
        exception = tp.raised_exception
        return if SystemExit === exception || SignalException === exception
        return unless (client = client())

        if @filters.key?("uncaught") && @thrown.none? { |each, _| each.equal?(exception) }
          @thrown.shift if @thrown.size > 15
          @thrown << [exception, without_ours(DEBUGGER__.capture_frames(LIBRARY))]
        end
        return unless @filters.key?("raised") && wanted?(exception, @filters["raised"])
        return if tp.path.start_with?(*QUIET)

        @shown = exception
        stop(client, tp, "exception", DEBUGGER__.frame_depth - 1, exception: exception, mode: "always")
      end

      def wanted?(exception, types)
        types.nil? || exception.class.ancestors.any? { |each| types.include?(each.name) || types.any? { |type| each.name.to_s.end_with?("::#{type}") } }
      end

      # The program ends, of this exception or of none.
      def ending(exception)
        return if @left || Process.pid != @pid || exception.nil? || exception.equal?(@shown)
        return if SystemExit === exception || SignalException === exception
        return unless @filters.key?("uncaught") && wanted?(exception, @filters["uncaught"])

        client = ThreadClient.current
        frames = @thrown.reverse.find { |each, _| each.equal?(exception) }&.last
        frames ||= (exception.backtrace_locations || []).map { |at| FrameInfo.new(at, nil, nil, nil, nil, 0) }
        return if frames.empty?

        @raises.disable
        walk = walk(client)
        walk.goal = nil
        walk.trace&.disable
        walk.info = { reason: "exception", exception: exception, mode: "unhandled", dead: true }
        client.suspend(:line, nil, postmortem_frames: frames)
      end
    end
  end
end
