// Package console reads what contracts print with the console.log of Hardhat and Foundry: calls of an
// address without code, whose input has the values. Test chains write it to their log.
//
// It is not for other nodes, which execute such calls like any other. It starts no goroutines.
package console

import (
	"fmt"
	"math/big"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// Address is what contracts call: console.log in ASCII.
var Address = common.BytesToAddress([]byte("console.log"))

// Bounds of what is read: a contract may print in a loop.
const (
	mostLines = 256      // of a method's call, in all of its executions
	mostBytes = 1 << 10  // of a line
	mostInput = 64 << 10 // bytes of a call of console.log
	mostTable = 16 << 10 // of one with lists, whose elements may all be the same bytes
)

// Line is what a contract prints by one call.
type Line struct {
	Of   string // the method, or the hash of the transaction, by which the contract was executed
	Text string
}

// Lines collects what contracts print. It belongs to one goroutine. Nil collects nothing.
type Lines struct {
	of    string
	lines []Line
	read  int // calls, up to the bound
	more  int // beyond it
}

// New returns an empty collection for the calls of a method.
func New(of string) *Lines { return &Lines{of: of} }

// Hooks returns those by which an EVM shows its calls.
func (l *Lines) Hooks() *tracing.Hooks {
	if l == nil {
		return nil
	}
	return &tracing.Hooks{
		OnTxStart: func(_ *tracing.VMContext, tx *types.Transaction, _ common.Address) { l.of = tx.Hash().Hex() },
		OnEnter: func(_ int, _ byte, _, to common.Address, input []byte, _ uint64, _ *big.Int) {
			if to == Address {
				l.add(input)
			}
		},
	}
}

func (l *Lines) add(input []byte) {
	if l.read == mostLines {
		l.more++
		return
	}
	l.read++ // also of what is no text: a contract may print that in a loop, too
	if text, ok := Read(input); ok {
		l.lines = append(l.lines, Line{l.of, text})
	}
}

// Take returns the lines so far, and forgets them. Of too many, the last says how many there were.
func (l *Lines) Take() []Line {
	if l == nil {
		return nil
	}
	lines := l.lines
	if l.more > 0 {
		lines = append(lines, Line{l.of, fmt.Sprintf("%d further calls of console.log are not shown", l.more)})
	}
	l.lines, l.read, l.more = nil, 0, 0
	return lines
}

// Read returns the text that a call prints; false if its input is none of those that are known.
func Read(input []byte) (text string, ok bool) {
	if len(input) < 4 {
		return "", false
	}
	f, ok := functions()[[4]byte(input)]
	if !ok {
		return "", false
	}
	if len(input) > mostInput || f.table && len(input) > mostTable {
		return fmt.Sprintf("%d bytes, which are too many to be shown", len(input)), true
	}
	values, err := f.arguments.UnpackValues(input[4:])
	if err != nil {
		return "", false
	}
	if f.table {
		text = table(values)
	} else if first, is := firstText(values); is {
		text = format(first, values[1:])
	} else {
		text = format("", values)
	}
	if len(text) > mostBytes {
		text = text[:mostBytes] + "..."
	}
	return strings.ToValidUTF8(text, "\uFFFD"), true
}

// firstText is the first value if it is a text, which then says how the others are shown.
func firstText(values []any) (string, bool) {
	if len(values) == 0 {
		return "", false
	}
	text, is := values[0].(string)
	return text, is
}

// function is one that contracts call.
type function struct {
	arguments abi.Arguments
	table     bool
}

// functions are all of console.sol by selector: up to four values of four types in any order, single
// values of the others, and tables. The first versions of it have uint and int in the signatures, which
// gave them other selectors.
var functions = sync.OnceValue(func() map[[4]byte]function {
	all := map[[4]byte]function{}
	add := func(name string, kinds ...string) {
		f := function{table: name == "table"}
		for _, kind := range kinds {
			if kind == "uint" || kind == "int" {
				kind += "256"
			}
			t, err := abi.NewType(kind, "", nil)
			if err != nil {
				panic(err) // the kinds are those below
			}
			f.arguments = append(f.arguments, abi.Argument{Type: t})
		}
		all[[4]byte(crypto.Keccak256([]byte(name+"("+strings.Join(kinds, ",")+")")))] = f
	}
	for _, kinds := range [][]string{{"uint256", "string", "bool", "address"}, {"uint", "string", "bool", "address"}} {
		var more func(before []string)
		more = func(before []string) {
			add("log", before...)
			if len(before) == 4 {
				return
			}
			for _, kind := range kinds {
				more(append(before[:len(before):len(before)], kind))
			}
		}
		more(nil)
	}
	for _, integer := range []string{"int256", "int"} {
		add("log", integer)
		add("log", "string", integer)
	}
	add("log", "bytes")
	for n := 1; n <= 32; n++ {
		add("log", fmt.Sprintf("bytes%d", n))
	}
	for _, kind := range []string{"uint256[]", "int256[]", "string[]", "bool[]", "address[]", "bytes[]", "bytes32[]"} {
		add("table", kind)
		add("table", "string[]", kind)
	}
	return all
})
