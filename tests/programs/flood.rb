# Prints much: as many megabytes as the first argument says, in lines of 100 bytes.

megabytes = ARGV.fetch(0, "1").to_f
line = "#{"x" * 99}\n"
lines = (megabytes * 10_000).to_i
block = line * 1000
(lines / 1000).times { print block }
puts "last line #{lines}" # @end
