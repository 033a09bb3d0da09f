package chain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"dyno/parts/assembly"
	"dyno/parts/config"
	"dyno/parts/daemon"
	"dyno/parts/httploop"
	"dyno/parts/httploop/wire"
	"dyno/parts/tracing"
	"dyno/services/chain/api"
	"dyno/services/chain/api/accounts"
	"dyno/services/chain/api/evm"
	"dyno/services/chain/api/filter"
	"dyno/services/chain/blockchain"
	"dyno/services/chain/console"
	"dyno/services/chain/genesis"
	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/jsonrpc/scan"
	"dyno/services/chain/mempool"
	"dyno/services/chain/node"
	"dyno/services/chain/state"
	"dyno/services/chain/testchain"
)

// callers are the flags that say which pages and names may call, by go-ethereum's names.
var callers = daemon.Doors{Hosts: "http-vhosts", Origins: "http-corsdomain", Sockets: "ws-origins"}

var codecs = map[string]jsonrpc.Codec{"std": jsonrpc.Std{}, "scan": scan.Codec{}}

// serving is the flags of serve, and what was chosen for it.
type serving struct {
	genesis   string
	readOnly  bool
	logSample config.Pairs
	nodes     nodes
	keys      devKeys
	forks     forkFlags
	legacy    bool // transactions without a chain id are taken, too
	test      bool // a test chain

	change   func(*Config)
	config   Config                    // since start
	controls map[string]jsonrpc.Method // of a test chain, or that refuse them
	print    func([]console.Line)      // what the contracts of a test chain print; nil: this is none
	ballast  []byte
}

func (f *serving) declare(set *pflag.FlagSet) {
	set.StringVar(&f.genesis, "genesis", "", "`FILE` with the genesis of the chain, as go-ethereum has it; a folder keeps its own, and a new one has the development chain without it")
	f.nodes.declare(set)
	f.keys.declare(set)
	f.forks.declare(set)
	set.BoolVar(&f.legacy, "rpc.allow-unprotected-txs", false, "take transactions without a chain id (before EIP-155), too, such as those that deploy well-known factories; other chains would take them as well")
	f.logSample.Alone = tracing.Others
	set.Var(&f.logSample, "log-sample", "share of calls that are logged: `[METHOD=]RATE`, such as eth_call=0.01; repeatable. Calls whose trace is recorded (--otlp) are logged without it")
	set.BoolVar(&f.test, "test", false, "serve a test chain, in a folder of its own: a block for each transaction, and the calls by which test suites set the clock, write to accounts, and take all of it back (evm_*, anvil_*, hardhat_*)")
	set.BoolVar(&f.readOnly, "read-only", false, "serve the chain as it is: transactions are refused, and no blocks are sealed")
}

func (f *serving) start(ctx context.Context, env *daemon.Env) (daemon.Running, error) {
	g, err := readGenesis(f.genesis)
	if err != nil {
		return daemon.Running{}, err
	}
	if err := f.nodes.check(f.readOnly); err != nil {
		return daemon.Running{}, daemon.Usage(err)
	}
	if err := f.forks.check(f.test, f.genesis); err != nil {
		return daemon.Running{}, daemon.Usage(err)
	}
	f.ballast = ballast()
	f.config = assembly.Bind[Config](env.Choice)
	f.change(&f.config)
	if err := f.checkTest(env.Data); err != nil {
		return daemon.Running{}, daemon.Usage(err)
	}
	if f.test {
		return f.serveTest(ctx, env, g)
	}
	if f.readOnly {
		c, err := openWhole(ctx, env.Data, g, blockchain.Options{States: f.config.State, History: f.config.history()}, env.Stderr)
		if err != nil {
			return daemon.Running{}, err
		}
		return f.serve(env, c.States(), readOnly(c), nil, c.Close)
	}
	n, err := f.openNode(ctx, env, g)
	if err != nil {
		return daemon.Running{}, err
	}
	if err := exposeNode(env, n); err != nil {
		return daemon.Running{}, errors.Join(err, n.Close())
	}
	env.Debug.Handle("GET /debug/chain/backup", f.nodes.backups(env, n))
	c := n.Chain()
	return f.serve(env, c.States(), api.Backend{Genesis: c.Genesis, Blocks: c.Blocks, States: c, Pool: n, Feed: n, Recent: api.NewRecent(), BlockWait: f.config.Answers.BlockWait}, n.Ready, n.Close)
}

// Bounds that are no settings.
const (
	writeTimeout = time.Minute // that a client has to read an answer: 25 MB at 3.3 Mbit/s
	checkpoint   = 64 << 20    // bytes of the journal's records after which it is shortened
)

var (
	waiting    = mempool.Options{Transactions: 1 << 17, Bytes: 256 << 20}
	executions = evm.Options{Gas: 50_000_000, Timeout: 5 * time.Second, MaxTrace: 16 << 20}
)

// serve serves a backend at / and /submit.
func (f *serving) serve(env *daemon.Env, states state.States, b api.Backend, ready func() error, end func() error) (daemon.Running, error) {
	if err := exposeWritten(env, states, b.Blocks); err != nil {
		return daemon.Running{}, errors.Join(err, end())
	}
	door, err := f.serveRPC(env, b)
	if err != nil {
		return daemon.Running{}, errors.Join(err, end())
	}
	paths := http.NewServeMux()
	paths.Handle("/", traced(env, len(f.logSample.Values()) > 0, door))
	paths.Handle("/submit", env.Guard.Wrap(api.Submit(b.Pool), nil))
	out := daemon.Running{Handler: paths, WriteTimeout: writeTimeout, Drain: func(ctx context.Context) error { return errors.Join(door.Drain(ctx), end()) }}
	front, err := f.openFront(env, door.Server, traces(env, len(f.logSample.Values()) > 0, paths))
	if err != nil {
		return daemon.Running{}, errors.Join(err, end())
	}
	if front != nil {
		out.Front = front
		elsewhere := func() uint64 { return front.Stats().Elsewhere }
		if err := errors.Join(env.ExposeHandedOver(prefix, handedOver, front.HandedOver), env.ExposeElsewhere(prefix, elsewhere)); err != nil {
			return daemon.Running{}, errors.Join(err, front.Drain(context.Background()), end())
		}
	}
	if ready != nil {
		out.Ready = func(context.Context) error { return ready() }
	}
	return out, nil
}

// openFront opens the event loop if the assembly has it. Begin is of jsonrpc.FrontOptions.
func (f *serving) openFront(env *daemon.Env, s *jsonrpc.Server, begin func(*wire.Head) (context.Context, func(int))) (*jsonrpc.Front, error) {
	if f.config.Transport != "loop" {
		return nil, nil
	}
	front, err := jsonrpc.NewFront(s, jsonrpc.FrontOptions{
		Listener: env.Connections, TLS: env.TLS, ReadTimeout: env.ReadTimeout, WriteTimeout: writeTimeout, Fail: env.Fail, Log: env.Log, Begin: begin,
	})
	if errors.Is(err, httploop.ErrUnsupported) {
		env.Log.Info("net/http reads all requests, as there are no event loops (transport=loop) on this system")
		return nil, nil
	}
	return front, err
}

// openNode opens the chain and the journal of a data folder, of a development chain if it is new
// and there is no genesis, and continues where the last process was.
func (f *serving) openNode(ctx context.Context, env *daemon.Env, g *genesis.Genesis) (*node.Node, error) {
	policy, err := node.NewPolicy(f.config.Seal, f.config.Sealing)
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(filepath.Join(env.Data, copied)); err != nil {
		return nil, err
	}
	c, err := openChain(ctx, env.Data, g, blockchain.Options{States: f.config.State, History: f.config.history(), Begin: genesis.Development()}, env.Stderr)
	if err != nil {
		return nil, err
	}
	if c.Head().Number.Sign() == 0 && c.Head().Hash() == genesis.Development().Block().Hash() {
		env.Log.Info("the development chain: each of its accounts begins with 10,000 ether", "mnemonic", genesis.Mnemonic, "accounts", genesis.Accounts)
	}
	j, begin, err := f.nodes.openJournal(env, c, f.config)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	o := node.Options{Sealing: policy, Pool: waiting, Checkpoint: checkpoint, Space: space(env.Data), Unprotected: f.legacy, Log: env.Log, Fail: env.Fail}
	if env.Tracer != nil {
		o.Tracer = env.Tracer
	}
	n, err := node.Open(ctx, c, j, o)
	if err == nil && begin != nil {
		if err = begin(n); err != nil {
			err = errors.Join(err, n.Close())
		}
	}
	return n, err
}

// readOnly shows the methods a chain that does not grow.
func readOnly(c *blockchain.Chain) api.Backend {
	return api.Backend{Genesis: c.Genesis, Blocks: c.Blocks, States: c, Pool: api.ReadOnly{}, Feed: api.ReadOnly{}, Recent: api.NewRecent()}
}

// rpc is the server of all methods, with the filters and subscriptions of its clients.
type rpc struct {
	*jsonrpc.Server
	filters *filter.Filters
}

// Drain ends the WebSockets, and waits for their subscriptions.
func (r rpc) Drain(ctx context.Context) error {
	err := r.Server.Drain(ctx)
	r.filters.Wait()
	return err
}

// serveRPC returns the server of all methods. The caller drains it.
func (f *serving) serveRPC(env *daemon.Env, b api.Backend) (rpc, error) {
	fork, ok := b.Blocks.(*testchain.Chain)
	if ok {
		b.Within = func(ctx context.Context) (api.Blocks, api.States) { v := fork.Within(ctx); return v, v }
	}
	methods, filters := api.Methods(b, f.version()), filter.New(b)
	maps.Copy(methods, filters.Methods())
	bounds := executions
	if bounds.Next, bounds.Console = f.test, f.print; f.test {
		bounds.Patience = testchain.Patience
	}
	maps.Copy(methods, evm.Methods(b, bounds))
	if ok {
		fork.PassOn(methods)
		if !loopback(env.Listen) {
			fork.RefuseForks()
		}
	}
	keys, err := f.keys.open(env, b.Genesis, f.readOnly, f.test)
	if err != nil {
		return rpc{}, err
	}
	maps.Copy(methods, accounts.Methods(b, keys, methods))
	if f.test { // the others are refused
		maps.Copy(methods, f.controls)
	}
	methods["rpc_modules"] = api.Modules(methods)
	maps.Copy(methods, f.controls)
	if f.test && f.keys.controls(env) {
		maps.Copy(methods, composed(b, methods))
	}
	m, err := newMetrics(env, b, methods)
	if err != nil {
		return rpc{}, err
	}
	together := api.Together(b)
	watching := calls{log: env.Log}
	if env.Tracer != nil {
		watching.tracer = env.Tracer
	}
	if rates := f.logSample.Values(); len(rates) > 0 {
		if watching.rates, err = tracing.ParseRates(rates); err != nil {
			return rpc{}, daemon.Usage(fmt.Errorf("--log-sample: %w", err))
		}
	}
	if err := watching.watch(methods, together); err != nil {
		return rpc{}, err
	}
	s := jsonrpc.NewServer(methods, jsonrpc.Options{
		Codec: codecs[f.config.Codec], HTTP: env.Guard, Socket: env.Sockets, Together: together, Observe: m.observe, Log: env.Log,
	})
	return rpc{s, filters}, m.expose(env, b, s, filters)
}

// version is what web3_clientVersion answers, in the form of go-ethereum's.
func (f *serving) version() string {
	if f.test {
		return testchain.Version
	}
	return fmt.Sprintf("%s/%s-%s/%s", blockchain.Service, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
