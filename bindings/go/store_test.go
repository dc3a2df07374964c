//go:build lazyxla_test

package lazyxla

import (
	"sync"
	"testing"
	"time"
)

// memoryStore is a key-value store of one process.
type memoryStore struct {
	sync.Mutex
	values map[string][]byte
}

func (s *memoryStore) Put(key, value []byte) error {
	s.Lock()
	defer s.Unlock()
	if string(key) == "bad" {
		panic("bad is refused")
	}
	s.values[string(key)] = value
	return nil
}

func (s *memoryStore) TryGet(key []byte) ([]byte, error) {
	s.Lock()
	defer s.Unlock()
	if value, ok := s.values[string(key)]; ok {
		return value, nil
	}
	return nil, &Error{StatusNotFound, "no " + string(key)}
}

func (s *memoryStore) Get(key []byte, timeout time.Duration) ([]byte, error) {
	for until := time.Now().Add(timeout); ; time.Sleep(time.Millisecond) {
		if value, err := s.TryGet(key); err == nil || time.Now().After(until) {
			return value, err
		}
	}
}

func TestCAsksAStoreOfGo(t *testing.T) {
	store := &memoryStore{values: map[string][]byte{"a\x00b": []byte("1\x00"), "empty": {}}}
	ask := func(how, key, value, reply string, status Status) {
		t.Helper()
		got, code := askStore(store, how, key, value)
		equal(t, []any{got, code}, []any{reply, status})
	}
	ask("try_get", "a\x00b", "", "1\x00", StatusOk)
	ask("get", "empty", "", "", StatusOk)
	ask("get", "none", "", "no none", StatusNotFound)
	ask("put", "none", "2", "no reply", StatusOk)
	ask("get", "none", "", "2", StatusOk)
	ask("put", "bad", "3", "panic: bad is refused", StatusInternal)
}
