package agents

import (
	"errors"
	"fmt"
	"sync"

	"dyno/lab/load"
	"dyno/lab/load/windows"
	"dyno/lab/record"
)

// receiver adds one agent's reports to a recording.
type receiver struct {
	member *member
	offset offset

	mu     sync.Mutex
	shard  *load.Shard // nil: the recording has not begun, because sessions are being opened
	closed bool
	lines  *windows.Lines
	number int           // of the last report
	opened chan struct{} // closed when its sessions are open
	ended  chan struct{} // closed after the last report, or an error
	err    error         // set before ended is closed

	notes    []string // of its driver, set before ended is closed
	protocol string
}

func newReceiver(m *member) *receiver {
	return &receiver{member: m, lines: windows.NewLines(), opened: make(chan struct{}), ended: make(chan struct{})}
}

// record has the reports that follow added to a shard.
func (r *receiver) record(to *load.Shard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shard = to
}

// close ends the use of the shard; later reports are answered with an error.
func (r *receiver) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// take handles a report and acknowledges it.
func (r *receiver) take(message []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.over() {
		return encode(answer{Error: "the load is over"})
	}
	last, err := r.enter(message)
	if err != nil || last {
		r.err = err
		close(r.ended)
	}
	if err != nil {
		return encode(answer{Error: err.Error()})
	}
	return encode(answer{})
}

func (r *receiver) over() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// enter adds a report to the recording, unless it was added before; last says that it was the
// agent's last one.
func (r *receiver) enter(message []byte) (last bool, err error) {
	in, err := decode[report](message)
	switch {
	case err != nil:
		return false, err
	case in.Number <= r.number && in.Number > 0:
		return false, nil
	case in.Number != r.number+1:
		return false, fmt.Errorf("report %d came after report %d", in.Number, r.number)
	case count(in.Opened, in.Window != nil, in.End != nil) != 1:
		return false, errors.New("a report is that sessions are open, a window or an end")
	case in.Opened && in.Number != 1 || in.Window != nil && r.shard == nil:
		return false, errors.New("a report that sessions are open comes first, and a window after the start")
	}
	r.number++
	if in.Opened {
		close(r.opened)
		return false, nil
	}
	if in.Window != nil {
		w, hists, err := r.lines.Window(in.Window)
		if err != nil {
			return false, fmt.Errorf("its window: %w", err)
		}
		return false, r.shard.Window(&w, hists)
	}
	e := in.End
	if err := e.check(); err != nil {
		return false, err
	}
	e.Agent.Name = r.member.Name
	e.Agent.ClockOffset, e.Agent.ClockError = r.offset.ahead, r.offset.error
	r.notes, r.protocol = e.Notes, e.Protocol
	if r.shard == nil { // it ended before the start
		return true, fmt.Errorf("it ended before the start: %s", e.Error)
	}
	r.shard.Agent(e.Agent, record.Totals{Offered: e.Agent.Offered, Sent: e.Sent, Ended: e.Ended, Failed: e.Agent.Failed,
		Unfinished: e.Unfinished, Errors: e.Agent.Errors}, e.Last, e.Next)
	if e.Error != "" {
		return true, errors.New(e.Error)
	}
	return true, nil
}

// count returns how many of the facts are true.
func count(facts ...bool) (n int) {
	for _, fact := range facts {
		if fact {
			n++
		}
	}
	return n
}
