package main

import "os"

func main() {
	if err := os.WriteFile("out", make([]byte, 100000), 0o644); err != nil {
		os.Exit(1)
	}
	if _, err := os.ReadFile("out"); err != nil {
		os.Exit(1)
	}
	if _, err := os.Stat("nothing"); err == nil || os.Remove("out") != nil {
		os.Exit(1)
	}
}
