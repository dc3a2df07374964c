package lazyxla

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// memoryOf returns the resident bytes of the process, and the bytes of its address space.
func memoryOf(t *testing.T) (resident, space uint64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages := strings.Fields(string(text))
	page := uint64(os.Getpagesize())
	s, _ := strconv.ParseUint(pages[0], 10, 64)
	r, _ := strconv.ParseUint(pages[1], 10, 64)
	return r * page, s * page
}

func counterOf(name string) uint64 { return Must((*Env)(nil).Counter(name)) }

func live() uint64 { return counterOf("CreateTensor") - counterOf("DestroyTensor") }

// steady runs a loop that releases nothing, and checks that it compiles at most some programs after its start, and that
// neither memory nor the number of live tensors grows in its second half.
func steady(t *testing.T, steps, compiles int, step func()) {
	t.Helper()
	check(t, func() {
		run := func(n int) (most, resident uint64) {
			for i := 0; i < n; i++ {
				step()
				if i%100 == 99 {
					if now := live(); now > most {
						most = now
					}
					if now, _ := memoryOf(t); now > resident {
						resident = now
					}
				}
			}
			return most, resident
		}
		before := counterOf("UncachedCompile")
		first, resident := run(steps / 2)
		middle := counterOf("UncachedCompile")
		second, then := run(steps / 2)
		t.Logf("live tensors %d, then %d; resident %d MB, then %d MB; compiled %d programs, then %d", first, second,
			resident>>20, then>>20, middle-before, counterOf("UncachedCompile")-middle)
		if middle-before > uint64(compiles) || counterOf("UncachedCompile") != middle {
			t.Fatalf("compiled %d programs, then %d", middle-before, counterOf("UncachedCompile")-middle)
		}
		if second > first+first/2+1000 || then > resident+128<<20 {
			t.Fatal("the loop grows")
		}
	})
}

// The values of a step have 1 MB, so that 2,000 steps without releases would take gigabytes.
const size = 1 << 18

func TestALoopOfStepsIsSteady(t *testing.T) {
	check(t, func() {
		w := Must(TensorFull(nil, XLA, DtypeF32, []int{size}, 1))
		steady(t, 3000, 3, func() { // the first step, the others, the reads
			y := Must(BinaryScalar(BinaryMultiply, w, 0.5))
			w = Must(BinaryScalar(BinaryAdd, y, 1)) // a further tensor: the old one is garbage
			Check(MarkStep(nil, XLA, false))
			Must(Item[float32](Must(Reduce(ReduceMax, w, nil, false))))
		})
	})
}

func TestALoopOfReadsIsSteady(t *testing.T) {
	check(t, func() {
		w := Must(TensorFull(nil, XLA, DtypeF32, []int{size}, 1))
		steady(t, 2000, 2, func() {
			w = Must(BinaryScalar(BinaryAdd, Must(BinaryScalar(BinaryMultiply, w, 0.5)), 1))
			Must(Item[float32](Must(Reduce(ReduceMax, w, nil, false))))
		})
	})
}

func TestALoopOfCallsIsSteady(t *testing.T) {
	check(t, func() {
		w := Must(FromSlice(XLA, []float32{0, 0}))
		step := Must(ValueAndGradFunc(func(in []*Tensor) []*Tensor {
			d := Must(BinaryScalar(BinarySubtract, in[0], 3))
			return []*Tensor{Must(Mean(Must(Binary(BinaryMultiply, d, d)), nil, false))}
		}, nil, w))
		steady(t, 6000, 2, func() {
			out := Must(step.Call([]*Tensor{w}, 2))
			Check(BinaryInplace(BinarySubtract, w, Must(BinaryScalar(BinaryMultiply, out[1], 0.1))))
			Check(MarkStep(nil, XLA, false))
			Must(Item[float32](out[0]))
		})
	})
}

func TestAnEagerLoopIsSteady(t *testing.T) {
	check(t, func() {
		x := Must(TensorFull(nil, CPU, DtypeF32, []int{size / 4}, 1))
		steady(t, 2000, 0, func() { x = Must(BinaryScalar(BinaryAdd, Must(BinaryScalar(BinaryMultiply, x, 0.5)), 1)) })
	})
}

func TestWhatIsCompiledDoesNotDependOnTheCollector(t *testing.T) {
	check(t, func() {
		var weights [3]*Tensor
		for i := range weights {
			weights[i] = Must(TensorFull(nil, XLA, DtypeF32, []int{100 + i}, 1))
		}
		update := func(i int) { weights[i] = Must(AddScalar(weights[i], 1)) }
		n := 0
		steady(t, 400, 3, func() { // the first step, the others, and the tensor that is read
			n++
			for i := range weights {
				update(i)
				if n*7%5 == i { // finds the weights before this one, whose buffers a step could then write over
					finalize()
				}
			}
			Must(Item[float32](Must(FromValue(XLA, float32(n))))) // a read before the step
			Check(MarkStep(nil, XLA, false))
		})
	})
}

func TestTidyReleasesWhatItDoesNotReturn(t *testing.T) {
	check(t, func() {
		Collect()
		x := Must(FromSlice(XLA, []float32{1, 2}))
		before := live()
		y := Tidy(func() *Tensor {
			a := Must(BinaryScalar(BinaryAdd, x, 1))
			kept := Tidy(func() []*Tensor {
				Must(BinaryScalar(BinaryAdd, a, 2))
				return []*Tensor{Must(BinaryScalar(BinaryAdd, a, 3)), nil}
			})
			equal(t, live(), before+2) // a, and what the inner Tidy returned
			return Must(Binary(BinaryAdd, a, kept[0]))
		})
		equal(t, live(), before+1)
		equal(t, Must(ToSlice[float32](y)), []float32{7, 9})
		func() {
			defer func() { recover() }()
			Tidy(func() *Tensor {
				Must(BinaryScalar(BinaryAdd, x, 1))
				panic("")
			})
		}()
		equal(t, live(), before+1)
		y.Release()
		equal(t, live(), before)
	})
}

// startThreads makes Go's runtime start threads, which stay: it ends the process if it cannot start one later.
func startThreads() {
	var group sync.WaitGroup
	for i := 0; i < 32; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			syscall.Nanosleep(&syscall.Timespec{Nsec: 50e6}, nil)
		}()
	}
	group.Wait()
}

// Nothing but the memory callback collects here.
func TestAFailedAllocationCollects(t *testing.T) {
	check(t, func() {
		const elements, most = 2 << 20, 16
		startThreads()
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		x := Must(TensorFull(nil, CPU, DtypeF32, []int{elements}, 0))
		limit := heap.limit.Swap(1 << 60)
		defer heap.limit.Store(limit)
		var before syscall.Rlimit
		Check(syscall.Getrlimit(syscall.RLIMIT_AS, &before))
		_, space := memoryOf(t)
		Check(syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: space + 4*elements*most, Max: before.Max}))
		defer syscall.Setrlimit(syscall.RLIMIT_AS, &before)
		for i := 0; i < 60; i++ {
			x = Must(BinaryScalar(BinaryAdd, x, 1))
		}
		// Without the callback, an allocation fails.
		Check((*Env)(nil).SetMemoryCallback(nil))
		var err error
		for i := 0; i < 60 && err == nil; i++ {
			_, err = BinaryScalar(BinaryAdd, x, 1)
		}
		refusedWith(t, err, StatusResourceExhausted, "")
		Check(syscall.Setrlimit(syscall.RLIMIT_AS, &before))
		setMemoryCallback(Must(EnvDefault()).c())
		equal(t, Must(ToSlice[float32](x))[elements-1], float32(60))
	})
}

func TestGoroutinesRecordWhileTheCollectorRuns(t *testing.T) {
	stop, group := make(chan bool), sync.WaitGroup{}
	done := make(chan bool)
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				Collect()
			}
		}
	}()
	failures := make([]error, 6)
	for n := range failures {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			failures[n] = work(n)
		}(n)
	}
	group.Wait()
	close(stop)
	<-done
	for n, err := range failures {
		if err != nil {
			t.Fatalf("goroutine %d: %v", n, err)
		}
	}
}

// work computes 100 + n, on cpu or on the plugin, by functions, Tidy and operations in place, and fails once each round.
func work(n int) (err error) {
	defer Catch(&err)
	on := []Device{CPU, XLA}[n%2]
	x := Must(FromSlice(on, []float32{float32(n)}))
	for i := 0; i < 50; i++ {
		y := Tidy(func() *Tensor {
			f := Must(Trace(func(in []*Tensor) []*Tensor {
				return []*Tensor{Must(BinaryScalar(BinaryAdd, in[0], 1))}
			}, x))
			return Must(f.Call([]*Tensor{x}, 1))[0]
		})
		x = Must(BinaryScalar(BinaryAdd, y, 1))
		name := "goroutine" + strconv.Itoa(n)
		if _, err := (*Env)(nil).Counter(name); err == nil || !strings.Contains(err.Error(), name) {
			return fmt.Errorf("the message of another call: %v", err)
		}
	}
	if value := Must(Item[float32](x)); value != float32(100+n) {
		return fmt.Errorf("%g", value)
	}
	return nil
}
