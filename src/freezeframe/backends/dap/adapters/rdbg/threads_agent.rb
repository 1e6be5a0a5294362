# frozen_string_literal: true

# Locations of the threads of a running program; runs inside the program. Nothing is stopped and no
# code of the program is called: Ruby keeps the locations of a thread's calls, not its variables.
module DEBUGGER__
  module Freezeframe
    MOST_FRAMES = 100
    MOST_THREADS = 40
    # A text that is sent unchanged.
    PlainText = Class.new(String)

    class << self
      # Return the threads of the program, as base64 of JSON.
      def snapshot
        clients = SESSION.managed_thread_clients.reject { |client| client.thread == Thread.current }
        states = clients.first(MOST_THREADS).map { |client| thread_state(client) }
        PlainText.new([JSON.generate(threads: states, deadlock: deadlock?(clients))].pack("m0"))
      end

      # Return the locations of a running thread, without the debugger's own.
      def locations(thread)
        all = thread.backtrace_locations(0, MOST_FRAMES) || []
        all.reject do |at|
          at.path.start_with?(LIBRARY, "<internal:") || at.path.end_with?("/rdbg/bootstrap_agent.rb")
        end
      end

      # Return whether a location is that of a method in C: it has the line of its caller.
      def in_c?(at, caller)
        return false if caller.nil? || at.label.match?(/\A(?:block|rescue|ensure|<)/)

        at.path == caller.path && at.lineno == caller.lineno && at.label != caller.label
      end

      private

      def thread_state(client)
        all = locations(client.thread)
        frames = all.each_with_index.map do |at, index|
          path = at.absolute_path || at.path
          { path: path, line: at.lineno, function: at.label, c: in_c?(at, all[index + 1]) }
        end
        { id: client.id, name: name_of_thread(client), status: client.thread.status.to_s, frames: frames }
      end

      def name_of_thread(client)
        client.thread.name || (client.thread == Thread.main ? "main" : "thread #{client.id}")
      end

      # Ruby ends a program if every thread waits for another one. With a debugger it does not,
      # because the debugger's threads wait for us.
      def deadlock?(clients)
        inspect = Thread.instance_method(:inspect)
        clients.all? { |client| inspect.bind_call(client.thread).end_with?(" sleep_forever>") }
      end
    end
  end
end
