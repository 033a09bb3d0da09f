package agents

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Options say which agents a coordinator wants.
type Options struct {
	Expect  int    // number of agents
	Version string // of dyno, which must be the agents' own
	Wait    time.Duration
	Say     func(text string) // reports events as text; nil: nothing does
}

// Group is a coordinator with its agents. Another that joins takes the place of a lost one.
type Group struct {
	net Network
	o   Options
	id  string

	mu      sync.Mutex
	members []*member        // by place; nil: free
	waiting map[string]hello // agents that work for no coordinator, by ID
	foreign string           // why an agent cannot be taken; empty: there is none

	end     context.CancelFunc
	beating sync.WaitGroup
	unhear  func()
}

// member is an agent in its place.
type member struct {
	hello
	place int
	heard time.Time     // guarded by the group's mu
	known bool          // it has said that it works for this group; guarded likewise
	lost  chan struct{} // closed when it is lost
	why   error         // set before lost is closed
}

// String names it in messages.
func (m *member) String() string { return fmt.Sprintf("agent %d (%s)", m.place+1, m.Name) }

// Gather waits until the expected agents have joined.
func Gather(ctx context.Context, net Network, o Options) (*Group, error) {
	if o.Expect < 1 || o.Expect > MostAgents {
		return nil, fmt.Errorf("%d agents cannot be expected: from 1 to %d can", o.Expect, MostAgents)
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	g := &Group{net: net, o: o, id: newID(), members: make([]*member, o.Expect), waiting: map[string]hello{}}
	var err error
	if g.unhear, err = net.Subscribe(helloSubject, g.hear); err != nil {
		return nil, err
	}
	living, end := context.WithCancel(context.WithoutCancel(ctx)) // until Close, so that an interrupted drive can end in order
	g.end = end
	g.beating.Go(func() { g.beat(living) })
	if _, err := g.ready(ctx, o.Wait); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// Close releases the agents.
func (g *Group) Close() {
	g.unhear()
	g.end()
	g.beating.Wait()
	each(g.present(), func(_ int, m *member) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := g.ask(ctx, m.ID, order{Release: true})
		return err // an agent that does not hear it notices the silence
	})
}

// PIDs returns the processes of the agents on this machine.
func (g *Group) PIDs() (pids []int) {
	here := Machine()
	for _, m := range g.present() {
		if m.Machine == here {
			pids = append(pids, m.PID)
		}
	}
	return pids
}

// present returns the members that are not lost.
func (g *Group) present() (out []*member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.members {
		if m != nil {
			out = append(out, m)
		}
	}
	return out
}

// hear takes an agent's hello.
func (g *Group) hear(message []byte) []byte {
	h, err := decode[hello](message)
	if err == nil {
		err = h.check()
	}
	if err != nil {
		return nil // any program can send one, so it is no reason to stop
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.members {
		if m == nil || m.ID != h.ID {
			continue
		}
		m.heard = time.Now()
		switch m.known = m.known || h.Claimed == g.id; {
		case h.Gone:
			g.lose(m, errors.New("it has left"))
		case m.known && h.Claimed != g.id:
			g.lose(m, errors.New("it works for this coordinator no more"))
		}
		return nil
	}
	delete(g.waiting, h.ID)
	switch {
	case h.Gone || h.Claimed != "" && h.Claimed != g.id || len(g.waiting) >= MostAgents:
	case h.Version != g.o.Version:
		g.refuse(h)
	default:
		g.waiting[h.ID] = h
	}
	return nil
}

// refuse remembers an agent of another version; mu is held.
func (g *Group) refuse(h hello) {
	first := g.foreign == ""
	g.foreign = fmt.Sprintf("agent %s runs dyno %s, and this is dyno %s: install the same on both", h.Name, h.Version, g.o.Version)
	if first {
		g.o.Say(g.foreign)
	}
}

// lose frees a member's place; mu is held.
func (g *Group) lose(m *member, why error) {
	m.why = why
	close(m.lost)
	g.members[m.place] = nil
	g.o.Say(fmt.Sprintf("%s: %v", m, why))
}

// beat says that the coordinator is alive, and drops agents that have ended or are silent.
func (g *Group) beat(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		each(g.present(), func(_ int, m *member) error {
			soon, cancel := context.WithTimeout(ctx, beat)
			defer cancel()
			_, err := g.net.Request(soon, orderSubject+m.ID, encode(order{From: g.id, Alive: true}))
			g.mu.Lock()
			defer g.mu.Unlock()
			switch {
			case g.members[m.place] != m:
			case errors.Is(err, ErrNoReceiver):
				g.lose(m, errors.New("it has ended, or its connection has"))
			case time.Since(m.heard) > silence:
				g.lose(m, fmt.Errorf("it has been silent for %v", silence))
			}
			return nil
		})
	}
}

// ready returns the members when every place is taken. It fills free ones for some time.
func (g *Group) ready(ctx context.Context, wait time.Duration) ([]*member, error) {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	said := -1
	for deadline := time.Now().Add(wait); ; {
		g.fill(ctx)
		members := g.present()
		n := len(members)
		if n == g.o.Expect {
			return members, nil
		}
		if n != said {
			said = n
			g.o.Say(fmt.Sprintf("waiting for agents: %d of %d have joined", n, g.o.Expect))
		}
		if time.Now().After(deadline) {
			return nil, g.tooFew(n, wait)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-poll.C:
		}
	}
}

func (g *Group) tooFew(n int, wait time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.foreign != "" {
		return errors.New(g.foreign)
	}
	return fmt.Errorf("%d of %d agents have joined within %v: start the others (dyno agent --join ...)", n, g.o.Expect, wait)
}

// fill gives free places to waiting agents.
func (g *Group) fill(ctx context.Context) {
	for {
		g.mu.Lock()
		place, h := -1, hello{}
		for i, m := range g.members {
			if m == nil {
				place = i
				break
			}
		}
		for _, w := range g.waiting {
			if h.ID == "" || w.Name < h.Name {
				h = w
			}
		}
		if place < 0 || h.ID == "" {
			g.mu.Unlock()
			return
		}
		m := &member{hello: h, place: place, heard: time.Now(), lost: make(chan struct{})}
		delete(g.waiting, h.ID)
		g.members[place] = m
		g.mu.Unlock()
		if _, err := g.ask(ctx, h.ID, order{Claim: true}); err != nil {
			g.mu.Lock()
			if g.members[place] == m {
				g.members[place] = nil // it may say hello again
			}
			g.mu.Unlock()
			continue
		}
		g.o.Say(m.String() + " has joined")
	}
}

// ask gives an agent an order, and returns its answer.
func (g *Group) ask(ctx context.Context, agent string, o order) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	o.From = g.id
	reply, err := g.net.Request(ctx, orderSubject+agent, encode(o))
	if err != nil {
		return answer{}, err
	}
	a, err := decode[answer](reply)
	if err == nil && a.Error != "" {
		err = refusal(a.Error)
	}
	return a, err
}

// refusal is an agent's reason for not carrying out an order.
type refusal string

func (r refusal) Error() string { return string(r) }
