package ledger

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/parts/assembly"
	"dyno/services/ledger/servers"
	"dyno/services/ledger/store"
)

// flags are the flags given on the command line.
type flags []string

func (f flags) given(name string) bool { return slices.Contains(f, name) }

const url = "http://127.0.0.1:1"

var (
	someHash = strings.Repeat("AB", 32)
	before   = store.Progress{From: 100, To: 200, Servers: []string{url, url + "2"}, Level: "L4", Anchor: "300:" + someHash, UNL: "vl.json", UNLKey: "ED00"}
)

func TestRequestIsCompleted(t *testing.T) {
	whole := request{from: 100, to: 200, servers: []string{url, url + "2"}, level: "L4", anchor: "300:" + someHash, unl: "vl.json", unlKey: "ED00"}
	but := func(change func(*request)) request {
		r := whole
		change(&r)
		return r
	}
	for _, c := range []struct {
		name   string
		asked  request
		given  flags
		folder store.Progress
		want   request
	}{
		{"nothing: all is the folder's", request{level: defaultLevel}, nil, before, whole},
		{"a flag's default is not what was asked for", request{level: "L0"}, nil, before, whole},
		{"a new folder", request{from: 5, to: 9, servers: []string{url}, level: "L2"}, flags{"from", "to", "server"}, store.Progress{},
			request{from: 5, to: 9, servers: []string{url}, level: "L2"}},
		{"a level that was never written is the default", request{from: 5, to: 9, servers: []string{url}}, flags{"from", "to", "server"}, store.Progress{},
			request{from: 5, to: 9, servers: []string{url}, level: defaultLevel}},
		{"from alone", request{from: 50}, flags{"from"}, before, but(func(r *request) { r.from = 50 })},
		{"servers take the place of all that were", request{servers: []string{url + "3"}}, flags{"server"}, before,
			but(func(r *request) { r.servers = []string{url + "3"} })},
		{"an anchor that is of a ledger above stays", request{to: 250}, flags{"to"}, before, but(func(r *request) { r.to = 250 })},
		{"an anchor that is of one below goes", request{to: 301}, flags{"to"}, before,
			but(func(r *request) { r.to, r.anchor = 301, "" })},
		{"an anchor of the old top goes", request{to: 250}, flags{"to"}, store.Progress{From: 1, To: 2, Servers: []string{url}, Level: "L2", Anchor: someHash},
			request{from: 1, to: 250, servers: []string{url}, level: "L2"}},
		{"an anchor that is given", request{to: 400, anchor: someHash}, flags{"to", "anchor"}, before,
			but(func(r *request) { r.to, r.anchor = 400, someHash })},
		{"an anchor that is taken back", request{anchor: ""}, flags{"anchor"}, before, but(func(r *request) { r.anchor = "" })},
		{"another list of validators", request{unl: "x", unlKey: "y"}, flags{"unl", "unl-key"}, before,
			but(func(r *request) { r.unl, r.unlKey = "x", "y" })},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.asked
			if err := r.complete(c.given.given, c.folder); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(r) != fmt.Sprint(c.want) {
				t.Errorf("%v, want %v", r, c.want)
			}
			if p := r.progress(); fmt.Sprint(p) != fmt.Sprint(store.Progress{From: r.from, To: r.to, Servers: r.servers, Level: r.level, Anchor: r.anchor, UNL: r.unl, UNLKey: r.unlKey}) {
				t.Errorf("the folder gets %v", p)
			}
		})
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	all := flags{"from", "to", "server", "level", "anchor", "unl"}
	for _, c := range []struct {
		name   string
		asked  request
		given  flags
		folder store.Progress
		says   string
	}{
		{"nothing in a new folder", request{}, nil, store.Progress{}, "there is no sync in the folder yet"},
		{"no --to", request{from: 5, servers: []string{url}}, flags{"from", "server"}, store.Progress{}, "--from and --to go together"},
		{"no --from", request{to: 5, servers: []string{url}}, flags{"to", "server"}, store.Progress{}, "--from and --to go together"},
		{"backwards", request{from: 6, to: 5, servers: []string{url}}, all, store.Progress{}, "--to 5 is below --from 6"},
		{"backwards with the folder's", request{from: 201}, flags{"from"}, before, "--to 200 is below --from 201"},
		{"no server", request{from: 5, to: 6}, flags{"from", "to"}, store.Progress{}, "no server: name one with --server"},
		{"level", request{from: 5, to: 6, servers: []string{url}, level: "L9"}, all, store.Progress{}, "--level: "},
		{"quorum without validators", request{from: 5, to: 6, servers: []string{url}, level: "L2", anchor: quorum}, all, store.Progress{}, "--unl FILE"},
		{"no hash", request{from: 5, to: 6, servers: []string{url}, level: "L2", anchor: "6:" + someHash[1:]}, all, store.Progress{}, "--anchor: "},
		{"the key of no list", request{from: 5, to: 6, servers: []string{url}, level: "L2", unlKey: "ED00"}, append(all, "unl-key"), store.Progress{}, "--unl-key is the key of the publisher of --unl: add --unl FILE"},
		{"L3 without a quorum", request{from: 5, to: 6, servers: []string{url}, level: "L3"}, all, store.Progress{}, "add --anchor quorum"},
		{"more than was proved", request{level: "L2"}, flags{"level"}, store.Progress{From: 1, To: 9, Servers: []string{url}, Level: "L1"}, "proved only to L1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.asked
			if err := r.complete(c.given.given, c.folder); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %s", err, c.says)
			}
		})
	}
}

func TestAnchorsByName(t *testing.T) {
	const to = 200
	for _, c := range []struct {
		anchor string
		index  uint32 // 0: the anchor is no hash
		says   string
	}{
		{"", 0, ""},
		{quorum, 0, ""},
		{someHash, to, ""},
		{strings.ToLower(someHash), to, ""},
		{"200:" + someHash, to, ""},
		{"201:" + someHash, 201, ""},
		{"4294967295:" + someHash, 1<<32 - 1, ""},
		{"199:" + someHash, 0, "below --to 200"},
		{"0:" + someHash, 0, "neither HASH, INDEX:HASH nor quorum"},
		{":" + someHash, 0, "neither HASH, INDEX:HASH nor quorum"},
		{"4294967296:" + someHash, 0, "neither HASH, INDEX:HASH nor quorum"},
		{"-1:" + someHash, 0, "neither HASH, INDEX:HASH nor quorum"},
		{someHash + ":201", 0, "neither HASH, INDEX:HASH nor quorum"},
		{"201:", 0, "--anchor: "},
		{"Quorum", 0, "--anchor: "},
		{someHash[1:], 0, "--anchor: "},
		{someHash + "0", 0, "--anchor: "},
	} {
		r := request{to: to, anchor: c.anchor}
		got, ok, err := r.named()
		switch {
		case c.says != "":
			if err == nil || !strings.Contains(err.Error(), c.says) || ok {
				t.Errorf("%q: %v, want %s", c.anchor, err, c.says)
			}
		case err != nil || ok != (c.index != 0) || got.Index != c.index || ok && got.Hash.String() != someHash:
			t.Errorf("%q: %v, %t, %v", c.anchor, got, ok, err)
		}
	}
}

// Every assembly's settings reach the configuration.
func TestAssembliesAreConfigured(t *testing.T) {
	for _, v := range Assembly().Variants() {
		choice, err := Assembly().Resolve(v.Assembly, v.Set)
		if err != nil {
			t.Fatal(err)
		}
		set := assembly.Bind[settings](choice)
		p := &pipeline{home: home{set: set}}
		c := p.configure(0)
		if to := client(set, url); to.URL != url || to.Decoder != choice.Get("decoder") {
			t.Errorf("%s: %+v is not what was chosen", v.Label, to)
		}
		if c.Fetches != set.Backfill.Fetches || c.Window != set.Backfill.Window ||
			c.Shards.Size != set.Backfill.Shards.Size ||
			c.Attempts != set.Backfill.Attempts || c.StallTimeout != set.Backfill.StallTimeout || c.Timeout != set.Backfill.Timeout {
			t.Errorf("%s: %+v is not what was chosen", v.Label, c)
		}
		if c.Signatures == nil {
			t.Errorf("%s: signatures are not checked", v.Label)
		}
	}
	if _, err := Assembly().Resolve(assembly.Baseline, map[string]string{"decoder": "oak"}); err == nil {
		t.Error("a decoder that is none is accepted")
	}
}

// The configured time-out applies: no limit of the client is shorter.
func TestTimeoutHolds(t *testing.T) {
	for set, want := range map[string]time.Duration{"30s": 30 * time.Second, "10m": 10 * time.Minute, "8s": 8 * time.Second, "50ms": servers.DefaultTimeout} {
		choice, err := Assembly().Resolve(assembly.Tuned, map[string]string{"timeout": set})
		if err != nil {
			t.Fatal(err)
		}
		if got := client(assembly.Bind[settings](choice), url).Timeout; got != want {
			t.Errorf("timeout=%s: the client gives up after %v, want %v", set, got, want)
		}
	}
}

// The setting connections limits concurrent requests to a server; its default is within Clio's
// limit.
func TestConnectionsOfAServer(t *testing.T) {
	for set, want := range map[string]int{"": servers.DefaultInFlight, "200": 200} {
		changes := map[string]string{}
		if set != "" {
			changes["connections"] = set
		}
		choice, err := Assembly().Resolve(assembly.Tuned, changes)
		if err != nil {
			t.Fatal(err)
		}
		if got := client(assembly.Bind[settings](choice), "http://127.0.0.1:5005").InFlight; got != want {
			t.Errorf("connections=%s: %d concurrent requests, want %d", set, got, want)
		}
	}
}
