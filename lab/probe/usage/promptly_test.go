package usage

import (
	"testing"
	"time"
)

// A reading that was interrupted is taken again; one that always takes long counts for the middle of
// its time.
func TestPromptly(t *testing.T) {
	for _, interrupted := range []int{0, 1, 9} {
		calls, began := 0, int64(0)
		r := Promptly(func(now int64) Reading {
			calls++
			if began = now; calls <= interrupted {
				time.Sleep(2 * time.Duration(prompt))
			}
			return Reading{At: now}
		})
		if r.At < began || interrupted == 9 && r.At < began+prompt {
			t.Errorf("interrupted %d times: at %d, begun at %d", interrupted, r.At, began)
		}
		if calls < min(interrupted+1, attempts) || calls > attempts {
			t.Errorf("interrupted %d times: read %d times", interrupted, calls)
		}
	}
}
