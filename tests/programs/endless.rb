# Never ends by itself, and writes a file when it has begun.

def spin(path)
  turns = 0
  File.write(path, "spinning")
  loop do
    turns += 1 # @turn
    sleep 0.001
  end
end

spin(ARGV.fetch(0, "spinning.txt"))
