// Package ethnodes has chaind and go-ethereum execute the blocks of one file, each into a folder of
// its own, and serves the folders, so that what the two keep and answer can be compared.
//
// It is not for load (peers/transfers is), nor for blocks that the nodes make. An import has ended
// when its call returns; a node that is served runs until it is stopped. It owns no goroutine.
package ethnodes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"dyno/parts/freeport"
	"dyno/parts/process"
)

// Node is one of the two programs with its settings.
type Node struct {
	Name    string   // unique among those that share a folder
	Program string   // path
	Geth    bool     // it is go-ethereum; otherwise chaind
	Archive bool     // it keeps the state after every block
	Flags   []string // for every command
}

// Chaind is chaind with further flags of import and serve.
func Chaind(name, program string, flags ...string) Node {
	return Node{Name: name, Program: program, Flags: flags}
}

// Geth is go-ethereum with further flags of all its commands.
func Geth(name, program string, flags ...string) Node {
	return Node{Name: name, Program: program, Geth: true, Flags: flags}
}

// Used is what an import used.
type Used struct {
	Seconds float64 `json:"seconds"` // until its end
	CPU     float64 `json:"cpu_s"`   // in user and system mode, seconds, with that until old states can be read
	Written int64   `json:"written"` // bytes that the import gave to the disk; Linux counts them
	Kept    int64   `json:"kept"`    // bytes of the files once old states can be read, go-ethereum's after a compaction
}

// Import executes the blocks of a file into the node's subfolder of dir, which must not exist.
func (n Node) Import(ctx context.Context, dir, genesis, blocks string) (u Used, err error) {
	own := filepath.Join(dir, n.Name)
	if err := os.Mkdir(own, 0o700); err != nil {
		return u, fmt.Errorf("the folder of %s: %w", n.Name, err)
	}
	commands := [][]string{append([]string{"import", "--data", own, "--genesis", genesis}, append(n.Flags, blocks)...)}
	if n.Geth {
		commands = [][]string{n.command(own, "init", genesis), n.command(own, "import", blocks)}
	}
	began := time.Now()
	for _, args := range commands {
		state, err := n.run(ctx, args)
		if err != nil {
			return u, err
		}
		u.CPU += (state.UserTime() + state.SystemTime()).Seconds()
		if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
			u.Written += int64(usage.Oublock) * 512 // its unit on Linux
		}
	}
	u.Seconds = time.Since(began).Seconds()
	cpu, err := n.settle(ctx, dir)
	if err != nil {
		return u, err
	}
	u.CPU += cpu.Seconds()
	if n.Geth { // otherwise much of it is in write-ahead logs, which it allocates in advance
		if _, err := n.run(ctx, n.command(own, "db", "compact")); err != nil {
			return u, err
		}
	}
	u.Kept, err = size(own)
	return u, err
}

// command is the arguments of a command of go-ethereum.
func (n Node) command(dir string, args ...string) []string {
	return slices.Concat([]string{"--datadir", dir, "--verbosity", "2"}, n.Flags, args)
}

// run runs a command of the node to its end; the end of ctx stops it.
func (n Node) run(ctx context.Context, args []string) (*os.ProcessState, error) {
	cmd := exec.CommandContext(ctx, n.Program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %v: %w: %s", n.Program, args, err, out[max(0, len(out)-1000):])
	}
	return cmd.ProcessState, err
}

// settleLimit bounds the time until old states can be read.
const settleLimit = 10 * time.Minute

// settle serves the node until it has made what it makes of an import afterwards: go-ethereum's path
// scheme makes the index of its history when it is served. It returns the CPU time of that.
func (n Node) settle(ctx context.Context, dir string) (time.Duration, error) {
	s, err := n.Serve(ctx, dir)
	if err != nil {
		return 0, err
	}
	late := time.Now().Add(settleLimit)
	for n.Archive && err == nil {
		var a Answer
		if a, err = s.Post(ctx, Body("eth_getBalance", common.Address{}, "0x1")); err == nil && a.Error == nil {
			break
		}
		if err == nil && time.Now().After(late) {
			err = fmt.Errorf("%s has no state after block 1, %v after its start: %s", n.Name, settleLimit, a.Error.Message)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			err = errors.Join(err, ctx.Err())
		}
	}
	err = errors.Join(err, s.Stop())
	return s.process.CPUTime(), err
}

// size returns the bytes of a folder's files.
func size(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		bytes += info.Size()
		return nil
	})
	return bytes, err
}

// startLimit bounds the start of a node; geth joins the history of its states then.
const startLimit = time.Minute

// Serve serves the node's subfolder of dir.
func (n Node) Serve(ctx context.Context, dir string) (*Served, error) {
	dir = filepath.Join(dir, n.Name)
	spec := process.Spec{Name: n.Name, ReadyTimeout: startLimit}
	var address string
	if n.Geth {
		free, err := freeport.Loopback(1)
		if err != nil {
			return nil, err
		}
		address = free[0].String()
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		spec.Command = append([]string{n.Program}, n.command(dir,
			"--http", "--http.addr", host, "--http.port", port, "--http.api", "eth,debug,web3,net,txpool", "--ipcdisable",
			"--nodiscover", "--maxpeers", "0", "--port", "0", "--authrpc.port", "0")...)
		spec.ReadyURL = func(map[string]string) (string, error) { return "http://" + address, nil }
	} else {
		spec.Command = slices.Concat([]string{n.Program, "serve", "--data", dir}, n.Flags,
			[]string{"--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--lame-duck", "0s", "--log-level", "warn"})
		spec.ReadyLine = true
	}
	p, err := process.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	if !n.Geth {
		address = p.Ready()["listen"]
	}
	return &Served{Node: n, process: p, url: "http://" + address}, nil
}

// grace is how long a node may take to end.
const grace = time.Minute

// Stop ends the node.
func (s *Served) Stop() error {
	s.client.CloseIdleConnections()
	return s.process.Stop(grace)
}

// Programs returns an error that names the programs that are missing.
func Programs(nodes ...Node) (err error) {
	for _, n := range nodes {
		if _, missing := exec.LookPath(n.Program); missing != nil {
			build := "go build -o dyno-out/chaind ./services/chain/cmd/chaind"
			if n.Geth {
				build = "make rivals"
			}
			err = errors.Join(err, fmt.Errorf("%s: %w; build it with %s", n.Name, missing, build))
		}
	}
	return err
}
