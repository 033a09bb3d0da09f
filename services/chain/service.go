// Package chain is the permissioned chain node: it declares the service and its jobs.
//
// The work is in the packages below. It starts no goroutines beyond those of the progress bar,
// which end with the job, and those of the server of JSON-RPC, which end with the service.
package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/spf13/pflag"

	"dyno/parts/assembly"
	"dyno/parts/daemon"
	"dyno/parts/progress"
	"dyno/services/chain/api"
	"dyno/services/chain/blockchain"
	"dyno/services/chain/genesis"
	"dyno/services/chain/node"
	"dyno/services/chain/state"
	"dyno/services/chain/testchain"
)

// DefaultFolder is the default of --data.
const DefaultFolder = blockchain.Service + "-data"

// Service declares chaind.
func Service() daemon.Service { return ServiceWith(func(*Config) {}) }

// ServiceWith declares chaind with a change of its Config, made when it starts: the hook of
// exhibits (bench/faults). All else is as in Service.
func ServiceWith(change func(*Config)) daemon.Service {
	f := serving{change: change}
	return daemon.Service{
		Name:  blockchain.Service,
		Short: "Execute, keep, prove and serve chains of Ethereum",
		Long: `Chaind is a chain node for teams with private and test chains. It executes and judges the blocks of any fork of
Ethereum, keeps them with their state, and serves them by JSON-RPC over HTTP and WebSocket.`,
		Example: `  chaind import --data chain --genesis genesis.json chain.rlp
  chaind serve --data dev
  chaind serve --data chain --read-only --listen 127.0.0.1:8545
  chaind check --data chain
  chaind export --data chain copy.rlp`,
		Listen:   "127.0.0.1:8545",
		Assembly: Assembly(),
		Data:     &blockchain.Folder,
		Jobs:     []daemon.Job{importJob()},
		Flags:    f.declare,
		Doors:    &callers,
		Start:    f.start,

		Extensions: true,
	}
}

func importJob() daemon.Job {
	var path string
	return daemon.Job{
		Name:  "import",
		Short: "Execute the blocks of a file, check and keep them",
		Long: `Import executes blocks of any fork of Ethereum from a file as geth export writes it, also compressed with gzip,
and judges each by its header: proof of work and of stake are not judged, everything else is. Blocks that the folder has
are skipped. It prints {"blocks":..,"head":..,"hash":..,"state_root":..}, also when it stops at a block that is wrong, at
the end of a file that is cut off, or after SIGINT: then with exit code 1, and what was imported stays.`,
		Example: "  chaind import --data chain --genesis genesis.json chain.rlp",
		Args:    "BLOCKS.rlp",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&path, "genesis", "", "`FILE` with the genesis of the chain, as go-ethereum has it; needed for a new folder")
		},
		Run: func(ctx context.Context, env *daemon.Env, args []string) error {
			if len(args) != 1 {
				return daemon.Usage(errors.New("import takes one argument, the file of blocks: chaind import --genesis genesis.json chain.rlp"))
			}
			return importFile(ctx, env, path, args[0])
		},
	}
}

// imported is what import prints.
type imported struct {
	Blocks    int64       `json:"blocks"`
	Head      uint64      `json:"head"`
	Hash      common.Hash `json:"hash"`
	StateRoot common.Hash `json:"state_root"`
}

func importFile(ctx context.Context, env *daemon.Env, genesisFile, path string) (err error) {
	g, err := readGenesis(genesisFile)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return daemon.Usage(err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	config := assembly.Bind[Config](env.Choice)
	c, err := openWhole(ctx, env.Data, g, blockchain.Options{States: config.State, History: config.history()}, env.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var done atomic.Int64
	bar := progress.Show(env.Stderr, "blocks", func() progress.State { return progress.State{Done: done.Load()} })
	err = blockchain.Import(ctx, c, file, func() { done.Add(1) })
	bar.Close()
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	if err := errors.Join(err, c.Sync()); err != nil {
		return errors.Join(err, report(env.Stdout, c, done.Load()))
	}
	return report(env.Stdout, c, done.Load())
}

func report(w io.Writer, c *blockchain.Chain, blocks int64) error {
	head := c.Head()
	return json.NewEncoder(w).Encode(imported{blocks, head.Number.Uint64(), head.Hash(), head.Root})
}

// readGenesis reads a genesis; nil if there is no path.
func readGenesis(path string) (*genesis.Genesis, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, daemon.Usage(fmt.Errorf("--genesis: %w", err))
	}
	g, err := genesis.Read(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, daemon.Usage(fmt.Errorf("--genesis %s: %w", path, err))
	}
	return g, nil
}

// openChain opens the chain of a locked data folder, and shows on w how blocks are executed again
// whose state a crash took.
func openChain(ctx context.Context, dir string, g *genesis.Genesis, o blockchain.Options, w io.Writer) (*blockchain.Chain, error) {
	var done, total atomic.Int64
	var bar *progress.Bar
	o.Recovered = func(number, of uint64) {
		done.Store(int64(number))
		total.Store(int64(of))
		if bar == nil {
			bar = progress.Show(w, "blocks executed again", func() progress.State {
				return progress.State{Done: done.Load(), Total: total.Load()}
			})
		}
	}
	if testchain.Is(dir) {
		return nil, fmt.Errorf("%s holds a test chain, which chaind serve --test serves; name another folder with --data", dir)
	}
	if err := node.Full(space(dir)); err != nil {
		return nil, err
	}
	c, err := blockchain.Open(ctx, dir, g, o)
	if bar != nil {
		bar.Close()
	}
	return c, err
}

// exposeWritten shows how much is written for states and blocks, where they know it: an engine's
// bytes by those of the states' records are its write amplification. The lab samples the same.
func exposeWritten(env *daemon.Env, states state.States, blocks api.Blocks) error {
	var all []daemon.Metric
	if w, ok := states.(interface{ Written() (user, engine int64) }); ok {
		all = append(all, daemon.Metric{Name: "state_record_bytes", Help: "bytes of accounts and slots that were written",
			Read: func() float64 { user, _ := w.Written(); return float64(user) }},
			daemon.Metric{Name: "state_written_bytes", Help: "bytes that the states' engine wrote to disk, with nodes, log and compactions",
				Read: func() float64 { _, engine := w.Written(); return float64(engine) }})
	}
	if w, ok := blocks.(interface{ Written() int64 }); ok {
		all = append(all, daemon.Metric{Name: "blocks_written_bytes", Help: "bytes that the blocks' engine wrote to disk, with receipts, indexes, log, compactions, and what history keeps",
			Read: func() float64 { return float64(w.Written()) }})
	}
	if len(all) == 0 {
		return nil
	}
	env.Sample(prefix, all...)
	for i := range all {
		all[i].Name += "_total"
	}
	return env.Expose(prefix, nil, all...)
}

// openWhole opens a chain with the blocks that only its journal has, for all but a node, which does
// so itself.
func openWhole(ctx context.Context, dir string, g *genesis.Genesis, o blockchain.Options, w io.Writer) (*blockchain.Chain, error) {
	c, err := openChain(ctx, dir, g, o, w)
	if err != nil {
		return nil, err
	}
	j, err := openJournal(dir)
	if j == nil && err == nil {
		return c, nil
	}
	if err == nil {
		_, err = j.Replay(ctx, c)
		err = errors.Join(err, c.Sync(), j.Close())
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
