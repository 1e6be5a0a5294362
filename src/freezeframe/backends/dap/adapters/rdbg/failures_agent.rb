# frozen_string_literal: true

# Stop where a test of RSpec, minitest or test-unit fails; runs inside the program. Runners rescue
# what a test raises, so that no exception of a test is ever uncaught. This agent watches the method
# that has decided that the exception is a failure: what a test rescues itself or expects to be
# raised, a skip and a pending example never get there. The stop is that of an uncaught exception,
# in the frames that raised it, under the same filter. No method is replaced, so that no backtrace
# of the program changes.
module DEBUGGER__
  module Freezeframe
    # File of a runner → its method → the local variable that holds the exception.
    RUNNERS = {
      "/rspec/core/example.rb" => { "set_exception" => :exception },
      "/minitest/test.rb" => { "capture_exceptions" => :e },
      "/test/unit/failure.rb" => { "handle_assertion_failed_error" => :exception },
      "/test/unit/error.rb" => { "handle_all_exception" => :exception }
    }.freeze
    NO_FAILURES = ["Minitest::Skip", "RSpec::Core::Pending::SkipDeclaredInExample"].freeze
    FOREIGN = %r{/gems/|/lib/ruby/|\A<internal:}.freeze

    class << self
      # Watch the runners that are loaded already.
      def watch_runners
        all_code.each { |iseq| watch_runner(iseq) }
      end

      # Code was loaded: watch it if it is a runner.
      def watch_runner(iseq)
        path = iseq.absolute_path || iseq.path
        methods = RUNNERS.find { |suffix, _| path.end_with?(suffix) }&.last
        watch_methods(iseq, methods) if methods
      end

      def watch_methods(iseq, methods)
        if (variable = methods[iseq.label]) && method?(iseq)
          trace = TracePoint.new(:return) { |tp| Freezeframe.judged(tp, variable) }
          trace.enable(target: iseq)
          (@runners ||= []) << trace
        end
        iseq.each_child { |each| watch_methods(each, methods) }
      rescue ArgumentError
        nil # watched already, or without such an event
      end

      def unwatch_runners
        @runners&.each(&:disable)
        @runners = nil
      end

      # A runner has judged what a test raised.
      def judged(tp, variable)
        return unless tp.binding.local_variable_defined?(variable)

        exception = tp.binding.local_variable_get(variable)
        return unless Exception === exception && failure?(tp, exception)

        failing(exception)
      end

      def failure?(tp, exception)
        return false if NO_FAILURES.include?(exception.class.name)
        # test-unit calls its handlers in turn until one accepts.
        return false if tp.method_id.start_with?("handle_") && tp.return_value != true
        return true unless tp.self.respond_to?(:pending?)

        !tp.self.pending? || exception.class.name.end_with?("PendingExampleFixedError")
      end

      def failing(exception)
        return if exception.equal?(@shown) || !@filters.key?("uncaught")
        return unless matches_types?(exception, @filters["uncaught"]) && (client = client())

        frames = frames_behind(exception)
        return if frames.all? { |frame| frame.path.to_s.match?(FOREIGN) }

        @shown = exception
        walk = walk(client)
        walk.goal = nil
        walk.trace&.disable
        walk.info = { reason: "exception", exception: exception, mode: "test-failing", dead: true }
        walk.at = nil
        @turn.synchronize { client.suspend(:line, nil, postmortem_frames: frames) }
      end
    end
  end
end
