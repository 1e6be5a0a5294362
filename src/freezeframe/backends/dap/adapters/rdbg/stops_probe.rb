# frozen_string_literal: true

# How threads stop and step, and for which exceptions; runs inside the program. Of the debug gem's
# own steps nothing is used: they stop twice on a line, and pass over one whose breakpoint does not
# hold.
module DEBUGGER__
  module Freezeframe
    # What one thread does between stops.
    Walk = Struct.new(
      :goal, # a step: into, over, out
      :depth, # of the frame that it began in
      :fiber, # that it stood in last
      :path, :line, :next_line, # where it began, and the next line of that frame
      :label, :calls, # what it began in, and how many calls of that there were
      :trace, # sees every line while it steps
      :returns, :returned, # sees what is returned; its name and value, and whether it is none
      :return_lines, # where that frame's code returns
      :back, # sees what the caller does next
      :leaving, # what the frame that it stands in has returned already
      :raised, # something was raised since the step began, or stopped it
      :ids, :entry, # breakpoints of a call that has not come to its first line, and its depth
      :info, # why it stopped
      :at, # depth of the frame that it stopped in
      :busy # it runs words of the user's
    )

    class << self
      def prepare_stops
        @lines = {} # path → {line → Place}, in loaded code
        @wanted = {} # path → [[Point, line]]
        @calls = {} # line places on a `def`, by path
        @functions = [] # [name, Place, Point]
        @ids = 0
        @walks = {}.compare_by_identity
        @turn = Mutex.new
        @thrown = [] # the last exceptions, with the frames they were raised in
        @sites = Hash.new(0) # how many were raised at each line
        @pid = Process.pid
        @filters = {}
        @raises = TracePoint.new(:raise) { |tp| Freezeframe.raised(tp) }
        at_exit do
          Freezeframe.ending($!)
          Freezeframe.let_go
        end
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

      # --- stopping

      def stop(client, tp, reason, depth, **info)
        walk = walk(client)
        walk.goal = nil
        walk.returns&.disable
        walk.back&.disable
        return cut_off unless connected?

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
        if (exception = info[:exception])
          body.merge!(description: exception.class.to_s, text: exception.message.to_s)
        end
        body
      end

      # The debug gem leaves out its own files, which are read from disk; ours stand on top.
      def without_ours(frames)
        ours = frames.first(16).rindex { |frame| frame.path&.start_with?(LIBRARY) }
        ours ? frames.drop(ours + 1) : frames
      end

      # --- steps

      # Let a thread go on until *goal*.
      def go(client, goal, depth)
        walk = walk(client)
        walk.goal, walk.depth = goal, depth
        walk.trace ||= TracePoint.new(:line) do |tp|
          Freezeframe.walked(client, tp, DEBUGGER__.frame_depth)
        end
        walk.trace.enable(target_thread: client.thread) unless walk.trace.enabled?
        return unless goal == :out
        return look_back(client, walk) if (walk.returned = walk.leaving)

        walk.returns ||= TracePoint.new(:return, :b_return, :raise) do |tp|
          Freezeframe.came_back(client, tp, DEBUGGER__.frame_depth)
        end
        walk.returns.enable(target_thread: client.thread) unless walk.returns.enabled?
      end

      def came_back(client, tp, depth)
        walk = walk(client)
        return walk.raised = true if tp.event == :raise
        return unless depth == walk.depth && walk.fiber.equal?(Fiber.current)

        left = tp.return_value.nil? && left?(walk, tp)
        walk.returned = [tp.method_id.to_s, tp.return_value, left]
        walk.returns.disable
        look_back(client, walk) unless left
      end

      # The rest of the caller's line has no line of its own: what it does next shows that it is
      # there.
      def look_back(client, walk)
        walk.back ||= TracePoint.new(:c_call, :return, :b_return) do |tp|
          Freezeframe.within_caller(client, tp, DEBUGGER__.frame_depth)
        end
        walk.back.enable(target_thread: client.thread) unless walk.back.enabled?
      end

      # Stop on the line that called what is finished, before it goes on.
      def within_caller(client, tp, depth)
        walk = walk(client)
        return walk.back.disable if walk.goal != :out || walk.returned.nil?
        return if tp.path.start_with?(LIBRARY) || !walk.fiber.equal?(Fiber.current) || !client()

        return unless depth < walk.depth && arrived?(walk, tp, depth)

        # It returns itself, with a value that may be asked for.
        value = tp.event == :c_call ? nil : tp.return_value
        walk.leaving = [tp.method_id.to_s, value, false] unless value.nil?
        stop(client, nil, "step", depth)
        walk.leaving = nil
      end

      # Whether a call may have been left by an exception, `throw` or `break`: Ruby gives nil then.
      def left?(walk, tp)
        return true if walk.raised || walk.return_lines.nil?

        !walk.return_lines.include?(tp.lineno)
      end

      # Whether the step began in a fiber that is not under way any more: it has ended, or yielded.
      # Any other fiber was resumed by it, and has a depth of its own.
      def away?(walk)
        return false if walk.fiber.equal?(Fiber.current)

        Fiber.instance_method(:inspect).bind_call(walk.fiber).end_with?("(suspended)>", "(terminated)>")
      end

      def walked(client, tp, depth)
        walk = walk(client)
        return if tp.path.start_with?(LIBRARY)

        # The line after the step's: breakpoints see to themselves again.
        return walk.trace.disable unless walk.goal
        return unless client()

        ids = entered(walk, depth) | (@lines.empty? ? [] : met(tp, caller_locations(2, 1).first))
        if !ids.empty?
          stop(client, tp, "breakpoint", depth, ids: ids)
        elsif arrived?(walk, tp, depth)
          stop(client, tp, "step", depth)
        end
      end

      # Return the breakpoints of the line that a step has come to, where they want to stop.
      def met(tp, location)
        place = @lines[location.absolute_path || tp.path]&.[](tp.lineno)
        place&.labels&.include?(label(location)) ? judge(place.points, tp.binding) : []
      end

      def label(location)
        location.label.sub(/\S+[#.](?=\S+\z)/, "")
      end

      def arrived?(walk, tp, depth)
        return false if tp.path.start_with?("<internal:") || skipped?(tp.path)
        return walk.goal == :into || away?(walk) unless walk.fiber.equal?(Fiber.current)

        case walk.goal
        when :into then true
        when :over then depth <= walk.depth || ahead?(walk, tp)
        when :out then depth < walk.depth || (walk.returned && depth <= walk.depth)
        end
      end

      # A block that begins on the line of a step is gone through as a loop would be; but not
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

      # Begin a step; *client* stands still.
      def step(client, goal)
        walk = walk(client)
        walk.returned = nil
        walk.raised = walk.info&.dig(:reason) == "exception"
        frames = client.instance_variable_get(:@target_frames)
        frame = frames&.first
        walk.return_lines = frame && goal == :out ? return_lines(frame.iseq) : nil
        if frame && goal == :over
          walk.path, walk.line, walk.label = frame.path, frame.location.lineno, frame.location.label
          walk.calls = calls(frames.map(&:location), walk)
          walk.next_line = frame.iseq ? line_after(frame.iseq, walk.line) : walk.line
        end
        go(client, goal, walk.at || (frame ? frame.frame_depth + 1 : 0))
      end

      # Of a method in one line nothing can be told by lines.
      def return_lines(iseq)
        points = iseq&.trace_points&.select { |_, event| %i[return b_return].include?(event) }
        points&.map(&:first)&.reject { |line| line == iseq.first_lineno }
      end

      def line_after(iseq, line)
        after = iseq.trace_points.map(&:first).select { |each| each > line }.min
        after || iseq.to_a[4][:code_location][2]
      end

      # --- exceptions

      # Loading code is full of errors that are none.
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
        return unless @filters.key?("raised") && wanted?(exception, @filters["raised"])
        return if tp.path.match?(QUIET)

        @shown = exception
        stop(client, tp, "exception", DEBUGGER__.frame_depth - 1, exception: exception, mode: "always")
      end

      # Keep where an exception was raised, in case nobody rescues it. All its frames cost 0.2 ms:
      # where many are raised, someone rescues them, and the innermost one has to do.
      def keep(tp, exception)
        return if @thrown.any? { |each, _| each.equal?(exception) }

        @thrown.shift if @thrown.size > 15
        many = (@sites[[tp.path, tp.lineno]] += 1) > MANY
        @thrown << [exception, many ? tp.binding : without_ours(DEBUGGER__.capture_frames(LIBRARY))]
      end

      # Return the frames that an exception was raised in.
      def frames_behind(exception)
        kept = @thrown.reverse.find { |each, _| each.equal?(exception) }&.last
        return kept if Array === kept

        places = exception.backtrace_locations || []
        frames = places.map { |at| FrameInfo.new(at, nil, nil, nil, nil, 0) }
        if kept && (innermost = frames.first)
          innermost.binding, innermost.self = kept, kept.receiver
        end
        frames
      end

      def wanted?(exception, types)
        return true if types.nil?

        names = exception.class.ancestors.map { |each| each.name.to_s }
        types.any? { |type| names.any? { |name| name == type || name.end_with?("::#{type}") } }
      end

      # The program ends, of this exception or of none.
      def ending(exception)
        return if @left || Process.pid != @pid || exception.nil? || exception.equal?(@shown)
        return if SystemExit === exception || SignalException === exception
        return unless connected? && @filters.key?("uncaught") && wanted?(exception, @filters["uncaught"])

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
