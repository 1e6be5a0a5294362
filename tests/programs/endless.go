// Never ends by itself, and writes a file when it has begun.

package main

import (
	"os"
	"time"
)

func spin(path string) {
	turns := 0
	os.WriteFile(path, []byte("spinning"), 0o644)
	for {
		turns++ // @turn
		time.Sleep(time.Millisecond)
	}
}

func main() {
	path := "spinning.txt"
	if len(os.Args) > 1 {
		path = os.Args[1]
	}
	spin(path)
}
