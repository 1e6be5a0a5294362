# frozen_string_literal: true

# The debug gem's DAP server as it should be; runs inside the program. Requests are read by the
# gem's own thread and answered here; what may run code of the program's is in `answers_probe.rb`.
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

    # Stands before the gem's own DAP methods.
    module Face
      def recv_request
        loop do
          request = super
          return request if request.nil? || !Freezeframe.serve(self, request)
        end
      end

      def send(**message)
        # It is called with a message only; anything else means Ruby's own `send`.
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
          Freezeframe.meet(self)
          body = CAPABILITIES
        end
        super(request, success: success, message: message, **body)
      end

      # The gem pauses a program when someone connects.
      def pause
        super unless Freezeframe.launched?
      end

      def readline(_prompt)
        @q_msg&.pop || "continue"
      end

      def puts(text = nil)
        Freezeframe.overhear(text)
      end

      def event(type, *words)
        case type
        when :suspend_bp, :suspend_trap, :suspended then Freezeframe.suspended(self, type, words.last)
        end
      end
    end

    module LoadFace
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

    module ThreadFace
      def process_dap(words)
        words[0] == :freezeframe ? words[1].call : super
      end

      # Its 1.4 sends itself two signals when someone joins; the second comes after the program went
      # on.
      def on_trap(signal)
        super if signal != UI_ServerBase::TRAP_SIGNAL || Freezeframe.interrupting?
      end

      # What the user's words compile is told to nobody, who would have to wait for us.
      def on_load(...)
        super unless Freezeframe.walk(self).busy
      end

      # At each stop the gem would write down source and arguments, for nobody.
      def suspend(...)
        @freezeframe_quiet = true
        super
      end

      def wait_next_action
        @freezeframe_quiet = false
        Freezeframe.walk(self).fiber = Fiber.current
        @target_frames = Freezeframe.without_ours(@target_frames) if @target_frames
        @freezeframe_still = true
        super
      ensure
        @freezeframe_still = false
      end

      # It stands still, whatever it does for us meanwhile.
      def still?
        @freezeframe_still || waiting?
      end

      def show_src(...)
        super unless @freezeframe_quiet
      end

      def show_frames(...)
        super unless @freezeframe_quiet
      end
    end

    class << self
      def launched?
        @launched
      end

      # Wait on a socket until a program may begin.
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
        @done, @tell_done = IO.pipe
        [@done, @tell_done].each { |each| each.close_on_exec = true }
        UI_DAP.prepend(Face)
        Session.prepend(LoadFace)
        ThreadClient.prepend(ThreadFace)
      end

      # Take over a server that somebody else opened, from a thread of the program's.
      def join
        install
        watch_runners
        ui = SESSION.instance_variable_get(:@ui)
        meet(ui)
        # This thread stands in a signal handler, where no lock can be taken.
        told = Queue.new
        @jobs << [:introduce, ui, told]
        told.pop
      end

      def meet(ui)
        @ui = ui
        @socket = ui.instance_variable_get(:@sock)
        @identity = identity
        # Before the program begins every socket is the debugger's.
        @ours = [@socket, @done, @tell_done]
        @ours |= ObjectSpace.each_object(BasicSocket).to_a if @launched
        @left = false
        @configured = false
        # The door is opened before the session is there.
        sleep 0.001 until DEBUGGER__.const_defined?(:SESSION)
        # What they die of where the program has closed their descriptors is none of its errors.
        [ui.reader_thread, SESSION.instance_variable_get(:@session_server)].compact.each do |each|
          each.report_on_exception = each.abort_on_exception = false
        end
        @worker ||= own_thread { work(*@jobs.pop) while true }
      end

      # Start a thread that is none of the program's. The gem would have it wait for the session,
      # which may be waiting for us.
      def own_thread
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

      # Answer a request; false where the gem's own answer is right.
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

      # Once the face is on, nothing needs to stop for someone who joins.
      def on_attach(ui, request, arguments)
        @own_code = arguments["justMyCode"]
        ui.send_response(request)
      end

      def on_configurationDone(ui, request, _arguments)
        ui.send_response(request)
        @configured = true
        return @gate << (@stop_on_entry ? :entry : :go) if @launched

        # What joining stopped goes on; what met a breakpoint meanwhile does not.
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
        if client.still? && (frames = client.instance_variable_get(:@target_frames))
          frames = frames.reject { |frame| frame.path.to_s.start_with?("<internal:") }
          # An exception that a method in C raised is shown where that was called.
          return frames.drop_while { |frame| native?(frame) }
        end
        # It waits for something outside: its place can be seen, not its variables.
        all = places(client.thread)
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

      # A method in C, which stands at the line of its caller.
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
        leave
        ui.send_response(request)
        exit!(137) if arguments["terminateDebuggee"]
        resume(ui)
      end

      # Give the program back what was changed about it.
      def leave
        disarm
        return unless @launched && RUBY_PLATFORM.include?("linux")

        # It was to die with us: PR_SET_PDEATHSIG.
        require "fiddle"
        types = [Fiddle::TYPE_INT, Fiddle::TYPE_LONG]
        Fiddle::Function.new(Fiddle.dlopen(nil)["prctl"], types, Fiddle::TYPE_INT).call(1, 0)
      rescue LoadError, StandardError
        nil
      end

      # Stop nowhere any more.
      def disarm
        @left = true
        @wanted.each_key { |path| (@lines.delete(path) || {}).each_value(&:disarm) }
        @calls.each_value { |places| places.each(&:disarm) }
        @functions.each { |_, place, _| place.disarm }
        @wanted, @lines, @calls, @functions = {}, {}, {}, []
        @walks.each_value { |each| each.trace&.disable }
        unwatch_runners
        @raises.disable
      end

      # The socket's own number in the system; nil where it was closed.
      def identity
        stat = @socket.stat
        [stat.dev, stat.ino]
      rescue SystemCallError, IOError, NoMethodError
        nil
      end

      public

      # Whether the connection is there: a program may close every descriptor, and open files of its
      # own with their numbers.
      def connected?
        @identity.nil? || identity == @identity
      end

      # A stop that nobody can be told of: the program goes on alone, and at its end that is told.
      def cut_off
        disarm
        File.write(@cut, "") if @cut
      rescue SystemCallError
        nil
      end

      # Leave the descriptors alone where they are the program's by now.
      def let_go
        return if connected?

        @ours.each { |each| each.autoclose = false unless each.closed? }
      end

      def interrupting?
        was, @interrupting = @interrupting, false
        was
      end

      def overhear(text)
        @overheard&.concat(Array(text).map { |each| each.to_s.chomp })
      end

      def client_of(id)
        SESSION.managed_thread_clients.find { |client| client.id == id }
      end

      def suspended(ui, kind, id)
        client = SESSION.instance_variable_get(:@th_clients).values.find { |each| each.id == id }
        return unless client

        body = told(client, kind)
        ui.send_event("stopped", **body, threadId: id, allThreadsStopped: true)
      end
    end
  end
end
