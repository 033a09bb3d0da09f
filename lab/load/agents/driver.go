package agents

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/engine"
	"dyno/lab/record"
	"dyno/lab/workload"
)

const (
	// partSize is the size of a part of the packed load: its message stays below 1 MiB, the
	// default limit of NATS.
	partSize = 512 << 10
	// uploading bounds the time in which an agent must receive the load.
	uploading = time.Minute
	// margin is the least time between the order to begin and the start, in addition to the
	// plan's time for making connections: the order's way through the bus, and to an agent whose
	// machine is busy. An agent that gets it later cannot begin with the others.
	margin = 250 * time.Millisecond
	// stopping bounds the wait for the last report of an agent that was stopped.
	stopping = 5 * time.Second
)

// driver is a load.Driver that splits its plan between agents.
type driver struct {
	group *Group
	hosts []string // that the load goes to
	steps bool     // a request has several steps
	opens bool     // it is one of sessions, which are opened before the start
	key   string
	data  []byte // the packed load
	local string // the engine that this process would use for the load

	mu       sync.Mutex
	notes    map[string][]string // by agent; guarded by mu
	protocol string              // guarded by mu
}

var (
	_ load.Driver      = (*driver)(nil)
	_ load.Noting      = (*driver)(nil)
	_ load.Negotiating = (*driver)(nil)
)

// Driver makes a load's driver, and sends the load to the agents. If one refuses it, that is an
// error.
func (g *Group) Driver(s *corpus.Spec) (load.Driver, error) {
	data, err := pack(s)
	if err != nil {
		return nil, err
	}
	local, _, err := engine.New(s) // checks the load, too
	if err != nil {
		return nil, err
	}
	d := &driver{group: g, data: data, steps: len(s.Load.Steps) > 0, opens: s.Load.Kind == workload.Sessions, local: local.Engine(), notes: map[string][]string{}}
	if d.hosts, err = engine.Hosts(s); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(d.data)
	d.key = hex.EncodeToString(sum[:])
	err = each(g.present(), func(_ int, m *member) error { return d.upload(context.Background(), m) })
	if refused := refusal(""); errors.As(err, &refused) {
		return nil, err
	}
	return d, nil // an agent that cannot be reached now fails the drive, unless it can be reached then
}

// Engine names the driver.
func (d *driver) Engine() string { return fmt.Sprintf("%d agents, %s", d.group.o.Expect, d.local) }

// Notes returns the notes of the agents' drivers, each preceded by the agent's name.
func (d *driver) Notes() (out []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(d.notes)) {
		for _, text := range d.notes[name] {
			out = append(out, name+": "+text)
		}
	}
	return out
}

// Protocol returns the protocol that an agent negotiated with the target; see load.Negotiating.
func (d *driver) Protocol() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.protocol
}

// keepNotes stores the notes and the protocol from an agent's last report.
func (d *driver) keepNotes(r *receiver) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes[r.member.String()], d.protocol = r.notes, cmp.Or(r.protocol, d.protocol)
}

// each calls f for all members concurrently, and returns the error of the first member that has
// one.
func each(members []*member, f func(i int, m *member) error) error {
	errs := make([]error, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		all.Go(func() {
			if errs[i] = f(i, m); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", m, errs[i])
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// upload sends the packed load to an agent, unless the agent has it.
func (d *driver) upload(ctx context.Context, m *member) error {
	ctx, cancel := context.WithTimeout(ctx, uploading)
	defer cancel()
	if i := slices.IndexFunc(d.hosts, load.Loopback); i >= 0 && m.Machine != Machine() {
		return refusal(fmt.Sprintf("it is on another machine, where %s is not the target: name the target by an address that all machines reach", d.hosts[i]))
	}
	a, err := d.group.ask(ctx, m.ID, order{Has: d.key})
	for at := 0; err == nil && a.Missing && at < len(d.data); at += partSize {
		_, err = d.group.ask(ctx, m.ID, order{Part: &part{Key: d.key, Size: len(d.data), At: at, Data: d.data[at:min(at+partSize, len(d.data))]}})
	}
	return err
}

// Drive splits the plan between the agents. If one fails, the others are stopped, and the error is
// a load.GeneratorError.
func (d *driver) Drive(ctx context.Context, p *load.Plan, rec *load.Recorder) error {
	if p.Open() && p.Spec == nil || p.Deliveries > 0 {
		return errors.New("this load comes from one process: it cannot be split between agents")
	}
	members, err := d.group.ready(ctx, rejoining)
	if err != nil {
		return failed(ctx, err)
	}
	n := min(len(members), max(p.Connections, 1)) // each agent needs a connection, and a request to send
	if p.Count > 0 {
		n = int(min(int64(n), p.Count))
	}
	members = members[:n]
	parts := make([]*receiver, n)
	drive := newID()
	err = each(members, func(i int, m *member) (err error) {
		if err := d.upload(ctx, m); err != nil {
			return err
		}
		parts[i] = newReceiver(m)
		parts[i].offset, err = readClock(ctx, d.group.net, m.ID)
		return err
	})
	if err != nil {
		return failed(ctx, err)
	}
	for i, r := range parts {
		unsubscribe, err := d.group.net.Subscribe(fmt.Sprintf("%s%s.%d", driveSubject, drive, i), r.take)
		if err != nil {
			return failed(ctx, err)
		}
		defer unsubscribe()
		defer r.close()
	}
	if d.opens {
		switch err := d.open(ctx, p, members, parts, drive); {
		case ctx.Err() != nil:
			return nil // nothing was sent yet
		case err != nil:
			return failed(ctx, err)
		}
	}
	p.Start, p.Steps = startOf(p, parts), d.steps
	for i, shard := range rec.Shards(n) {
		parts[i].record(shard)
	}
	driving, stop := context.WithCancel(ctx)
	defer stop()
	err = each(members, func(i int, m *member) error {
		o := order{Start: &start{Drive: drive, At: p.Start + parts[i].offset.ahead}}
		if !d.opens {
			o = order{Begin: d.order(p, drive, i, n, parts[i].offset)}
		}
		err := d.share(driving, p, parts[i], drive, o)
		parts[i].close()
		if err != nil {
			stop() // the others
		}
		return err
	})
	if ctx.Err() != nil {
		return nil // the totals so far count, as they do for any driver that is stopped
	}
	return failed(ctx, err)
}

// failed marks an error as a failure of the load generator, unless ctx is done.
func failed(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &load.GeneratorError{Err: err}
}

// startOf returns the start of the first window at which all agents can begin.
func startOf(p *load.Plan, parts []*receiver) int64 {
	uncertain := int64(0)
	for _, r := range parts {
		uncertain = max(uncertain, r.offset.error)
	}
	const window = int64(record.WindowLength)
	soonest := monotonic.Now() + int64(margin) + int64(p.Lead) + 4*uncertain
	return (max(soonest, p.Start) + window - 1) / window * window
}

// order returns the order to begin for the i-th of n agents.
func (d *driver) order(p *load.Plan, drive string, i, n int, clock offset) *begin {
	b := &begin{Drive: drive, Work: d.key, Index: i, Of: n, Start: p.Start + clock.ahead, Offset: clock.ahead,
		Connections: (p.Connections - i + n - 1) / n, Warmup: p.Warmup, Length: p.Length, Drain: p.Drain, Timeout: p.Timeout, Lead: p.Lead,
		Units: p.Units, Classes: p.Classes, FirstSeq: p.FirstSeq, Spec: p.Spec}
	b.Connections = max(b.Connections, 1)
	if d.opens {
		b.Start, b.Sessions = 0, p.Connections
	}
	if p.Count > 0 {
		b.Count = p.Share(i, n)
	}
	return b
}

// open has the agents open their sessions, and returns when all have.
func (d *driver) open(ctx context.Context, p *load.Plan, members []*member, parts []*receiver, drive string) error {
	opening, stop := context.WithCancel(ctx)
	defer stop()
	begun := make([]bool, len(members))
	err := each(members, func(i int, m *member) error {
		err := d.opened(opening, p, parts[i], order{Begin: d.order(p, drive, i, len(parts), parts[i].offset)})
		refused := refusal("")
		begun[i] = !errors.As(err, &refused)
		if err == nil {
			return nil
		}
		others := opening.Err() != nil // another agent's error, or the end of ctx, is the reason
		stop()
		if others {
			return nil
		}
		return err
	})
	if err == nil && ctx.Err() == nil {
		return nil
	}
	each(members, func(i int, m *member) error { // those that have opened theirs wait for a start
		if begun[i] {
			d.halt(ctx, parts[i], drive)
		}
		return nil
	})
	return err
}

// opened has an agent open its sessions and waits until they are open or have failed to open. The
// agent's own limits end that sooner than the one here.
func (d *driver) opened(ctx context.Context, p *load.Plan, r *receiver, o order) error {
	if _, err := d.group.ask(ctx, r.member.ID, o); err != nil {
		return err
	}
	limit := time.Duration(p.Connections)*time.Millisecond + 3*cmp.Or(p.Timeout, silence) + silence
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-r.opened:
		return nil
	case <-r.ended:
		return r.err
	case <-r.member.lost:
		return r.member.why
	case <-late.C:
		return fmt.Errorf("its sessions were not open within %v", limit)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// share gives an agent the order that starts its share. It returns when the agent's last report has
// arrived or the agent is lost. When ctx is done it stops the agent.
func (d *driver) share(ctx context.Context, p *load.Plan, r *receiver, drive string, o order) error {
	if _, err := d.group.ask(ctx, r.member.ID, o); err != nil {
		switch {
		case d.opens: // it has begun
			d.halt(ctx, r, drive)
		case ctx.Err() != nil: // it may have
			d.group.ask(context.WithoutCancel(ctx), r.member.ID, order{Stop: drive})
		}
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	late := time.NewTimer(time.Duration(p.DrainUntil()-monotonic.Now()) + silence)
	defer late.Stop()
	select {
	case <-r.ended:
		d.keepNotes(r)
		return r.err
	case <-r.member.lost:
		return r.member.why
	case <-late.C:
		return errors.New("its last report did not come in time")
	case <-ctx.Done():
	}
	d.halt(ctx, r, drive)
	return nil // another agent's error, or the end of ctx, is the reason
}

// halt stops an agent's share and waits a while for its last report.
func (d *driver) halt(ctx context.Context, r *receiver, drive string) {
	if _, err := d.group.ask(context.WithoutCancel(ctx), r.member.ID, order{Stop: drive}); err != nil {
		return
	}
	late := time.NewTimer(stopping)
	defer late.Stop()
	select {
	case <-r.ended:
	case <-r.member.lost:
	case <-late.C:
	}
}
