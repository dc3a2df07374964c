package lazyxla

// #include "calls.h"
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

// scratch has the memory of C that a call needs, and the first thing that is wrong with its arguments. C must not get
// memory of Go that has pointers to memory of Go: strings, lists of strings and structs with lists are copied.
type scratch struct {
	blocks []unsafe.Pointer
	err    error
}

func (s *scratch) free() {
	for _, each := range s.blocks {
		C.free(each)
	}
}

func (s *scratch) refuse(format string, values ...any) {
	if s.err == nil {
		s.err = refused(fmt.Sprintf(format, values...))
	}
}

func (s *scratch) zeroed(size int) unsafe.Pointer {
	made := C.calloc(1, C.size_t(size)+1)
	s.blocks = append(s.blocks, made)
	return made
}

func (s *scratch) text(name, text string) *C.char {
	if strings.IndexByte(text, 0) >= 0 {
		s.refuse("%s: it contains NUL", name)
	}
	made := C.CString(text)
	s.blocks = append(s.blocks, unsafe.Pointer(made))
	return made
}

func (s *scratch) optionalText(name, text string) *C.char {
	if text == "" {
		return nil
	}
	return s.text(name, text)
}

func (s *scratch) texts(name string, all []string) **C.char {
	if all == nil {
		return nil
	}
	made := (**C.char)(s.zeroed(len(all) * int(unsafe.Sizeof(uintptr(0)))))
	for i, each := range all {
		unsafe.Slice(made, len(all))[i] = s.text(name, each)
	}
	return made
}

// copied copies a list of a struct.
func (s *scratch) copied(all []byte) unsafe.Pointer {
	if all == nil {
		return nil
	}
	made := s.zeroed(len(all))
	copy(unsafe.Slice((*byte)(made), len(all)), all)
	return made
}

// buffers copies several lists of bytes; copyBack copies them back.
func (s *scratch) buffers(all [][]byte) *unsafe.Pointer {
	made := (*unsafe.Pointer)(s.zeroed(len(all) * int(unsafe.Sizeof(uintptr(0)))))
	for i, each := range all {
		unsafe.Slice(made, len(all))[i] = s.copied(each)
	}
	return made
}

func sizesOf(all [][]byte) []int {
	made := make([]int, len(all))
	for i, each := range all {
		made[i] = len(each)
	}
	return made
}

func (s *scratch) copyBack(all [][]byte, made *unsafe.Pointer) {
	for i, each := range all {
		if len(each) > 0 {
			copy(each, unsafe.Slice((*byte)(unsafe.Slice(made, len(all))[i]), len(each)))
		}
	}
}

func (s *scratch) size(name string, n int) C.size_t {
	if n < 0 {
		s.refuse("%s: %d given; want 0 or more", name, n)
	}
	return C.size_t(n)
}

// room returns the length of a list of results.
func (s *scratch) room(name string, n int) int {
	if n < 0 || n > 1<<24 {
		s.refuse("%s: %d given; want 0 to %d", name, n, 1<<24)
		return 0
	}
	return n
}

// common returns the length that lists have in common. A negative length stands for a list that is left out.
func (s *scratch) common(names string, lengths ...int) int {
	n := -1
	for _, each := range lengths {
		if each >= 0 && n >= 0 && each != n {
			s.refuse("%s: different lengths", names)
		} else if each >= 0 {
			n = each
		}
	}
	if n < 0 {
		return 0
	}
	return n
}

func (s *scratch) divided(name string, n, by int) int {
	if n%by != 0 {
		s.refuse("%s: %d numbers given; want a multiple of %d", name, n, by)
	}
	return n / by
}

// exactly checks the length of a list that C reads as long as other lists say.
func (s *scratch) exactly(name string, isGiven bool, n, want int) {
	if isGiven && n != want {
		s.refuse("%s: %d numbers given; want %d", name, n, want)
	}
}

func sum(all []int) int {
	n := 0
	for _, each := range all {
		n += each
	}
	return n
}

func product(all []int) int {
	n := 1
	for _, each := range all {
		n *= each
	}
	return n
}

func optional[T any](all []T) int {
	if all == nil {
		return -1
	}
	return len(all)
}

// less returns a length without what the list has more; a list that is left out stays so.
func less(n, by int) int {
	if n < 0 {
		return -1
	}
	if n < by {
		return 1 << 30 // equal to no other length
	}
	return n - by
}

func unlessZero(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

var nothing [2]uint64 // what lists of no elements point to

func first[T any](all []T) unsafe.Pointer {
	if all == nil {
		return nil
	}
	if len(all) == 0 {
		return unsafe.Pointer(&nothing)
	}
	return unsafe.Pointer(&all[0])
}

func bytesOf[T any](all []T) []byte {
	if all == nil {
		return nil
	}
	return unsafe.Slice((*byte)(first(all)), len(all)*int(unsafe.Sizeof(*new(T))))
}

func intsOf(all []C.int64_t) []int {
	made := make([]int, len(all))
	for i, each := range all {
		made[i] = int(each)
	}
	return made
}

func flag(is bool) C.int32_t {
	if is {
		return 1
	}
	return 0
}

func ownText(made *C.char) string {
	defer C.lxla_string_free(made)
	return C.GoString(made)
}

// borrowEnv returns a handle of an environment that the library owns.
func borrowEnv(made C.lxla_env) *Env {
	e := &Env{}
	e.id, e.kind = C.uint64_t(made.id), C.GO_ENV
	e.released.Store(true)
	return e
}
