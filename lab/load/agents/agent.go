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

// Agent waits for work and sends its shares of it.
type Agent struct {
	Network Network
	Version string // of dyno: a coordinator takes agents of its own version only
	// Permit is called for each host beyond loopback before it is loaded; nil permits none.
	Permit func(host string) error
	Say    func(text string) // reports events as text; nil: nothing does
	Clock  func() int64      // nil: monotonic.Now; tests simulate another machine

	hello   hello
	mu      sync.Mutex // guards what follows
	claimed string     // the coordinator
	heard   time.Time  // when its last order came
	works   []*work    // the latest last
	arrives *arrival   // a load of which parts are missing
	drive   *share     // nil: it waits
	builds  bool       // it makes a driver, and hears no order meanwhile
	driving sync.WaitGroup
}

// arrival is a packed load that arrives in parts.
type arrival struct {
	key  string
	data []byte
}

// Bounds of what an agent keeps: as many loads as the variants of a ladder have.
const (
	mostWorks = 32
	mostBytes = 256 << 20 // together; the latest is kept whatever it takes
)

// Serve says hello and carries out orders until ctx is done. A drive in progress is then stopped.
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

// greet says hello. What cannot be sent now is sent at the next beat.
func (a *Agent) greet(gone bool) {
	a.mu.Lock()
	h := a.hello
	h.Claimed, h.Gone = a.claimed, gone
	a.mu.Unlock()
	a.Network.Publish(helloSubject, encode(h))
}

// watch releases an agent whose coordinator is silent.
func (a *Agent) watch() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.claimed != "" && !a.builds && time.Since(a.heard) > silence {
		a.Say("the coordinator is silent; waiting for another")
		a.release()
	}
}

// release stops what the agent does for its coordinator; mu is held.
func (a *Agent) release() {
	if a.drive != nil {
		a.drive.stop(errors.New("the coordinator has left"))
	}
	a.claimed, a.works, a.arrives = "", nil, nil
}

// obey carries out an order.
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

// takePart takes a part of a packed load, in order; after the last one its driver is made. mu is
// held, except while the driver is made, so that the agent still says hello.
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
	a.builds, a.heard = false, time.Now() // orders that came meanwhile follow
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

// permitted returns an error if load may not be sent to a host from here.
func (a *Agent) permitted(host string) error {
	switch {
	case load.Loopback(host):
		return nil
	case a.Permit == nil:
		return fmt.Errorf("loading %s was not permitted", host)
	}
	return a.Permit(host)
}

// redirected returns an error if a redirect to another host may not be followed.
func (a *Agent) redirected(origin string) error {
	u, err := url.Parse(origin)
	if err != nil {
		return err
	}
	return a.permitted(u.Hostname())
}
