// Dies of an error that nobody catches.

package main

import "fmt"

func divide(left, right int) int {
	return left / right // @uncaught
}

func average(numbers []int) int {
	total := 0
	for _, number := range numbers {
		total += number
	}
	return divide(total, len(numbers)) // @caller
}

func main() {
	fmt.Println("averages")
	fmt.Println(average([]int{1, 2, 3}))
	fmt.Println(average(nil))
}
