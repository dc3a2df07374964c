// Digits trains a small network on handwritten digits: examples/train_digits.c in Go, with the same numbers.
//
//	go run ./examples/digits ../../examples/data/digits.csv [epochs [curve.txt]]
//
// With a third argument, it writes a line "loss" for each step and "accuracy" for each epoch to that file.
package main

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"strconv"

	lx "lazyxla"
)

const (
	pixels, hidden, classes = 64, 256, 10
	batch, heldOut          = 128, 360
	momentum, firstRate     = 0.9, 0.05
)

var sizes = []int{pixels, hidden, hidden, classes}

// --- Data ---

type image struct {
	pixels [pixels]float32
	label  int
}

func load(path string) ([]image, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := csv.NewReader(bufio.NewReader(file)).ReadAll()
	if err != nil {
		return nil, err
	}
	images := make([]image, len(rows))
	for i, row := range rows {
		if len(row) != pixels+1 {
			return nil, fmt.Errorf("%s: line %d has %d numbers; want %d", path, i+1, len(row), pixels+1)
		}
		for k, text := range row {
			value, err := strconv.Atoi(text)
			if err != nil || value < 0 || k == pixels && value >= classes {
				return nil, fmt.Errorf("%s: line %d: %q", path, i+1, text)
			}
			if k < pixels {
				images[i].pixels[k] = float32(value) / 16
			} else {
				images[i].label = value
			}
		}
	}
	if len(images) <= heldOut+batch {
		return nil, fmt.Errorf("%s: only %d images", path, len(images))
	}
	return images, nil
}

// arrays returns pixels and one-hot labels of images, row-major.
func arrays(images []image) (x, labels []float32) {
	labels = make([]float32, classes*len(images))
	for i := range images {
		x = append(x, images[i].pixels[:]...)
		labels[classes*i+images[i].label] = 1
	}
	return x, labels
}

// random makes the numbers of the C program, by xorshift64.
type random uint64

func (r *random) uniform() float64 {
	*r ^= *r << 13
	*r ^= *r >> 7
	*r ^= *r << 17
	return float64(*r>>11) / 9007199254740992
}

func (r *random) normal() float64 {
	radius := math.Sqrt(-2 * math.Log(1-r.uniform()))
	return radius * math.Cos(2*3.14159265358979*r.uniform())
}

func shuffle[T any](r *random, all []T) {
	for i := len(all) - 1; i > 0; i-- {
		k := int(r.uniform() * float64(i+1))
		all[i], all[k] = all[k], all[i]
	}
}

// --- The network ---

type parameter struct{ value, momentum *lx.Tensor }

func tensor(values []float32, columns int) *lx.Tensor {
	return lx.Must(lx.FromSlice(lx.XLA, values, len(values)/columns, columns))
}

func zeros(rows, columns int) *lx.Tensor {
	return lx.Must(lx.TensorFull(nil, lx.XLA, lx.DtypeF32, []int{rows, columns}, 0))
}

// initialise returns weight and bias of each layer in turn.
func initialise(r *random) []parameter {
	var made []parameter
	for i, in := range sizes[:len(sizes)-1] {
		out := sizes[i+1]
		weight := make([]float32, in*out)
		for k := range weight {
			weight[k] = float32(r.normal() * math.Sqrt(2/float64(in)))
		}
		made = append(made, parameter{tensor(weight, out), zeros(in, out)}, parameter{zeros(1, out), zeros(1, out)})
	}
	return made
}

// forward records the scores of images.
func forward(network []parameter, x *lx.Tensor) *lx.Tensor {
	for i := 0; i < len(network); i += 2 {
		x = lx.Must(lx.Add(lx.Must(lx.Matmul(x, network[i].value)), network[i+1].value))
		if i+2 < len(network) {
			x = lx.Must(lx.Relu(x))
		}
	}
	return x
}

// crossEntropy records the mean cross-entropy of softmax(scores).
func crossEntropy(scores, labels *lx.Tensor) *lx.Tensor {
	highest := lx.Must(lx.StopGradient(lx.Must(lx.Max(scores, []int{1}, true))))
	shifted := lx.Must(lx.Subtract(scores, highest))
	powers := lx.Must(lx.Exponential(shifted))
	total := lx.Must(lx.Sum(powers, []int{1}, true))
	logP := lx.Must(lx.Subtract(shifted, lx.Must(lx.Log(total))))
	sum := lx.Must(lx.Sum(lx.Must(lx.Multiply(labels, logP)), []int{0, 1}, false))
	return lx.Must(lx.MultiplyScalar(sum, -1.0/batch))
}

// train records one step, forward, backward, update in place, and returns the loss. What it makes besides is released.
func train(network []parameter, images []image, rate float64) *lx.Tensor {
	return lx.Tidy(func() *lx.Tensor {
		x, labels := arrays(images)
		loss := crossEntropy(forward(network, tensor(x, pixels)), tensor(labels, classes))
		var values []*lx.Tensor
		for _, each := range network {
			values = append(values, each.value)
		}
		gradients := lx.Must(lx.Gradients([]*lx.Tensor{loss}, nil, values)) // of what is pending: before the update
		for i, each := range network {
			lx.Check(lx.MultiplyScalarInplace(each.momentum, momentum))
			lx.Check(lx.AddInplace(each.momentum, gradients[i]))
			change := lx.Must(lx.MultiplyScalar(each.momentum, rate))
			lx.Check(lx.SubtractInplace(each.value, change))
		}
		return loss
	})
}

// accuracy returns the share of images whose label has the highest score.
func accuracy(network []parameter, images []image) float64 {
	x, _ := arrays(images)
	scores := lx.Tidy(func() *lx.Tensor { return forward(network, tensor(x, pixels)) })
	defer scores.Release()
	all, right := lx.Must(lx.ToSlice[float32](scores)), 0
	for i, each := range images {
		row, best := all[classes*i:classes*(i+1)], 0
		for c, score := range row {
			if score > row[best] {
				best = c
			}
		}
		if best == each.label {
			right++
		}
	}
	return float64(right) / float64(len(images))
}

// --- Training and telling ---

func counter(name string) uint64 {
	var env *lx.Env // the current environment
	return lx.Must(env.Counter(name))
}

func run(path string, epochs int, curve io.Writer) (err error) {
	defer lx.Catch(&err)
	images, err := load(path)
	if err != nil {
		return err
	}
	r := random(0x9E3779B97F4A7C15)
	shuffle(&r, images)
	training, tested := images[:len(images)-heldOut], images[len(images)-heldOut:]
	order := make([]int, len(training))
	for i := range order {
		order[i] = i
	}
	network := initialise(&r)
	lx.Check(lx.MarkStep(nil, lx.XLA, true))
	var env *lx.Env
	lx.Check(env.MetricsReset())

	batches := len(training) / batch
	steps, step, least, share := epochs*batches, 0, uint64(math.MaxUint64), 0.0
	for epoch := 1; epoch <= epochs; epoch++ {
		shuffle(&r, order)
		var value float32
		for b := 0; b < batches; b, step = b+1, step+1 {
			chosen := make([]image, batch)
			for i := range chosen {
				chosen[i] = training[order[b*batch+i]]
			}
			donated := counter("DonatedBuffers")
			loss := train(network, chosen, firstRate*(1-0.9*float64(step)/float64(steps)))
			lx.Check(lx.MarkStep(nil, lx.XLA, false))
			if n := counter("DonatedBuffers") - donated; n < least {
				least = n
			}
			value = lx.Must(lx.Item[float32](loss)) // waits for the step, which has computed it
			loss.Release()
			fmt.Fprintf(curve, "loss %.9g\n", value)
		}
		share = accuracy(network, tested)
		fmt.Fprintf(curve, "accuracy %.9g\n", share)
		if epoch == 1 || epoch%5 == 0 || epoch == epochs {
			fmt.Printf("epoch %3d/%d  loss %.4f  held-out accuracy %.4f\n", epoch, epochs, value, share)
		}
	}
	fmt.Printf("programs compiled %d, for %d steps and %d evaluations; buffers donated %d each step\n",
		counter("UncachedCompile"), steps, epochs, least)
	if share < 0.96 || least != uint64(2*len(network)) {
		return fmt.Errorf("accuracy %.4f, %d buffers donated; want 0.96 and %d", share, least, 2*len(network))
	}
	return nil
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: digits examples/data/digits.csv [epochs [curve.txt]]")
	}
	epochs, curve := 40, io.Writer(io.Discard)
	if len(os.Args) > 2 {
		n, err := strconv.Atoi(os.Args[2])
		if err != nil || n < 1 {
			log.Fatalf("epochs: %q given; want a number, at least 1", os.Args[2])
		}
		epochs = n
	}
	if len(os.Args) > 3 {
		file, err := os.Create(os.Args[3])
		if err != nil {
			log.Fatal(err)
		}
		defer file.Close()
		curve = file
	}
	if err := run(os.Args[1], epochs, curve); err != nil {
		log.Fatal(err)
	}
}
