// Package genesis reads genesis.json as go-ethereum has it, with the rules that chaind adds under
// "chaind", and says what block 0 of a chain is.
//
// It is not for where a chain is stored, nor for what happens in its later blocks. It starts no
// goroutines.
package genesis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
)

// Rules are what chaind adds to the rules of Ethereum.
type Rules struct {
	// RootEvery is the number of blocks from one state root in a header to the next, those of the
	// blocks whose number it divides. The header of any other block has its parent's root: such a
	// chain only chaind can execute again. It is 1 in a chain of Ethereum.
	RootEvery uint64 `json:"rootEvery"`

	// ZeroBaseFee keeps the base fee of every block at 0, so that gas can be free.
	ZeroBaseFee bool `json:"zeroBaseFee"`
}

// Genesis is what a chain begins with.
type Genesis struct {
	*core.Genesis
	Rules Rules

	text []byte // compact JSON
}

// mostRootEvery bounds how long a wrong state could stay unnoticed, in blocks.
const mostRootEvery = 1000

// largest bounds a genesis.json, in bytes: a million accounts.
const largest = 256 << 20

// Read reads genesis.json.
func Read(r io.Reader) (*Genesis, error) {
	text, err := io.ReadAll(io.LimitReader(r, largest+1))
	if err != nil {
		return nil, err
	}
	if len(text) > largest {
		return nil, fmt.Errorf("the genesis is larger than %d bytes", largest)
	}
	return Parse(text)
}

// Parse is Read of bytes.
func Parse(text []byte) (*Genesis, error) {
	g := &Genesis{Genesis: new(core.Genesis)}
	if err := json.Unmarshal(text, g.Genesis); err != nil {
		return nil, fmt.Errorf("the genesis is not as go-ethereum has it: %w", err)
	}
	ours := struct{ Chaind json.RawMessage }{json.RawMessage("{}")}
	err := json.Unmarshal(text, &ours)
	if err == nil {
		g.Rules.RootEvery = 1
		rules := json.NewDecoder(bytes.NewReader(ours.Chaind))
		rules.DisallowUnknownFields() // a rule that is misspelt must not be left out
		err = rules.Decode(&g.Rules)
	}
	if err != nil {
		return nil, fmt.Errorf("the genesis has rules of chaind that it cannot have: %w", err)
	}
	if err := g.check(); err != nil {
		return nil, fmt.Errorf("the genesis: %w", err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return nil, err
	}
	g.text = compact.Bytes()
	return g, nil
}

// check refuses what go-ethereum would only stumble over later.
func (g *Genesis) check() error {
	c := g.Config
	switch {
	case c == nil:
		return errors.New(`there is no "config"`)
	case c.ChainID == nil || c.ChainID.Sign() < 0 || c.ChainID.BitLen() > 256:
		return errors.New(`"config" has no "chainId" of up to 256 bits`)
	case c.Clique != nil:
		return errors.New(`"clique" is no consensus of chaind`)
	case c.UBTTime != nil:
		return errors.New(`"ubtTime": binary tries are not supported`)
	case g.Number != 0:
		return errors.New(`"number" is not 0`)
	case g.Rules.RootEvery < 1 || g.Rules.RootEvery > mostRootEvery:
		return fmt.Errorf(`"rootEvery" must be from 1, every block has the root of its state, to %d`, mostRootEvery)
	case g.BaseFee != nil && (g.BaseFee.Sign() < 0 || g.BaseFee.BitLen() > 256):
		return errors.New(`"baseFeePerGas" has more than 256 bits`)
	case g.Difficulty.Sign() < 0 || len(g.ExtraData) > 100<<10:
		return errors.New(`"difficulty" or "extraData" is out of bounds`)
	}
	for number, fork := range map[string]*big.Int{"homesteadBlock": c.HomesteadBlock, "londonBlock": c.LondonBlock, "terminalTotalDifficulty": c.TerminalTotalDifficulty} {
		if fork != nil && fork.Sign() < 0 {
			return fmt.Errorf("%q is negative", number)
		}
	}
	if err := c.CheckConfigForkOrder(); err != nil {
		return err
	}
	if g.Rules.RootEvery > 1 && !c.IsCancun(new(big.Int), g.Timestamp) {
		// Before, receipts had roots, and contracts with slots could be removed.
		return errors.New(`"rootEvery" above 1 needs Cancun from block 0: "cancunTime" not after "timestamp"`)
	}
	if err := g.checkContracts(); err != nil || !g.Rules.ZeroBaseFee {
		return err
	}
	if !c.IsLondon(new(big.Int)) {
		return errors.New(`"zeroBaseFee" needs "londonBlock": 0`)
	}
	if g.BaseFee == nil {
		g.BaseFee = new(big.Int)
	}
	if g.BaseFee.Sign() != 0 {
		return errors.New(`"zeroBaseFee" contradicts "baseFeePerGas"`)
	}
	return nil
}

// checkContracts refuses a chain on which no block could follow block 0: from Prague on, each block
// calls these two.
func (g *Genesis) checkContracts() error {
	for eip, at := range map[string]common.Address{"EIP-7002": params.WithdrawalQueueAddress, "EIP-7251": params.ConsolidationQueueAddress} {
		if g.Config.IsPrague(new(big.Int), g.Timestamp) && len(g.Alloc[at].Code) == 0 {
			return fmt.Errorf(`"pragueTime" %d needs the contract of %s: give %v its "code" in "alloc", or leave "pragueTime" out`, *g.Config.PragueTime, eip, at)
		}
	}
	return nil
}

// Under returns the genesis under other rules of chaind's.
func (g *Genesis) Under(rules Rules) (*Genesis, error) {
	if rules == g.Rules {
		return g, nil
	}
	content := map[string]json.RawMessage{}
	text, err := json.Marshal(rules)
	if err = errors.Join(err, json.Unmarshal(g.text, &content)); err != nil {
		return nil, err
	}
	content["chaind"] = text
	if text, err = json.Marshal(content); err != nil {
		return nil, err
	}
	return Parse(text)
}

// JSON is the genesis for the disk, from which Parse makes the same one.
func (g *Genesis) JSON() []byte { return g.text }

// Same reports whether another genesis begins the same chain under the same rules.
func (g *Genesis) Same(other *Genesis) (bool, error) {
	mine, err1 := json.Marshal(g.Config)
	others, err2 := json.Marshal(other.Config)
	if err := errors.Join(err1, err2); err != nil {
		return false, err
	}
	return bytes.Equal(mine, others) && g.Rules == other.Rules && g.Block().Hash() == other.Block().Hash(), nil
}

// Block is block 0. It computes the root of the allocation.
func (g *Genesis) Block() *types.Block { return g.ToBlock() }
