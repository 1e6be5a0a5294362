# frozen_string_literal: true

# How threads stop and step, and for which exceptions; runs inside the program. The debug gem's
# steps are not used: they stop twice on a line, and skip one whose breakpoint condition does not
# hold.
module DEBUGGER__
  module Freezeframe
    # State of one thread between stops.
    Walk = Struct.new(
      :goal, # a step: into, over, out
      :depth, # of the frame that the step began in
      :fiber, # that the thread was last stopped in
      :path, :line, :next_line, # where the step began, and the next line of that frame
      :label, :calls, # the function that it began in, and the number of its calls on the stack
      :trace, # sees every line during a step
      :returns, :returned, # sees returns; name and value of the result, and whether there is none
      :return_lines, # lines where that frame's code returns
      :back, # sees what the caller does next
      :leaving, # what the current frame has returned already
      :raised, # an exception was raised since the step began, or stopped it
      :ids, :entry, # breakpoints of a call that has not reached its first line, and its depth
      :info, # why it stopped
      :at, # depth of the frame that it stopped in
      :busy # the thread runs code of the user
    )

    class << self
      def prepare_stops
        @lines = {} # path → {line → BreakpointLocation}, in loaded code
        @requested = {} # path → [[Point, line]]
        @calls = {} # line breakpoints on a `def`, by path
        @functions = [] # [name, BreakpointLocation, Point]
        @ids = 0
        @walks = {}.compare_by_identity
        @turn = Mutex.new
        @thrown = [] # the last exceptions, with the frames that raised them
        @sites = Hash.new(0) # how many were raised at each line
        @pid = Process.pid
        @filters = {}
        @raises = TracePoint.new(:raise) { |tp| Freezeframe.raised(tp) }
        at_exit do
          Freezeframe.ending($!)
          Freezeframe.release_descriptors
        end
      end

      def walk(client)
        @walks[client] ||= Walk.new
      end

      # Return the gem's client of this thread, if it may stop.
      def client
        return nil if @detached || Process.pid != @pid

        client = ThreadClient.current
        client unless client.management? || walk(client).busy
      end

      # --- stopping

      def stop(client, tp, reason, depth, **info)
        walk = walk(client)
        walk.goal = nil
        walk.returns&.disable
        walk.back&.disable
        return cut_off unless connected?

        # One at a time: the gem resumes a thread that stops while another one is stopped.
        @turn.synchronize do
          @walks.each_value { |each| each.goal = nil }
          walk.info = { reason: reason, **info }
          walk.at = depth
          client.suspend(tp ? tp.event : :line, tp)
        end
      end

      def stop_body(client, kind)
        walk = walk(client)
        if walk.info.nil?
          # A signal from the debugger, or a call like `debugger` in the program.
          walk.info = { reason: kind == :suspend_trap ? "pause" : "breakpoint" }
          walk.at = nil
        end
        info = walk.info
        body = { reason: info[:reason] }
        body[:hitBreakpointIds] = info[:ids] if info[:ids]
        if (exception = info[:exception])
          body.merge!(description: exception.class.to_s, text: exception.message.to_s)
        end
        body
      end

      # The gem leaves out its own files, which are read from disk; the agents' frames are on top.
      def without_internal(frames)
        last_internal = frames.first(16).rindex { |frame| frame.path&.start_with?(LIBRARY) }
        last_internal ? frames.drop(last_internal + 1) : frames
      end

      # --- steps

      # Run a thread until *goal*.
      def run_to(client, goal, depth)
        walk = walk(client)
        walk.goal, walk.depth = goal, depth
        walk.trace ||= TracePoint.new(:line) do |tp|
          Freezeframe.handle_step_line(client, tp, DEBUGGER__.frame_depth)
        end
        walk.trace.enable(target_thread: client.thread) unless walk.trace.enabled?
        return unless goal == :out
        return watch_caller(client, walk) if (walk.returned = walk.leaving)

        walk.returns ||= TracePoint.new(:return, :b_return, :raise) do |tp|
          Freezeframe.handle_return(client, tp, DEBUGGER__.frame_depth)
        end
        walk.returns.enable(target_thread: client.thread) unless walk.returns.enabled?
      end

      def handle_return(client, tp, depth)
        walk = walk(client)
        return walk.raised = true if tp.event == :raise
        return unless depth == walk.depth && walk.fiber.equal?(Fiber.current)

        abnormal = tp.return_value.nil? && exited_abnormally?(walk, tp)
        walk.returned = [tp.method_id.to_s, tp.return_value, abnormal]
        walk.returns.disable
        watch_caller(client, walk) unless abnormal
      end

      # The rest of the caller's line has no line event: what the caller does next shows that it
      # runs.
      def watch_caller(client, walk)
        walk.back ||= TracePoint.new(:c_call, :return, :b_return) do |tp|
          Freezeframe.within_caller(client, tp, DEBUGGER__.frame_depth)
        end
        walk.back.enable(target_thread: client.thread) unless walk.back.enabled?
      end

      # Stop on the line that called the finished method, before it continues.
      def within_caller(client, tp, depth)
        walk = walk(client)
        return walk.back.disable if walk.goal != :out || walk.returned.nil?
        return if tp.path.start_with?(LIBRARY) || !walk.fiber.equal?(Fiber.current) || !client()

        return unless depth < walk.depth && arrived?(walk, tp, depth)

        # The caller itself returns, with a value that may be requested.
        value = tp.event == :c_call ? nil : tp.return_value
        walk.leaving = [tp.method_id.to_s, value, false] unless value.nil?
        stop(client, nil, "step", depth)
        walk.leaving = nil
      end

      # Return whether an exception, `throw` or `break` may have ended a call: Ruby reports nil
      # then.
      def exited_abnormally?(walk, tp)
        return true if walk.raised || walk.return_lines.nil?

        !walk.return_lines.include?(tp.lineno)
      end

      # Return whether the step's fiber no longer runs: it has ended, or yielded. Any other fiber
      # was resumed by it, and has its own depth.
      def away?(walk)
        return false if walk.fiber.equal?(Fiber.current)

        Fiber.instance_method(:inspect).bind_call(walk.fiber).end_with?("(suspended)>", "(terminated)>")
      end

      def handle_step_line(client, tp, depth)
        walk = walk(client)
        return if tp.path.start_with?(LIBRARY)

        # The line after the step's: breakpoints work by themselves again.
        return walk.trace.disable unless walk.goal
        return unless client()

        ids = entered(walk, depth) | (@lines.empty? ? [] : met(tp, caller_locations(2, 1).first))
        if !ids.empty?
          stop(client, tp, "breakpoint", depth, ids: ids, arrived: arrived?(walk, tp, depth))
        elsif arrived?(walk, tp, depth)
          stop(client, tp, "step", depth)
        end
      end

      # Return the breakpoints that stop at the line that a step has reached.
      def met(tp, caller_location)
        location = @lines[caller_location.absolute_path || tp.path]&.[](tp.lineno)
        return [] unless location

        frames = location.inner.empty? ? 1 : NEAR
        begins?(location, caller_locations(3, frames)) ? judge(location.points, tp.binding) : []
      end

      def label(location)
        location.label.sub(/\S+[#.](?=\S+\z)/, "")
      end

      def arrived?(walk, tp, depth)
        return false if tp.path.start_with?("<internal:") || skipped?(tp.path)
        return walk.goal == :into || away?(walk) unless walk.fiber.equal?(Fiber.current)

        case walk.goal
        when :into then true
        when :over then depth <= walk.depth || clause?(walk, depth) || ahead?(walk, tp)
        when :out then depth < walk.depth || (walk.returned && depth <= walk.depth)
        end
      end

      # A `rescue` or `ensure` has a frame of its own above that of its method or block.
      CLAUSE = /\A(?:rescue|ensure) in /.freeze

      def clause?(walk, depth)
        above = depth - walk.depth
        clauses(caller_locations(4, above)) == above
      end

      def clauses(locations)
        locations.take_while { |each| CLAUSE.match?(each.label) }.size
      end

      # Step through a block that begins on the line of a step as through a loop; but not through
      # that of another call, where a method calls itself.
      def ahead?(walk, tp)
        return false unless tp.path == walk.path && tp.lineno > walk.line && tp.lineno <= walk.next_line

        calls(caller_locations(4), walk) <= walk.calls
      end

      def calls(locations, walk)
        locations.count { |each| each.label == walk.label && each.path == walk.path }
      end

      def skipped?(path)
        return false unless @own_code

        @foreign ||= RbConfig::CONFIG.values_at("rubylibdir", "vendordir").compact
        @foreign |= Gem.path if defined?(Gem)
        path.start_with?(*@foreign)
      end

      # Begin a step; *client* is stopped.
      def step(client, goal)
        walk = walk(client)
        walk.returned = nil
        walk.raised = walk.info&.dig(:reason) == "exception"
        frames = client.instance_variable_get(:@target_frames)
        frame = frames&.first
        clauses = frame && goal == :out ? clauses(frames.map(&:location)) : 0
        walk.return_lines = frame && goal == :out ? return_lines(frames.fetch(clauses, frame).iseq) : nil
        if frame && goal == :over
          walk.path, walk.line, walk.label = frame.path, frame.location.lineno, frame.location.label
          walk.calls = calls(frames.map(&:location), walk)
          walk.next_line = frame.iseq ? line_after(frame.iseq, walk.line) : walk.line
        end
        run_to(client, goal, (walk.at || (frame ? frame.frame_depth + 1 : 0)) - clauses)
      end

      # The lines of a one-line method say nothing.
      def return_lines(iseq)
        points = iseq&.trace_points&.select { |_, event| %i[return b_return].include?(event) }
        points&.map(&:first)&.reject { |line| line == iseq.first_lineno }
      end

      def line_after(iseq, line)
        after = iseq.trace_points.map(&:first).select { |each| each > line }.min
        after || iseq.to_a[4][:code_location][2]
      end

      # --- exceptions

      # Loading code raises many errors that are expected.
      QUIET = %r{(rubygems|bundler)/}.freeze
      MANY = 50

      # *filters*: name → the types it is narrowed to, or nil.
      def set_filters(filters)
        @filters = filters
        filters.empty? ? @raises.disable : (@raises.enable unless @raises.enabled?)
      end

      def raised(tp)
        exception = tp.raised_exception
        return if SystemExit === exception || SignalException === exception
        return unless (client = client())

        keep(tp, exception) if @filters.key?("uncaught")
        return unless @filters.key?("raised") && matches_types?(exception, @filters["raised"])
        return if tp.path.match?(QUIET)

        @shown = exception
        stop(client, tp, "exception", DEBUGGER__.frame_depth - 1, exception: exception, mode: "always")
      end

      # Record where an exception was raised, in case it stays uncaught. All its frames cost 0.2 ms:
      # exceptions that are raised often are rescued, and the innermost frame suffices.
      def keep(tp, exception)
        return if @thrown.any? { |each, _| each.equal?(exception) }

        @thrown.shift if @thrown.size > 15
        many = (@sites[[tp.path, tp.lineno]] += 1) > MANY
        @thrown << [exception, many ? tp.binding : without_internal(DEBUGGER__.capture_frames(LIBRARY))]
      end

      # Return the frames that raised an exception.
      def frames_behind(exception)
        kept = @thrown.reverse.find { |each, _| each.equal?(exception) }&.last
        return kept if Array === kept

        locations = exception.backtrace_locations || []
        frames = locations.map { |at| FrameInfo.new(at, nil, nil, nil, nil, 0) }
        if kept && (innermost = frames.first)
          innermost.binding, innermost.self = kept, kept.receiver
        end
        frames
      end

      def matches_types?(exception, types)
        return true if types.nil?

        names = exception.class.ancestors.map { |each| each.name.to_s }
        types.any? { |type| names.any? { |name| name == type || name.end_with?("::#{type}") } }
      end

      # The program ends, by this exception or by none.
      def ending(exception)
        return if @detached || Process.pid != @pid || exception.nil? || exception.equal?(@shown)
        return if SystemExit === exception || SignalException === exception
        return unless connected? && @filters.key?("uncaught") && matches_types?(exception, @filters["uncaught"])

        client = ThreadClient.current
        frames = frames_behind(exception)
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
