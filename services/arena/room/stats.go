package room

import (
	"sync/atomic"
	"time"
)

// Reasons for which what a client sent was not done.
const (
	ReasonRepeated  Reason = iota // a command that was seen before
	ReasonHurried                 // more commands than time has passed
	ReasonSpectator               // a spectator has no body
	ReasonEvent                   // an event that clients do not send
	ReasonMalformed
	ReasonFlood
	reasons
)

// Reason is why what a client sent was not done.
type Reason int

func (r Reason) String() string {
	return [...]string{"repeated", "hurried", "spectator", "event", "malformed", "flood"}[r]
}

// Reasons returns all of them.
func Reasons() (all []Reason) {
	for r := range reasons {
		all = append(all, r)
	}
	return all
}

// Stats counts what happens in rooms.
type Stats struct {
	Conflated atomic.Int64 // states that a client was not written, as it had not taken an older one
	Dropped   atomic.Int64 // events that a client was not written, as too many waited
	Written   atomic.Int64 // bytes to clients
	Overruns  atomic.Int64 // ticks that took longer than there was time

	Lateness func(time.Duration) // of a tick

	rejected [reasons]atomic.Int64
}

// Began, Overran and Restarted observe the ticks.
func (s *Stats) Began(late time.Duration) { s.Lateness(late) }

func (s *Stats) Overran(time.Duration) { s.Overruns.Add(1) }

func (s *Stats) Restarted(dropped int) { s.Overruns.Add(int64(dropped)) }

// Reject counts what a client sent and was not done.
func (s *Stats) Reject(why Reason) { s.rejected[why].Add(1) }

// Rejected returns how often that was.
func (s *Stats) Rejected(why Reason) int64 { return s.rejected[why].Load() }
