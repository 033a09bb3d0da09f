package cache

import (
	"sync"
	"time"

	"dyno/services/orders/cache/pgoutput"
)

// progress is how far a feed has been applied, for those who wait until it has come somewhere.
type progress struct {
	mu    sync.Mutex
	at    pgoutput.LSN
	ended bool
	more  chan struct{} // closed when it moves; nil while nobody waits
}

// move is told how far it has come, and end that it goes no further.
func (p *progress) move(at pgoutput.LSN) { p.set(at, false) }

func (p *progress) end() { p.set(0, true) }

func (p *progress) set(at pgoutput.LSN, ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = max(p.at, at)
	p.ended = p.ended || ended
	if p.more != nil {
		close(p.more)
		p.more = nil
	}
}

// reached reports whether it has come there; if not, and it may yet, more is closed as soon as it moves.
func (p *progress) reached(target pgoutput.LSN) (yes bool, more <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.at >= target {
		return !p.ended, nil
	}
	if p.more == nil {
		p.more = make(chan struct{})
	}
	return false, p.more
}

// wait waits until it has come there, for so long at most.
func (p *progress) wait(target pgoutput.LSN, patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		yes, more := p.reached(target)
		if more == nil {
			return yes
		}
		select {
		case <-more:
		case <-timer.C:
			return false
		}
	}
}

// lag is how many bytes are missing to the target.
func (p *progress) lag(target pgoutput.LSN) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return uint64(target - min(p.at, target))
}
