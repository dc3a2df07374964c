// Regression fits a line: the first program of README.md.
package main

import (
	"fmt"
	"log"

	lx "lazyxla"
)

func fit() (err error) {
	defer lx.Catch(&err) // the panic of a Must or Check becomes err
	x := lx.Must(lx.Linspace(nil, lx.XLA, lx.DtypeF32, 0, 1, 100, true))
	y := lx.Must(lx.AddScalar(lx.Must(lx.MultiplyScalar(x, 3)), 1)) // 3 x + 1
	// The loss of slope, offset, x and y.
	loss := func(in []*lx.Tensor) []*lx.Tensor {
		guess := lx.Must(lx.Add(lx.Must(lx.Multiply(in[0], in[2])), in[1]))
		d := lx.Must(lx.Subtract(guess, in[3]))
		return []*lx.Tensor{lx.Must(lx.Mean(lx.Must(lx.Multiply(d, d)), nil, false))}
	}
	slope, offset := lx.Must(lx.FromValue(lx.XLA, float32(0))), lx.Must(lx.FromValue(lx.XLA, float32(0)))
	step := lx.Must(lx.ValueAndGradFunc(loss, []int{0, 1}, slope, offset, x, y)) // traced once
	for i := 0; i < 400; i++ {
		value := lx.Tidy(func() *lx.Tensor { // releases what it does not return
			out := lx.Must(step.Call([]*lx.Tensor{slope, offset, x, y}, 3)) // loss and two gradients
			lx.Check(lx.SubtractInplace(slope, lx.Must(lx.MultiplyScalar(out[1], 0.5))))
			lx.Check(lx.SubtractInplace(offset, lx.Must(lx.MultiplyScalar(out[2], 0.5))))
			return out[0]
		})
		lx.Check(lx.MarkStep(nil, lx.XLA, false)) // compiled once; writes over the old slope and offset
		if i%100 == 0 {
			fmt.Printf("loss %.4f\n", lx.Must(lx.Item[float32](value)))
		}
	}
	fmt.Printf("%.3f x + %.3f\n", lx.Must(lx.Item[float32](slope)), lx.Must(lx.Item[float32](offset)))
	return nil
}

func main() {
	if err := fit(); err != nil {
		log.Fatal(err)
	}
}
