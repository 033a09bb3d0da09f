package live

import (
	"container/list"
	"sync"

	"dyno/lab/record/folder"
)

// cache keeps the most recently used values, each with the stamp of the file that it was read from.
// It is safe for concurrent use.
type cache[V any] struct {
	mu    sync.Mutex
	most  int
	order *list.List // of *entry[V], the most recently used first
	byKey map[string]*list.Element
}

type entry[V any] struct {
	key   string
	stamp folder.Stamp
	value V
}

func newCache[V any](most int) *cache[V] {
	return &cache[V]{most: most, order: list.New(), byKey: map[string]*list.Element{}}
}

// get returns the value of a key if it was read from a file in exactly that state.
func (c *cache[V]) get(key string, s folder.Stamp) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byKey[key]
	if !ok {
		return v, false
	}
	e := at.Value.(*entry[V])
	if e.stamp != s {
		return v, false
	}
	c.order.MoveToFront(at)
	return e.value, true
}

func (c *cache[V]) put(key string, s folder.Stamp, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byKey[key]; ok {
		at.Value = &entry[V]{key, s, v}
		c.order.MoveToFront(at)
		return
	}
	c.byKey[key] = c.order.PushFront(&entry[V]{key, s, v})
	if c.order.Len() > c.most {
		oldest := c.order.Back()
		c.order.Remove(oldest)
		delete(c.byKey, oldest.Value.(*entry[V]).key)
	}
}
