package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"dyno/agent"
	"dyno/parts/cluster/peers"
	"dyno/parts/cluster/peers/identity"
	"dyno/parts/daemon"
	"dyno/services/chain"
)

// nodesCommand runs the nodes beside the one that a trial is about.
func nodesCommand() *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:   "nodes --data DIR [-- FLAGS OF SERVE]",
		Short: "Run the other two nodes of a chain of three, as a companion of trials",
		Long: `Nodes makes the keys of three nodes in a new folder, runs two of them in this process until SIGTERM or Ctrl-C, and prints
what the third one, the trial's, is started with: its key and address, and the addresses of the two. The third one is to
lead: of the two, one that leads is stopped, and begins again when another node leads. At the address "debug", /readyz
answers 200 while all three take part and the third one leads.`,
		Example: `  chaind nodes --data others -- --log-level warn
  chaind serve --data third --consensus raft --node-key KEY --peer-listen ADDRESS --peer FIRST --peer SECOND`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if data == "" {
				return daemon.Usage(errors.New("--data is missing: a new folder for keys and nodes"))
			}
			return runNodes(cmd.Context(), data, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "new `FOLDER` of the keys and the nodes (required)")
	return cmd
}

// third is what is printed for the third node.
type third struct {
	Ready   bool   `json:"ready"`
	Service string `json:"service"`
	Key     string `json:"key"`
	Address string `json:"address"`
	Debug   string `json:"debug"`
	First   string `json:"first"`
	Second  string `json:"second"`
}

// lookEvery is the time between two looks at which node leads.
const lookEvery = 100 * time.Millisecond

func runNodes(ctx context.Context, dir string, flags []string, stdout, stderr io.Writer) (err error) {
	addresses, keys, err := invent(dir)
	if err != nil {
		return err
	}
	var all members
	for i := 1; i < len(addresses); i++ {
		m := &member{stderr: stderr, args: []string{"serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--lame-duck=0s", "--consensus=raft",
			"--data=" + filepath.Join(dir, fmt.Sprint(i)), "--node-key=" + keys[i], "--peer-listen=" + addresses[i].Host}}
		for k, a := range addresses {
			if k != i {
				m.args = append(m.args, "--peer="+a.String())
			}
		}
		m.args = append(m.args, flags...)
		all = append(all, m)
	}
	defer func() { err = errors.Join(err, all.stop()) }()
	if _, err := all.step(ctx); err != nil {
		return err
	}
	var ready atomic.Bool
	debug, stop, err := serveReady(&ready)
	if err != nil {
		return err
	}
	defer stop()
	if err := json.NewEncoder(stdout).Encode(third{true, "chaind nodes", keys[0], addresses[0].Host, debug, addresses[1].String(), addresses[2].String()}); err != nil {
		return err
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		follow, err := all.step(ctx)
		if err != nil {
			return err
		}
		ready.Store(follow)
	}
}

// serveReady serves /readyz, and returns its address and what ends it.
func serveReady(ready *atomic.Bool) (address string, stop func(), err error) {
	l, err := daemon.Listen("debug", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready.Load() {
			http.Error(w, "the third node does not lead, or a node does not take part", http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Handler: agent.NewGuard("").Wrap(mux), ReadHeaderTimeout: 10 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(l) }) // until it is closed
	return l.Addr().String(), func() { server.Close(); serving.Wait() }, nil
}

// invent makes three keys, and finds as many free ports.
func invent(dir string) (addresses []peers.Address, keys []string, err error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, nil, daemon.Usage(fmt.Errorf("--data: %w", err))
	}
	for i := range 3 {
		l, err := daemon.Listen("peer-listen", "127.0.0.1:0")
		if err != nil {
			return nil, nil, err
		}
		defer l.Close() // when there are three: no port comes twice
		key, path := identity.New(), filepath.Join(dir, fmt.Sprintf("%d.key", i))
		if err := key.Write(path); err != nil {
			return nil, nil, daemon.Usage(fmt.Errorf("--data: %w", err))
		}
		addresses, keys = append(addresses, peers.Address{ID: key.ID(), Host: l.Addr().(*net.TCPAddr).String()}), append(keys, path)
	}
	return addresses, keys, nil
}

// members are the nodes of this process, in the order in which they are started.
type members []*member

// step stops a node that leads, or starts the next one when those that run follow the third node.
// They start one after the other, so that the third node wins: of two nodes without a leader one
// has an empty log, and gets no vote of the third one if that has more. It reports whether both
// follow.
func (all members) step(ctx context.Context) (follow bool, err error) {
	var next *member
	for i, m := range all {
		if m.ended == nil {
			if next == nil {
				next = m
			}
			continue
		}
		is, err := m.look(ctx)
		if err != nil {
			return false, err
		}
		switch is {
		case leads:
			copy(all[i:], all[i+1:]) // it is the last to start again
			all[len(all)-1] = m
			return false, m.stop()
		case waits:
			return false, nil
		}
	}
	if next == nil {
		return true, nil
	}
	return false, next.start()
}

func (all members) stop() (err error) {
	for _, m := range all {
		err = errors.Join(err, m.stop())
	}
	return err
}

// member is one node. It owns the goroutine of the node, and one that reads what the node prints.
type member struct {
	args   []string
	stderr io.Writer

	cancel context.CancelFunc
	ended  chan int // with the exit code; nil: it does not run
	tasks  sync.WaitGroup
	debug  string // address
}

// start starts the node, and returns when it has printed its addresses.
func (m *member) start() error {
	ctx, cancel := context.WithCancel(context.Background()) // stop waits for it
	out, in := io.Pipe()
	m.cancel, m.ended = cancel, make(chan int, 1)
	m.tasks.Go(func() {
		m.ended <- daemon.Run(ctx, chain.Service(), m.args, os.LookupEnv, in, m.stderr)
		in.Close()
	})
	var line struct{ Debug string }
	r := bufio.NewReader(out)
	text, err := r.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(text, &line)
	}
	m.debug = line.Debug
	m.tasks.Go(func() { io.Copy(io.Discard, r) }) // until the node ends
	if err != nil {
		return errors.Join(errors.New("a node did not start; its reason stands above"), m.stop())
	}
	return nil
}

// stop stops the node if it runs, and waits for it.
func (m *member) stop() error {
	if m.ended == nil {
		return nil
	}
	m.cancel()
	m.tasks.Wait()
	code := <-m.ended
	m.ended = nil
	if code != 0 {
		return fmt.Errorf("a node ended with exit code %d", code)
	}
	return nil
}

// What a node is.
const (
	waits   = iota // for a leader
	follows        // another node
	leads
)

// look asks a node what it is. An error means that the node has failed.
func (m *member) look(ctx context.Context) (int, error) {
	select {
	case code := <-m.ended:
		m.ended <- code
		if code == 0 { // the signal that ends this process ends its nodes, too
			return waits, nil
		}
		return 0, errors.New("a node has ended; its reason stands above")
	default:
	}
	var role struct{ Leads bool }
	if err := m.ask(ctx, "/debug/chain/peers", &role); err == nil && role.Leads {
		return leads, nil
	}
	if m.ask(ctx, "/readyz", nil) != nil { // as long as it has no leader, or lacks its blocks
		return waits, nil
	}
	return follows, nil
}

// ask reads a page of the debug address.
func (m *member) ask(ctx context.Context, path string, to any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.debug+path, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	if to == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(to)
}
