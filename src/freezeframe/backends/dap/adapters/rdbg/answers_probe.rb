# frozen_string_literal: true

# Answers that may run code of the program's; runs inside it. A thread of ours takes one after the
# other, has the thread do it that the question is about, and interrupts what takes too long.
module DEBUGGER__
  module Freezeframe
    SLOW_S = 3.0
    # What the user asked to run may take its time.
    LONG_S = 25.0

    class << self
      private

      %w[scopes variables evaluate setExpression exceptionInfo].each do |name|
        define_method(:"on_#{name}") do |ui, request, arguments|
          # Asked again, by someone who joins what was joined before.
          next ui.send_response(request, result: "true", variablesReference: 0) if arguments["expression"].to_s.end_with?("#{self}.join)")

          @jobs << [:answer, ui, request]
        end
      end

      def work(kind, ui, request = nil)
        case kind
        when :introduce
          # Somebody waits for this.
          ui.send_event("capabilities", capabilities: CAPABILITIES)
          request << true
        when :interrupt then interrupt(ui)
        when :answer then answer(ui, request)
        end
      rescue Exception => error
        ui.send_response(request, success: false, message: "#{error.class}: #{error.message}") if request
      end

      # Stop at the next line of any thread; one that waits in a call is stopped by a signal.
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

        client, frame = place_of(request, arguments)
        job = -> { __send__(:"do_#{request["command"]}", client, frame, arguments) }
        result = client&.still? ? on_thread(client, job, arguments["context"] == "repl" ? LONG_S : SLOW_S) : job.call
        if result[:failure]
          ui.send_response(request, success: false, message: result[:failure])
        else
          ui.send_response(request, **result)
        end
      end

      def place_of(request, arguments)
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

      # Run a job on a thread of the program's that stands still; bounded.
      def on_thread(client, job, limit_s)
        result = nil
        work = lambda do
          result = quietly { job.call }
        rescue Exception => error
          result = { failure: Values::Stuck === error ? "it took longer than #{limit_s.to_i} s" : complaint(error) }
        ensure
          @tell_done.syswrite(".") # a signal handler may not take the lock of a write
        end
        client << [:dap, :freezeframe, work]
        # Several values may be slow, each for itself.
        until IO.select([@done], nil, nil, limit_s)
          return { failure: "it takes too long and cannot be interrupted" } if (tries = tries.to_i + 1) > 5

          client.thread.raise(Values::Stuck)
        end
        @done.read_nonblock(100)
        result
      end

      # A command of the gem's own language; what it prints is the answer.
      def command(ui, request, words)
        queue = ui.instance_variable_get(:@q_msg)
        return ui.send_response(request, success: false, message: "the program is running") unless SESSION.in_subsession?

        @overheard = []
        queue << words.strip
        queue << { "command" => "freezeframe", "then" => lambda {
          said, @overheard = @overheard, nil
          ui.send_response(request, result: (said || []).join("\n"), variablesReference: 0)
        } }
      end

      def raw?(request, arguments)
        request["command"] == "evaluate" && arguments["expression"].to_s.start_with?(",")
      end

      def do_scopes(client, frame, _arguments)
        given = argument_names(frame)
        all = locals(client, frame)
        scopes = [{ name: "Locals", presentationHint: "locals", expensive: false, variablesReference: ref(client, all.reject { |n, _, _| given.include?(n) }) }]
        unless given.empty?
          mine = all.select { |name, _, _| given.include?(name) }
          scopes.unshift({ name: "Arguments", presentationHint: "arguments", expensive: false, variablesReference: ref(client, mine) })
        end
        globals = own_globals.map { |name| [name.to_s, name, nil] }
        scopes << { name: "Globals", presentationHint: "globals", expensive: true, variablesReference: ref(client, globals, :globals) }
        { scopes: scopes }
      end

      def argument_names(frame)
        return [] unless frame.iseq && frame.binding

        code = frame.iseq.to_a
        code[10].first(code[4][:arg_size]).grep(Symbol).map(&:to_s)
      end

      def locals(client, frame)
        walk = walk(client)
        found = []
        found << ["(return) #{walk.returned[0]}", walk.returned[1], nil] if walk.returned && walk.info&.dig(:reason) == "step" && frame.equal?(frames_of(client).first)
        return found unless (binding = frame.binding)

        found << ["self", frame.self, "self"] unless frame.self.equal?(TOPLEVEL_BINDING.receiver)
        found + binding.local_variables.map { |name| [name.to_s, binding.local_variable_get(name), name.to_s] }
      end

      def own_globals
        @first_globals ||= %i[$; $-F $@ $! $SAFE $~ $& $` $' $+ $= $KCODE $-K $, $/ $-0 $\\ $_ $stdin $stdout $> $stderr $< $. $FILENAME $-i $*
                              $: $-I $LOAD_PATH $" $LOADED_FEATURES $? $$ $VERBOSE $-v $-w $-W $DEBUG $-d $0 $PROGRAM_NAME $-p $-l $-a $fileutils_rb_have_lchmod
                              $fileutils_rb_have_lchown]
        global_variables - @first_globals
      end

      def ref(client, held, kind = :pairs)
        @refs ||= [nil]
        @refs << [client, kind, held]
        @refs.size - 1
      end

      def do_variables(client, _frame, arguments)
        _, kind, held, expression = @refs[arguments["variablesReference"]]
        pairs = case kind
                when :pairs then held
                when :globals then held.map { |name, symbol, _| [name, TOPLEVEL_BINDING.eval(symbol.to_s), name] }
                else Values.children(held, expression)
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
        return { failure: "this frame has no variables: its thread waits in a call" } unless binding

        code = arguments["expression"].to_s
        value = binding.eval(code, frame && frame.path ? "(#{File.basename(frame.path)})" : "(freezeframe)")
        body_of(client, value, code, :result)
      end

      def do_setExpression(client, frame, arguments)
        code = "#{arguments["expression"]} = (#{arguments["value"]})"
        body_of(client, (frame ? frame.binding : TOPLEVEL_BINDING).eval(code), arguments["expression"])
      end

      def do_exceptionInfo(client, _frame, _arguments)
        exception = walk(client).info&.dig(:exception)
        return { failure: "the program did not stop for an exception" } unless exception

        kind, said = Values.type(exception), exception.message.to_s
        details = { typeName: kind, fullTypeName: kind, message: said, stackTrace: causes(exception).join("\n") }
        { exceptionId: kind, description: said, breakMode: walk(client).info[:mode], details: details }
      end

      # The frames are told as frames; what they do not tell is what went wrong before.
      def causes(exception)
        found = []
        while (exception = exception.cause) && found.size < 8
          at = exception.backtrace&.find { |line| !line.start_with?(LIBRARY) }
          found << "caused by #{Values.type(exception)}: #{exception.message}#{" (#{at})" if at}"
        end
        found
      end

      def complaint(error)
        "#{error.class}: #{error.message.lines.first&.chomp&.sub(/ for #<.*>\z/, "")}"
      end
    end
  end
end
