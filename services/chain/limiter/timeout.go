package limiter

import (
	"context"
	"sync"
	"time"
)

// WithTimeout is context.WithTimeout with a time that stands still during pauses, of up to a grace in all. At its
// end, context.Cause is context.DeadlineExceeded.
func WithTimeout(parent context.Context, timeout, grace time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	t := &timeLeft{timeout: timeout, grace: grace, since: time.Now()}
	t.timer = time.AfterFunc(timeout, func() { cancel(context.DeadlineExceeded) })
	return context.WithValue(ctx, timeLeftKey{}, t), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.ended = true
		t.timer.Stop()
		cancel(context.Canceled)
	}
}

// Pause begins a pause of the time of such a context, until the caller calls the function. Several goroutines may
// pause it. For another context it does nothing.
func Pause(ctx context.Context) (resume func()) {
	t, ok := ctx.Value(timeLeftKey{}).(*timeLeft)
	if !ok {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pauses++; t.pauses == 1 {
		t.timeout -= t.passed()
		t.restart(t.timeout + t.grace)
	}
	return t.resume
}

type timeLeftKey struct{}

// timeLeft is the time that such a context has.
type timeLeft struct {
	timer *time.Timer

	mu             sync.Mutex // guards what follows
	timeout, grace time.Duration
	since          time.Time // when one of them began to pass
	pauses         int       // that have not ended
	ended          bool
}

func (t *timeLeft) resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pauses--; t.pauses == 0 {
		t.grace -= t.passed()
		if t.grace < 0 {
			t.timeout, t.grace = t.timeout+t.grace, 0
		}
		t.restart(t.timeout)
	}
}

// passed is the time since it was called last.
func (t *timeLeft) passed() time.Duration {
	now := time.Now()
	defer func() { t.since = now }()
	return now.Sub(t.since)
}

// restart has the context end after a time, unless it has ended.
func (t *timeLeft) restart(after time.Duration) {
	if !t.ended && t.timer.Stop() {
		t.timer.Reset(max(after, 0))
	}
}
