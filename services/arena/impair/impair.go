// Package impair is a proxy that makes connections over TCP worse, as a network does: it delays,
// varies the delay, loses packets, caps the rate, lets nothing pass for a while, and resets.
//
//	err := impair.Run(ctx, impair.Options{Listen: "127.0.0.1:9000", To: "127.0.0.1:8080",
//		Delay: 75 * time.Millisecond, Jitter: 15 * time.Millisecond, Seed: 1})
//
// Order is kept, as TCP keeps it: what was sent later waits for what is late. What the proxy reads
// in one piece stays one, and has one delay. Each connection draws its delays from the seed and its
// number, so that the n-th connection of a run has the same draws in each run.
//
// Buffers are bounded, and small except for what is on its way: when a receiver is slow, in a
// stall, and when the rate is reached, the proxy stops reading, so that bytes wait with their
// sender as they do with TCP, and not in the proxy.
//
// A lost packet is what TCP makes of it: nothing is missing at the other end, but the packet arrives
// later, because its sender sends it again, and so does what follows it (see schedule.lost). The rate
// stays as it is, where congestion control would lower it: Rate does that.
//
// It is not for datagrams, of which some would be missing or out of order, nor for exact timing below
// a millisecond. Run owns its goroutines, six a connection, and returns when they have ended.
package impair

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"dyno/parts/relay"
)

// Options of Run.
type Options struct {
	Listen string // HOST:PORT
	To     string // HOST:PORT

	Delay  time.Duration // one way, in both directions: a round trip takes twice as much longer
	Jitter time.Duration // each delay is uniform between Delay - Jitter and Delay + Jitter
	Loss   float64       // share of the packets of each direction that are lost, from 0 to below 1
	Seed   uint64        // of jitter and losses
	Rate   int64         // bytes per second, of each direction of each connection; 0 means no cap
	Stall  Stall
	Reset  time.Duration // after its start a connection is reset; 0 means never

	Connections int                 // that are open; others wait. 0 means 10,000
	Log         *slog.Logger        // nil means none
	Ready       func(addr net.Addr) // is called when the proxy listens; nil: not
}

// Stall is a time in which nothing passes, in neither direction. What was on its way passes when it
// is over, and what waits with its sender a delay later. It implements pflag.Value.
type Stall struct {
	For time.Duration
	At  time.Duration // since the start of the connection
}

// Set reads a stall such as 5s@10s: for 5 s, at 10 s after the start of the connection.
func (s *Stall) Set(text string) error {
	length, at, ok := strings.Cut(text, "@")
	if !ok {
		return fmt.Errorf("%q has no @: write 5s@10s for 5 s at 10 s after the start of a connection", text)
	}
	var read Stall
	var err error
	if read.For, err = time.ParseDuration(length); err != nil {
		return fmt.Errorf("how long, before the @: %w", err)
	}
	if read.At, err = time.ParseDuration(at); err != nil {
		return fmt.Errorf("when, behind the @: %w", err)
	}
	if read.For <= 0 || read.At < 0 {
		return fmt.Errorf("%q: a stall lasts longer than 0 and does not begin before the connection", text)
	}
	*s = read
	return nil
}

// String returns what Set reads, or nothing for the zero Stall.
func (s *Stall) String() string {
	if *s == (Stall{}) {
		return ""
	}
	return s.For.String() + "@" + s.At.String()
}

// Type names the value in the help of a command.
func (*Stall) Type() string { return "duration@duration" }

func (o Options) check() error {
	switch {
	case o.Delay < 0 || o.Jitter < 0 || o.Reset < 0 || o.Rate < 0 || o.Connections < 0 || o.Stall.For < 0 || o.Stall.At < 0:
		return errors.New("delay, jitter, rate, stall, reset and connections cannot be negative")
	case !(o.Loss >= 0 && o.Loss < 1): // nor NaN
		return fmt.Errorf("a loss of %v is no share from 0 to below 1, such as 0.02 for 2%%", o.Loss)
	case o.Jitter > o.Delay:
		return fmt.Errorf("a jitter of %v is more than the delay of %v: bytes would arrive before they were sent", o.Jitter, o.Delay)
	}
	if _, _, err := net.SplitHostPort(o.To); err != nil {
		return fmt.Errorf("the server: %w: write HOST:PORT", err)
	}
	return nil
}

// Run is the proxy. It returns nil when the context ends, after it has closed all connections.
func Run(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return err
	}
	if o.Ready != nil {
		o.Ready(l.Addr())
	}
	relay.Serve(ctx, l, relay.Options{To: o.To, Limit: o.Connections, Log: o.Log}, o.carry)
	return nil
}
