package chain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"dyno/parts/daemon"
	"dyno/services/chain/api"
	"dyno/services/chain/blockchain"
	"dyno/services/chain/genesis"
	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/testchain"
)

// checkTest says what is wrong with --test for a folder, and has other nodes refuse its methods.
func (f *serving) checkTest(dir string) error {
	_, err := os.Stat(filepath.Join(dir, blockchain.BlocksFolder))
	switch is := testchain.Is(dir); {
	case f.test && (f.readOnly || !f.nodes.alone()):
		return errors.New("--test excludes --read-only and the flags of several nodes: a test chain is one program's")
	case f.test && err == nil:
		return fmt.Errorf("--test: %s holds a chain that was made without it; name a folder for the test chain with --data", dir)
	case !f.test && is:
		return fmt.Errorf("%s holds a test chain; serve it with --test, or name another folder with --data", dir)
	}
	if f.test {
		return nil
	}
	f.controls = refusing("a test chain has it, which chaind serve --test serves")
	return nil
}

// refusing are the methods of a test chain where they are not available.
func refusing(why string) map[string]jsonrpc.Method {
	all := map[string]jsonrpc.Method{}
	for _, name := range slices.AppendSeq(testchain.Names(), maps.Keys(composed(api.Backend{}, nil))) {
		all[name] = func(context.Context, []byte) (any, error) {
			return nil, jsonrpc.Errorf(jsonrpc.UnknownMethod, "the method %s does not exist/is not available: %s", name, why)
		}
	}
	return all
}

// controls reports whether clients may control a test chain: where they may also use its keys.
func (f *devKeys) controls(env *daemon.Env) bool { return f.from != "" || loopback(env.Listen) }

// serveTest serves a test chain.
func (f *serving) serveTest(ctx context.Context, env *daemon.Env, g *genesis.Genesis) (daemon.Running, error) {
	c, err := testchain.Open(ctx, env.Data, g, testchain.Options{Log: env.Log, Fail: env.Fail, Reachable: !f.keys.controls(env), Fork: f.forks.Fork})
	if err != nil {
		return daemon.Running{}, err
	}
	b := api.Backend{Genesis: c.Genesis(), Blocks: c, States: c, Pool: c, Feed: c, Impersonated: c.Impersonated, Lend: c.Lend, Named: c.Named, Signatures: c.Signatures, GasLimit: c.GasLimit}
	if f.keys.controls(env) {
		f.controls, f.print = c.Methods(), c.Print
	} else {
		b.Impersonated, b.Named = func(common.Address) bool { return false }, nil
		f.controls = refusing("other machines reach this node; serve the test chain on a loopback address, or with --dev-accounts development")
	}
	return f.serve(env, nil, b, nil, c.Close)
}

// composed are the methods of a test chain that call others of the node, which are given.
func composed(b api.Backend, methods map[string]jsonrpc.Method) map[string]jsonrpc.Method {
	mine, balance, allowance := detailed(b, methods), setBalance(methods), setAllowance(methods)
	return map[string]jsonrpc.Method{
		"eth_sendUnsignedTransaction": unsigned(b, methods),

		"anvil_reorg": reorg(b, methods),

		"evm_mine_detailed":   mine,
		"anvil_mine_detailed": mine,

		"anvil_dealERC20":         balance,
		"hardhat_dealERC20":       balance,
		"anvil_setERC20Balance":   balance,
		"anvil_setERC20Allowance": allowance,
	}
}

// detailed returns evm_mine with the blocks that it makes as its answer.
func detailed(b api.Backend, methods map[string]jsonrpc.Method) jsonrpc.Method {
	return func(ctx context.Context, params []byte) (any, error) {
		before, blocks := b.States.Head().Number.Uint64(), []any{}
		if _, err := methods["evm_mine"](ctx, params); err != nil {
			return nil, err
		}
		for n := before + 1; n <= b.States.Head().Number.Uint64(); n++ {
			block, err := methods["eth_getBlockByNumber"](ctx, fmt.Appendf(nil, `["%#x",true]`, n))
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, block)
		}
		return blocks, nil
	}
}

// unsigned returns the method that sends a transaction of any account, as if it were impersonated.
func unsigned(b api.Backend, methods map[string]jsonrpc.Method) jsonrpc.Method {
	return func(ctx context.Context, params []byte) (any, error) {
		var o struct{ From common.Address }
		if err := jsonrpc.Params(params, 1, &o); err != nil {
			return nil, err
		}
		defer b.Lend(o.From)()
		return methods["eth_sendTransaction"](ctx, params)
	}
}

// checkTestChain makes the calls of a test chain again.
func checkTestChain(ctx context.Context, dir string) (r blockchain.Report, err error) {
	r.Kind = "test chain"
	c, err := testchain.Open(ctx, dir, nil, testchain.Options{Fail: func(error) {}, Still: true})
	if err != nil {
		r.Damage = []blockchain.Damage{{File: filepath.Join(dir, testchain.Folder), Error: err.Error()}}
		return r, ctx.Err()
	}
	r.OK, r.Head = true, c.Head().Number.Uint64()
	first, _ := c.Kept() // of a fork, the block that another node made
	r.Blocks, r.StateRoot, r.RecomputedRoot = r.Head-first, c.Head().Root, c.Head().Root
	for n := first + 1; n <= r.Head; n++ {
		block, err := c.Block(n)
		if err != nil {
			return r, errors.Join(err, c.Close())
		}
		r.Transactions += uint64(len(block.Transactions()))
	}
	return r, c.Close()
}
