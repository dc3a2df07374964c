package lazyxla

// #include "calls.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime/cgo"
	"runtime/debug"
	"time"
	"unsafe"
)

// callback returns what C passes to its function that calls fn, 0 if there is none.
func callback(fn any, isGiven bool) C.uintptr_t {
	if !isGiven {
		return 0
	}
	return C.uintptr_t(cgo.NewHandle(fn))
}

func dropCallback(user C.uintptr_t) {
	if user != 0 {
		cgo.Handle(user).Delete()
	}
}

// end ends the process after a panic in a function that C called: it must not unwind frames of C.
func end() {
	if r := recover(); r != nil {
		fmt.Fprintf(os.Stderr, "panic in a callback of lazyxla: %v\n%s", r, debug.Stack())
		os.Exit(2)
	}
}

//export lxlaGoLog
func lxlaGoLog(level C.int32_t, message *C.char, user C.uintptr_t) {
	defer end()
	cgo.Handle(user).Value().(func(int32, string))(int32(level), C.GoString(message))
}

//export lxlaGoMemory
func lxlaGoMemory(bytes C.uint64_t, user C.uintptr_t) C.int32_t {
	defer end()
	return flag(cgo.Handle(user).Value().(func(uint64) bool)(uint64(bytes)))
}

//export lxlaGoRelease
func lxlaGoRelease(user C.uintptr_t) {
	defer end()
	defer dropCallback(user)
	cgo.Handle(user).Value().(func())()
}

//export lxlaGoReady
func lxlaGoReady(status C.lxla_status, message *C.char, user C.uintptr_t) {
	defer end()
	defer dropCallback(user)
	var err error
	if status != 0 {
		err = &Error{Status(status), C.GoString(message)}
	}
	cgo.Handle(user).Value().(func(error))(err)
}

// Kernel is a function of Go that programs call. It lives as long as the process: make each once.
type Kernel struct{ user C.uintptr_t }

// Buffer is the memory of an input or output of a kernel; [Elements] returns it as numbers.
type Buffer struct {
	Dtype Dtype
	Dims  []int
	Bytes []byte
}

// KernelCall is one call of a kernel, which fills the outputs. Its memory is valid until the kernel returns.
type KernelCall struct {
	Target, AttributesJson string
	Inputs, Outputs        []Buffer
}

// NewKernel returns a kernel for [HostCall] and [Env.KernelRegister]. Its error, or panic, fails the step. It is called
// on any thread, by several at a time, and must not call the library.
func NewKernel(fn func(call KernelCall) error) *Kernel { return &Kernel{callback(fn, true)} }

func (k *Kernel) c() C.uintptr_t {
	if k == nil {
		return 0
	}
	return k.user
}

func buffersOf(views *C.lxla_buffer_view, n C.size_t) []Buffer {
	made := make([]Buffer, n)
	for i, each := range unsafe.Slice(views, n) {
		made[i] = Buffer{Dtype: Dtype(each.dtype), Dims: intsOf(unsafe.Slice(each.dims, each.rank))}
		if each.size_bytes > 0 {
			made[i].Bytes = unsafe.Slice((*byte)(each.data), each.size_bytes)
		}
	}
	return made
}

//export lxlaGoKernel
func lxlaGoKernel(call *C.lxla_kernel_call, user C.uintptr_t) C.lxla_status {
	err := guarded(func() error {
		return cgo.Handle(user).Value().(func(KernelCall) error)(KernelCall{
			C.GoString(call.target), C.GoString(call.attributes_json),
			buffersOf(call.inputs, call.n_inputs), buffersOf(call.outputs, call.n_outputs),
		})
	})
	if err == nil {
		return 0
	}
	status, message := told(err)
	room := unsafe.Slice((*byte)(unsafe.Pointer(call.error)), call.error_size)
	room[copy(room[:len(room)-1], message)] = 0
	return status
}

// guarded calls a function and makes its panic an error.
func guarded(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Error{StatusInternal, fmt.Sprintf("panic: %v", r)}
		}
	}()
	return fn()
}

// told returns the status and message of an error for C.
func told(err error) (C.lxla_status, string) {
	var e *Error
	if errors.As(err, &e) {
		return C.lxla_status(e.Status), e.Message
	}
	var s Status
	if errors.As(err, &s) && s != StatusOk {
		return C.lxla_status(s), err.Error()
	}
	return C.lxla_status(StatusUnknown), err.Error()
}

// KeyValueStore is shared by all processes of a program. Errors of [StatusNotFound] and [StatusDeadlineExceeded] tell
// that a key has no value. Its functions are called by several threads at a time, and must not call the library.
type KeyValueStore interface {
	Get(key []byte, timeout time.Duration) ([]byte, error)
	Put(key, value []byte) error
	TryGet(key []byte) ([]byte, error)
}

func storeOf(store KeyValueStore, s *scratch) *C.lxla_key_value_store {
	if store == nil {
		return nil
	}
	made := (*C.lxla_key_value_store)(s.zeroed(C.sizeof_lxla_key_value_store))
	C.lxla_go_store(made, callback(store, true))
	return made
}

func reply(fn C.lxla_key_value_reply_fn, to unsafe.Pointer, value []byte, err error, isAnswered bool) C.lxla_status {
	status := C.lxla_status(0)
	if err != nil {
		var message string
		status, message = told(err)
		value, isAnswered = []byte(message), true
	}
	if isAnswered {
		C.lxla_go_reply(fn, to, (*C.uint8_t)(first(append([]byte{}, value...))), C.size_t(len(value)))
	}
	return status
}

//export lxlaGoGet
func lxlaGoGet(user C.uintptr_t, key *C.char, size C.size_t, timeout C.int64_t, fn C.lxla_key_value_reply_fn,
	to unsafe.Pointer) C.lxla_status {
	var value []byte
	err := guarded(func() (err error) {
		name := C.GoBytes(unsafe.Pointer(key), C.int(size))
		value, err = cgo.Handle(user).Value().(KeyValueStore).Get(name, time.Duration(timeout)*time.Millisecond)
		return err
	})
	return reply(fn, to, value, err, true)
}

//export lxlaGoPut
func lxlaGoPut(user C.uintptr_t, key *C.char, size C.size_t, value unsafe.Pointer, valueSize C.size_t,
	fn C.lxla_key_value_reply_fn, to unsafe.Pointer) C.lxla_status {
	err := guarded(func() error {
		name := C.GoBytes(unsafe.Pointer(key), C.int(size))
		return cgo.Handle(user).Value().(KeyValueStore).Put(name, C.GoBytes(value, C.int(valueSize)))
	})
	return reply(fn, to, nil, err, false)
}

//export lxlaGoTryGet
func lxlaGoTryGet(user C.uintptr_t, key *C.char, size C.size_t, fn C.lxla_key_value_reply_fn,
	to unsafe.Pointer) C.lxla_status {
	var value []byte
	err := guarded(func() (err error) {
		value, err = cgo.Handle(user).Value().(KeyValueStore).TryGet(C.GoBytes(unsafe.Pointer(key), C.int(size)))
		return err
	})
	return reply(fn, to, value, err, true)
}
