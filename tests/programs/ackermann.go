// A recursion that is called 44 times, and a loop of ten rounds with known values.

package main

import "fmt"

func ackermann(m int, n int) int {
	if m == 0 { // @entry
		return n + 1
	}
	if n == 0 {
		return ackermann(m-1, 1)
	}
	return ackermann(m-1, ackermann(m, n-1))
}

func squares() int {
	total := 0
	for i := 0; i < 10; i++ {
		square := i * i
		total += square // @square
	}
	return total
}

func main() {
	fmt.Println(squares())
	fmt.Println(ackermann(2, 3))
}
