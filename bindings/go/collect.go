package lazyxla

// #include "calls.h"
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	sweepEager    = iota // only eager tensors: they are no part of a program
	sweepComputed        // also the others that are not pending
	sweepAll

	handleBytes = 16 << 10 // added to the bytes of each tensor: the collector runs at the latest after 4096 small ones
	leastBytes  = 64 << 20 // growth of the tensors in use at which Go's collector runs
	mostPending = 1024     // pending tensors that nothing uses, of devices that no step computes, or of traces
	fewReads    = 16       // reads after a step that release no lazy tensor
	unusedBytes = 1 << 20  // bytes of eager tensors that nothing uses, at which they are released
)

// object is a counted handle of the library. Its finalizer only notes that nothing uses it: the set of live tensors is
// part of the program that a step compiles, so that handles are released at fixed places, after steps and reads.
type object struct {
	id       C.uint64_t
	kind     C.int32_t
	isEager  bool
	bytes    int64
	released atomic.Bool
}

type other struct {
	kind C.int32_t
	id   C.uint64_t
}

var heap struct {
	sync.Mutex
	eager, lazy []C.uint64_t // tensors that nothing uses
	others      []other      // handles of other kinds that nothing uses
	unused      atomic.Int64 // bytes of `eager`
	held        atomic.Int64 // bytes of tensors in use
	limit       atomic.Int64 // held bytes at which Go's collector runs
	running     atomic.Bool
	reads       atomic.Int64 // since the last step
	once        sync.Once
	user        C.uintptr_t // of the memory callback
}

func (o *object) c() C.uint64_t { return o.id }

func (o *object) own(kind C.int32_t, id C.uint64_t) {
	o.kind, o.id = kind, id
	heap.once.Do(startCollecting)
	if kind == C.GO_ENV {
		setMemoryCallback(C.lxla_env{id: id})
	}
	if kind != C.GO_TENSOR {
		return
	}
	var facts C.lxla_go_facts
	C.lxla_go_made(id, &facts)
	o.bytes, o.isEager = int64(facts.bytes)+handleBytes, facts.is_eager == 1
	if facts.scope != 0 {
		addToScope(uint64(facts.scope), o)
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
	if heap.unused.Load() > unusedBytes {
		sweep(sweepEager)
	}
}

func startCollecting() {
	heap.limit.Store(leastBytes)
	heap.user = callback(func(uint64) bool { return Collect() > 0 }, true)
	var env C.lxla_env
	if C.lxla_env_default(&env) == 0 {
		setMemoryCallback(env)
	}
}

// setMemoryCallback makes an environment collect when an allocation fails.
func setMemoryCallback(env C.lxla_env) {
	C.lxla_env_set_memory_callback(env, C.lxla_memory_fn(C.lxla_go_memory), C.lxla_go_user(heap.user))
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
	switch {
	case o.kind != C.GO_TENSOR:
		heap.others = append(heap.others, other{o.kind, o.id})
	case o.isEager:
		heap.eager = append(heap.eager, o.id)
		heap.unused.Add(o.bytes)
	default:
		heap.lazy = append(heap.lazy, o.id)
	}
}

// afterStep releases what nothing uses. A buffer that is garbage at the next step is released after it, whenever Go's
// collector finds it: so it does not influence what that step donates.
func afterStep() {
	heap.reads.Store(0)
	sweep(sweepComputed)
}

// afterRead releases what nothing uses in a program that does not step: a read between the recording of a step and the
// step would change what the step donates.
func afterRead() {
	if heap.reads.Add(1) > fewReads {
		sweep(sweepComputed)
	}
}

// sweep releases what nothing uses, and returns how much that was.
func sweep(which int) int {
	heap.Lock()
	eager, lazy, others := heap.eager, heap.lazy, heap.others
	heap.eager = nil
	heap.unused.Store(0)
	if which == sweepEager {
		lazy, others = nil, nil
	} else {
		heap.lazy, heap.others = nil, nil
	}
	heap.Unlock()
	if len(eager) > 0 {
		C.lxla_go_sweep(&eager[0], C.size_t(len(eager)), 0)
	}
	kept := 0
	if n := len(lazy); n > 0 {
		keepPending := flag(which == sweepComputed && n <= mostPending)
		kept = int(C.lxla_go_sweep(&lazy[0], C.size_t(n), keepPending))
	}
	for _, each := range others {
		C.go_release(each.kind, each.id)
	}
	if kept > 0 {
		heap.Lock()
		heap.lazy = append(heap.lazy, lazy[:kept]...)
		heap.Unlock()
	}
	return len(eager) + len(lazy) - kept + len(others)
}

// finalize runs Go's collector, and waits until the finalizers of all that it found have run: the finalizers of a later
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
