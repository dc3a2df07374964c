// Threads runs goroutines that share an environment and its programs, and waits for values without blocking.
package main

import (
	"fmt"
	"log"
	"strings"
	"sync"

	lx "lazyxla"
)

const workers, steps = 8, 50

// work adds 1 to a tensor of its own, step by step. A step of one worker computes its tensor only; [lx.MarkStep] would
// run what all workers have recorded.
func work(env *lx.Env, start float32) (last float32, err error) {
	defer lx.Catch(&err)
	lx.Check(env.Enter()) // keeps the goroutine on its thread, to which the current environment belongs
	defer env.Exit()
	x := lx.Must(lx.FromSlice(lx.XLA, []float32{start}))
	for i := 0; i < steps; i++ {
		lx.Check(lx.AddScalarInplace(x, 1))
		lx.Check(lx.StepTensors([]*lx.Tensor{x}, false))
	}
	_, err = lx.Reshape(x, []int{2}) // fails here, while other goroutines record on other threads
	if err == nil {
		return 0, fmt.Errorf("a reshape of 1 element to 2 did not fail")
	}
	if want := "lxla_reshape"; !strings.Contains(err.Error(), want) {
		return 0, fmt.Errorf("the message of another goroutine: %w", err)
	}
	return lx.Item[float32](x)
}

func run() (err error) {
	defer lx.Catch(&err)
	env := lx.Must(lx.EnvCreate(nil))
	defer env.Release()
	var group sync.WaitGroup
	results, failures := make([]float32, workers), make([]error, workers)
	for i := 0; i < workers; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			results[i], failures[i] = work(env, float32(100*i))
		}(i)
	}
	group.Wait()
	for i, value := range results {
		if failures[i] != nil {
			return failures[i]
		}
		if value != float32(100*i+steps) {
			return fmt.Errorf("worker %d: %g", i, value)
		}
	}
	fmt.Println("workers:", results)
	if compiled := lx.Must(env.Counter("UncachedCompile")); compiled > 2 {
		return fmt.Errorf("%d programs were compiled; the workers share two", compiled)
	}

	// A channel receives when a value is there, so that a select can wait for it too.
	x := lx.Must(lx.FromSlice(lx.XLA, []float32{1, 2, 3}))
	y := lx.Must(lx.MultiplyScalar(x, 2))
	ready := make(chan error, 1)
	lx.Check(y.OnReady(func(err error) { ready <- err }))
	lx.Check(<-ready)
	fmt.Println("ready:", lx.Must(lx.ToSlice[float32](y)))
	return nil
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
