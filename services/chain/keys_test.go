package chain

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyno/parts/daemon"

	"dyno/services/chain/genesis"
)

// bound is a listener at an address.
type bound struct {
	net.Listener
	ip string
}

func (b bound) Addr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(b.ip)} }

// The node has keys on the development chain and a loopback address, and elsewhere those alone that
// the flag names.
func TestDevKeys(t *testing.T) {
	own := genesis.Funded(1_000_000, genesis.Accounts[:])
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		from, ip string
		genesis  *genesis.Genesis
		readOnly bool
		want     int // keys; -1: an error
	}{
		{"", "127.0.0.1", genesis.Development(), false, 10},
		{"", "::1", genesis.Development(), false, 10},
		{"", "127.0.0.1", genesis.Development(), true, 0},
		{"", "0.0.0.0", genesis.Development(), false, 0},
		{"", "127.0.0.1", own, false, 0},
		{"development", "0.0.0.0", own, false, 10},
		{file("# mine\n\n0x" + strings.Repeat("1", 64) + "\n" + strings.Repeat("2", 64)), "127.0.0.1", own, false, 2},
		{file(strings.Repeat("0", 64)), "127.0.0.1", own, false, -1},
		{file("secret"), "127.0.0.1", own, false, -1},
		{file(""), "127.0.0.1", own, false, -1},
		{"missing", "127.0.0.1", own, false, -1},
	} {
		f := devKeys{c.from}
		keys, err := f.open(&daemon.Env{Listen: bound{ip: c.ip}, Log: slog.New(slog.DiscardHandler)}, c.genesis, c.readOnly, false)
		if (err != nil) != (c.want < 0) || err == nil && len(keys) != c.want {
			t.Errorf("%+v: %d keys, %v", c, len(keys), err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows what may be a key: %v", err)
		}
	}
}

// The controls of a test chain are for this machine, unless the flag says otherwise.
func TestControls(t *testing.T) {
	for _, c := range []struct {
		from, ip string
		want     bool
	}{{"", "127.0.0.1", true}, {"", "0.0.0.0", false}, {"development", "0.0.0.0", true}} {
		f := serving{test: true, keys: devKeys{c.from}}
		if got := f.keys.controls(&daemon.Env{Listen: bound{ip: c.ip}}); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
	if _, err := refusing("because")["anvil_setBalance"](t.Context(), nil); err == nil || !strings.Contains(err.Error(), "because") {
		t.Error(err)
	}
}
