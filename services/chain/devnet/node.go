package devnet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"time"

	"dyno/parts/process"
)

// node is one process, or none while it is killed.
type node struct {
	name    string
	command []string
	log     string

	turn sync.Mutex // held by what kills, slows or stops it

	mu     sync.Mutex // guards what is below
	listen string
	debug  string
	p      *process.Process // nil: it does not run
}

var (
	errKilled = errors.New("the node does not run")
	errCode0  = errors.New("exit code 0")
)

// start starts the node, and ends the network if the node ends unasked.
func (n *node) start(ctx context.Context, r *running) error {
	n.mu.Lock()
	command := append([]string(nil), n.command...)
	command = append(command, "--listen", n.listen)
	n.mu.Unlock()
	p, err := process.Start(ctx, process.Spec{Name: "node " + n.name, Command: command, Log: n.log, ReadyLine: true, ReadyTimeout: patience})
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.p, n.listen, n.debug = p, p.Ready()["listen"], p.Ready()["debug"] // it keeps its address
	n.mu.Unlock()
	r.tasks.Go(func() {
		<-p.Exited()
		n.mu.Lock()
		own := n.p == p
		n.mu.Unlock()
		if own {
			r.fail(fmt.Errorf("node %s ended unasked; its log is %s: %w", n.name, n.log, cmp.Or(p.Err(), errCode0)))
		}
	})
	return nil
}

// take returns the process, whose end is the caller's from now on; nil: it does not run.
func (n *node) take() *process.Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.p
	n.p = nil
	return p
}

// grace is the time that a node has to end in good order.
const grace = 30 * time.Second

func (n *node) stop() error {
	n.turn.Lock()
	defer n.turn.Unlock()
	if p := n.take(); p != nil {
		return p.Stop(grace)
	}
	return nil
}

func (n *node) addresses() (listen, debug string, pid int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.p != nil {
		pid = n.p.PID()
	}
	return n.listen, n.debug, pid
}

// signal sends a signal to the node if it runs.
func (n *node) signal(s syscall.Signal) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.p == nil {
		return errKilled
	}
	select {
	case <-n.p.Exited(): // its number may be another process's
		return errKilled
	default:
		return syscall.Kill(n.p.PID(), s)
	}
}

var client = &http.Client{Timeout: 2 * time.Second}

// ask reads a page of the node's debug address.
func (n *node) ask(ctx context.Context, path string, into any) error {
	_, debug, pid := n.addresses()
	if pid == 0 {
		return errKilled
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+debug+path, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// leads asks the node whether it leads.
func (n *node) leads(ctx context.Context) bool {
	var page struct{ Leads bool }
	return n.ask(ctx, "/debug/chain/peers", &page) == nil && page.Leads
}
