// Three workers; all of them live while the second one stands at its marker.

package main

import (
	"context"
	"fmt"
	"runtime/pprof"
	"sync"
)

var (
	together, finish sync.WaitGroup
	lock             sync.Mutex
	results          = map[int]int{}
)

func work(number int) {
	square := number * number
	together.Done()
	together.Wait()
	if number == 2 {
		lock.Lock() // @worker
		results[number] = square
		lock.Unlock()
	}
	finish.Done()
	finish.Wait()
	lock.Lock()
	results[number] = square
	lock.Unlock()
}

func main() {
	var workers sync.WaitGroup
	together.Add(4)
	finish.Add(4)
	workers.Add(3)
	for number := 1; number <= 3; number++ {
		number := number
		labels := pprof.Labels("name", fmt.Sprintf("worker-%d", number))
		go pprof.Do(context.Background(), labels, func(context.Context) {
			defer workers.Done()
			work(number)
		})
	}
	together.Done()
	together.Wait()
	finish.Done()
	finish.Wait() // @main
	workers.Wait()
	fmt.Println(results) // @joined
}
