// Package gen makes what a load on a chain needs: accounts, the genesis that funds them, and signed
// transfers between them. The same configuration makes the same bytes.
//
// It is not for sending them, nor for keys that are worth anything: all follow from the seed. Its
// goroutines, one for each core, end before a call returns.
package gen

import (
	"context"
	"crypto/ecdsa"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"runtime"
	"strconv"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"dyno/services/chain/genesis"
)

// Format is how the transfers are written.
type Format string

// The formats.
const (
	Bodies Format = "ndjson" // a JSON-RPC request on each line, or an array of them
	Rows   Format = "rows"   // {"raw":"0x.."} on each line
)

// Config says what to make.
type Config struct {
	Accounts int    // from 1 to 1,000,000
	Per      int    // transfers of each account; at most 100,000,000 in all
	Seed     uint64 // of the keys
	Array    int    // calls in each body, which is an array then; 0: single calls
	Format   Format
	GasLimit uint64 // of a block
	Rules    genesis.Rules

	// Development is for the genesis that chaind and others begin with when they have no other:
	// Accounts, Seed and GasLimit are those of the development chain.
	Development bool
}

// Bounds of a configuration. An account's 10,000 ether pay for some 4,700,000 transfers.
const (
	maxAccounts  = 1_000_000
	maxPer       = 4_000_000
	maxTransfers = 100_000_000
	maxArray     = 1000
)

// What each transfer offers for gas, in wei. The base fee of the first block is 1 gwei.
var (
	feeCap = big.NewInt(100 * params.GWei)
	tipCap = big.NewInt(params.GWei)
)

// Generator holds the accounts. It may be used from any goroutine.
type Generator struct {
	config    Config
	genesis   *genesis.Genesis
	signer    types.Signer
	keys      []*ecdsa.PrivateKey
	addresses []common.Address
}

// New makes the accounts and the genesis.
func New(c Config) (*Generator, error) {
	if c.Development {
		c.Accounts, c.GasLimit = len(genesis.Accounts), genesis.Development().GasLimit
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	g := &Generator{config: c, keys: make([]*ecdsa.PrivateKey, c.Accounts), addresses: make([]common.Address, c.Accounts)}
	err := parallel(c.Accounts, func(i int) (err error) {
		if g.keys[i], err = c.key(i); err == nil {
			g.addresses[i] = crypto.PubkeyToAddress(g.keys[i].PublicKey)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	// For the development chain this is its own.
	if g.genesis, err = genesis.Funded(c.GasLimit, g.addresses).Under(c.Rules); err != nil {
		return nil, err
	}
	g.signer = types.LatestSigner(g.genesis.Config)
	return g, nil
}

func (c Config) check() error {
	switch {
	case c.Accounts < 1 || c.Accounts > maxAccounts:
		return fmt.Errorf("%d accounts: there may be 1 to %d", c.Accounts, maxAccounts)
	case c.Per < 1 || c.Per > maxPer:
		return fmt.Errorf("%d transfers per account: there may be 1 to %d", c.Per, maxPer)
	case c.Accounts*c.Per > maxTransfers:
		return fmt.Errorf("%d transfers: there may be %d", c.Accounts*c.Per, maxTransfers)
	case c.Array < 0 || c.Array > maxArray:
		return fmt.Errorf("arrays of %d: a node takes 1 to %d calls", c.Array, maxArray)
	case c.Format != Bodies && c.Format != Rows:
		return fmt.Errorf("the format %q is neither %s nor %s", c.Format, Bodies, Rows)
	case c.Format == Rows && c.Array > 0:
		return errors.New("arrays are bodies: rows have one transfer each")
	case c.GasLimit < params.TxGas || c.GasLimit > params.MaxGasLimit:
		return fmt.Errorf("a block of %d gas: it may have %d to %d", c.GasLimit, params.TxGas, params.MaxGasLimit)
	}
	return nil
}

// key is the private key of an account.
func (c Config) key(account int) (*ecdsa.PrivateKey, error) {
	if c.Development {
		return genesis.Keys()[account], nil
	}
	name := binary.BigEndian.AppendUint64([]byte("chaind gen "), c.Seed)
	return crypto.ToECDSA(crypto.Keccak256(binary.BigEndian.AppendUint64(name, uint64(account))))
}

// Genesis is that of the development chain, with 10,000 ether for each account.
func (g *Generator) Genesis() *genesis.Genesis { return g.genesis }

// batch is the number of transfers that are signed before they are written.
const batch = 4096

// Write writes the transfers. Neighbouring ones are of different accounts, and those of an account
// are in the order of their nonces, so that concurrent senders leave short gaps.
func (g *Generator) Write(ctx context.Context, w io.Writer) error {
	total := g.config.Accounts * g.config.Per
	raws := make([][]byte, min(batch, total))
	var line []byte
	for first := 0; first < total; first += len(raws) {
		if err := ctx.Err(); err != nil {
			return err
		}
		raws = raws[:min(len(raws), total-first)]
		err := parallel(len(raws), func(i int) (err error) {
			raws[i], err = g.transfer(first + i)
			return err
		})
		if err != nil {
			return err
		}
		for i, raw := range raws {
			line = g.append(line, first+i, raw)
			if !g.ends(first + i) {
				continue
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
			line = line[:0]
		}
	}
	return nil
}

// transfer signs a transfer of 1 wei to the next account.
func (g *Generator) transfer(n int) ([]byte, error) {
	from := n % len(g.keys)
	tx, err := types.SignNewTx(g.keys[from], g.signer, &types.DynamicFeeTx{
		ChainID: g.genesis.Config.ChainID, Nonce: uint64(n / len(g.keys)),
		GasTipCap: tipCap, GasFeeCap: feeCap, Gas: params.TxGas,
		To: &g.addresses[(from+1)%len(g.keys)], Value: big.NewInt(1),
	})
	if err != nil {
		return nil, err
	}
	return tx.MarshalBinary()
}

// append appends a transfer to its line.
func (g *Generator) append(line []byte, n int, raw []byte) []byte {
	if g.config.Format == Rows {
		line = hex.AppendEncode(append(line, `{"raw":"0x`...), raw)
		return append(line, `"}`...)
	}
	if len(line) > 0 {
		line = append(line, ',')
	} else if g.config.Array > 0 {
		line = append(line, '[')
	}
	line = strconv.AppendInt(append(line, `{"jsonrpc":"2.0","id":`...), int64(n), 10)
	line = hex.AppendEncode(append(line, `,"method":"eth_sendRawTransaction","params":["0x`...), raw)
	line = append(line, `"]}`...)
	if g.config.Array > 0 && g.ends(n) {
		line = append(line, ']')
	}
	return line
}

// ends reports whether a transfer is the last of its line.
func (g *Generator) ends(n int) bool {
	return (n+1)%max(g.config.Array, 1) == 0 || n+1 == g.config.Accounts*g.config.Per
}

// parallel calls do with 0 to n-1, on all cores, and returns the errors.
func parallel(n int, do func(int) error) error {
	cores := runtime.GOMAXPROCS(0)
	errs := make([]error, cores)
	var group sync.WaitGroup
	for core := range cores {
		group.Go(func() {
			for i := core; i < n && errs[core] == nil; i += cores {
				errs[core] = do(i)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
