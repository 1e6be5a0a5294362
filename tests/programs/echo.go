// Echoes its standard input line by line, and counts the lines.

package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	count := 0
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		count++
		fmt.Println("heard", lines.Text()) // @line
	}
	fmt.Println("lines", count) // @eof
}
