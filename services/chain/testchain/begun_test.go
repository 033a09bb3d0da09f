package testchain_test

import (
	"log/slog"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/genesis"
	"dyno/services/chain/testchain"
)

// forked opens the chain in a folder as a fork, and returns the error, or null.
func (c *client) forked(dir string, g *genesis.Genesis, f testchain.Fork) string {
	c.t.Helper()
	s, err := testchain.Open(c.t.Context(), dir, g, testchain.Options{Log: slog.New(slog.DiscardHandler), Fail: func(err error) { c.t.Error(err) }, Fork: f})
	if err != nil {
		return err.Error()
	}
	if err := s.Close(); err != nil {
		c.t.Fatal(err)
	}
	return "null"
}

// A chain to which a call was made does not become a fork, and keeps what the call did.
func TestForkOfBegun(t *testing.T) {
	up := open(t, t.TempDir()).client()
	defer up.close()
	url, end := up.serve()
	defer end()
	for what, do := range map[string]func(*suite){
		"a balance": func(s *suite) { s.want("null", "anvil_setBalance", to, 5) },
		"a transaction that waits": func(s *suite) {
			s.want("null", "evm_setAutomine", false)
			s.sign(&types.DynamicFeeTx{Gas: 21_000, To: &to, Value: big.NewInt(1)})
		},
		"a setting": func(s *suite) { s.want("null", "anvil_impersonateAccount", to) },
	} {
		dir := t.TempDir()
		s := open(t, dir)
		do(s)
		before := s.image()
		s.close()
		up.contains(up.forked(dir, nil, testchain.Fork{URL: url}), "calls were made to it")
		s = open(t, dir)
		if after := s.image(); after != before {
			t.Errorf("%s: it was %swhich is now %s", what, before, after)
		}
		s.close()
	}
}

// A chain that has begun with another id than the node has becomes its fork if the caller names the id, or the genesis
// that has it.
func TestForkOfID(t *testing.T) {
	up := openAs(t, t.TempDir(), testchain.Options{Fail: func(err error) { t.Error(err) }, Fork: testchain.Fork{ID: 10}}).client()
	defer up.close()
	url, end := up.serve()
	defer end()
	for _, c := range []struct {
		g    bool
		id   uint64
		says string
	}{
		{says: "its id is 31337, and that of the node that is forked 10"},
		{id: 10, says: "its id is 31337 and not 10"},
		{id: genesis.TestID, says: "null"},
		{g: true, says: "null"},
	} {
		dir := t.TempDir()
		s := open(t, dir)
		g := s.Genesis()
		s.close()
		if !c.g {
			g = nil
		}
		up.contains(up.forked(dir, g, testchain.Fork{URL: url, ID: c.id}), c.says)
	}
	dir := t.TempDir()
	for range 2 { // the second time it is one
		up.contains(up.forked(dir, nil, testchain.Fork{URL: url}), "null")
	}
}
