// First records a loop that updates a tensor in place, and reads what it computed: examples/first.c in Go.
package main

import (
	"fmt"
	"log"

	lx "lazyxla"
)

func run() (err error) {
	defer lx.Catch(&err) // the panic of a Must or Check becomes err
	x := lx.Must(lx.FromSlice(lx.XLA, []float32{1, 2, 3}))
	for step := 0; step < 100; step++ {
		lx.Check(lx.MultiplyScalarInplace(x, 0.5)) // recorded, not run
		lx.Check(lx.AddScalarInplace(x, 1))
		lx.Check(lx.MarkStep(nil, lx.XLA, false)) // compiled once, run 100 times, in place
	}
	old := lx.Must(x.Snapshot()) // keeps the present value; no copy
	lx.Check(lx.MultiplyScalarInplace(x, 100))
	y := lx.Must(lx.Subtract(x, old))
	fmt.Println(lx.Must(lx.ToSlice[float32](y))) // computes y, and waits for it
	return nil
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
