package chain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"

	"github.com/spf13/pflag"

	"dyno/parts/assembly"
	"dyno/parts/daemon"
	"dyno/parts/jsonrpc"
	"dyno/parts/jsonrpc/scan"
	"dyno/parts/jsonrpc/server"
	"dyno/parts/jsonrpc/std"
	v2 "dyno/parts/jsonrpc/v2"
	"dyno/services/chain/api"
	"dyno/services/chain/api/evm"
	"dyno/services/chain/api/filter"
	"dyno/services/chain/blockchain"
)

// doors are the flags that say which pages and names may call, by go-ethereum's names.
var doors = daemon.Doors{Hosts: "http-vhosts", Origins: "http-corsdomain", Sockets: "ws-origins"}

// Assembly declares what chaind is made of.
func Assembly() assembly.Parts {
	return assembly.Parts{
		Seams: []assembly.Seam{
			{Name: "codec", Doc: "how messages of JSON-RPC are read and written", Impls: []assembly.Impl{
				{Name: "std", Doc: "encoding/json"},
				{Name: "v2", Doc: "encoding/json/v2, token by token"},
				{Name: "scan", Doc: "one pass by hand, without allocations for the envelope"},
			}},
			{Name: "state", Doc: "how the states after the last blocks are kept", Impls: []assembly.Impl{
				{Name: "statedb", Doc: "go-ethereum's StateDB over its path database"},
				{Name: "flat", Doc: "records of accounts and slots, with the tries open from block to block"},
			}},
			{Name: "layout", Doc: "records of flat states", Impls: []assembly.Impl{
				{Name: "scattered", Doc: "one for each field of an account, and slots apart"},
				{Name: "local", Doc: "all of an account together"},
			}},
		},
		Ladder: []assembly.Step{
			{Name: "scan", Change: map[string]string{"codec": "scan"}, Why: "reading the envelope costs as much as the method"},
			{Name: "flat", Change: map[string]string{"state": "flat"}, Why: "the root of a block is most of the CPU time beside the recovery of signatures"},
			{Name: "local", Change: map[string]string{"layout": "local"}, Why: "records that are written together lie together"},
		},
	}
}

var codecs = map[string]jsonrpc.Codec{"std": std.Codec{}, "v2": v2.Codec{}, "scan": scan.Codec{}}

// serving is the flags of serve.
type serving struct {
	genesis  string
	readOnly bool
}

func (f *serving) declare(set *pflag.FlagSet) {
	set.StringVar(&f.genesis, "genesis", "", "`FILE` with the genesis of the chain, as go-ethereum has it; a folder keeps its own")
	set.BoolVar(&f.readOnly, "read-only", false, "serve the chain as it is: transactions are refused, and no blocks are sealed")
}

func (f *serving) start(ctx context.Context, env *daemon.Env) (daemon.Running, error) {
	if !f.readOnly {
		return daemon.Running{}, daemon.Usage(errors.New("chaind serves a chain only with --read-only"))
	}
	g, err := readGenesis(f.genesis)
	if err != nil {
		return daemon.Running{}, err
	}
	c, err := OpenChain(ctx, env, g)
	if err != nil {
		return daemon.Running{}, err
	}
	door, err := serveRPC(env, readOnly(c))
	if err != nil {
		return daemon.Running{}, errors.Join(err, c.Close())
	}
	return daemon.Running{Handler: door, Drain: func(ctx context.Context) error {
		return errors.Join(door.Drain(ctx), c.Close())
	}}, nil
}

// readOnly shows the methods a chain that does not grow.
func readOnly(c *blockchain.Chain) api.Backend {
	return api.Backend{Genesis: c.Genesis, Blocks: c.Blocks, States: c, Pool: api.ReadOnly{}, Feed: api.ReadOnly{}, Recent: api.NewRecent()}
}

// rpc is the server of all methods, with the filters and subscriptions of its clients.
type rpc struct {
	*server.Server
	filters *filter.Filters
}

// Drain ends the WebSockets, and waits for their subscriptions.
func (r rpc) Drain(ctx context.Context) error {
	err := r.Server.Drain(ctx)
	r.filters.Wait()
	return err
}

// serveRPC returns the server of all methods. The caller drains it.
func serveRPC(env *daemon.Env, b api.Backend) (rpc, error) {
	methods, filters := api.Methods(b, version()), filter.New(b)
	maps.Copy(methods, filters.Methods())
	maps.Copy(methods, evm.Methods(b, evm.Options{}))
	m, err := newMetrics(env, b, methods)
	if err != nil {
		return rpc{}, err
	}
	s := server.New(methods, server.Options{
		Codec: codecs[env.Choice.Get("codec")], HTTP: env.Guard, Socket: env.Sockets, Together: api.Together(b), Observe: m.observe, Log: env.Log,
	})
	return rpc{s, filters}, m.expose(env, s, filters)
}

// version is what web3_clientVersion answers, in the form of go-ethereum's.
func version() string {
	return fmt.Sprintf("%s/%s-%s/%s", blockchain.Service, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
