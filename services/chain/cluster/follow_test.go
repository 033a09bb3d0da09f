package cluster_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"dyno/parts/freeport"
	"dyno/parts/process/processtest"
	"dyno/parts/servicetest"
	"dyno/parts/servicetest/proxy"
	"dyno/services/chain/chaintest"
	"dyno/services/chain/genesis"
	"dyno/services/chain/peers"
)

// follower makes a node, which does not run yet, that serves its peers at an address.
func follower(t *testing.T, key peers.Key, listen string, args ...string) *member {
	dir := t.TempDir()
	file := filepath.Join(dir, "node.key")
	if err := key.Write(file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return &member{t: t, command: append([]string{builds.Program(t, "dyno/services/chain/cmd/chaind"), "serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0",
		"--lame-duck=0", "--data", filepath.Join(dir, "data"), "--node-key", file, "--peer-listen", listen}, args...)}
}

// page is what a node answers at its debug address.
func (m *member) page(path string) string {
	resp, err := client.Get("http://" + m.p.Ready()["debug"] + path)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return fmt.Sprint(string(text), err)
}

// offences is why a node has blamed a peer; empty: it has not.
func (m *member) offences(of peers.ID) string {
	var page struct {
		Peers []struct {
			ID        string
			Score     int
			LastError string `json:"last_error"`
		}
	}
	if err := json.NewDecoder(strings.NewReader(m.page("/debug/chain/peers"))).Decode(&page); err != nil {
		return ""
	}
	for _, p := range page.Peers {
		if p.ID == of.String() && p.Score < 0 {
			return p.LastError
		}
	}
	return ""
}

// impostor is a permitted peer of a node that says it has many blocks, and answers as do has it.
type impostor struct {
	network *peers.Network
	asked   atomic.Int64
}

func pretend(t *testing.T, key peers.Key, do func(ctx context.Context, from uint64) ([]byte, error), to ...peers.Address) *impostor {
	n, err := peers.New(peers.Options{Key: key, Addresses: to, Chain: chaintest.ChainID,
		Genesis: genesis.Development().Block().Hash(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	p := &impostor{network: n}
	n.Handle(peers.Head, func(context.Context, peers.ID, []byte) error { return nil })
	n.Handle(peers.Raft, func(context.Context, peers.ID, []byte) error { return nil })
	n.Serve(peers.Hashes, func(context.Context, peers.ID, []byte) ([]byte, error) {
		return peers.AppendItems(nil, make([]byte, 32), make([]byte, 32), make([]byte, 32)), nil
	})
	n.Handle(peers.Transactions, func(context.Context, peers.ID, []byte) error { return nil })
	n.Serve(peers.Blocks, func(ctx context.Context, _ peers.ID, question []byte) ([]byte, error) {
		p.asked.Add(1)
		return do(ctx, binary.BigEndian.Uint64(question))
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = n.Run(ctx, nil) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return p
}

// boast says that the impostor has a thousand blocks.
func (p *impostor) boast() {
	p.network.Broadcast(peers.Head, append(binary.BigEndian.AppendUint64(nil, 1000), make([]byte, 32)...), peers.ID{})
}

// A follower that joins late has the sealer's blocks, whatever other peers send it, and the sealer
// mines what the follower is sent, before and after they were parted.
func TestFollowers(t *testing.T) {
	keys := make([]peers.Key, 5)
	permit := []string{"--set=seal=each"}
	for i := range keys {
		keys[i] = peers.NewKey()
		if i > 0 {
			permit = append(permit, "--peer-id", keys[i].ID().String())
		}
	}
	free, err := freeport.Loopback(3)
	if err != nil {
		t.Fatal(err)
	}
	addresses := []string{free[0].String(), free[1].String(), free[2].String()}
	sealer := follower(t, keys[0], addresses[0], permit...)
	sealer.start()
	first := follower(t, keys[1], addresses[1], "--follow", keys[0].ID().String()+"@"+addresses[0], "--peer-id", keys[2].ID().String())
	first.start()
	s := &sender{account: 0}
	for range 40 {
		if err := s.send(sealer); err != nil {
			t.Fatal(err)
		}
	}
	connected := func(m *member) func() bool {
		return func() bool { return strings.HasPrefix(m.page("/readyz"), "ready") }
	}
	forwarded := func(m *member) {
		t.Helper()
		servicetest.Await(t, func() string { return "a transaction is forwarded: " + m.page("/readyz") }, func() bool { return s.send(m) == nil })
	}
	forwarded(first)
	s.mined(t, []*member{sealer, first})

	way := proxy.New(t, addresses[0])
	way.Refuse()
	late := follower(t, keys[2], addresses[2], "--follow", keys[0].ID().String()+"@"+way.Addr(), "--peer", keys[1].ID().String()+"@"+addresses[1],
		"--peer-id", keys[3].ID().String(), "--peer-id", keys[4].ID().String())
	late.start()
	if page := late.page("/readyz"); !strings.Contains(page, "the node that seals is not connected") {
		t.Errorf("a follower without a sealer says %s", page)
	}
	liar := pretend(t, keys[3], func(_ context.Context, from uint64) ([]byte, error) {
		var raw hexutil.Bytes
		if err := sealer.call(&raw, "debug_getRawBlock", hexutil.Uint64(from)); err != nil {
			return nil, err
		}
		b := new(types.Block)
		if err := rlp.DecodeBytes(raw, b); err != nil {
			return nil, err
		}
		h := b.Header()
		h.Extra = []byte("mine") // a good block, but not the sealer's
		raw, err := rlp.EncodeToBytes(b.WithSeal(h))
		return peers.AppendItems(nil, raw), err
	}, peers.Address{ID: keys[2].ID(), Host: addresses[2]})
	slow := pretend(t, keys[4], func(ctx context.Context, _ uint64) ([]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, peers.Address{ID: keys[2].ID(), Host: addresses[2]})
	way.Pass()
	servicetest.Await(t, func() string { return "the sealer is connected: " + late.page("/readyz") }, connected(late))
	servicetest.Await(t, func() string {
		return fmt.Sprint("the liar and the slow peer are asked: ", late.page("/debug/chain/peers"))
	}, func() bool {
		liar.boast()
		slow.boast()
		if late.head() == sealer.head() { // one block after the other: peers are asked in any order
			if err := s.send(sealer); err != nil {
				t.Fatal(err)
			}
		}
		return slow.asked.Load() > 0 && strings.Contains(late.offences(keys[3].ID()), "and the node that seals has")
	})
	all := []*member{sealer, first, late}
	s.mined(t, all)

	way.Refuse()
	servicetest.Await(t, func() string { return "the follower misses the sealer" }, func() bool { return !connected(late)() })
	if err := s.send(late); err == nil {
		t.Error("a follower without a sealer accepts a transaction")
	}
	for range 5 {
		if err := s.send(sealer); err != nil {
			t.Fatal(err)
		}
	}
	way.Pass()
	forwarded(late)
	first.kill() // what it has not got on disk it fetches again
	first.start()
	s.mined(t, all)
	agree(t, all)
	if why := late.offences(keys[0].ID()) + late.offences(keys[1].ID()); why != "" {
		t.Errorf("an honest peer is blamed: %s", why)
	}
	for _, m := range all {
		processtest.Stop(t, m.p)
	}
}

// A peer that claims blocks which no node has holds up neither the choice of a leader nor what that
// seals, whatever it sends instead.
func TestLeaderIsLiedTo(t *testing.T) {
	servicetest.Parallel(t, map[string]func(context.Context, uint64) ([]byte, error){
		"garbage": func(context.Context, uint64) ([]byte, error) { return peers.AppendItems(nil, []byte("no block")), nil },
		"nothing": func(context.Context, uint64) ([]byte, error) { return nil, errors.New("not now") },
	}, leaderIsLiedTo)
}

func leaderIsLiedTo(t *testing.T, do func(context.Context, uint64) ([]byte, error)) {
	all := cluster(t, 3, "--set=seal=each")
	keys := make([]peers.Key, 3)
	for i := range keys {
		var err error
		if keys[i], err = peers.ReadKey(flagOf(all[i], "--node-key")); err != nil {
			t.Fatal(err)
		}
	}
	var addresses []peers.Address
	for i, m := range all[:2] {
		addresses = append(addresses, peers.Address{ID: keys[i].ID(), Host: flagOf(m, "--peer-listen")})
	}
	liar := pretend(t, keys[2], do, addresses...)
	all[0].start()
	servicetest.Await(t, func() string { return "the liar is connected" }, func() bool { return strings.Contains(all[0].page("/debug/chain/peers"), `"connected":true`) })
	all[1].start()
	l := leader(t, all[:2])
	s := &sender{account: 0}
	servicetest.Await(t, func() string { return "a transaction is accepted: " + l.page("/readyz") }, func() bool { return s.send(l) == nil })
	s.mined(t, all[:2])
	t.Logf("the liar was asked for blocks %d times", liar.asked.Load())
	for _, m := range all[:2] {
		processtest.Stop(t, m.p)
	}
}

// flagOf returns the value of a flag in a node's command.
func flagOf(m *member, name string) string {
	return m.command[slices.Index(m.command, name)+1]
}
