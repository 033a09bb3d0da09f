package index_test

import (
	"testing"

	"dyno/services/chain/mempool/index"
	"dyno/services/chain/mempool/index/indextest"
)

var kinds = map[string]func() index.Index{
	"map":      func() index.Index { return index.NewMap() },
	"sharded":  func() index.Index { return index.NewSharded() },
	"heap":     func() index.Index { return index.NewHeap() },
	"skiplist": func() index.Index { return index.NewSkipList() },
}

func TestIndex(t *testing.T) {
	for kind, make := range kinds {
		t.Run(kind, func(t *testing.T) { indextest.Test(t, make) })
	}
}

func TestNew(t *testing.T) {
	for kind := range kinds {
		if ix, err := index.New(kind); ix == nil || err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := index.New("tree"); err == nil {
		t.Error("a kind that there is not was made")
	}
}

func BenchmarkIndex(b *testing.B) {
	for kind, make := range kinds {
		b.Run(kind, func(b *testing.B) { indextest.Bench(b, make) })
	}
}
