// Imported takes a network that JAX exported with its weights, and trains its last layer on shifted images, without
// Python: examples/import.c in Go.
//
//	go run ./examples/imported ../../examples/models/digits.jax ../../examples/data/digits.csv [folder]
//
// The folder gets tuned.safetensors, the weights, and tuned.jax, the trained network for JAX.
package main

import (
	"encoding/csv"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"

	lx "lazyxla"
)

const (
	size, pixels, classes = 8, 64, 10
	batch, steps          = 128, 200
	rate, momentum        = 0.05, 0.9
)

// --- Data ---

type images struct {
	pixels []float32 // 64 of each image, 0 to 1
	labels []int32
}

// load returns the images to train on, and every fifth one, which is held out, as when the network was trained.
func load(path string) (training, heldOut images, err error) {
	file, err := os.Open(path)
	if err != nil {
		return
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return
	}
	for n, row := range rows {
		set := &training
		if n%5 == 4 {
			set = &heldOut
		}
		for k, text := range row {
			value, err := strconv.Atoi(text)
			if err != nil || len(row) != pixels+1 {
				return training, heldOut, fmt.Errorf("%s: line %d has to have %d numbers", path, n+1, pixels+1)
			}
			if k < pixels {
				set.pixels = append(set.pixels, float32(value)/16)
			} else {
				set.labels = append(set.labels, int32(value))
			}
		}
	}
	return training, heldOut, nil
}

// shifted moves the images by one pixel to the right and downwards.
func (set images) shifted() images {
	moved := make([]float32, len(set.pixels))
	for i := range moved {
		if k := i % pixels; k >= size && k%size > 0 {
			moved[i] = set.pixels[i-size-1]
		}
	}
	return images{moved, set.labels}
}

// batchAt returns the images of a step, again from the first one after the last one.
func (set images) batchAt(step int) (made images) {
	for i := 0; i < batch; i++ {
		from := (step*batch + i) % len(set.labels)
		made.pixels = append(made.pixels, set.pixels[from*pixels:(from+1)*pixels]...)
		made.labels = append(made.labels, set.labels[from])
	}
	return made
}

// --- The network ---

// imported returns the network for a number of images. Its only free size is the size of the batch.
func imported(path string, count int) *lx.Computation {
	return lx.Must(lx.ComputationImportFile(nil, path, &lx.ImportOptions{Ranks: []int{2}, Dims: []int{count, pixels}}))
}

// weights returns copies on the XLA device of the values that a network captured, and the places of its last layer.
func weights(model *lx.Computation) (all []*lx.Tensor, last []int) {
	_, _, n, err := model.Info()
	lx.Check(err)
	for i := 0; i < n; i++ {
		captured := lx.Must(model.Captured(i))
		dims := lx.Must(captured.Shape())
		if len(dims) > 0 && dims[len(dims)-1] == classes {
			last = append(last, i)
		}
		all = append(all, lx.Must(captured.ToDevice(lx.XLA)))
	}
	return all, last
}

// accuracy returns the share of images for which the highest score is at their label.
func accuracy(scores *lx.Tensor, set images) float64 {
	best := lx.Must(lx.ToSlice[int32](lx.Must(lx.Argmax(scores, -1, false, lx.DtypeS32))))
	right := 0
	for i, label := range set.labels {
		if best[i] == label {
			right++
		}
	}
	return float64(right) / float64(len(set.labels))
}

// meanCrossEntropy records the mean of -log softmax(scores)[label].
func meanCrossEntropy(scores, labels *lx.Tensor) *lx.Tensor {
	logP := lx.Must(lx.LogSoftmax(scores, -1))
	picked := lx.Must(lx.TakeAlongAxis(logP, lx.Must(lx.ExpandDims(labels, []int{-1})), -1))
	return lx.Must(lx.MultiplyScalar(lx.Must(lx.Mean(picked, nil, false)), -1))
}

// tensors returns the images of a set on a device.
func tensors(on lx.Device, set images) (x, labels *lx.Tensor) {
	x = lx.Must(lx.FromSlice(on, set.pixels, len(set.labels), pixels))
	return x, lx.Must(lx.FromSlice(on, set.labels))
}

// train trains the last layer in place, and returns the first and the last loss.
func train(network *lx.Computation, all []*lx.Tensor, last []int, set images) (first, final float32) {
	x, labels := tensors(lx.XLA, set.batchAt(0))
	wrt := make([]int, len(last)) // places of the last layer among the parameters: x, labels, weights
	moments := make([]*lx.Tensor, len(last))
	for i, place := range last {
		wrt[i] = place + 2
		moments[i] = lx.Must(lx.TensorFull(nil, lx.XLA, lx.DtypeF32, lx.Must(all[place].Shape()), 0))
	}
	loss := func(in []*lx.Tensor) []*lx.Tensor {
		scores := lx.Must(network.Call(append([]*lx.Tensor{in[0]}, in[2:]...), 1))
		return []*lx.Tensor{meanCrossEntropy(scores[0], in[1])}
	}
	step := lx.Must(lx.ValueAndGradFunc(loss, wrt, append([]*lx.Tensor{x, labels}, all...)...))
	for i := 0; i < steps; i++ {
		value := lx.Tidy(func() *lx.Tensor {
			x, labels := tensors(lx.XLA, set.batchAt(i))
			out := lx.Must(step.Call(append([]*lx.Tensor{x, labels}, all...), 1+len(last)))
			for k, place := range last {
				lx.Check(lx.MultiplyScalarInplace(moments[k], momentum))
				lx.Check(lx.AddInplace(moments[k], out[1+k]))
				change := lx.Must(lx.MultiplyScalar(moments[k], rate))
				lx.Check(lx.SubtractInplace(all[place], change))
			}
			return out[0]
		})
		lx.Check(lx.MarkStep(nil, lx.XLA, false))
		final = lx.Must(lx.Item[float32](value))
		if i == 0 {
			first = final
		}
	}
	return first, final
}

// export writes the weights, and the network with its weights as they are now for JAX, with its backward pass.
func export(folder string, network *lx.Computation, all []*lx.Tensor, count int) {
	lx.Check(os.MkdirAll(folder, 0o777))
	names := make([]string, len(all))
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	lx.Check(lx.Save(filepath.Join(folder, "tuned.safetensors"), names, all))
	x := lx.Must(lx.TensorPlaceholder(nil, lx.XLA, lx.DtypeF32, []int{count, pixels}))
	scores := lx.Must(network.Call(append([]*lx.Tensor{x}, all...), 1))
	tuned := lx.Must(lx.ComputationTrace([]*lx.Tensor{x}, scores))
	lx.Check(tuned.Export(&lx.ExportOptions{
		Format: lx.ExportJax, VjpOrder: 1, ParameterNames: []string{"pixels"}, ResultNames: []string{"scores"},
	}, filepath.Join(folder, "tuned.jax")))
}

func run(program, digits, folder string) (err error) {
	defer lx.Catch(&err)
	training, heldOut, err := load(digits)
	if err != nil {
		return err
	}
	count := len(heldOut.labels)
	model := imported(program, count)
	x, _ := tensors(lx.CPU, heldOut)
	whole := accuracy(lx.Must(model.Call([]*lx.Tensor{x}, 1))[0], heldOut) // eager, without a plugin
	fmt.Printf("held-out accuracy of the import     %.4f on cpu, %d images\n", whole, count)

	all, last := weights(model)
	lifted, liftedBatch := lx.Must(model.Lift()), lx.Must(imported(program, batch).Lift())
	heldOut, training = heldOut.shifted(), training.shifted()
	x, _ = tensors(lx.XLA, heldOut)
	evaluate := func() float64 {
		return accuracy(lx.Must(lifted.Call(append([]*lx.Tensor{x}, all...), 1))[0], heldOut)
	}
	before := evaluate()
	fmt.Printf("the same of shifted images          %.4f\n", before)
	var env *lx.Env
	lx.Check(env.MetricsReset())
	first, final := train(liftedBatch, all, last, training)
	compiled := lx.Must(env.Counter("UncachedCompile"))
	tuned := evaluate()
	fmt.Printf("after %4d steps of the last layer  %.4f, loss %.4f to %.4f\n", steps, tuned, first, final)
	fmt.Printf("programs compiled by the loop       %d\n", compiled)
	if folder != "" {
		export(folder, lifted, all, count)
		fmt.Printf("saved in %s: tuned.jax, tuned.safetensors\n", folder)
	}
	if whole < 0.97 || before > 0.6 || tuned < 0.85 || final >= first || compiled > 2 {
		return fmt.Errorf("the network is not as good as it has to be")
	}
	return nil
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("usage: imported examples/models/digits.jax examples/data/digits.csv [folder]")
	}
	folder := ""
	if len(os.Args) > 3 {
		folder = os.Args[3]
	}
	if err := run(os.Args[1], os.Args[2], folder); err != nil {
		log.Fatal(err)
	}
}
