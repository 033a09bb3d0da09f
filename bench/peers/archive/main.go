// Command archive has chaind and go-ethereum keep the state after each block of one chain of
// transfers, and prints what that takes and how fast old states are read, as tables in Markdown.
//
//	archive --chaind dyno-out/chaind --geth dyno-out/geth --data DIR
//
// The chain is made first: its transfers are of chaind gen, shuffled so that a block touches about
// two accounts for each; and so is each node's folder, with the command import of the node. What
// DIR has already is not made again, so that --nodes can name one node after the other. Then the
// archives are asked for balances, nonces and slots (of EIP-2935's contract, to which each block
// writes) after random blocks, each question to one after the other, and their answers must be equal.
//
// It is not for load. It owns two goroutines, which sign and recover senders while the chain is made.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"dyno/bench/peers/callers"
	"dyno/bench/peers/ethnodes"
	"dyno/bench/stored"
)

type options struct {
	chaind, geth, data         string
	transfers, block, accounts int
	questions                  int
	nodes, json                string
	flags                      []string // those of the command that say what is measured
}

// row is what one node took for a transfer and, of an archive, for a question: the median of each kind, and the p99
// of all, with the client's time.
type row struct {
	Name      string  `json:"name"`
	Transfers int     `json:"transfers"`
	Kept      float64 `json:"kept_bytes"`
	Written   float64 `json:"written_bytes"`
	CPU       float64 `json:"cpu_us_per_transfer"`
	Rate      float64 `json:"transfers_per_s"`

	Balance float64 `json:"balance_us,omitempty"`
	Nonce   float64 `json:"nonce_us,omitempty"`
	Slot    float64 `json:"slot_us,omitempty"`
	P99     float64 `json:"question_p99_us,omitempty"`
}

func main() {
	var o options
	flag.StringVar(&o.chaind, "chaind", "dyno-out/chaind", "`file` of chaind's program")
	flag.StringVar(&o.geth, "geth", "dyno-out/geth", "`file` of geth's program, which make rivals builds")
	flag.StringVar(&o.data, "data", "", "`folder` of the chain and of the nodes; some 5 kB a transfer")
	flag.IntVar(&o.transfers, "transfers", 1_000_000, "transfers of the chain")
	flag.IntVar(&o.block, "block", 100, "transfers in a block")
	flag.IntVar(&o.accounts, "accounts", 10_000, "accounts between which the transfers are")
	flag.IntVar(&o.questions, "questions", 1000, "old states that are read")
	flag.StringVar(&o.nodes, "nodes", "", "comma-separated `names` of nodes that take up the chain; empty: all")
	flag.StringVar(&o.json, "json", "", "`file` that keeps the result")
	flag.Parse()
	flag.Visit(func(f *flag.Flag) {
		if !slices.Contains([]string{"chaind", "geth", "data", "json"}, f.Name) {
			o.flags = append(o.flags, "--"+f.Name, f.Value.String())
		}
	})
	callers.Main("archive", func(ctx context.Context) error { return o.run(ctx, os.Stdout) })
}

func (o options) all() []ethnodes.Node {
	archive := func(n ethnodes.Node) ethnodes.Node {
		n.Archive = true
		return n
	}
	chaind := func(history string) ethnodes.Node {
		return ethnodes.Chaind("chaind-"+history, o.chaind, "--set", "history="+history)
	}
	geth := func(name string, flags ...string) ethnodes.Node {
		return ethnodes.Geth(name, o.geth, append(flags, "--syncmode", "full", "--cache", "1024")...)
	}
	return []ethnodes.Node{
		chaind("128"), chaind("10000"), archive(chaind("0")), geth("geth-full"),
		archive(geth("geth-archive-hash", "--gcmode", "archive", "--state.scheme", "hash")),
		archive(geth("geth-archive-path", "--gcmode", "archive", "--state.scheme", "path", "--history.state", "0")),
	}
}

// chosen are those that --nodes names.
func (o options) chosen() (nodes []ethnodes.Node, err error) {
	all := o.all()
	if o.nodes == "" {
		return all, nil
	}
	for _, name := range strings.Split(o.nodes, ",") {
		i := slices.IndexFunc(all, func(n ethnodes.Node) bool { return n.Name == name })
		if i < 0 {
			names := ""
			for _, n := range all {
				names += " " + n.Name
			}
			return nil, fmt.Errorf("--nodes %s: there are%s", name, names)
		}
		nodes = append(nodes, all[i])
	}
	return nodes, nil
}

func (o options) check(nodes []ethnodes.Node) error {
	switch {
	case o.data == "":
		return errors.New("--data must name a folder")
	case o.block < 1 || o.block > 10_000 || o.accounts < 2 || o.accounts > 1_000_000 || o.transfers < o.block:
		return errors.New("--block is 1 to 10,000, --accounts 2 to 1,000,000, and --transfers at least one block")
	}
	return ethnodes.Programs(nodes...)
}

func (o options) run(ctx context.Context, out io.Writer) error {
	nodes, err := o.chosen()
	if err == nil {
		err = o.check(nodes)
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.data, 0o700); err != nil {
		return err
	}
	if o.json != "" {
		for _, n := range nodes {
			if _, err := os.Stat(o.kept(n)); err == nil {
				return fmt.Errorf("%s is of an earlier command, which --json cannot say where it is from: choose another --data", o.kept(n))
			}
		}
	}
	began := stored.Watch()
	c, err := o.chain(ctx)
	if err != nil {
		return fmt.Errorf("making the chain: %w", err)
	}
	rows, err := o.imports(ctx, out, nodes, c)
	if err != nil {
		return err
	}
	if o.questions > 0 {
		nodes = slices.DeleteFunc(nodes, func(n ethnodes.Node) bool { return !n.Archive })
		if err := o.ask(ctx, out, nodes, c, rows); err != nil {
			return err
		}
	}
	if o.json == "" {
		return nil
	}
	commit, modified, err := stored.Revision(o.chaind)
	if err != nil {
		return err
	}
	command := append([]string{"go", "run", "./bench/peers/archive", "--data", "archive"}, o.flags...)
	return stored.Write(o.json, struct {
		Schema string      `json:"schema"`
		Steps  []row       `json:"steps"`
		Made   stored.Made `json:"made"`
	}{"dyno.archive/1", rows, began.Made(commit, modified, command, []string{"dyno/services/chain/cmd/chaind"})})
}

// imports has the nodes take up the chain that have not yet, and prints what each used.
func (o options) imports(ctx context.Context, out io.Writer, nodes []ethnodes.Node, c chain) (rows []row, err error) {
	fmt.Fprintf(out, "%d transfers between %d accounts, %d in a block; the blocks have %d bytes a transfer\n\n", c.Transfers, c.Accounts, o.block, c.Bytes/int64(c.Transfers))
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprint(table, "| node\t| bytes kept a transfer\t| bytes written a transfer\t| CPU us a transfer\t| transfers/s\t|\n| ---\t| ---\t| ---\t| ---\t| ---\t|\n")
	for _, n := range nodes {
		used, err := o.imported(ctx, n)
		if err != nil {
			return nil, err
		}
		each := float64(c.Transfers)
		r := row{Name: n.Name, Transfers: c.Transfers, Kept: float64(used.Kept) / each, Written: float64(used.Written) / each, CPU: used.CPU / each * 1e6, Rate: each / used.Seconds}
		fmt.Fprintf(table, "| %s\t| %.0f\t| %.0f\t| %.1f\t| %.0f\t|\n", r.Name, r.Kept, r.Written, r.CPU, r.Rate)
		rows = append(rows, r)
	}
	return rows, table.Flush()
}

// imported returns what a node's import used, now or in an earlier run.
func (o options) imported(ctx context.Context, n ethnodes.Node) (used ethnodes.Used, err error) {
	kept := o.kept(n)
	text, err := os.ReadFile(kept)
	if err == nil {
		return used, json.Unmarshal(text, &used)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return used, err
	}
	if err := os.RemoveAll(filepath.Join(o.data, n.Name)); err != nil { // an import that did not end
		return used, err
	}
	used, err = n.Import(ctx, o.data, filepath.Join(o.data, genesisFile), filepath.Join(o.data, blocksFile))
	if err != nil {
		return used, err
	}
	return used, writeJSON(kept, used)
}

// kept is the file with what a node's import used.
func (o options) kept(n ethnodes.Node) string { return filepath.Join(o.data, n.Name+".json") }

func writeJSON(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}
