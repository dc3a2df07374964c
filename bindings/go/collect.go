package lazyxla

// #include "calls.h"
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

const (
	sweepEager    = C.LXLA_GO_EAGER
	sweepComputed = C.LXLA_GO_COMPUTED
	sweepAll      = C.LXLA_GO_ALL

	handleBytes = 16 << 10 // added to the bytes of each tensor: the collector runs at the latest after 4096 small ones
	leastBytes  = 64 << 20 // growth of the tensors in use at which Go's collector runs
	mostPending = 4096     // pending tensors that nothing uses, in programs without steps
	fewGarbage  = 64
)

// object is a counted handle of the library. Its finalizer only notes that nothing uses it: the set of live tensors is
// part of the program that a step compiles, so that handles are released at fixed places, after steps and reads.
type object struct {
	id       C.uint64_t
	kind     C.int32_t
	bytes    int64
	released atomic.Bool
}

type other struct {
	kind C.int32_t
	id   C.uint64_t
}

var heap struct {
	sync.Mutex
	tensors []C.uint64_t // that nothing uses
	others  []other      // handles of other kinds
	garbage atomic.Int64 // the number of both
	enough  atomic.Int64 // number of tensors at which eager ones are released
	held    atomic.Int64 // bytes of tensors in use
	limit   atomic.Int64 // held bytes at which Go's collector runs
	running atomic.Bool
	once    sync.Once
}

func (o *object) c() C.uint64_t { return o.id }

func (o *object) own(kind C.int32_t, id C.uint64_t) {
	o.kind, o.id = kind, id
	heap.once.Do(func() {
		heap.limit.Store(leastBytes)
		heap.enough.Store(fewGarbage)
		var env C.lxla_env
		if C.lxla_env_default(&env) == 0 {
			setMemoryCallback(env)
		}
	})
	if kind == C.GO_ENV {
		setMemoryCallback(C.lxla_env{id: id})
	}
	if kind != C.GO_TENSOR {
		return
	}
	var scope C.uint64_t
	o.bytes = int64(C.lxla_go_made(id, &scope)) + handleBytes
	if scope != 0 {
		addToScope(uint64(scope), o)
	}
	if heap.held.Add(o.bytes) > heap.limit.Load() && heap.running.CompareAndSwap(false, true) {
		finalize()
		limit := 2 * heap.held.Load()
		if limit < leastBytes {
			limit = leastBytes
		}
		heap.limit.Store(limit)
		heap.running.Store(false)
	}
	if garbage := heap.garbage.Load(); garbage >= heap.enough.Load() {
		sweep(sweepEager)
	}
}

// setMemoryCallback makes an environment collect when an allocation fails.
func setMemoryCallback(env C.lxla_env) {
	var why *C.char
	free := func(uint64) bool { return Collect() > 0 }
	if C.go_lxla_env_set_memory_callback(env, callback(free, true), &why) != 0 {
		C.free(unsafe.Pointer(why))
	}
}

func (o *object) release() {
	if o.released.CompareAndSwap(false, true) {
		C.go_release(o.kind, o.id)
		heap.held.Add(-o.bytes)
	}
}

// discard is the finalizer of handles. It calls nothing of the library, which may be waiting for it.
func (o *object) discard() {
	if !o.released.CompareAndSwap(false, true) {
		return
	}
	heap.held.Add(-o.bytes)
	heap.Lock()
	defer heap.Unlock()
	if o.kind == C.GO_TENSOR {
		heap.tensors = append(heap.tensors, o.id)
	} else {
		heap.others = append(heap.others, other{o.kind, o.id})
	}
	heap.garbage.Add(1)
}

// sweep releases what nothing uses, and returns how much that was.
func sweep(which C.int32_t) int {
	if heap.garbage.Load() == 0 {
		return 0
	}
	heap.Lock()
	tensors, others := heap.tensors, heap.others
	heap.tensors, heap.others = nil, nil
	if which == sweepEager {
		heap.others, others = others, nil
	}
	heap.Unlock()
	n, kept := len(tensors), 0
	if which == sweepComputed && n > mostPending {
		which = sweepAll
	}
	if n > 0 {
		kept = int(C.lxla_go_sweep(&tensors[0], C.size_t(n), which))
	}
	for _, each := range others {
		C.go_release(each.kind, each.id)
	}
	heap.Lock()
	heap.tensors = append(heap.tensors, tensors[:kept]...)
	heap.enough.Store(2*int64(len(heap.tensors)+len(heap.others)) + fewGarbage)
	heap.Unlock()
	released := n - kept + len(others)
	heap.garbage.Add(int64(-released))
	return released
}

// finalize runs Go's collector, and waits until the finalizers of all that it found have run: those of a later
// collection run after all of an earlier one.
func finalize() {
	for i := 0; i < 2; i++ {
		done := make(chan struct{})
		runtime.SetFinalizer(&[4]*byte{}, func(*[4]*byte) { close(done) })
		runtime.GC()
		select {
		case <-done:
		case <-time.After(time.Second): // a finalizer of the program waits for something
			return
		}
	}
}

// Collect runs Go's collector, releases all handles that it finds, and returns their number. The binding calls it when
// an allocation on a device fails.
func Collect() int {
	finalize()
	return sweep(sweepAll)
}

type scope struct {
	number uint64
	before C.uint64_t
	made   []*object
}

var scopes struct {
	sync.Mutex
	last uint64
	open map[uint64]*scope
}

// openScope begins to note the tensors that this thread makes.
func openScope() *scope {
	scopes.Lock()
	defer scopes.Unlock()
	if scopes.open == nil {
		scopes.open = map[uint64]*scope{}
	}
	scopes.last++
	s := &scope{number: scopes.last}
	scopes.open[s.number] = s
	s.before = C.lxla_go_scope(C.uint64_t(s.number))
	return s
}

func addToScope(number uint64, o *object) {
	scopes.Lock()
	defer scopes.Unlock()
	if s := scopes.open[number]; s != nil {
		s.made = append(s.made, o)
	}
}

// close releases the tensors of a scope; those that are kept belong to the scope around it.
func (s *scope) close(kept ...*Tensor) {
	C.lxla_go_scope(s.before)
	scopes.Lock()
	delete(scopes.open, s.number)
	scopes.Unlock()
	keep := map[*object]bool{}
	for _, each := range kept {
		if each != nil {
			keep[&each.object] = true
		}
	}
	for _, each := range s.made {
		if !keep[each] {
			each.release()
		} else if s.before != 0 {
			addToScope(uint64(s.before), each)
		}
	}
}
