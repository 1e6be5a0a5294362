// A recursion with a known depth: 10 frames of `down` at the bottom.

package main

import "fmt"

func down(depth int) int {
	if depth == 0 {
		return 1 // @bottom
	}
	below := down(depth - 1)
	return below + 1 // @up
}

func main() {
	fmt.Println(down(9)) // @start
}
