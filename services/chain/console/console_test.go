package console

import (
	"encoding/hex"
	"math/big"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// input encodes a call of a function of console.sol.
func input(t testing.TB, signature string, values ...any) []byte {
	t.Helper()
	var arguments abi.Arguments
	_, kinds, _ := strings.Cut(strings.TrimSuffix(signature, ")"), "(")
	for kind := range strings.SplitSeq(kinds, ",") {
		if kind == "" {
			continue
		}
		if kind == "uint" || kind == "int" {
			kind += "256"
		}
		of, err := abi.NewType(kind, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, abi.Argument{Type: of})
	}
	text, err := arguments.Pack(values...)
	if err != nil {
		t.Fatal(err)
	}
	return append(crypto.Keccak256([]byte(signature))[:4], text...)
}

func TestRead(t *testing.T) {
	ether, account := big.NewInt(1_500_000_000_000_000_000), common.HexToAddress("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266")
	for _, c := range []struct {
		signature string
		values    []any
		want      string
	}{
		{"log()", nil, ""},
		{"log(string)", []any{"hello"}, "hello"},
		{"log(uint256)", []any{big.NewInt(7)}, "7"},
		{"log(uint)", []any{big.NewInt(7)}, "7"},
		{"log(int256)", []any{big.NewInt(-7)}, "-7"},
		{"log(int)", []any{big.NewInt(-7)}, "-7"},
		{"log(string,int256)", []any{"%x", big.NewInt(-16)}, "-0x10"},
		{"log(bool)", []any{true}, "true"},
		{"log(address)", []any{account}, account.Hex()},
		{"log(bytes)", []any{[]byte{1, 0xab}}, "0x01ab"},
		{"log(bytes)", []any{[]byte{}}, "0x"},
		{"log(bytes4)", []any{[4]byte{1, 2, 3, 4}}, "0x01020304"},
		{"log(bytes32)", []any{[32]byte{31: 9}}, "0x" + strings.Repeat("0", 63) + "9"},
		{"log(string,uint256)", []any{"balance", ether}, "balance 1500000000000000000"},
		{"log(string,uint256)", []any{"balance %18e of", ether}, "balance 1.5 of"},
		{"log(string,uint256)", []any{"%e", ether}, "1.5e18"},
		{"log(string,uint256)", []any{"%e", big.NewInt(0)}, "0e0"},
		{"log(string,uint256)", []any{"%3e", big.NewInt(5)}, "0.005"},
		{"log(string,uint)", []any{"%d%%", big.NewInt(5)}, "5%"},
		{"log(string,uint256)", []any{"100%% of %z and %", big.NewInt(5)}, "100% of %z and % 5"},
		{"log(string,bool,bool)", []any{"%d %o", true, false}, "1 'false'"},
		{"log(string,string,string)", []any{"%s is %d", "a", "b"}, "a is NaN"},
		{"log(string,address)", []any{"%o", account}, "'" + account.Hex() + "'"},
		{"log(string,string)", []any{"%s and %s", "a"}, "a and %s"},
		{"log(uint256,string,bool,address)", []any{big.NewInt(1), "%s", true, account}, "1 %s true " + account.Hex()},
		{"log(uint,uint,uint,uint)", []any{big.NewInt(1), big.NewInt(2), big.NewInt(3), big.NewInt(4)}, "1 2 3 4"},
		{"log(string,string)", []any{"", "b"}, "b"},
		{"table(uint256[])", []any{[]*big.Int{big.NewInt(5), big.NewInt(6)}}, "0: 5, 1: 6"},
		{"table(string[],bool[])", []any{[]string{"a"}, []bool{true, false}}, "a: true, : false"},
		{"log(string)", []any{strings.Repeat("x", mostBytes+1)}, strings.Repeat("x", mostBytes) + "..."},
		{"log(string)", []any{strings.Repeat("x", mostInput)}, "65604 bytes, which are too many to be shown"},
		{"table(uint256[])", []any{[]*big.Int{}}, ""},
		{"table(string[])", []any{slices.Repeat([]string{strings.Repeat("x", mostBytes-3)}, 9)}, "0: " + strings.Repeat("x", mostBytes-3) + "..."},
		{"table(bool[])", []any{make([]bool, mostTable/32)}, "16452 bytes, which are too many to be shown"},
		{"log(string)", []any{"a\xffb"}, "a\uFFFDb"},
	} {
		if got, ok := Read(input(t, c.signature, c.values...)); !ok || got != c.want {
			t.Errorf("%s of %v is %q, %t; want %q", c.signature, c.values, got, ok, c.want)
		}
	}
	for what, text := range map[string][]byte{"nothing": nil, "another function": {1, 2, 3, 4}, "a value that is cut off": input(t, "log(string)", "hello")[:40]} {
		if got, ok := Read(text); ok {
			t.Errorf("%s is %q", what, got)
		}
	}
	if got := hex.EncodeToString(Address[:]); got != "000000000000000000636f6e736f6c652e6c6f67" {
		t.Errorf("the address is %s", got)
	}
}

// A contract that prints in a loop has no more lines than the bound, and one that says so.
func TestBounded(t *testing.T) {
	lines, call := New("eth_call"), input(t, "log(string)", "again")
	hooks := lines.Hooks()
	for range mostLines + 5 {
		hooks.OnEnter(1, 0, common.Address{}, Address, call, 0, nil)
		hooks.OnEnter(1, 0, common.Address{}, common.Address{1}, call, 0, nil)
	}
	got := lines.Take()
	if len(got) != mostLines+1 || got[0] != (Line{"eth_call", "again"}) || !strings.HasPrefix(got[mostLines].Text, "5 further calls") {
		t.Errorf("%d lines, the last %v", len(got), got[len(got)-1])
	}
	if left := lines.Take(); len(left) > 0 {
		t.Error(left)
	}
}

// What contracts print in a loop is not read without a bound, if it is no text, either.
func TestUnreadable(t *testing.T) {
	lines := New("eth_call")
	hooks := lines.Hooks()
	for _, call := range append(slices.Repeat([][]byte{{1, 2, 3, 4}}, mostLines), input(t, "log(string)", "after them")) {
		hooks.OnEnter(1, 0, common.Address{}, Address, call, 0, nil)
	}
	if got := lines.Take(); len(got) != 1 || !strings.HasPrefix(got[0].Text, "1 further calls") {
		t.Error(got)
	}
}

// overlapping is the input of a table whose lists have elements that are all the same bytes, as many as fit.
func overlapping(signature string, lists int) []byte {
	const length = mostTable / 2
	word := func(n int) []byte { return common.LeftPadBytes(big.NewInt(int64(n)).Bytes(), 32) }
	out := crypto.Keccak256([]byte(signature))[:4]
	for range lists {
		out = append(out, word(32*lists)...)
	}
	elements := (mostTable-len(out)-length)/32 - 2
	out = append(out, word(elements)...)
	for range elements {
		out = append(out, word(32*elements)...)
	}
	return append(append(out, word(length)...), make([]byte, length)...)
}

// A table has no more text than a line, whatever its elements are.
func TestOverlapping(t *testing.T) {
	for signature, lists := range map[string]int{"table(string[])": 1, "table(bytes[])": 1, "table(string[],string[])": 2, "table(string[],bytes[])": 2} {
		text, ok := Read(overlapping(signature, lists))
		if !ok || !strings.HasSuffix(text, "...") {
			t.Errorf("%s is %q, %t", signature, text, ok)
		}
	}
}

// mostRead is more than what any input makes Read allocate, in bytes: two lists of a table with as many
// elements as it may have, each of half of it.
const mostRead = 16 << 20

func FuzzRead(f *testing.F) {
	f.Add(input(f, "log(string,uint256)", "%18e", big.NewInt(1)))
	f.Add(input(f, "log(bytes)", []byte{1}))
	f.Add(input(f, "table(string[],address[])", []string{"a"}, []common.Address{{}}))
	f.Add(overlapping("table(string[])", 1))
	f.Add(overlapping("table(bytes[])", 1))
	f.Add(overlapping("table(string[],string[])", 2))
	f.Add(overlapping("table(string[],bytes[])", 2))
	functions() // takes memory once
	f.Fuzz(func(t *testing.T, text []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		line, _ := Read(text)
		runtime.ReadMemStats(&after)
		if len(line) > 3*mostBytes+3 {
			t.Errorf("a line has %d bytes", len(line))
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > mostRead {
			t.Errorf("%d bytes of input take %d bytes of memory", len(text), got)
		}
	})
}
