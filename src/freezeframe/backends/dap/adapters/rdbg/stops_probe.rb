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
      :path, :line, :next_line, # where it began, and the next line of that frame
      :trace, # sees every line while it steps
      :returns, :returned, # sees what is returned; its name and value
      :ids, :entry, # breakpoints of a call that has not come to its first line, and its depth
      :info, # why it stopped
      :at, # depth of the frame that it stopped in
      :busy # it runs words of the user's
    )

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

      # Let a thread go on until *goal*.
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
        return if tp.path.start_with?(LIBRARY)

        # The line after the step's: breakpoints see to themselves again.
        return walk.trace.disable unless walk.goal
        return unless client()

        place = @lines[tp.path]&.[](tp.lineno)
        place = nil unless place&.labels&.include?(label(caller_locations(2, 1).first))
        ids = entered(walk, depth) | (place ? judge(place.points, tp.binding) : [])
        if !ids.empty?
          stop(client, tp, "breakpoint", depth, ids: ids)
        elsif arrived?(walk, tp, depth)
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

      # Loading code is full of errors that are none.
      QUIET = %r{(rubygems|bundler)/}.freeze

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
        return if tp.path.match?(QUIET)

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
