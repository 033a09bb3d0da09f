package http1

import (
	"testing"

	"pgregory.net/rapid"
)

func TestFifoKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q fifo[int]
		var model []int
		for i := range rapid.IntRange(1, 500).Draw(t, "steps") {
			if len(model) > 0 && rapid.IntRange(0, 2).Draw(t, "pop") == 0 {
				if front := *q.front(); front != model[0] {
					t.Fatalf("front is %d, want %d", front, model[0])
				}
				if got := q.pop(); got != model[0] {
					t.Fatalf("popped %d, want %d", got, model[0])
				}
				model = model[1:]
				continue
			}
			q.push(i)
			model = append(model, i)
		}
		if q.len != len(model) {
			t.Fatalf("%d items, want %d", q.len, len(model))
		}
	})
}
