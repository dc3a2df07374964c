package lazyxla

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"
)

// check reports an error, or the panic of a Must, as the failure of a test.
func check(t *testing.T, f func()) {
	t.Helper()
	var err error
	func() {
		defer Catch(&err)
		f()
	}()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v; want %v", got, want)
	}
}

func refusedWith(t *testing.T, err error, status Status, words string) {
	t.Helper()
	if !errors.Is(err, status) || !strings.Contains(err.Error(), words) {
		t.Fatalf("got %v; want %v: %s", err, status, words)
	}
}

func comesBack[T Element](t *testing.T, elements ...T) {
	t.Helper()
	for _, on := range []Device{CPU, XLA} {
		check(t, func() {
			x := Must(FromSlice(on, elements))
			equal(t, Must(x.Dtype()), DtypeOf[T]())
			equal(t, Must(ToSlice[T](Must(Reshape(x, []int{len(elements), 1})))), elements)
			equal(t, Must(Item[T](Must(FromValue(on, elements[0])))), elements[0])
		})
	}
}

func TestElementsOfEveryTypeComeBack(t *testing.T) {
	comesBack(t, true, false)
	comesBack(t, int8(-128), 127)
	comesBack(t, int16(-3), 4)
	comesBack(t, int32(-3), 4)
	comesBack(t, int64(math.MinInt64), 4)
	comesBack(t, -3, math.MaxInt)
	comesBack(t, uint8(255), 1)
	comesBack(t, uint16(65535), 1)
	comesBack(t, uint32(1), 4)
	comesBack(t, uint64(math.MaxUint64), 4)
	comesBack(t, float32(0.1), 4)
	comesBack(t, 0.1, math.Inf(1))
	comesBack(t, complex64(1+2i), 4+0i)
	comesBack(t, 1+2i, 4+0i)
	comesBack(t, Float16(0x3C00), 1)
	comesBack(t, BFloat16(0x3F80), 1)
	comesBack(t, F8E5M2(1), 2)
	comesBack(t, F8E4M3FN(1), 2)
	comesBack(t, F8E4M3B11(1), 2)
	comesBack(t, F8E5M2FNUZ(1), 2)
	comesBack(t, F8E4M3FNUZ(1), 2)
	comesBack(t, F8E4M3(1), 2)
	comesBack(t, F8E3M4(1), 2)
	comesBack(t, F8E8M0FNU(1), 2)
	equal(t, len(dtypes), 24) // 23 dtypes; int and int64 are one
	check(t, func() { equal(t, Must(ToSlice[float32](Must(FromSlice(XLA, []float32{}, 0, 3)))), []float32{}) })
}

func scalarOf[T Number](t *testing.T, value T) {
	t.Helper()
	check(t, func() {
		x := Must(TensorFullWithScalar(nil, CPU, DtypeOf[T](), nil, ScalarOf(value)))
		equal(t, Must(Item[T](x)), value)
	})
}

func TestScalarsKeepTheirValues(t *testing.T) {
	scalarOf(t, true)
	scalarOf(t, int8(-128))
	scalarOf(t, int16(-300))
	scalarOf(t, int32(-70000))
	scalarOf(t, int64(math.MinInt64+1))
	scalarOf(t, math.MaxInt-1)
	scalarOf(t, uint8(255))
	scalarOf(t, uint16(65535))
	scalarOf(t, uint32(math.MaxUint32))
	scalarOf(t, uint64(math.MaxUint64-1))
	scalarOf(t, float32(0.1))
	scalarOf(t, 0.1)
	scalarOf(t, complex64(1-2i))
	scalarOf(t, 0.1-2i)
	check(t, func() {
		half := Must(ScalarCast(ScalarOf(7.9), DtypeS8))
		x := Must(TensorFullWithScalar(nil, CPU, DtypeS8, []int{2}, half))
		equal(t, Must(ToSlice[int8](x)), []int8{7, 7})
		low := Must(ClampWithScalars(Must(FromSlice(CPU, []int{1, 5, 9})), nil, ScalarOf(6)))
		equal(t, Must(ToSlice[int](low)), []int{1, 5, 6})
	})
}

func TestAxesThatAreLeftOutDifferFromNone(t *testing.T) {
	check(t, func() {
		x := Must(FromSlice(XLA, []float32{1, 2, 3, 4}, 2, 2))
		equal(t, Must(Must(Reduce(ReduceSum, x, nil, false)).Shape()), []int{})
		equal(t, Must(Must(Reduce(ReduceSum, x, []int{}, false)).Shape()), []int{2, 2})
		equal(t, Must(ToSlice[float32](Must(Split(x, nil, 2, 1))[1])), []float32{2, 4})
		equal(t, Must(ToSlice[float32](Must(Split(x, []int{2, 0}, 2, 1))[0])), []float32{1, 2, 3, 4})
		equal(t, fmt.Sprint(x, Must(Reduce(ReduceSum, x, nil, false))), "f32[2,2] f32[]")
		equal(t, strings.HasPrefix(fmt.Sprint((*Tensor)(nil)), "INVALID_HANDLE"), true)
		equal(t, Must(Must(Fft(FftRfft, x, nil, 1)).Shape()), []int{2, 2})
		_, err := Split(x, []int{1, 1}, 3, 1)
		refusedWith(t, err, StatusInvalidArgument, "sizes, n: different lengths")
	})
}

func TestOptionsWithListsArrive(t *testing.T) {
	check(t, func() {
		x := Must(FromSlice(CPU, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 3))
		rows := Must(Gather(x, Must(FromSlice(CPU, []int32{2, 0}, 2, 1)), &GatherOptions{
			OffsetDims: []int{1}, CollapsedSliceDims: []int{0}, StartIndexMap: []int{0}, IndexVectorDim: 1,
			SliceSizes: []int{1, 3},
		}))
		equal(t, Must(ToSlice[float32](rows)), []float32{7, 8, 9, 1, 2, 3})
		image := Must(Reshape(x, []int{1, 1, 3, 3}))
		kernel := Must(TensorFull(nil, CPU, DtypeF32, []int{1, 1, 2, 2}, 1))
		sums := Must(Convolution(image, kernel, nil))
		equal(t, Must(ToSlice[float32](sums)), []float32{12, 16, 24, 28})
		sums = Must(Convolution(image, kernel, &ConvolutionOptions{WindowStrides: []int{2, 2}, PaddingLow: []int{1, 1}}))
		equal(t, Must(ToSlice[float32](sums)), []float32{1, 5, 11, 28})
		_, err := Convolution(image, kernel, &ConvolutionOptions{PaddingLow: []int{1, 1}, LhsDimensions: []int{0, 1, 2}})
		refusedWith(t, err, StatusInvalidArgument, "different lengths")
		folder := t.TempDir()
		file := filepath.Join(folder, "x.safetensors")
		Check(SaveWithOptions(file, []string{"x"}, []*Tensor{x}, &SaveOptions{
			MetadataKeys: []string{"a", "b"}, MetadataValues: []string{"1", "2"},
		}))
		equal(t, strings.HasPrefix(Must(FileMetadata(file)), `{"a":"1","b":"2"`), true)
		equal(t, Must(ToSlice[float32](Must(Load(nil, CPU, file, "x"))))[8], float32(9))
		equal(t, Must(DtypeInfo(DtypeF32)).MantissaBits, int32(23))
	})
}

func TestFunctionsOfGoAreTraced(t *testing.T) {
	for _, on := range []Device{CPU, XLA} {
		check(t, func() {
			one, n := Must(FromValue(on, float32(1))), Must(FromValue(on, int32(0)))
			less := func(in []*Tensor) []*Tensor { return []*Tensor{Must(CompareScalar(CompareLt, in[0], 5))} }
			next := func(in []*Tensor) []*Tensor {
				return []*Tensor{Must(BinaryScalar(BinaryAdd, in[0], 1)), Must(BinaryScalar(BinaryMultiply, in[1], 2))}
			}
			out := Must(WhileFunc(less, next, n, one))
			equal(t, Must(Item[float32](out[1])), float32(32))

			double := func(in []*Tensor) []*Tensor { return []*Tensor{Must(BinaryScalar(BinaryMultiply, in[0], 2))} }
			same := func(in []*Tensor) []*Tensor { return in }
			isLow := Must(CompareScalar(CompareLt, out[1], 10))
			equal(t, Must(Item[float32](Must(CondFunc(isLow, double, same, out[1]))[0])), float32(32))

			sum := func(carry, xs []*Tensor) (next, ys []*Tensor) {
				s := Must(Binary(BinaryAdd, carry[0], xs[0]))
				return []*Tensor{s}, []*Tensor{s}
			}
			rows := Must(FromSlice(on, []float32{1, 2, 3, 4, 5, 6}, 3, 2))
			zero := Must(FromSlice(on, []float32{0, 0}))
			last, all, err := ScanFunc(sum, []*Tensor{zero}, []*Tensor{rows}, 3)
			Check(err)
			equal(t, Must(ToSlice[float32](last[0])), []float32{9, 12})
			equal(t, Must(ToSlice[float32](all[0])), []float32{1, 2, 4, 6, 9, 12})

			inPlace := Must(Trace(func(in []*Tensor) []*Tensor {
				Check(AddScalarInplace(in[0], 1))
				return in
			}, zero))
			equal(t, Must(ToSlice[float32](Must(inPlace.Call([]*Tensor{last[0]}, 1))[0])), []float32{10, 13})
			equal(t, Must(ToSlice[float32](last[0])), []float32{9, 12})
			square := func(in []*Tensor) []*Tensor {
				return []*Tensor{Must(Reduce(ReduceSum, Must(Binary(BinaryMultiply, in[0], in[0])), nil, false))}
			}
			step := Must(ValueAndGradFunc(square, nil, zero))
			equal(t, Must(ToSlice[float32](Must(step.Call([]*Tensor{last[0]}, 2))[1])), []float32{18, 24})
		})
	}
	x := Must(FromSlice(XLA, []float32{1, 2}))
	_, err := Trace(func(in []*Tensor) []*Tensor { return []*Tensor{Must(Reshape(in[0], []int{3}))} }, x)
	refusedWith(t, err, StatusInvalidArgument, "lxla_reshape")
	check(t, func() { // the thread traces nothing any more
		equal(t, Must(ToSlice[float32](Must(BinaryScalar(BinaryAdd, x, 1)))), []float32{2, 3})
	})
	func() {
		defer func() { equal(t, recover(), "mine") }()
		Trace(func(in []*Tensor) []*Tensor { panic("mine") }, x)
	}()
	check(t, func() { equal(t, Must(ToSlice[float32](Must(BinaryScalar(BinaryAdd, x, 1)))), []float32{2, 3}) })
}

func TestKernelsOfGoAreCalled(t *testing.T) {
	add := NewKernel(func(call KernelCall) error {
		a, b, out := Elements[float32](call.Inputs[0]), Elements[float32](call.Inputs[1]), Elements[float32](call.Outputs[0])
		if Elements[float64](call.Inputs[0]) != nil || !reflect.DeepEqual(call.Outputs[0].Dims, []int{3}) {
			return fmt.Errorf("wrong buffers: %+v", call)
		}
		if a[0] < 0 {
			return &Error{StatusOutOfRange, "it is negative"}
		}
		for i := range out {
			out[i] = a[i] + 10*b[i]
		}
		return nil
	})
	check(t, func() {
		Check(KernelRegister(nil, "go_add", add, nil))
		apply := func(a, b []float32) *Tensor {
			in := []*Tensor{Must(FromSlice(XLA, a)), Must(FromSlice(XLA, b))}
			return Must(KernelApply(nil, "go_add", in, []Dtype{DtypeF32}, []int{1}, []int{3}, ""))[0]
		}
		equal(t, Must(ToSlice[float32](apply([]float32{1, 2, 3}, []float32{1, 1, 2}))), []float32{11, 12, 23})
		negative := apply([]float32{-1, 2, 3}, []float32{1, 1, 2})
		_, err := ToSlice[float32](negative)
		refusedWith(t, err, StatusOutOfRange, "it is negative")
		negative.Release() // else each further step fails
		Check(KernelUnregister(nil, "go_add"))
		x := Must(FromSlice(XLA, []float32{1, 2, 3}))
		_, err = HostCall(nil, add, nil, []*Tensor{x, x}, []Dtype{DtypeF32}, []int{1}, []int{3, 4})
		refusedWith(t, err, StatusInvalidArgument, "dims: 2 numbers given; want 1")
		env := (*Env)(nil)
		var before uint64
		for i := 0; i < 20; i++ { // one kernel, one program
			y := Must(HostCall(nil, add, nil, []*Tensor{x, x}, []Dtype{DtypeF32}, []int{1}, []int{3}))
			equal(t, Must(ToSlice[float32](y[0])), []float32{11, 22, 33})
			if i == 2 {
				before = Must(env.Counter("UncachedCompile"))
			}
		}
		equal(t, Must(env.Counter("UncachedCompile")), before)
	})
}

func TestMemoryIsBorrowedUntilRelease(t *testing.T) {
	check(t, func() {
		memory := Must(syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON))
		copy(memory, bytesOf([]float32{1, 2, 3})) // memory that Go's collector neither moves nor frees
		data := unsafe.Pointer(&memory[0])
		released := make(chan bool, 1)
		x := Must(TensorFromHostBorrowed(nil, CPU, DtypeF32, []int{3}, data, 12, func() { released <- true }))
		equal(t, Must(ToSlice[float32](Must(BinaryScalar(BinaryMultiply, x, 2)))), []float32{2, 4, 6})
		x.Release()
		<-released
		_, err := TensorFromHostBorrowed(nil, CPU, DtypeF32, []int{4}, data, 12, func() { t.Error("released") })
		refusedWith(t, err, StatusInvalidArgument, "size_bytes")
		Check(syscall.Munmap(memory))
	})
}

func TestArraysAreShared(t *testing.T) {
	check(t, func() {
		x := Must(FromSlice(CPU, []float32{1, 2, 3}))
		var managed unsafe.Pointer = Must(x.ToDlpack())
		equal(t, Must(ToSlice[float32](Must(TensorFromDlpack(nil, CPU, managed, false)))), []float32{1, 2, 3})
	})
}

func TestExecutablesRunOnMemoryOfGo(t *testing.T) {
	check(t, func() {
		x := Must(FromSlice(XLA, []float32{1, 2, 3}))
		f := Must(Trace(func(in []*Tensor) []*Tensor { return []*Tensor{Must(BinaryScalar(BinaryAdd, in[0], 1))} }, x))
		e := Must(ExecutableCompile(f, XLA, nil))
		in, out := []float32{5, 6, 7}, make([]float32, 3)
		Check(e.RunHost([][]byte{Bytes(in)}, [][]byte{Bytes(out)}))
		equal(t, out, []float32{6, 7, 8})
		err := e.RunHost([][]byte{Bytes(in)}, [][]byte{Bytes(out[:2])})
		refusedWith(t, err, StatusInvalidArgument, "output")
	})
}

func TestTheLogArrives(t *testing.T) {
	check(t, func() {
		var lock sync.Mutex
		var all []string
		Check(SetLogCallback(func(level int32, message string) {
			lock.Lock()
			defer lock.Unlock()
			all = append(all, message)
		}))
		env := Must(EnvCreate(&EnvOptions{CacheDir: "/proc/nonexistent"})) // a warning
		Check(env.Enter())
		equal(t, Must(ToSlice[float32](Must(BinaryScalar(BinaryAdd, Must(FromSlice(XLA, []float32{1})), 1)))), []float32{2})
		Check(env.Exit())
		Check(SetLogCallback(nil))
		lock.Lock()
		defer lock.Unlock()
		if !strings.Contains(strings.Join(all, "\n"), "/proc/nonexistent") {
			t.Fatalf("the log has %q", all)
		}
	})
}

func TestMeshesSplitTensors(t *testing.T) {
	check(t, func() {
		env := Must(EnvCreate(&EnvOptions{DeviceCount: 4}))
		equal(t, Must(env.DeviceCount()), int32(4))
		mesh := Must(MeshCreate(env, []string{"data", "model"}, []int{2, 2}, nil))
		x := Must(TensorFromHostSharded(mesh, DtypeF32, []int{2, 2}, Bytes([]float32{1, 2, 3, 4}), "data,model"))
		y := Must(Sum(Must(MultiplyScalar(x, 10)), []int{0}, false))
		equal(t, Must(ToSlice[float32](y)), []float32{40, 60})
		piece := make([]float32, 1)
		offsets, dims, err := x.ShardRead(2, Bytes(piece), 2)
		Check(err)
		equal(t, []any{piece[0], offsets, dims}, []any{float32(3), []int{1, 0}, []int{1, 1}})
		_, err = MeshCreate(env, []string{"data"}, []int{2, 2}, nil)
		refusedWith(t, err, StatusInvalidArgument, "axis_names, axis_sizes: different lengths")
	})
}

func TestProgramsOfOthersAreImported(t *testing.T) {
	check(t, func() {
		x := Must(FromSlice(CPU, []float32{1, 2, 3}))
		double := Must(Trace(func(in []*Tensor) []*Tensor { return []*Tensor{Must(MultiplyScalar(in[0], 2))} }, x))
		again := Must(ComputationImport(nil, []byte(Must(double.Stablehlo())), nil))
		equal(t, Must(ToSlice[float32](Must(again.Call([]*Tensor{x}, 1))[0])), []float32{2, 4, 6})
		forward, backward, n, err := double.Vjp(&VjpOptions{Wrt: []int{0}, Checkpoint: CheckpointSaveNone})
		Check(err)
		out := Must(forward.Call([]*Tensor{x}, 1+n))
		gradient := Must(backward.Call(append(out[1:], Must(FromSlice(CPU, []float32{1, 1, 1}))), 1))
		equal(t, Must(ToSlice[float32](gradient[0])), []float32{2, 2, 2})
		rows := Must(Must(double.Vmap([]int{0}, []int{0}, 2)).Call([]*Tensor{Must(FromSlice(CPU, []float32{1, 2, 3, 4, 5, 6}, 2, 3))}, 1))
		equal(t, Must(rows[0].Shape()), []int{2, 3})
		_, err = ComputationImport(nil, []byte("nonsense"), nil)
		refusedWith(t, err, StatusInvalidArgument, "lxla_computation_import")
	})
}
