// Prints much: as many megabytes as the first argument says, in lines of 100 bytes.

package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

func main() {
	megabytes := 1.0
	if len(os.Args) > 1 {
		megabytes, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	lines := int(megabytes * 10_000)
	line := strings.Repeat("x", 99)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for i := 0; i < lines; i++ {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintln(out, "last line", lines) // @end
}
