# Three workers; all of them live while the second one stands at its marker.

ready = Queue.new
begun = Queue.new
finish = Queue.new
results = {}

def work(number, ready, begun, finish, results)
  square = number * number
  ready << number
  begun.pop
  if number == 2
    results[number] = square # @worker
    ready << :passed
  end
  finish.pop
  results[number] = square
end

workers = [1, 2, 3].map do |number|
  Thread.new do
    Thread.current.name = "worker-#{number}"
    work(number, ready, begun, finish, results)
  end
end
3.times { ready.pop }
3.times { begun << true }
ready.pop
3.times { finish << true } # @main
workers.each(&:join)
p results.sort # @joined
