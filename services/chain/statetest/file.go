package statetest

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	gethmath "github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
)

// test is one test of a file: a state, a transaction in several variants, and the state after each
// of them on each fork.
type test struct {
	Env         environment            `json:"env"`
	Pre         types.GenesisAlloc     `json:"pre"`
	Transaction template               `json:"transaction"`
	Post        map[string][]posterior `json:"post"`
	Config      *rules                 `json:"config"`
}

// environment is the block of the transaction.
type environment struct {
	Coinbase      common.Address            `json:"currentCoinbase"`
	Difficulty    *gethmath.HexOrDecimal256 `json:"currentDifficulty"`
	Random        *gethmath.HexOrDecimal256 `json:"currentRandom"`
	GasLimit      gethmath.HexOrDecimal64   `json:"currentGasLimit"`
	Number        gethmath.HexOrDecimal64   `json:"currentNumber"`
	Timestamp     gethmath.HexOrDecimal64   `json:"currentTimestamp"`
	BaseFee       *gethmath.HexOrDecimal256 `json:"currentBaseFee"`
	ExcessBlobGas *gethmath.HexOrDecimal64  `json:"currentExcessBlobGas"`
	SlotNumber    *gethmath.HexOrDecimal64  `json:"slotNumber"`
}

// template is the transaction, of which data, gas limit and value come in variants. Numbers may be
// wider than a transaction can hold: such a variant must be refused.
type template struct {
	GasPrice             number              `json:"gasPrice"`
	MaxFeePerGas         number              `json:"maxFeePerGas"`
	MaxPriorityFeePerGas number              `json:"maxPriorityFeePerGas"`
	Nonce                number              `json:"nonce"`
	To                   string              `json:"to"`
	Data                 []string            `json:"data"`
	AccessLists          []*types.AccessList `json:"accessLists"`
	GasLimit             []number            `json:"gasLimit"`
	Value                []number            `json:"value"`
	SecretKey            hexutil.Bytes       `json:"secretKey"`
	Sender               *common.Address     `json:"sender"`
	BlobVersionedHashes  []common.Hash       `json:"blobVersionedHashes"`
	MaxFeePerBlobGas     number              `json:"maxFeePerBlobGas"`
	AuthorizationList    []authorization     `json:"authorizationList"`
}

// authorization is of EIP-7702.
type authorization struct {
	ChainID number         `json:"chainId"`
	Address common.Address `json:"address"`
	Nonce   number         `json:"nonce"`
	V       number         `json:"v"`
	YParity number         `json:"yParity"`
	R       number         `json:"r"`
	S       number         `json:"s"`
}

// posterior is what must be there after one variant.
type posterior struct {
	Root            common.UnprefixedHash `json:"hash"`
	Logs            common.UnprefixedHash `json:"logs"`
	TxBytes         hexutil.Bytes         `json:"txbytes"`
	ExpectException string                `json:"expectException"`
	Indexes         struct {
		Data  int `json:"data"`
		Gas   int `json:"gas"`
		Value int `json:"value"`
	} `json:"indexes"`
}

// rules are what a file of execution-spec-tests says of its chain beside the fork.
type rules struct {
	ChainID      *gethmath.HexOrDecimal256 `json:"chainid"`
	BlobSchedule map[string]struct {
		Target   gethmath.HexOrDecimal64 `json:"target"`
		Max      gethmath.HexOrDecimal64 `json:"max"`
		Fraction gethmath.HexOrDecimal64 `json:"baseFeeUpdateFraction"`
	} `json:"blobSchedule"`
}

// apply puts into a fork's rules what the file says.
func (r *rules) apply(c *params.ChainConfig) {
	if r == nil {
		return
	}
	if r.ChainID != nil {
		c.ChainID = (*big.Int)(r.ChainID)
	}
	for name, s := range r.BlobSchedule {
		blobs := &params.BlobConfig{Target: int(s.Target), Max: int(s.Max), UpdateFraction: uint64(s.Fraction)}
		switch b := c.BlobScheduleConfig; name {
		case "Cancun":
			b.Cancun = blobs
		case "Prague":
			b.Prague = blobs
		case "BPO1":
			b.BPO1 = blobs
		case "BPO2":
			b.BPO2 = blobs
		}
	}
}

// number is as the file has it: "0x0a", "10", 10 or "0x:bigint 0x0a", of any width. "": there is
// none.
type number string

// UnmarshalJSON keeps the text, so that a number that is too wide does not spoil the whole file.
func (n *number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, (*string)(n))
	}
	*n = number(text)
	return nil
}

// longestNumber bounds what is parsed, in characters.
const longestNumber = 1000

// wide returns the number if it fits into these bits; nil if there is none.
func (n number) wide(bits int) (*big.Int, error) {
	if n == "" {
		return nil, nil
	}
	text := strings.TrimSpace(strings.TrimPrefix(string(n), "0x:bigint "))
	if text == "0x" {
		return new(big.Int), nil
	}
	if len(text) > longestNumber {
		return nil, fmt.Errorf("a number has %d characters", len(text))
	}
	digits, base := text, 10
	if hexadecimal, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		digits, base = hexadecimal, 16
	}
	v, ok := new(big.Int).SetString(digits, base)
	switch {
	case !ok || strings.ContainsAny(digits, "+-_"):
		return nil, fmt.Errorf("%q is no number", text)
	case v.BitLen() > bits:
		return nil, fmt.Errorf("%s exceeds %d bits", text, bits)
	}
	return v, nil
}

// or is the number, or another if there is none.
func (n number) or(other number) number {
	if n == "" {
		return other
	}
	return n
}

// variant is one transaction of a template.
type variant struct {
	data       []byte
	accessList types.AccessList // nil: it has none, not even an empty one
	gasLimit   number
	value      number
}

// pick returns the variant that a posterior is for.
func (t template) pick(p posterior) (variant, error) {
	i := p.Indexes
	if i.Data < 0 || i.Data >= len(t.Data) || i.Gas < 0 || i.Gas >= len(t.GasLimit) || i.Value < 0 || i.Value >= len(t.Value) {
		return variant{}, fmt.Errorf("%w: the indexes %+v are beyond the transaction's variants", errFormat, i)
	}
	v := variant{gasLimit: t.GasLimit[i.Gas], value: t.Value[i.Value]}
	var err error
	if v.data, err = hex.DecodeString(strings.TrimPrefix(t.Data[i.Data], "0x")); err != nil {
		return variant{}, fmt.Errorf("%w: the data is no hexadecimal: %w", errFormat, err)
	}
	if i.Data < len(t.AccessLists) && t.AccessLists[i.Data] != nil {
		v.accessList = *t.AccessLists[i.Data]
		if v.accessList == nil {
			v.accessList = types.AccessList{}
		}
	}
	return v, nil
}

// errFormat marks what is wrong with a file, whatever its test expects.
var errFormat = errors.New("no state test")
