package agents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/load"
)

// Agent waits for a coordinator's orders and sends its share of each load.
type Agent struct {
	Network Network
	Version string // of dyno: a coordinator accepts agents of its own version only
	// Permit is called for each host other than loopback before load is sent to it; nil permits
	// none.
	Permit func(host string) error
	Say    func(text string) // reports events as text; nil: events are not reported
	Clock  func() int64      // nil: monotonic.Now; tests simulate another machine

	hello   hello
	mu      sync.Mutex // guards the fields below
	claimed string     // ID of the coordinator that it works for; empty: none
	heard   time.Time  // when the coordinator's last order came
	works   []*work    // loads that it has, the latest last
	arrives *arrival   // a load that has not arrived in full
	drive   *share     // nil: no drive is in progress
	builds  bool       // it is making a driver, during which it handles no orders
	driving sync.WaitGroup
}

// arrival is a packed load that is arriving in parts.
type arrival struct {
	key  string
	data []byte
}

// Limits of the loads that an agent keeps: enough for the variants of a ladder.
const (
	mostWorks = 32
	mostBytes = 256 << 20 // of all loads together; the latest is kept whatever its size
)

// Serve announces the agent and carries out orders until ctx is done, which also stops a drive in
// progress.
func (a *Agent) Serve(ctx context.Context) error {
	host, _ := os.Hostname()
	a.hello = hello{ID: newID(), Name: fmt.Sprintf("%s/%d", host, os.Getpid()), Version: a.Version, Machine: Machine(), PID: os.Getpid()}
	if a.Clock == nil {
		a.Clock = monotonic.Now
	}
	if a.Say == nil {
		a.Say = func(string) {}
	}
	if err := a.hello.check(); err != nil {
		return err
	}
	orders, err := a.Network.Subscribe(orderSubject+a.hello.ID, func(m []byte) []byte { return a.obey(ctx, m) })
	if err != nil {
		return err
	}
	defer a.driving.Wait()
	defer orders()
	clock, err := a.Network.Subscribe(clockSubject+a.hello.ID, func([]byte) []byte {
		at := a.Clock()
		return encode(times{at, a.Clock()})
	})
	if err != nil {
		return err
	}
	defer clock()
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		a.watch()
		a.greet(false)
		select {
		case <-ctx.Done():
			a.greet(true)
			return nil
		case <-tick.C:
		}
	}
}

// greet publishes a hello. If that fails now, the next beat tries again.
func (a *Agent) greet(gone bool) {
	a.mu.Lock()
	h := a.hello
	h.Claimed, h.Gone = a.claimed, gone
	a.mu.Unlock()
	a.Network.Publish(helloSubject, encode(h))
}

// watch releases the agent if its coordinator has been silent too long.
func (a *Agent) watch() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.claimed != "" && !a.builds && time.Since(a.heard) > silence {
		a.Say("the coordinator is silent; waiting for another")
		a.release()
	}
}

// release stops what the agent does for its coordinator. The caller holds mu.
func (a *Agent) release() {
	if a.drive != nil {
		a.drive.stop(errors.New("the coordinator has left"))
	}
	a.claimed, a.works, a.arrives = "", nil, nil
}

// obey carries out an order and returns the answer.
func (a *Agent) obey(ctx context.Context, message []byte) []byte {
	out, err := a.carryOut(ctx, message)
	if err != nil {
		out.Error = err.Error()
	}
	return encode(out)
}

func (a *Agent) carryOut(ctx context.Context, message []byte) (answer, error) {
	o, err := decode[order](message)
	if err == nil && !idForm.MatchString(o.From) {
		err = fmt.Errorf("an order comes from %.40q", o.From)
	}
	if err != nil {
		return answer{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if o.Claim && a.claimed == "" {
		a.claimed, a.heard = o.From, time.Now()
		a.Say("working for a coordinator")
	}
	if a.claimed != o.From {
		return answer{}, errors.New("it works for another coordinator")
	}
	a.heard = time.Now()
	switch {
	case o.Release:
		a.Say("done; waiting for work")
		a.release()
	case o.Has != "":
		return answer{Missing: a.workOf(o.Has) == nil}, nil
	case o.Part != nil:
		return answer{}, a.takePart(o.Part)
	case o.Begin != nil:
		return answer{}, a.begin(ctx, o.Begin)
	case o.Start != nil:
		return answer{}, a.start(o.Start)
	case o.Stop != "" && a.drive != nil && a.drive.Drive == o.Stop:
		a.drive.stop(errStopped)
	}
	return answer{}, nil
}

func (a *Agent) workOf(key string) *work {
	for _, w := range a.works {
		if w.key == key {
			return w
		}
	}
	return nil
}

// takePart appends a part of a packed load; parts come in order. After the last part it makes the
// load's driver. The caller holds mu, which takePart releases while it makes the driver, so that
// the agent can still announce itself.
func (a *Agent) takePart(p *part) error {
	if err := p.check(); err != nil {
		return err
	}
	if p.At == 0 {
		a.arrives = &arrival{key: p.Key}
	}
	in := a.arrives
	if in == nil || in.key != p.Key || len(in.data) != p.At {
		return errors.New("a part of the work was lost")
	}
	if in.data = append(in.data, p.Data...); len(in.data) < p.Size {
		return nil
	}
	a.arrives = nil
	if sum := sha256.Sum256(in.data); hex.EncodeToString(sum[:]) != p.Key {
		return errors.New("the work is not what its coordinator sent")
	}
	a.builds = true
	a.mu.Unlock()
	made, err := makeWork(p.Key, in.data, a.permitted, a.redirected)
	a.mu.Lock()
	a.builds, a.heard = false, time.Now() // orders that came meanwhile are handled next
	if err != nil {
		return err
	}
	a.works = append(a.works, made)
	for size := a.bytes(); len(a.works) > 1 && (len(a.works) > mostWorks || size > mostBytes); size = a.bytes() {
		a.works = a.works[1:]
	}
	return nil
}

func (a *Agent) bytes() (n int) {
	for _, w := range a.works {
		n += w.size
	}
	return n
}

// permitted returns an error if this agent may not send load to a host.
func (a *Agent) permitted(host string) error {
	switch {
	case load.Loopback(host):
		return nil
	case a.Permit == nil:
		return fmt.Errorf("loading %s was not permitted", host)
	}
	return a.Permit(host)
}

// redirected returns an error if this agent may not follow a redirect to another host.
func (a *Agent) redirected(origin string) error {
	u, err := url.Parse(origin)
	if err != nil {
		return err
	}
	return a.permitted(u.Hostname())
}
