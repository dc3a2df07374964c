// Errors shows what a failed call returns, and checks it: statuses, messages, wrong arguments, panics in callbacks.
package main

import (
	"errors"
	"fmt"
	"log"
	"strings"

	lx "lazyxla"
)

// meanSquaredError returns the first error of its calls. What it made before is released, sooner or later.
func meanSquaredError(prediction, target *lx.Tensor) (loss *lx.Tensor, err error) {
	defer lx.Catch(&err)
	difference := lx.Must(lx.Subtract(prediction, target))
	return lx.Mean(lx.Must(lx.Multiply(difference, difference)), nil, false)
}

// want panics unless an error has the status, and the words in its message.
func want(err error, status lx.Status, words string) {
	if !errors.Is(err, status) || !strings.Contains(err.Error(), words) {
		panic(fmt.Sprintf("%v; want %v, %q", err, status, words))
	}
	fmt.Println(err)
}

func run() (err error) {
	defer lx.Catch(&err)
	a := lx.Must(lx.FromSlice(lx.XLA, []float32{1, 2, 3}))
	b := lx.Must(lx.FromSlice(lx.XLA, []float32{1, 2}))

	_, err = meanSquaredError(a, b) // shapes and dtypes are checked when an operation is recorded
	want(err, lx.StatusInvalidArgument, "lxla_binary: lhs is f32[3] and rhs is f32[2]")
	var failed *lx.Error
	if !errors.As(err, &failed) || failed.Status != lx.StatusInvalidArgument {
		return fmt.Errorf("not an Error: %w", err)
	}

	p := lx.Must(a.PlaceholderLike()) // a placeholder has no value: the error comes from the call that needs one
	loss := lx.Must(meanSquaredError(p, a))
	_, err = lx.Item[float32](loss)
	want(err, lx.StatusFailedPrecondition, "placeholder")

	loss = lx.Must(meanSquaredError(a, a))
	loss.Release()
	loss.Release() // does nothing
	_, err = lx.Item[float32](loss)
	want(err, lx.StatusInvalidHandle, "tensor")
	_, err = lx.Matmul(nil, a)
	want(err, lx.StatusInvalidHandle, "lhs")

	_, err = lx.ToSlice[float64](a)
	want(err, lx.StatusInvalidArgument, "ToSlice: float64 given; x is f32")
	_, err = lx.FromSlice(lx.XLA, []float32{1, 2, 3}, 2, 2)
	want(err, lx.StatusInvalidArgument, "size_bytes")
	_, err = lx.Roll(a, []int{1, 2}, []int{0})
	want(err, lx.StatusInvalidArgument, "shifts, axes: different lengths")
	_, err = lx.Einsum("i,i\x00", []*lx.Tensor{a, a})
	want(err, lx.StatusInvalidArgument, "equation: it contains NUL")
	_, err = lx.Gather(a, b, nil)
	want(err, lx.StatusNullArgument, "options")
	_, err = lx.RandomSplit(lx.RngThreeFry, a, -1)
	want(err, lx.StatusInvalidArgument, "n: -1 given")
	_, err = lx.MeshCreate(nil, []string{"data"}, []int{2}, []int32{0})
	want(err, lx.StatusInvalidArgument, "ordinals: 1 numbers given; want 2")

	_, err = lx.Trace(func(in []*lx.Tensor) []*lx.Tensor { // an error in a function that is traced is that of Trace
		return []*lx.Tensor{lx.Must(lx.Matmul(in[0], b))}
	}, a)
	want(err, lx.StatusInvalidArgument, "lxla_matmul")

	broken := lx.NewKernel(func(call lx.KernelCall) error { panic("no such thing") })
	results, err := lx.HostCall(nil, broken, nil, []*lx.Tensor{a}, []lx.Dtype{lx.DtypeF32}, []int{1}, []int{3})
	lx.Check(err)
	_, err = lx.ToSlice[float32](results[0])
	want(err, lx.StatusInternal, "panic: no such thing")
	return nil
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
