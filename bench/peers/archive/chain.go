package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"dyno/parts/output"
	"dyno/services/chain/blockchain"
	"dyno/services/chain/gen"
	"dyno/services/chain/genesis"
)

// Files of the folder.
const (
	genesisFile = "genesis.json"
	blocksFile  = "blocks.rlp"
	chainFile   = "chain.json" // chain, once the others are whole
	makingDir   = "making"
)

// chain is what the nodes take up.
type chain struct {
	Blocks    uint64
	Transfers int
	Accounts  int
	Bytes     int64 // of the blocks in RLP
}

// gasLimit of a block, in gas: far above what its transfers take, so that the base fee falls.
const gasLimit = 1_000_000_000

// chain makes the chain, unless the folder has it.
func (o options) chain(ctx context.Context) (c chain, err error) {
	at := func(name string) string { return filepath.Join(o.data, name) }
	text, err := os.ReadFile(at(chainFile))
	if err == nil {
		err = json.Unmarshal(text, &c)
		if err == nil && (c.Transfers != o.transfers/o.block*o.block || c.Accounts != o.accounts) {
			err = fmt.Errorf("%s has one of %d transfers between %d accounts: choose another --data", o.data, c.Transfers, c.Accounts)
		}
		return c, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	g, err := gen.New(gen.Config{Accounts: o.accounts, Per: (o.transfers + o.accounts - 1) / o.accounts, Seed: 1, Format: gen.Rows, GasLimit: gasLimit, Rules: genesis.Rules{RootEvery: 1}})
	if err != nil {
		return c, err
	}
	begin, err := o.recent(g.Genesis())
	if err != nil {
		return c, err
	}
	if err := os.RemoveAll(at(makingDir)); err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(at(makingDir))) }()
	made, err := blockchain.Open(ctx, at(makingDir), nil, blockchain.Options{Begin: begin})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, made.Close()) }()
	if err := o.build(ctx, made, g); err != nil {
		return c, err
	}
	last := made.Head().Number.Uint64()
	err = output.To(at(blocksFile), nil, func(w io.Writer) error {
		return blockchain.Export(ctx, w, 1, last, func(n uint64) ([]byte, error) {
			raw, err := made.Blocks.RawBlock(n)
			c.Bytes += int64(len(raw))
			return raw, err
		})
	})
	if err == nil {
		err = os.WriteFile(at(genesisFile), begin.JSON(), 0o600)
	}
	if err != nil {
		return c, err
	}
	c.Blocks, c.Transfers, c.Accounts = last, int(last)*o.block, o.accounts
	return c, writeJSON(at(chainFile), c)
}

// recent is a genesis with a time such that the last block's is now: go-ethereum indexes the history of
// its states only when the head is less than six hours old.
func (o options) recent(g *genesis.Genesis) (*genesis.Genesis, error) {
	own := *g.Genesis
	own.Timestamp = uint64(time.Now().Unix() - int64(o.transfers/o.block))
	text, err := json.Marshal(&own)
	if err != nil {
		return nil, err
	}
	return genesis.Parse(text)
}

// build appends the blocks, a second apart: go-ethereum takes none with its parent's time.
func (o options) build(ctx context.Context, made *blockchain.Chain, g *gen.Generator) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	in, out := io.Pipe()
	var signing sync.WaitGroup
	signing.Go(func() { out.CloseWithError(g.Write(ctx, out)) })
	defer signing.Wait()
	defer in.Close()
	defer cancel()
	rows := bufio.NewScanner(in)
	random := rand.New(rand.NewPCG(1, 2))
	var waiting types.Transactions
	for made.Head().Number.Uint64() < uint64(o.transfers/o.block) {
		for len(waiting) < o.block {
			// A row of the accounts has one transfer of each, to the next one. Shuffled, a block has
			// senders and recipients that are different.
			more, err := read(rows, o.accounts, types.LatestSigner(g.Genesis().Config))
			if err != nil {
				return err
			}
			random.Shuffle(len(more), func(i, k int) { more[i], more[k] = more[k], more[i] })
			waiting = append(waiting, more...)
		}
		draft, err := made.Begin(made.Head().Time + 1)
		if err != nil {
			return err
		}
		for _, tx := range waiting[:o.block] {
			if err := draft.Add(tx); err != nil {
				draft.Abandon()
				return err
			}
		}
		waiting = waiting[o.block:]
		if err := errors.Join(draft.Finish(), made.Put(draft)); err != nil {
			return err
		}
	}
	return nil
}

// read reads transfers, and recovers their senders on all cores.
func read(rows *bufio.Scanner, n int, signer types.Signer) (types.Transactions, error) {
	txs := make(types.Transactions, n)
	for i := range txs {
		if !rows.Scan() {
			return nil, errors.Join(rows.Err(), errors.New("there are no more transfers"))
		}
		var row struct{ Raw string }
		if err := json.Unmarshal(rows.Bytes(), &row); err != nil {
			return nil, err
		}
		raw, err := hex.DecodeString(row.Raw[2:])
		if err != nil {
			return nil, err
		}
		txs[i] = new(types.Transaction)
		if err := txs[i].UnmarshalBinary(raw); err != nil {
			return nil, err
		}
	}
	var recovering sync.WaitGroup
	for core := range runtime.GOMAXPROCS(0) {
		recovering.Go(func() {
			for i := core; i < n; i += runtime.GOMAXPROCS(0) {
				_, _ = types.Sender(signer, txs[i]) // it is remembered; execution returns the error
			}
		})
	}
	recovering.Wait()
	return txs, nil
}

// accountsOf returns the addresses of the transfers' accounts.
func (o options) accountsOf(c chain) ([]common.Address, error) {
	text, err := os.ReadFile(filepath.Join(o.data, genesisFile))
	if err != nil {
		return nil, err
	}
	var g struct {
		Alloc map[common.UnprefixedAddress]json.RawMessage
	}
	if err := json.Unmarshal(text, &g); err != nil {
		return nil, err
	}
	var all []common.Address
	for address := range g.Alloc {
		all = append(all, common.Address(address))
	}
	if len(all) < c.Accounts {
		return nil, fmt.Errorf("%s has %d accounts", genesisFile, len(all))
	}
	return all, nil
}

// slots is the length of the ring of EIP-2935's contract: block n writes slot (n-1) % slots.
const slots = params.HistoryServeWindow
