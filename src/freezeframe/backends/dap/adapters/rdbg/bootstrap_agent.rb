# frozen_string_literal: true

# Loaded by Ruby before the program (`ruby -r`): opens the debugger's socket and waits there until
# everything is installed. Removes its variables from the environment, which children inherit.

if (socket = ENV.delete("FREEZEFRAME_RUBY_SOCKET"))
  # Warnings of `ruby -w` about the debugger's files do not concern the program.
  verbose, $VERBOSE = $VERBOSE, nil
  begin
    begin
      require "debug/session"
    rescue LoadError
      # Bundler hides gems that the Gemfile does not name.
      raise unless defined?(Gem)

      bases = [Gem.default_dir, *Gem.default_path, ENV["GEM_HOME"]].compact.uniq
      lib = bases.flat_map { |base| Dir["#{base}/gems/debug-*/lib"] }.max
      raise unless lib

      gem = File.basename(File.dirname(lib))
      base = File.expand_path("../../..", lib)
      $LOAD_PATH.unshift(lib, *Dir["#{base}/extensions/*/*/#{gem}"])
      require "debug/session"
    end
    require "debug/server"
    require "debug/server_dap"
  rescue LoadError => error
    warn "freezeframe-no-debug-gem: #{error.message}"
    exit!(97)
  end
  # Under the gem's directory: frames of files there count as the debugger's, and are left out.
  library = $LOADED_FEATURES.grep(%r{/debug/session\.rb\z}).last
  %w[values breakpoints stepping failures threads evaluation dap_server].each do |part|
    file = File.join(__dir__, "#{part}_agent.rb")
    name = File.join(File.dirname(library), "freezeframe_#{part}.rb")
    eval(File.read(file, encoding: "UTF-8"), TOPLEVEL_BINDING.dup, name)
  end
  $VERBOSE = verbose
  DEBUGGER__::Freezeframe.open(socket)
end
