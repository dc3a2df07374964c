package lazyxla

// #include "calls.h"
import "C"

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// Device is `cpu`, where operations run at once, `xla:N`, or a mesh. The zero value is the unspecified device.
type Device struct {
	Kind    DeviceKind
	Ordinal int32
}

// CPU is the device of eager tensors, XLA the first device of the plugin.
var (
	CPU = Device{DeviceCpu, 0}
	XLA = Device{DeviceXla, 0}
)

func (d Device) c() C.lxla_device { return C.lxla_device{C.int32_t(d.Kind), C.int32_t(d.Ordinal)} }

func newDevice(made C.lxla_device) Device { return Device{DeviceKind(made.kind), int32(made.ordinal)} }

// Scalar is a number with a dtype.
type Scalar struct{ made C.lxla_scalar }

func newScalar(made C.lxla_scalar) *Scalar { return &Scalar{made} }

// ScalarOf returns a number as a scalar of the dtype of its type. [ScalarCast] makes one of other dtypes.
func ScalarOf[T Number](value T) *Scalar {
	s := &Scalar{}
	s.made.dtype = C.int32_t(DtypeOf[T]())
	at := unsafe.Pointer(&s.made.value) // a union
	switch v := reflect.ValueOf(value); {
	case v.CanInt():
		*(*int64)(at) = v.Int()
	case v.CanUint():
		*(*uint64)(at) = v.Uint()
	case v.CanFloat():
		*(*float64)(at) = v.Float()
	case v.CanComplex():
		*(*complex128)(at) = v.Complex()
	default:
		*(*int64)(at) = int64(flag(v.Bool()))
	}
	return s
}

func (s *Scalar) c(*scratch) *C.lxla_scalar {
	if s == nil {
		return nil
	}
	return &s.made
}

// Floats that Go has no type for, as their bits. [Convert] a tensor to compute with them in Go.
type (
	Float16    uint16
	BFloat16   uint16
	F8E5M2     uint8
	F8E4M3FN   uint8
	F8E4M3B11  uint8
	F8E5M2FNUZ uint8
	F8E4M3FNUZ uint8
	F8E4M3     uint8
	F8E3M4     uint8
	F8E8M0FNU  uint8
)

// Number are the types of Go that are numbers of a dtype; an int is an s64.
type Number interface {
	bool | int8 | int16 | int32 | int64 | int | uint8 | uint16 | uint32 | uint64 | float32 | float64 | complex64 |
		complex128
}

// Element are the types of elements of tensors, one for each dtype.
type Element interface {
	Number | Float16 | BFloat16 | F8E5M2 | F8E4M3FN | F8E4M3B11 | F8E5M2FNUZ | F8E4M3FNUZ | F8E4M3 | F8E3M4 | F8E8M0FNU
}

var dtypes = map[any]Dtype{
	false: DtypePred, int8(0): DtypeS8, int16(0): DtypeS16, int32(0): DtypeS32, int64(0): DtypeS64, 0: DtypeS64,
	uint8(0): DtypeU8, uint16(0): DtypeU16, uint32(0): DtypeU32, uint64(0): DtypeU64,
	float32(0): DtypeF32, float64(0): DtypeF64, complex64(0): DtypeC64, complex128(0): DtypeC128,
	Float16(0): DtypeF16, BFloat16(0): DtypeBf16, F8E5M2(0): DtypeF8e5m2, F8E4M3FN(0): DtypeF8e4m3fn,
	F8E4M3B11(0): DtypeF8e4m3b11fnuz, F8E5M2FNUZ(0): DtypeF8e5m2fnuz, F8E4M3FNUZ(0): DtypeF8e4m3fnuz,
	F8E4M3(0): DtypeF8e4m3, F8E3M4(0): DtypeF8e3m4, F8E8M0FNU(0): DtypeF8e8m0fnu,
}

// DtypeOf returns the dtype of a type of Go.
func DtypeOf[T Element]() Dtype {
	var zero T
	return dtypes[zero]
}

// FromSlice returns a tensor with the given elements, row-major, and sizes; without sizes, it has one axis.
func FromSlice[T Element](on Device, elements []T, dims ...int) (*Tensor, error) {
	if len(dims) == 0 {
		dims = []int{len(elements)}
	}
	return TensorFromHost(nil, on, DtypeOf[T](), dims, bytesOf(elements))
}

// FromValue returns a tensor without axes.
func FromValue[T Element](on Device, value T) (*Tensor, error) {
	return TensorFromHost(nil, on, DtypeOf[T](), []int{}, bytesOf([]T{value}))
}

// Shape returns the sizes of the axes.
func (tensor *Tensor) Shape() ([]int, error) {
	_, rank, dims, err := tensor.Info(64)
	if err != nil {
		return nil, err
	}
	return dims[:rank:rank], nil
}

// String returns dtype and shape, such as f32[2,3]; it computes nothing.
func (tensor *Tensor) String() string {
	dtype, rank, dims, err := tensor.Info(64)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s[%s]", dtype, strings.Trim(strings.ReplaceAll(fmt.Sprint(dims[:rank]), " ", ","), "[]"))
}

// ToSlice computes a tensor, waits for it, and returns its elements, row-major. T has to be of the tensor's dtype.
func ToSlice[T Element](x *Tensor) ([]T, error) {
	dtype, rank, dims, err := x.Info(64)
	if err != nil {
		return nil, err
	}
	if dtype != DtypeOf[T]() {
		return nil, refused(fmt.Sprintf("ToSlice: %T given; x is %s, convert it first", *new(T), dtype))
	}
	n := 1
	for _, size := range dims[:rank] {
		n *= size
	}
	elements := make([]T, n)
	return elements, x.Read(bytesOf(elements))
}

// Item is [ToSlice] of a tensor with one element.
func Item[T Element](x *Tensor) (T, error) {
	elements, err := ToSlice[T](x)
	if err == nil && len(elements) != 1 {
		err = refused(fmt.Sprintf("Item: x has %d elements; want 1", len(elements)))
	}
	if err != nil {
		return *new(T), err
	}
	return elements[0], nil
}

// Bytes returns the memory of a slice, for functions that take bytes: [TensorFromHost], [Tensor.Read], [Tensor.Write],
// [Executable.RunHost].
func Bytes[T Element](elements []T) []byte { return bytesOf(elements) }

// Elements returns the memory of a buffer of a kernel as a slice, or nil if T is of another dtype.
func Elements[T Element](b Buffer) []T {
	if b.Dtype != DtypeOf[T]() || len(b.Bytes) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b.Bytes[0])), len(b.Bytes)/int(unsafe.Sizeof(*new(T))))
}
