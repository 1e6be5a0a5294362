# frozen_string_literal: true

# Patches the debug gem's DAP server; runs inside the program. The gem's thread reads requests,
# which are answered here; requests that may run code of the program are in `evaluation_agent.rb`.
module DEBUGGER__
  module Freezeframe
    CAPABILITIES = {
      supportsConfigurationDoneRequest: true,
      supportsFunctionBreakpoints: true,
      supportsConditionalBreakpoints: true,
      supportsHitConditionalBreakpoints: true,
      supportsLogPoints: true,
      supportsSetExpression: true,
      supportsExceptionInfoRequest: true,
      supportsExceptionFilterOptions: true,
      supportTerminateDebuggee: true,
      supportsEvaluateForHovers: true,
      supportsStepBack: false,
      supportsCompletionsRequest: false,
      exceptionBreakpointFilters: [
        { filter: "raised", label: "every exception, when it is raised", supportsCondition: true },
        {
          filter: "uncaught",
          label: "exceptions that nobody rescues",
          default: true,
          supportsCondition: true
        }
      ]
    }.freeze

    # Prepended to the gem's DAP methods.
    module DapServerPatch
      def recv_request
        loop do
          request = super
          return request if request.nil? || !Freezeframe.serve(self, request)
        end
      end

      def send(**message)
        # Called with a message only; anything else means Ruby's own `send`.
        (@freezeframe_lock ||= Mutex.new).synchronize do
          return unless (socket = @sock) && Freezeframe.connected?

          @seq = (@seq || 0) + 1
          text = JSON.generate({ seq: @seq }.merge(message))
          socket.write("Content-Length: #{text.bytesize}\r\n\r\n#{text}")
        end
      rescue SystemCallError, IOError
        nil
      end

      def send_response(request, success: true, message: nil, **body)
        if request["command"] == "initialize"
          Freezeframe.use_ui(self)
          body = CAPABILITIES
        end
        super(request, success: success, message: message, **body)
      end

      # The gem pauses a program when a client connects.
      def pause
        super unless Freezeframe.launched?
      end

      def readline(_prompt)
        @q_msg&.pop || "continue"
      end

      def puts(text = nil)
        Freezeframe.capture_output(text)
      end

      def event(type, *args)
        case type
        when :suspend_bp, :suspend_trap, :suspended then Freezeframe.suspended(self, type, args.last)
        end
      end
    end

    module SessionPatch
      # The gem's thread may run before the gem has noted that it is the one that serves the session,
      # and refuses to begin then (1.4).
      def setup_threads
        @session_server = Thread.current
        super
      end

      def on_load(iseq, *rest)
        super
        Freezeframe.loaded(iseq)
      end

      def process_protocol_request(request)
        return super unless request["command"] == "freezeframe"

        request["then"].call
        :retry
      end
    end

    module ThreadPatch
      def process_dap(args)
        args[0] == :freezeframe ? args[1].call : super
      end

      # 1.4 sends itself two signals when a client attaches; the second comes after the program was
      # resumed.
      def on_trap(signal)
        super if signal != UI_ServerBase::TRAP_SIGNAL || Freezeframe.interrupting?
      end

      # Loading the user's expressions is not reported: the session would have to wait for us.
      def on_load(...)
        super unless Freezeframe.walk(self).busy
      end

      # At each stop the gem would print source and arguments, which nobody reads.
      def suspend(...)
        @freezeframe_silent = true
        super
      end

      def wait_next_action
        @freezeframe_silent = false
        Freezeframe.walk(self).fiber = Fiber.current
        @target_frames = Freezeframe.without_internal(@target_frames) if @target_frames
        @freezeframe_stopped = true
        super
      ensure
        @freezeframe_stopped = false
      end

      # The thread is stopped, even while it evaluates for the debugger.
      def stopped?
        @freezeframe_stopped || waiting?
      end

      def show_src(...)
        super unless @freezeframe_silent
      end

      def show_frames(...)
        super unless @freezeframe_silent
      end
    end

    class << self
      def launched?
        @launched
      end

      # Wait on a socket until the program may begin.
      def open(path)
        @launched = true
        @cut = File.join(File.dirname(path), "connection-closed")
        $stdout.sync = true
        install
        @gate = Queue.new
        DEBUGGER__.open_unix(sock_path: path, nonstop: true)
        enter if @gate.pop == :entry
      end

      def install
        return if @installed

        @installed = true
        CONFIG.set_config(no_color: true, log_level: :FATAL, fork_mode: :parent, no_rc: true)
        prepare_stops
        @jobs = Queue.new
        @done, @done_writer = IO.pipe
        [@done, @done_writer].each { |each| each.close_on_exec = true }
        UI_DAP.prepend(DapServerPatch)
        Session.prepend(SessionPatch)
        ThreadClient.prepend(ThreadPatch)
      end

      # Take over a server that was opened by `rdbg --open`, from a thread of the program.
      def join
        install
        watch_runners
        ui = SESSION.instance_variable_get(:@ui)
        use_ui(ui)
        # This thread is in a signal handler, where no lock can be taken.
        answered = Queue.new
        @jobs << [:introduce, ui, answered]
        answered.pop
      end

      def use_ui(ui)
        @ui = ui
        @socket = ui.instance_variable_get(:@sock)
        @identity = identity
        # Before the program begins every socket is the debugger's.
        @internal_ios = [@socket, @done, @done_writer]
        @internal_ios |= ObjectSpace.each_object(BasicSocket).to_a if @launched
        @detached = false
        @configured = false
        # The socket is opened before the session exists.
        sleep 0.001 until DEBUGGER__.const_defined?(:SESSION)
        # Errors of these threads, where the program has closed their descriptors, are not the
        # program's.
        [ui.reader_thread, SESSION.instance_variable_get(:@session_server)].compact.each do |each|
          each.report_on_exception = each.abort_on_exception = false
        end
        @worker ||= internal_thread { work(*@jobs.pop) while true }
      end

      # Start a thread that does not belong to the program. The gem would make it wait for the
      # session, which may be waiting for us.
      def internal_thread
        begun = SESSION.instance_variable_get(:@tp_thread_begin)
        known = Queue.new
        begun&.disable
        thread = Thread.new do
          known.pop
          yield
        end
        thread.name = "freezeframe"
        id, events, clients = %i[@tc_id @q_evt @th_clients].map do |name|
          SESSION.instance_variable_get(name)
        end
        SESSION.instance_variable_set(:@tc_id, id + 1)
        clients[thread] = ThreadClient.new(id + 1, events, Queue.new, thread).tap(&:mark_as_management)
        known << true
        thread
      ensure
        begun&.enable
      end

      # Stop at the program's first line.
      def enter
        program = real($PROGRAM_NAME)
        trace = TracePoint.new(:line) do |tp|
          next if tp.path.start_with?(LIBRARY, "<internal:") || real(tp.path) != program

          trace.disable
          Freezeframe.stop(ThreadClient.current, tp, "entry", DEBUGGER__.frame_depth)
        end
        trace.enable
      end

      # --- requests, on the thread that reads them

      # Answer a request; return false to leave it to the gem.
      def serve(ui, request)
        arguments = request["arguments"] || {}
        name = :"on_#{request["command"]}"
        return __send__(name, ui, request, arguments) != false if respond_to?(name, true)

        ui.send_response(request, success: false, message: "there is no request #{request["command"]}")
        true
      rescue StandardError => error
        ui.send_response(request, success: false, message: "#{error.class}: #{error.message}")
        true
      end

      private

      def on_launch(ui, request, arguments)
        @stop_on_entry = arguments["stopOnEntry"]
        @own_code = arguments["justMyCode"]
        ui.send_response(request)
      end

      # Once the patches are installed, attaching does not need to stop the program.
      def on_attach(ui, request, arguments)
        @own_code = arguments["justMyCode"]
        ui.send_response(request)
      end

      def on_configurationDone(ui, request, _arguments)
        ui.send_response(request)
        @configured = true
        return @gate << (@stop_on_entry ? :entry : :go) if @launched

        # Resume a program that attaching stopped, unless it hit a breakpoint meanwhile.
        resume(ui) if @walks.each_value.none?(&:info)
      end

      def on_setBreakpoints(ui, request, arguments)
        bound = set_lines(arguments.dig("source", "path"), arguments["breakpoints"] || [])
        ui.send_response(request, breakpoints: bound)
      end

      def on_setFunctionBreakpoints(ui, request, arguments)
        ui.send_response(request, breakpoints: set_functions(arguments["breakpoints"] || []))
      end

      def on_setExceptionBreakpoints(ui, request, arguments)
        filters = (arguments["filters"] || []).to_h { |name| [name, nil] }
        (arguments["filterOptions"] || []).each do |each|
          filters[each["filterId"]] = each["condition"]&.split(/\s*,\s*/)
        end
        set_filters(filters)
        ui.send_response(request)
      end

      def on_continue(ui, request, _arguments)
        ui.send_response(request, allThreadsContinued: true)
        resume(ui)
      end

      def on_next(ui, request, arguments)
        step_from(ui, request, arguments, :over)
      end

      def on_stepIn(ui, request, arguments)
        step_from(ui, request, arguments, :into)
      end

      def on_stepOut(ui, request, arguments)
        step_from(ui, request, arguments, :out)
      end

      def step_from(ui, request, arguments, goal)
        client = client_of(arguments["threadId"])
        step(client, goal) if client && !walk(client).info&.dig(:dead)
        ui.send_response(request)
        resume(ui)
      end

      def resume(ui)
        @frames = nil
        @refs = nil
        @walks.each_value { |each| each.info = nil }
        ui.instance_variable_get(:@q_msg) << "c" if SESSION.in_subsession?
      end

      def on_pause(ui, request, _arguments)
        ui.send_response(request)
        @jobs << [:interrupt, ui] if @configured && !SESSION.in_subsession?
      end

      def on_threads(ui, request, _arguments)
        threads = SESSION.managed_thread_clients.map do |client|
          { id: client.id, name: name_of_thread(client) }
        end
        ui.send_response(request, threads: threads)
      end

      def on_stackTrace(ui, request, arguments)
        client = client_of(arguments["threadId"])
        unless client
          why = "there is no thread #{arguments["threadId"]}"
          return ui.send_response(request, success: false, message: why)
        end

        all = frames_of(client)
        first, levels = arguments["startFrame"] || 0, arguments["levels"] || 0
        shown = all[first, levels.zero? ? all.size : levels] || []
        @frames ||= [nil]
        bodies = shown.map do |frame|
          @frames << [client, frame]
          frame_body(frame, @frames.size - 1)
        end
        ui.send_response(request, stackFrames: bodies, totalFrames: all.size)
      end

      def frames_of(client)
        if client.stopped? && (frames = client.instance_variable_get(:@target_frames))
          frames = frames.reject { |frame| frame.path.to_s.start_with?("<internal:") }
          # An exception that a method in C raised is shown where that was called.
          return frames.drop_while { |frame| native?(frame) }
        end
        # The thread waits in a call: its location is known, its variables are not.
        all = locations(client.thread)
        all.each_with_index.map do |at, index|
          FrameInfo.new(at, nil, nil, nil, in_c?(at, all[index + 1]) ? Object : nil, 0)
        end
      end

      def frame_body(frame, id)
        path = frame.location.absolute_path || frame.path
        source = { name: File.basename(path.to_s), path: path }
        source = { name: path.to_s } unless path && File.exist?(path)
        { id: id, name: name_of(frame), line: frame.location.lineno, column: 1, source: source }
          .merge(native?(frame) ? { presentationHint: "subtle" } : {})
      end

      # A method in C, which has the line of its caller.
      def native?(frame)
        frame.iseq.nil? && !frame.class.nil?
      end

      def name_of(frame)
        label = frame.location.label
        return label unless frame.class && frame.binding

        base = frame.location.base_label
        return label if base.start_with?("<") || label.match?(/[#.]/)

        owner = frame.class.singleton_class? ? "#{Values.show(frame.self, 60)}." : "#{frame.class}#"
        owner == "Object#" ? label : label.sub(base) { "#{owner}#{base}" }
      rescue StandardError
        frame.location.label
      end

      def on_disconnect(ui, request, arguments)
        detach
        ui.send_response(request)
        exit!(137) if arguments["terminateDebuggee"]
        resume(ui)
      end

      # Undo the changes to the program.
      def detach
        disarm
        return unless @launched && RUBY_PLATFORM.include?("linux")

        # PR_SET_PDEATHSIG made it die with the debugger; undo that.
        require "fiddle"
        types = [Fiddle::TYPE_INT, Fiddle::TYPE_LONG]
        Fiddle::Function.new(Fiddle.dlopen(nil)["prctl"], types, Fiddle::TYPE_INT).call(1, 0)
      rescue LoadError, StandardError
        nil
      end

      # Do not stop anywhere any more.
      def disarm
        @detached = true
        @requested.each_key { |path| (@lines.delete(path) || {}).each_value(&:disarm) }
        @calls.each_value { |locations| locations.each(&:disarm) }
        @functions.each { |_, location, _| location.disarm }
        @requested, @lines, @calls, @functions = {}, {}, {}, []
        @walks.each_value { |each| each.trace&.disable }
        unwatch_runners
        @raises.disable
      end

      # The socket's device and inode; nil if it was closed.
      def identity
        stat = @socket.stat
        [stat.dev, stat.ino]
      rescue SystemCallError, IOError, NoMethodError
        nil
      end

      public

      # Return whether the connection is open: a program may close every descriptor, and open its
      # own files with their numbers.
      def connected?
        @identity.nil? || identity == @identity
      end

      # A stop that cannot be reported: the program continues alone, and the daemon reports it at
      # its end.
      def cut_off
        disarm
        File.write(@cut, "") if @cut
      rescue SystemCallError
        nil
      end

      # Do not close descriptors that belong to the program by now.
      def release_descriptors
        return if connected?

        @internal_ios.each { |each| each.autoclose = false unless each.closed? }
      end

      def interrupting?
        was, @interrupting = @interrupting, false
        was
      end

      def capture_output(text)
        @captured&.concat(Array(text).map { |each| each.to_s.chomp })
      end

      def client_of(id)
        SESSION.managed_thread_clients.find { |client| client.id == id }
      end

      def suspended(ui, kind, id)
        client = SESSION.instance_variable_get(:@th_clients).values.find { |each| each.id == id }
        return unless client

        body = stop_body(client, kind)
        ui.send_event("stopped", **body, threadId: id, allThreadsStopped: true)
      end
    end
  end
end
