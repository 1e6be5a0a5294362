# Echoes its standard input line by line, and counts the lines.

puts "ready"
count = 0
while (line = $stdin.gets)
  count += 1
  puts "heard #{line.strip}" # @line
end
puts "lines #{count}" # @eof
