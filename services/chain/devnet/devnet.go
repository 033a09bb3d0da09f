// Package devnet runs a network of nodes on this machine, each as a process of its own, for
// development and trials: it makes their keys, finds ports, waits until one leads, and kills or
// slows nodes when a caller asks for that over HTTP.
//
// It is not for a chain that must outlive this machine: its nodes share one disk. Run owns the
// processes and the goroutines of its HTTP server, and waits for them.
package devnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"dyno/agent"
	"dyno/parts/freeport"
	"dyno/services/chain/peers"
)

// most is the largest number of nodes.
const most = 7

// Network says which nodes to run.
type Network struct {
	Program string   // chaind, or one with its serve
	Dir     string   // of keys, logs and folders; what it has is used again
	Nodes   int      // 1: a node alone, without consensus
	Listen  string   // HOST:PORT of the first node; the next have the ports after it, unless it is 0
	Flags   []string // of serve, for all nodes
}

// patience bounds the time until all nodes follow a leader.
const patience = time.Minute

// Run runs the nodes until ctx ends, or a node ends unasked. It prints the ready line, and closes
// the control address.
func (w Network) Run(ctx context.Context, control net.Listener, ready io.Writer) (err error) {
	asked := ctx // whatever ends it, such as Ctrl-C, is no error
	ctx, cancel := context.WithCancelCause(asked)
	defer cancel(nil)
	r := &running{ctx: ctx, fail: cancel}
	server := &http.Server{Handler: agent.NewGuard("").Wrap(r.mux()), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	var serving sync.WaitGroup
	defer func() {
		cancel(nil) // ends faults that are under way, and so their requests
		grace, end := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer end()
		if server.Shutdown(grace) != nil {
			server.Close()
		}
		control.Close()
		serving.Wait()
		err = errors.Join(err, r.stop())
		r.tasks.Wait()
	}()
	if r.nodes, err = w.prepare(); err != nil {
		return err
	}
	for _, n := range r.nodes {
		if err := n.start(ctx, r); err != nil {
			return err
		}
	}
	leader, err := r.settled(ctx)
	if err != nil {
		return err
	}
	serving.Go(func() { _ = server.Serve(control) }) // it ends with Close
	if err := json.NewEncoder(ready).Encode(r.line(leader, control.Addr().String())); err != nil {
		return err
	}
	<-ctx.Done()
	if asked.Err() != nil {
		return nil
	}
	return context.Cause(ctx)
}

// prepare makes what the nodes must know of each other.
func (w Network) prepare() (nodes []*node, err error) {
	host, first, err := net.SplitHostPort(w.Listen)
	port, bad := strconv.ParseUint(first, 10, 16)
	if err != nil || bad != nil {
		return nil, fmt.Errorf("--listen %q: want an address, such as 127.0.0.1:8545", w.Listen)
	}
	if err := os.MkdirAll(w.Dir, 0o750); err != nil {
		return nil, err
	}
	listen, err := freeport.Loopback(w.Nodes) // each node knows the others' before it runs
	if err != nil {
		return nil, err
	}
	var all []peers.Address
	var keys []string
	for i := range w.Nodes {
		path := filepath.Join(w.Dir, fmt.Sprintf("%d.key", i+1))
		key, err := keyAt(path)
		if err != nil {
			return nil, err
		}
		all, keys = append(all, peers.Address{ID: key.ID(), Host: listen[i].String()}), append(keys, path)
	}
	for i := range w.Nodes {
		n := &node{name: strconv.Itoa(i + 1), listen: net.JoinHostPort(host, first)}
		if port > 0 {
			n.listen = net.JoinHostPort(host, strconv.FormatUint(port+uint64(i), 10))
		}
		n.log = filepath.Join(w.Dir, n.name+".log")
		n.command = []string{w.Program, "serve", "--debug=127.0.0.1:0", "--lame-duck=0s", "--data", filepath.Join(w.Dir, n.name)}
		if w.Nodes > 1 {
			n.command = append(n.command, "--consensus=raft", "--node-key", keys[i], "--peer-listen", all[i].Host)
		}
		for k, a := range all {
			if k != i {
				n.command = append(n.command, "--peer", a.String())
			}
		}
		n.command = append(n.command, w.Flags...)
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// keyAt reads the key in a file, which it makes if there is none.
func keyAt(path string) (peers.Key, error) {
	key, err := peers.ReadKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		key = peers.NewKey()
		err = key.Write(path)
	}
	return key, err
}

// running is the nodes, in the order of their names.
type running struct {
	ctx   context.Context
	fail  func(error)
	nodes []*node
	tasks sync.WaitGroup // those that slow nodes, and one for each process, which it ends with
}

// stop stops all nodes.
func (r *running) stop() error {
	errs := make([]error, len(r.nodes))
	var stopping sync.WaitGroup
	for i, n := range r.nodes {
		stopping.Go(func() { errs[i] = n.stop() })
	}
	stopping.Wait()
	return errors.Join(errs...)
}

// settled waits until all nodes are ready, and returns the leader.
func (r *running) settled(ctx context.Context) (leader *node, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the nodes have no leader after %v; see their logs", patience))
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		ready := 0
		leader = nil
		for _, n := range r.nodes {
			if n.ask(ctx, "/readyz", nil) == nil {
				ready++
			}
			if n.leads(ctx) || len(r.nodes) == 1 {
				leader = n
			}
		}
		if leader != nil && ready == len(r.nodes) {
			return leader, nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// line is the ready line. The addresses listen and debug are the leader's.
func (r *running) line(leader *node, control string) map[string]any {
	var nodes []map[string]any
	for _, n := range r.nodes {
		listen, debug, pid := n.addresses()
		nodes = append(nodes, map[string]any{"name": n.name, "listen": listen, "debug": debug, "pid": pid})
	}
	listen, debug, _ := leader.addresses()
	line := map[string]any{
		"ready": true, "service": "chaind devnet", "pid": os.Getpid(), "control": control,
		"leader": leader.name, "listen": listen, "debug": debug, "nodes": nodes,
	}
	for _, n := range r.nodes {
		if n != leader {
			line["follower"], _, _ = n.addresses()
		}
	}
	return line
}

// find returns the leader, a follower, or the node of a name.
func (r *running) find(ctx context.Context, of string) (*node, error) {
	for _, n := range r.nodes {
		switch {
		case n.name == of, of == "leader" && n.leads(ctx), of == "follower" && n.ask(ctx, "/readyz", nil) == nil && !n.leads(ctx):
			return n, nil
		}
	}
	return nil, fmt.Errorf("of=%.20s: want leader, follower, or the number of a node; there may be no such node at present", of)
}
