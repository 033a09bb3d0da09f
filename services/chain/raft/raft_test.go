package raft

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dyno/parts/wal"
	"dyno/parts/wal/memory"
)

// machine keeps what is applied. A checkpoint has all of it.
type machine struct {
	mu      sync.Mutex
	applied []string
	index   uint64
	leads   bool
	fails   error
}

func (m *machine) Apply(_ context.Context, index uint64, entries [][]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range entries {
		m.applied = append(m.applied, string(e))
	}
	m.index = index
	return m.fails
}

func (m *machine) Restore(_ context.Context, index uint64, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.applied, m.index = strings.Split(string(data), " "), index
	return nil
}

func (m *machine) Leads(now bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leads == now {
		panic("it is called without a change")
	}
	m.leads = now
}

// state returns what was applied, and up to which entry.
func (m *machine) state() (index uint64, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.index, []byte(strings.Join(m.applied, " "))
}

func (m *machine) has() []string { m.mu.Lock(); defer m.mu.Unlock(); return slices.Clone(m.applied) }
func (m *machine) leading() bool { m.mu.Lock(); defer m.mu.Unlock(); return m.leads }

// server is a node that runs.
type server struct {
	*Node
	machine *machine
	disk    disk
	syncs   func() uint64
	stop    func() error
}

// servers are nodes in a bubble, between which a message takes a millisecond.
type servers struct {
	t         *testing.T
	unbatched bool
	mu        sync.Mutex
	all       map[uint64]*server // nil: it does not run
	apart     uint64
	sent      int
}

func (s *servers) send(from uint64) func(to uint64, body []byte) {
	return func(to uint64, body []byte) {
		time.AfterFunc(time.Millisecond, func() {
			s.mu.Lock()
			s.sent++
			other := s.all[to]
			lost := other == nil || from == s.apart || to == s.apart
			s.mu.Unlock()
			if !lost {
				if err := other.Receive(from, body); err != nil {
					s.t.Error(err)
				}
			}
		})
	}
}

func (s *servers) start(id uint64, d disk) *server {
	log := wal.New(d, wal.Options{Commit: wal.Group})
	v := &server{machine: new(machine), disk: d, syncs: func() uint64 { return log.Stats().Syncs }}
	var err error
	v.Node, err = New(Options{ID: id, Voters: []uint64{1, 2, 3}, WAL: log, Machine: v.machine, Send: s.send(id), Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Unbatched: s.unbatched})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- v.Run(ctx) }()
	v.stop = func() error {
		s.mu.Lock()
		s.all[id] = nil
		s.mu.Unlock()
		cancel()
		return errors.Join(<-done, log.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[id] = v
	return v
}

// bubble runs three nodes.
func bubble(t *testing.T, unbatched bool, test func(s *servers)) {
	synctest.Test(t, func(t *testing.T) {
		s := &servers{t: t, unbatched: unbatched, all: map[uint64]*server{}}
		for id := range uint64(3) {
			s.start(id+1, disk{memory.New(), 2 * time.Millisecond})
		}
		test(s)
		for _, v := range s.all {
			if v != nil {
				if err := v.stop(); err != nil {
					t.Error(err)
				}
			}
		}
		time.Sleep(time.Second) // for messages on their way
	})
}

// leader waits for the node that leads.
func (s *servers) leader() *server {
	for range 100 {
		for id, v := range s.all {
			if v != nil && id != s.apart && v.machine.leading() {
				return v
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatal("no node leads")
	return nil
}

func TestLeaderIsKilled(t *testing.T) {
	bubble(t, false, func(s *servers) {
		var acked []string
		for round := range 20 {
			v := s.leader()
			var calls sync.WaitGroup
			var mu sync.Mutex
			for i := range 50 {
				calls.Go(func() {
					text := fmt.Sprintf("e%d.%d", round, i)
					if err := v.Propose(s.t.Context(), []byte(text)); err == nil {
						mu.Lock()
						defer mu.Unlock()
						acked = append(acked, text)
					} else if !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrNotLeader) {
						t.Error(err)
					}
				})
			}
			if round%2 == 0 {
				calls.Wait() // otherwise it is killed amid them
			}
			if round%5 == 4 {
				index, data := v.machine.state()
				if err := v.Checkpoint(s.t.Context(), index, data); err != nil {
					t.Error(err)
				}
			}
			if err := v.stop(); err != nil {
				t.Error(err)
			}
			calls.Wait()
			killed := time.Now()
			s.leader()
			if took := time.Since(killed); took > 2*time.Second {
				t.Errorf("round %d: the next leader came after %v", round, took)
			}
			s.start(v.o.ID, v.disk)
		}
		time.Sleep(5 * time.Second)
		want := s.all[1].machine.has()
		for id, v := range s.all {
			if !slices.Equal(v.machine.has(), want) {
				t.Errorf("node %d has %d entries, and node 1 %d", id, len(v.machine.has()), len(want))
			}
		}
		for _, text := range acked {
			if !slices.Contains(want, text) {
				t.Errorf("%s was acknowledged, and is lost", text)
			}
		}
		if len(acked) < 500 {
			t.Errorf("%d entries were acknowledged", len(acked))
		}
	})
}

// A leader without a majority acknowledges nothing, and knows soon that it does not lead.
func TestPartition(t *testing.T) {
	bubble(t, false, func(s *servers) {
		v := s.leader()
		s.mu.Lock()
		s.apart = v.o.ID
		s.mu.Unlock()
		if err := v.Propose(s.t.Context(), []byte("lost")); !errors.Is(err, ErrUnknown) {
			t.Errorf("a leader that is cut off: %v", err)
		}
		if err := v.Propose(s.t.Context(), []byte("lost")); !errors.Is(err, ErrNotLeader) {
			t.Errorf("later: %v", err)
		}
		time.Sleep(time.Second)
		if v.machine.leading() || v.Leader() != 0 {
			t.Errorf("it leads: %t, the leader is %d", v.machine.leading(), v.Leader())
		}
		if err := s.leader().Propose(s.t.Context(), []byte("kept")); err != nil {
			t.Errorf("the majority: %v", err)
		}
		s.mu.Lock()
		s.apart = 0
		s.mu.Unlock()
		time.Sleep(5 * time.Second)
		for id, v := range s.all {
			if got := v.machine.has(); !slices.Equal(got, []string{"kept"}) {
				t.Errorf("node %d has %v", id, got)
			}
		}
		ctx, cancel := context.WithCancel(s.t.Context())
		cancel()
		if err := s.leader().Propose(ctx, []byte("x")); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that has gone: %v", err)
		}
	})
}

// Concurrent proposals share messages and fsyncs, unless the planted fault is on.
func TestProposalsAreBatched(t *testing.T) {
	cost := map[bool]int{}
	for _, unbatched := range []bool{false, true} {
		bubble(t, unbatched, func(s *servers) {
			v := s.leader()
			s.mu.Lock()
			before := s.sent + int(v.syncs())
			s.mu.Unlock()
			var calls sync.WaitGroup
			for i := range 1000 {
				calls.Go(func() {
					if err := v.Propose(s.t.Context(), fmt.Append(nil, i)); err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()
			s.mu.Lock()
			cost[unbatched] = s.sent + int(v.syncs()) - before
			s.mu.Unlock()
		})
	}
	if cost[false] > 100 || cost[true] < 1000 {
		t.Errorf("1,000 proposals took %d messages and fsyncs, and %d without batches", cost[false], cost[true])
	}
	t.Logf("1,000 proposals took %d messages and fsyncs, and %d without batches", cost[false], cost[true])
}

// A node whose machine fails stops, and says why.
func TestMachineFails(t *testing.T) {
	bubble(t, false, func(s *servers) {
		v := s.leader()
		v.machine.mu.Lock()
		v.machine.fails = errors.New("the disk is gone")
		v.machine.mu.Unlock()
		if err := v.Propose(s.t.Context(), []byte("x")); !errors.Is(err, ErrUnknown) {
			t.Errorf("a proposal that was not applied: %v", err)
		}
		if err := v.Checkpoint(s.t.Context(), 2, nil); err == nil {
			t.Error("a node that has stopped makes a checkpoint")
		}
		if err := v.stop(); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
			t.Errorf("it stops with %v", err)
		}
	})
}
