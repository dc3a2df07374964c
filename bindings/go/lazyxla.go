// Package lazyxla records operations on tensors and runs them with XLA: the C API of lazyxla in Go.
//
// Every function of C is here: lxla_matmul is [Matmul]. One whose name begins with the type of its first parameter is a
// method: lxla_tensor_rank is [Tensor.Rank]. Functions have the comments of the C header. README.md introduces the
// package.
package lazyxla

/*
#cgo pkg-config: lazyxla
#include "calls.h"
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// The binding passes an int of Go as an int64_t or size_t of C.
var _ [unsafe.Sizeof(int(0)) - 8]struct{}

// Error is a failed call: its status, and the message of the library.
type Error struct {
	Status  Status
	Message string
}

func (e *Error) Error() string { return e.Status.Error() + ": " + e.Message }

// Is makes errors.Is(err, StatusInvalidArgument) true for errors with this status.
func (e *Error) Is(target error) bool { return target == error(e.Status) }

// Error returns the name of a status, such as INVALID_ARGUMENT. A status is an error that [errors.Is] looks for.
func (s Status) Error() string { return C.GoString(C.lxla_status_name(C.lxla_status(s))) }

// String returns the name of a dtype, such as f32.
func (d Dtype) String() string { return C.GoString(C.lxla_dtype_name(C.int32_t(d))) }

// Version returns the version of the library.
func Version() string { return C.GoString(C.lxla_version()) }

// AbiVersion returns the version of the C API of the library.
func AbiVersion() uint32 { return uint32(C.lxla_abi_version()) }

// Exit ends the process as exit of C does: the library first waits for saves and steps that are under way. [os.Exit],
// and the end of main, end the process at once.
func Exit(code int) { C.exit(C.int(code)) }

func failed(code C.lxla_status, why *C.char) error {
	defer C.free(unsafe.Pointer(why))
	return &Error{Status(code), C.GoString(why)}
}

func refused(message string) error { return &Error{StatusInvalidArgument, message} }

// Must returns a value, or panics with the error, so that a formula needs no variable for each operation. [Catch],
// [Trace] and [Tidy] know such panics: Must(Matmul(Must(Unary(UnaryTanh, x)), w)).
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Must2 is [Must] for calls with two results.
func Must2[T, U any](a T, b U, err error) (T, U) {
	Check(err)
	return a, b
}

// Check panics with an error, unless it is nil.
func Check(err error) {
	if err != nil {
		panic(thrown{err})
	}
}

type thrown struct{ error }

func (t thrown) Unwrap() error { return t.error }

// Catch makes the panic of a [Must] or [Check] the error of the function that defers it: defer lazyxla.Catch(&err).
// Other panics go on.
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case thrown:
		*err = r.error
	default:
		panic(r)
	}
}

// Func is a function of tensors that can be traced. It uses [Must] for its calls.
type Func = func(in []*Tensor) []*Tensor

// Tidy calls f and releases all tensors that the calling goroutine made in it, except those that it returns: what is
// not released until the collector finds it is computed by the next step. Calls may nest.
func Tidy[R *Tensor | []*Tensor](f func() R) (kept R) {
	runtime.LockOSThread() // the scope is the thread's
	defer runtime.UnlockOSThread()
	scope := openScope()
	defer func() {
		switch k := any(kept).(type) {
		case *Tensor:
			scope.close(k)
		case []*Tensor:
			scope.close(k...)
		}
	}()
	return f()
}

// Trace returns the computation of f's results, as a function of tensors that are like the given ones. It calls f once,
// on placeholders. Tensors from elsewhere that f reads are captured with their values of now.
func Trace(f Func, like ...*Tensor) (made *Computation, err error) {
	defer Catch(&err)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var env *Env
	if len(like) > 0 {
		env = Must(like[0].Env())
	}
	Check(TracingBegin(env, Device{}))
	defer func() {
		if made == nil {
			TracingAbandon()
		}
	}()
	Tidy(func() []*Tensor {
		params := make([]*Tensor, len(like))
		for i, each := range like {
			params[i] = Must(each.PlaceholderLike())
		}
		in := make([]*Tensor, len(params)) // further handles, which f may change in place
		for i, each := range params {
			in[i] = Must(each.Snapshot())
		}
		made = Must(TracingEnd(params, f(in)))
		return nil
	})
	return made, nil
}

// ValueAndGradFunc traces f, whose first result is a number, and returns the computation of its results and of the
// gradients of the first one by the parameters `wrt`, nil: by all.
func ValueAndGradFunc(f Func, wrt []int, like ...*Tensor) (*Computation, error) {
	c, err := Trace(f, like...)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	return c.ValueAndGrad(&VjpOptions{Wrt: wrt})
}

// WhileFunc records a loop: body is applied to the values while cond of them, a pred, is true.
func WhileFunc(cond, body Func, init ...*Tensor) ([]*Tensor, error) {
	c, err := Trace(cond, init...)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	b, err := Trace(body, init...)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	return While(c, b, init)
}

// CondFunc records a branch: onTrue of args where pred is true, else onFalse of args.
func CondFunc(pred *Tensor, onTrue, onFalse Func, args ...*Tensor) ([]*Tensor, error) {
	n := 0
	counted := func(in []*Tensor) []*Tensor {
		out := onTrue(in)
		n = len(out)
		return out
	}
	t, err := Trace(counted, args...)
	if err != nil {
		return nil, err
	}
	defer t.Release()
	f, err := Trace(onFalse, args...)
	if err != nil {
		return nil, err
	}
	defer f.Release()
	return Cond(pred, t, f, args, n)
}

// ScanFunc records a loop over the leading axis of xs, of the given length: body takes the carry and a slice of each of
// xs, and returns the next carry and what is stacked. It returns the last carry and the stacks.
func ScanFunc(body func(carry, xs []*Tensor) (next, ys []*Tensor), init, xs []*Tensor, length int) (carry, ys []*Tensor,
	err error) {
	defer Catch(&err)
	nYs := 0
	traced := func(in []*Tensor) []*Tensor {
		next, ys := body(in[:len(init):len(init)], in[len(init):])
		nYs = len(ys)
		return append(append([]*Tensor{}, next...), ys...)
	}
	var b *Computation
	Tidy(func() []*Tensor {
		like := append([]*Tensor{}, init...)
		for _, x := range xs {
			dims := Must(x.Shape())
			if len(dims) == 0 {
				Check(refused("xs: a tensor without axes given; want a leading axis"))
			}
			like = append(like, Must(TensorPlaceholder(Must(x.Env()), Must(x.Device()), Must(x.Dtype()), dims[1:])))
		}
		b = Must(Trace(traced, like...))
		return nil
	})
	defer b.Release()
	return Scan(b, init, xs, length, false, nYs)
}
