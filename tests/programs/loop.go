// Adds up an order: a loop with locals, nested values and a call. Prints, and ends with code 3.

package main

import (
	"fmt"
	"os"
)

type item struct {
	name  string
	price int
	count int
	done  bool
}

func line_amount(price int, count int) int { // @entered
	amount := price * count // @callee
	return amount           // @return
}

func total_of(items []item) int {
	total := 0 // @first
	for number := range items {
		amount := line_amount(items[number].price, items[number].count) // @call
		total += amount // @loop
		items[number].done = true // @done
	}
	return total // @last
}

func main() {
	var nothing *item
	empty := []int{}
	order := []item{{"pen", 2, 3, false}, {"ink", 5, 1, false}, {"pad", 4, 2, false}}
	fmt.Println("adding")    // @print
	total := total_of(order) // @main
	fmt.Println("total", total)
	fmt.Fprintln(os.Stderr, "done") // @after
	_, _ = nothing, empty
	if total == 19 { // @end
		os.Exit(3)
	}
	os.Exit(4)
}
