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
	shard  *load.Shard // nil: the recording has ended
	lines  *windows.Lines
	number int           // of the last report
	ended  chan struct{} // closed after the last report, or an error
	err    error         // set before ended is closed

	notes    []string // of its driver, set before ended is closed
	protocol string
}

func newReceiver(m *member) *receiver {
	return &receiver{member: m, lines: windows.NewLines(), ended: make(chan struct{})}
}

// close ends the use of the shard; later reports are answered with an error.
func (r *receiver) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shard = nil
}

// take handles a report and acknowledges it.
func (r *receiver) take(message []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shard == nil || r.over() {
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
	case (in.End == nil) == (in.Window == nil):
		return false, errors.New("a report is a window or an end")
	}
	r.number++
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
	r.shard.Agent(e.Agent, record.Totals{Offered: e.Agent.Offered, Sent: e.Sent, Ended: e.Ended, Failed: e.Agent.Failed,
		Unfinished: e.Unfinished, Errors: e.Agent.Errors}, e.Last, e.Next)
	r.notes, r.protocol = e.Notes, e.Protocol
	if e.Error != "" {
		return true, errors.New(e.Error)
	}
	return true, nil
}
