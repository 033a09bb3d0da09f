package index_test

import (
	"testing"

	"dyno/services/chain/mempool/index"
	"dyno/services/chain/mempool/index/indextest"
)

var kinds = map[string]func() index.Index{
	"map": index.NewMap, "sharded": index.NewSharded, "heap": index.NewHeap, "skiplist": index.NewSkipList,
}

func TestIndex(t *testing.T) {
	for kind, empty := range kinds {
		t.Run(kind, func(t *testing.T) { indextest.Test(t, empty) })
	}
}

func BenchmarkIndex(b *testing.B) {
	for kind, empty := range kinds {
		b.Run(kind, func(b *testing.B) { indextest.Bench(b, empty) })
	}
}
