# frozen_string_literal: true

# Answers that may run code of the program; runs inside it. An internal thread handles one request
# after the other, runs it on the thread that it concerns, and interrupts it if it takes too long.
module DEBUGGER__
  module Freezeframe
    SLOW_S = 3.0
    # Code that the user runs may take longer.
    LONG_S = 25.0
    UNREADABLE = {
      name: "(locals)", value: "<not readable: the thread waits in a call>", variablesReference: 0
    }.freeze

    class << self
      private

      %w[scopes variables evaluate setExpression exceptionInfo].each do |name|
        define_method(:"on_#{name}") do |ui, request, arguments|
          # Sent again by a client that attaches to an already patched program.
          again = arguments["expression"].to_s.end_with?("#{self}.join)")
          next ui.send_response(request, result: "true", variablesReference: 0) if again

          @jobs << [:answer, ui, request]
        end
      end

      def work(kind, ui, request = nil)
        case kind
        when :introduce
          # The attaching thread waits for this.
          ui.send_event("capabilities", capabilities: CAPABILITIES)
          request << true
        when :interrupt then interrupt(ui)
        when :answer then answer(ui, request)
        end
      rescue Exception => error
        ui.send_response(request, success: false, message: "#{error.class}: #{error.message}") if request
      end

      # Stop at the next line of any thread; interrupt a thread that waits in a call by a signal.
      def interrupt(ui)
        stopped = Queue.new
        trace = TracePoint.new(:line) do |tp|
          next unless (client = Freezeframe.client) && !tp.path.start_with?(LIBRARY)

          trace.disable
          stopped << true
          Freezeframe.stop(client, tp, "pause", DEBUGGER__.frame_depth)
        end
        trace.enable
        10.times do
          sleep 0.01
          return unless stopped.empty?
        end
        trace.disable
        return unless stopped.empty? && !SESSION.in_subsession?

        @interrupting = true
        Process.kill(UI_ServerBase::TRAP_SIGNAL, Process.pid)
      end

      def answer(ui, request)
        arguments = request["arguments"] || {}
        return command(ui, request, arguments["expression"][1..]) if raw?(request, arguments)

        client, frame = target_of(request, arguments)
        job = -> { __send__(:"do_#{request["command"]}", client, frame, arguments) }
        limit_s = arguments["context"] == "repl" ? LONG_S : SLOW_S
        result = client&.stopped? ? on_thread(client, job, limit_s) : job.call
        if result[:failure]
          ui.send_response(request, success: false, message: result[:failure])
        else
          ui.send_response(request, **result)
        end
      end

      def target_of(request, arguments)
        if (id = arguments["frameId"])
          @frames&.[](id) || raise("there is no frame #{id} any more")
        elsif (id = arguments["variablesReference"])
          [(@refs&.[](id) || raise("there is no value #{id} any more"))[0], nil]
        elsif request["command"] == "exceptionInfo"
          [client_of(arguments["threadId"]), nil]
        else
          [nil, nil]
        end
      end

      # Run a job on a stopped thread of the program; bounded.
      def on_thread(client, job, limit_s)
        result = nil
        work = lambda do
          result = quietly { job.call }
        rescue Exception => error
          slow = Values::Stuck === error
          result = { failure: slow ? "it took longer than #{limit_s.to_i} s" : error_text(error) }
        ensure
          @done_writer.syswrite(".") # a signal handler may not take the lock of a write
        end
        client << [:dap, :freezeframe, work]
        # Several values may be slow, each separately.
        5.times do
          if IO.select([@done], nil, nil, limit_s)
            @done.read_nonblock(100)
            return result
          end
          client.thread.raise(Values::Stuck)
        end
        { failure: "it takes too long and cannot be interrupted" }
      end

      # A command in the gem's own language; its output is the answer.
      def command(ui, request, text)
        unless SESSION.in_subsession?
          return ui.send_response(request, success: false, message: "the program is running")
        end

        queue = ui.instance_variable_get(:@q_msg)
        @captured = []
        queue << text.strip
        queue << { "command" => "freezeframe", "then" => lambda {
          output, @captured = @captured, nil
          ui.send_response(request, result: (output || []).join("\n"), variablesReference: 0)
        } }
      end

      def raw?(request, arguments)
        request["command"] == "evaluate" && arguments["expression"].to_s.start_with?(",")
      end

      def do_scopes(client, frame, _arguments)
        return { scopes: [scope("Locals", ref(client, nil, :unreadable))] } if unreadable?(frame)

        names = argument_names(frame)
        given, rest = locals(client, frame).partition { |name, _, _| names.include?(name) }
        globals = user_globals.map { |name| [name.to_s, name, nil] }
        scopes = [scope("Locals", ref(client, rest))]
        scopes << scope("Globals", ref(client, globals, :globals), expensive: true)
        scopes.unshift(scope("Arguments", ref(client, given))) unless given.empty?
        { scopes: scopes }
      end

      # Ruby gives a frame's variables to the frame's own thread only, and that waits in a call.
      def unreadable?(frame)
        frame && frame.binding.nil? && !native?(frame)
      end

      def scope(name, reference, expensive: false)
        hint = name.downcase
        { name: name, presentationHint: hint, expensive: expensive, variablesReference: reference }
      end

      def argument_names(frame)
        return [] unless frame.iseq && frame.binding

        code = frame.iseq.to_a
        code[10].first(code[4][:arg_size]).grep(Symbol).map(&:to_s)
      end

      def locals(client, frame)
        walk = walk(client)
        found = []
        arrived = walk.info && (walk.info[:reason] == "step" || walk.info[:arrived])
        has_value = arrived && walk.returned && !walk.returned[2]
        if has_value && frame.equal?(frames_of(client).first)
          found << ["(return) #{walk.returned[0]}", walk.returned[1], nil]
        end
        return found unless (binding = frame.binding)

        found << ["self", frame.self, "self"] unless frame.self.equal?(TOPLEVEL_BINDING.receiver)
        names = binding.local_variables
        found + names.map { |name| [name.to_s, binding.local_variable_get(name), name.to_s] }
      end

      # Ruby's own globals have no lowercase letter after the sign, or come with its libraries.
      def user_globals
        ruby = %i[$stdin $stdout $stderr $fileutils_rb_have_lchmod $fileutils_rb_have_lchown]
        global_variables.grep(/\A\$[a-z_]\w/) - ruby
      end

      def ref(client, value, kind = :pairs)
        @refs ||= [nil]
        @refs << [client, kind, value]
        @refs.size - 1
      end

      def do_variables(client, _frame, arguments)
        _, kind, value, expression = @refs[arguments["variablesReference"]]
        return { variables: [UNREADABLE] } if kind == :unreadable

        pairs = case kind
                when :pairs then value
                when :globals then value.map { |name, _, _| [name, TOPLEVEL_BINDING.eval(name), name] }
                else Values.children(value, expression)
                end
        { variables: pairs.map { |name, value, path| { name: name, **body_of(client, value, path) } } }
      end

      def body_of(client, value, path, key = :value)
        count = Values.count(value)
        body = { key => Values.show(value), type: Values.type(value), variablesReference: 0 }
        if count.positive?
          @refs ||= [nil]
          @refs << [client, :object, value, path || "it"]
          body[:variablesReference] = @refs.size - 1
          body[Array === value ? :indexedVariables : :namedVariables] = count
        end
        body[:evaluateName] = path if path
        body
      end

      def do_evaluate(client, frame, arguments)
        binding = frame ? frame.binding : TOPLEVEL_BINDING
        return { failure: "its variables cannot be read: its thread waits in a call" } unless binding

        code = arguments["expression"].to_s
        value = binding.eval(code, "(freezeframe)")
        return { result: value, variablesReference: 0 } if PlainText === value

        Values.allow_inspect { body_of(client, value, code, :result) }
      end

      def do_setExpression(client, frame, arguments)
        name, binding = arguments["expression"].to_s, frame ? frame.binding : TOPLEVEL_BINDING
        return { failure: "its variables cannot be set: its thread waits in a call" } unless binding

        # An assignment would create a new variable for a misspelled name.
        if name.match?(/\A[a-z_]\w*\z/) && !binding.local_variable_defined?(name)
          there = binding.local_variables.first(12).join(", ")
          return { failure: "there is no variable #{name} to assign to; there are #{there}" }
        end
        body_of(client, binding.eval("#{name} = (#{arguments["value"]})"), name)
      end

      def do_exceptionInfo(client, _frame, _arguments)
        exception = walk(client).info&.dig(:exception)
        return { failure: "the program did not stop for an exception" } unless exception

        kind, message = Values.type(exception), exception.message.to_s
        before = causes(exception).join("\n")
        details = { typeName: kind, fullTypeName: kind, message: message, stackTrace: before }
        { exceptionId: kind, description: message, breakMode: walk(client).info[:mode], details: details }
      end

      # The frames are sent as frames; this returns the earlier exceptions.
      def causes(exception)
        found = []
        while (exception = exception.cause) && found.size < 8
          at = exception.backtrace&.find { |line| !line.start_with?(LIBRARY) }
          found << "caused by #{Values.type(exception)}: #{exception.message}#{" (#{at})" if at}"
        end
        found
      end

      def error_text(error)
        "#{error.class}: #{error.message.lines.first&.chomp&.sub(/ for #<.*>\z/, "")}"
      end
    end
  end
end
