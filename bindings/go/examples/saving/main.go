// Saving writes tensors to a file in the background, and ends the process meanwhile: the library waits for the file.
//
//	go run ./examples/saving x.safetensors
package main

import (
	"log"
	"os"

	lx "lazyxla"
)

func run(path string) (err error) {
	defer lx.Catch(&err)
	x := lx.Must(lx.TensorFull(nil, lx.CPU, lx.DtypeF32, []int{10 << 20}, 1))
	lx.Must(lx.SaveAsync(path, []string{"x"}, []*lx.Tensor{x}))
	return nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: saving FILE")
	}
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
	lx.Exit(0) // the end of main would not wait
}
