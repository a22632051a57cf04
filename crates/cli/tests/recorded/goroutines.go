// What the test of recording a program in Go runs: files written and read by many goroutines.
package main

import (
	"fmt"
	"io"
	"os"
	"sync"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	var all sync.WaitGroup
	for number := range 20 {
		all.Add(1)
		go func() {
			defer all.Done()
			name := fmt.Sprintf("%s/go%d", os.Args[2], number)
			file, err := os.Create(name)
			must(err)
			bytes := make([]byte, 64)
			for range 100 {
				_, err := file.Write(bytes)
				must(err)
			}
			must(file.Close())
			file, err = os.Open(name)
			must(err)
			for {
				_, err := file.Read(bytes)
				if err == io.EOF {
					break
				}
				must(err)
			}
			must(file.Close())
		}()
	}
	all.Wait()
}
