package gen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"dyno/services/chain/execution"
	"dyno/services/chain/genesis"
)

func config() Config {
	return Config{Accounts: 7, Per: 3, Seed: 1, Format: Bodies, GasLimit: 1e9, Rules: genesis.Rules{RootEvery: 1}}
}

func written(t *testing.T, c Config) (*Generator, string) {
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := g.Write(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return g, out.String()
}

type call struct {
	Version string          `json:"jsonrpc"`
	ID      *int            `json:"id"`
	Method  string          `json:"method"`
	Params  []hexutil.Bytes `json:"params"`
}

// checkTransfers checks that the transfers are valid, funded, and in turn.
func checkTransfers(t *testing.T, g *Generator, raws []hexutil.Bytes) {
	t.Helper()
	if len(raws) != 21 {
		t.Fatalf("%d transfers, want 21", len(raws))
	}
	judge := execution.NewJudge(g.Genesis().Config, new(big.Int), true, 0)
	for n, raw := range raws {
		tx, err := execution.DecodeTransaction(raw)
		if err != nil {
			t.Fatal(err)
		}
		verdict, err := judge.Judge(tx)
		if err != nil {
			t.Fatal(err)
		}
		if tx.Nonce() != uint64(n/7) || verdict.Sender != g.addresses[n%7] || *tx.To() != g.addresses[(n+1)%7] {
			t.Errorf("transfer %d: nonce %d from %v", n, tx.Nonce(), verdict.Sender)
		}
		if balance := g.Genesis().Alloc[verdict.Sender].Balance; balance == nil || balance.Cmp(new(big.Int).Mul(tx.Cost(), big.NewInt(maxPer))) < 0 {
			t.Errorf("%v has %v wei, and may spend %v each time", verdict.Sender, balance, tx.Cost())
		}
	}
}

func TestBodies(t *testing.T) {
	for _, array := range []int{0, 1, 4, 21, 1000} {
		c := config()
		c.Array = array
		g, text := written(t, c)
		var raws []hexutil.Bytes
		lines := strings.SplitAfter(text, "\n")
		for i, line := range lines[:len(lines)-1] {
			calls := make([]call, 1)
			var into any = &calls
			if array == 0 {
				into = &calls[0]
			}
			if err := json.Unmarshal([]byte(line), into); err != nil {
				t.Fatalf("arrays of %d: %s: %v", array, line, err)
			}
			if want := max(array, 1); len(calls) != want && (len(calls) > want || i != len(lines)-2) {
				t.Errorf("arrays of %d: line %d has %d calls", array, i, len(calls))
			}
			for _, c := range calls {
				if c.Version != "2.0" || c.Method != "eth_sendRawTransaction" || *c.ID != len(raws) || len(c.Params) != 1 {
					t.Fatalf("%+v", c)
				}
				raws = append(raws, c.Params[0])
			}
		}
		checkTransfers(t, g, raws)
	}
}

func TestRows(t *testing.T) {
	c := config()
	c.Format = Rows
	g, text := written(t, c)
	var raws []hexutil.Bytes
	for decoder := json.NewDecoder(strings.NewReader(text)); decoder.More(); {
		var row struct{ Raw hexutil.Bytes }
		if err := decoder.Decode(&row); err != nil {
			t.Fatal(err)
		}
		raws = append(raws, row.Raw)
	}
	checkTransfers(t, g, raws)
}

func TestDevelopment(t *testing.T) {
	g, text := written(t, Config{Development: true, Per: 2, Format: Rows, Rules: genesis.Rules{RootEvery: 1}})
	ours, theirs := g.Genesis().Block().Hash(), genesis.Development().Block().Hash()
	if ours != theirs || !slices.Equal(g.addresses, genesis.Accounts[:]) || strings.Count(text, "\n") != 20 {
		t.Errorf("block 0 is %x, want %x; the accounts are %v", ours, theirs, g.addresses)
	}
}

func TestSeed(t *testing.T) {
	first, text := written(t, config())
	second, again := written(t, config())
	other := config()
	other.Seed = 2
	third, others := written(t, other)
	if text != again || !bytes.Equal(first.Genesis().JSON(), second.Genesis().JSON()) {
		t.Error("one seed makes two loads")
	}
	if text == others || first.Genesis().Block().Hash() == third.Genesis().Block().Hash() {
		t.Error("two seeds make one load")
	}
}

func TestMoreThanABatch(t *testing.T) {
	c := Config{Accounts: 3, Per: batch/3 + 2, Format: Rows, GasLimit: 1e9, Rules: genesis.Rules{RootEvery: 10}}
	g, text := written(t, c)
	if n := strings.Count(text, "\n"); n != c.Accounts*c.Per || g.Genesis().Rules != c.Rules {
		t.Errorf("%d lines, want %d; the rules are %+v", n, c.Accounts*c.Per, g.Genesis().Rules)
	}
}

func TestRefuses(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.Accounts = 0 },
		func(c *Config) { c.Accounts = 1_000_001 },
		func(c *Config) { c.Per = 0 },
		func(c *Config) { c.Accounts, c.Per = 1_000_000, 101 },
		func(c *Config) { c.Array = 1001 },
		func(c *Config) { c.Array = -1 },
		func(c *Config) { c.Format = "csv" },
		func(c *Config) { c.Format, c.Array = Rows, 2 },
		func(c *Config) { c.GasLimit = 20_999 },
		func(c *Config) { c.Rules.RootEvery = 0 },
	} {
		c := config()
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

func TestCancel(t *testing.T) {
	g, err := New(config())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Write(ctx, new(bytes.Buffer)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func BenchmarkTransfer(b *testing.B) {
	g, err := New(config())
	if err != nil {
		b.Fatal(err)
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := g.transfer(0); err != nil {
				b.Error(err)
			}
		}
	})
}
