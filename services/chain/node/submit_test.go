package node

import (
	"errors"
	"testing"
)

// A transaction that makes judging panic is refused, on whichever core; the others are judged.
func TestPanicWhileJudging(t *testing.T) {
	w := open(t, begin{dir: t.TempDir()})
	defer w.close()
	const count, bad = 40, 17
	judged, refused := make([]bool, count), make([]error, count)
	w.spread(t.Context(), count, func(i int) {
		if i == bad {
			panic("a signature of a kind that there was never before")
		}
		judged[i] = true
	}, func(i int, err error) { refused[i] = err })
	for i := range count {
		if failed := errors.Is(refused[i], ErrFailed); failed != (i == bad) || judged[i] == (i == bad) {
			t.Errorf("transaction %d: judged %t, %v", i, judged[i], refused[i])
		}
	}
}
