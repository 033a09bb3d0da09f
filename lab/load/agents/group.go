package agents

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Options says which agents a coordinator expects.
type Options struct {
	Expect  int    // number of agents
	Version string // of dyno; the agents must have the same
	Wait    time.Duration
	Say     func(text string) // reports events as text; nil: events are not reported
}

// Group is a coordinator with its agents. If an agent is lost, another that joins replaces it.
type Group struct {
	net Network
	o   Options
	id  string

	mu      sync.Mutex
	members []*member        // by place; nil: the place is free
	waiting map[string]hello // agents that work for no coordinator, by ID
	foreign string           // why some agent cannot be accepted; empty: there is no such agent

	end     context.CancelFunc
	beating sync.WaitGroup
	unhear  func()
}

// member is an agent that has a place in the group.
type member struct {
	hello
	place int
	heard time.Time     // guarded by the group's mu
	known bool          // its hello has named this group as its coordinator; guarded likewise
	lost  chan struct{} // closed when it is lost
	why   error         // set before lost is closed
}

// String returns the name that messages use.
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
	living, end := context.WithCancel(context.WithoutCancel(ctx)) // it ends with Close, not with ctx, so that an interrupted drive can stop its agents
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
		return err // an agent that does not receive this notices the coordinator's silence
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

// present returns the members in their places.
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

// hear handles an agent's hello.
func (g *Group) hear(message []byte) []byte {
	h, err := decode[hello](message)
	if err == nil {
		err = h.check()
	}
	if err != nil {
		return nil // any program can publish one, so an invalid hello is ignored
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

// refuse stores why an agent of another version cannot be accepted. The caller holds mu.
func (g *Group) refuse(h hello) {
	first := g.foreign == ""
	g.foreign = fmt.Sprintf("agent %s runs dyno %s, and this is dyno %s: install the same on both", h.Name, h.Version, g.o.Version)
	if first {
		g.o.Say(g.foreign)
	}
}

// lose removes a member, which frees its place. The caller holds mu.
func (g *Group) lose(m *member, why error) {
	m.why = why
	close(m.lost)
	g.members[m.place] = nil
	g.o.Say(fmt.Sprintf("%s: %v", m, why))
}

// beat shows the agents regularly that the coordinator is alive, and drops agents that have ended
// or are silent.
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

// ready returns the members as soon as every place is taken; until then it fills free places, for
// at most wait.
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

// fill gives the free places to waiting agents.
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
				g.members[place] = nil // its next hello makes it wait for a place again
			}
			g.mu.Unlock()
			continue
		}
		g.o.Say(m.String() + " has joined")
	}
}

// ask sends an order to an agent and returns the agent's answer.
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
