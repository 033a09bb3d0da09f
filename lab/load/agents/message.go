package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"dyno/lab/load"
	"dyno/lab/record"
)

// hello announces an agent; the agent publishes one at every beat.
type hello struct {
	ID      string `json:"id"`
	Name    string `json:"name"` // host name and process ID
	Version string `json:"version"`
	Machine string `json:"machine"`
	PID     int    `json:"pid"`
	Claimed string `json:"claimed,omitempty"` // ID of the coordinator that it works for
	Gone    bool   `json:"gone,omitempty"`    // the agent is ending
}

// order is a coordinator's message to an agent: From and one of the other fields.
type order struct {
	From    string `json:"from"`
	Claim   bool   `json:"claim,omitempty"` // asks the agent to work for this coordinator
	Alive   bool   `json:"alive,omitempty"` // shows that the coordinator is alive
	Release bool   `json:"release,omitempty"`
	Has     string `json:"has,omitempty"` // asks whether the agent has this work
	Part    *part  `json:"part,omitempty"`
	Begin   *begin `json:"begin,omitempty"`
	Start   *start `json:"start,omitempty"`
	Stop    string `json:"stop,omitempty"` // ID of the drive to stop
}

// answer is an agent's answer to an order, or a coordinator's answer to a report.
type answer struct {
	Error   string `json:"error,omitempty"`
	Missing bool   `json:"missing,omitempty"` // the agent does not have the work
}

// part is a piece of a packed load.
type part struct {
	Key  string `json:"key"` // SHA-256 of the whole load
	Size int    `json:"size"`
	At   int    `json:"at"`
	Data []byte `json:"data"`
}

// begin describes one agent's share of a drive. Instants are on the agent's clock.
type begin struct {
	Drive       string             `json:"drive"`
	Work        string             `json:"work"`
	Index       int                `json:"index"`
	Of          int                `json:"of"`
	Start       int64              `json:"start_ns"`
	Offset      int64              `json:"offset_ns"`          // the agent's clock is ahead of the coordinator's by this
	Sessions    int                `json:"sessions,omitempty"` // of all agents; Start is 0 then, and comes in an order of its own when all are open
	Spec        *load.ScheduleSpec `json:"schedule,omitempty"`
	Connections int                `json:"connections"`
	Warmup      time.Duration      `json:"warmup_ns"`
	Length      time.Duration      `json:"length_ns"`
	Drain       time.Duration      `json:"drain_ns"`
	Timeout     time.Duration      `json:"timeout_ns"`
	Lead        time.Duration      `json:"lead_ns"`
	Units       int                `json:"units"`
	Classes     []string           `json:"classes,omitempty"`
	Count       int64              `json:"count,omitempty"`
	FirstSeq    uint64             `json:"first"`
}

// start is the instant at which the sessions of a drive begin to send, on the agent's clock.
type start struct {
	Drive string `json:"drive"`
	At    int64  `json:"at_ns"`
}

// report is what an agent sends during a drive: that its sessions are open, if it has any, then
// windows, and an end as the last one. Numbers count from 1, so that a report which the agent sends
// again is counted once.
type report struct {
	Number int             `json:"number"`
	Opened bool            `json:"opened,omitempty"` // its sessions are open, or have failed to open
	Window json.RawMessage `json:"window,omitempty"` // a line of package windows
	End    *end            `json:"end,omitempty"`
}

// end is an agent's last report of a drive. Instants are on the coordinator's clock.
type end struct {
	Error string       `json:"error,omitempty"`
	Last  int64        `json:"last_ns,omitempty"`
	Next  uint64       `json:"next"`
	Agent record.Agent `json:"agent"`

	// Of the measured requests; see record.Totals.
	Sent       int64 `json:"sent"`
	Ended      int64 `json:"ended"`
	Unfinished int64 `json:"unfinished,omitempty"`

	Notes    []string `json:"notes,omitempty"` // notes of its driver; see load.Noting
	Protocol string   `json:"protocol,omitempty"`
}

// times are the instants at which an agent received and answered a message, on its clock.
type times struct {
	Received int64 `json:"received_ns"`
	Answered int64 `json:"answered_ns"`
}

// decode decodes a message, which must be one JSON object without unknown fields.
func decode[T any](message []byte) (v T, err error) {
	d := json.NewDecoder(bytes.NewReader(message))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return v, fmt.Errorf("a message is not as expected: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return v, errors.New("a message is not as expected: something follows its object")
	}
	return v, nil
}

// encode encodes a message; all message types can be encoded.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		b, _ = json.Marshal(answer{Error: err.Error()})
	}
	return b
}

var (
	idForm  = regexp.MustCompile(`^[0-9a-f]{16}$`)
	keyForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

const (
	longestName = 200 // in bytes; also of a note
	mostKinds   = 20  // kinds of errors
	mostNotes   = 20
)

func (h *hello) check() error {
	switch {
	case !idForm.MatchString(h.ID) || h.Claimed != "" && !idForm.MatchString(h.Claimed):
		return fmt.Errorf("an agent's name is %.40q", h.ID)
	case !plain(h.Name) || !plain(h.Version) || !plain(h.Machine):
		return fmt.Errorf("agent %s says of itself what is not one short line of text", h.ID)
	}
	return nil
}

// plain reports whether a text can be shown as it is.
func plain(s string) bool {
	return s != "" && len(s) <= longestName && strings.ToValidUTF8(s, "") == s && !strings.ContainsFunc(s, unicode.IsControl)
}

// shortened makes a text one that plain accepts; an empty one stays empty.
func shortened(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > longestName {
		s = strings.ToValidUTF8(s[:longestName-3], "") + "..."
	}
	return s
}

func (p *part) check() error {
	if !keyForm.MatchString(p.Key) || p.Size <= 0 || p.Size > mostPacked || p.At < 0 || len(p.Data) == 0 || len(p.Data) > p.Size-p.At {
		return fmt.Errorf("a part of %d bytes at %d of %d is not possible", len(p.Data), p.At, p.Size)
	}
	return nil
}

const (
	mostConnections = 1_000_000
	longest         = 30 * 24 * time.Hour
)

func (b *begin) check() error {
	switch {
	case !idForm.MatchString(b.Drive) || !keyForm.MatchString(b.Work):
		return fmt.Errorf("a drive's name is %.40q", b.Drive)
	case b.Of < 1 || b.Of > MostAgents || b.Index < 0 || b.Index >= b.Of:
		return fmt.Errorf("agent %d of %d is not possible", b.Index+1, b.Of)
	case b.Connections < 1 || b.Connections > mostConnections || b.Units < 0 || b.Units > mostConnections || b.Count < 0 || len(b.Classes) > 256:
		return fmt.Errorf("a load with %d connections, %d units and %d classes is not possible", b.Connections, b.Units, len(b.Classes))
	case b.Sessions < 0 || b.Sessions > mostConnections || b.Sessions > 0 && (b.Sessions < b.Of || b.Spec == nil || b.Count > 0):
		return fmt.Errorf("%d sessions for %d agents, with a schedule and without a count, are not possible: there are at most %d, and at least one each", b.Sessions, b.Of, mostConnections)
	case b.Count == 0 && b.Length <= 0 || (b.Start <= 0) != (b.Sessions > 0):
		return errors.New("a load has a start and a length")
	}
	for _, d := range []time.Duration{b.Warmup, b.Length, b.Drain, b.Timeout, b.Lead} {
		if d < 0 || d > longest {
			return fmt.Errorf("a duration of %v is outside 0 to %v", d, longest)
		}
	}
	if b.Spec == nil {
		return nil
	}
	return b.Spec.Check()
}

func (e *end) check() error {
	if !plain(e.Agent.Name) || len(e.Error) > 4000 || e.Last < 0 || len(e.Agent.Errors) > mostKinds || len(e.Notes) > mostNotes {
		return errors.New("an agent's last report is not possible")
	}
	for _, n := range append(slices.Collect(maps.Values(e.Agent.Errors)), e.Agent.Offered, e.Agent.Completed, e.Agent.Failed, e.Sent, e.Ended, e.Unfinished) {
		if n < 0 || n > 1e15 {
			return errors.New("an agent's last report has a number that is not possible")
		}
	}
	for _, text := range slices.AppendSeq(append(e.Notes, e.Protocol), maps.Keys(e.Agent.Errors)) {
		if text != shortened(text) {
			return errors.New("an agent's last report has a text that is not one short line")
		}
	}
	for _, v := range []float64{e.Agent.CPUSeconds, e.Agent.BusiestThread, e.Agent.Lag.P50, e.Agent.Lag.P99} {
		if !(v >= 0 && v < 1e12) {
			return errors.New("an agent's last report has a figure that is not possible")
		}
	}
	return nil
}
