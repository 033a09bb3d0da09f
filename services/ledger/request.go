package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"dyno/parts/daemon"
	"dyno/services/ledger/backfill"
	"dyno/services/ledger/store"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// request is what to sync: from the command line, or from the folder's last sync.
type request struct {
	from, to uint32
	servers  []string
	level    string
	anchor   string
	unl      string
	unlKey   string
}

const (
	quorum       = "quorum"
	defaultLevel = "L2"
)

func (r *request) declare(f *pflag.FlagSet) {
	f.Uint32Var(&r.from, "from", 0, "lowest ledger `INDEX`; default: that of the sync in the folder")
	f.Uint32Var(&r.to, "to", 0, "highest ledger `INDEX`; default: that of the sync in the folder")
	r.declareServers(f)
}

func (r *request) declareServers(f *pflag.FlagSet) {
	f.StringArrayVar(&r.servers, "server", nil, "`URL` of a server, http(s):// for JSON-RPC or ws(s):// for WebSocket; repeatable")
	f.StringVar(&r.level, "level", defaultLevel, "`LEVEL` of proof: L0 (parsing), L1 (hashes), L2 (links to the anchor), L3 (the anchor by quorum), L4 (signatures too)")
	f.StringVar(&r.anchor, "anchor", "", "trust anchor: known `HASH` of ledger --to, or INDEX:HASH of a ledger above it, or quorum: signed by the validators of --unl; default: the hash that most servers report")
	f.StringVar(&r.unl, "unl", "", "`FILE` of trusted validators: a published list (JSON), or one node public key (n...) a line")
	f.StringVar(&r.unlKey, "unl-key", "", "public `KEY` in hex of the publisher that must have signed the list of --unl")
}

// complete takes values that were not given from the sync in the folder.
func (r *request) complete(given func(flag string) bool, p store.Progress) error {
	if !given("from") {
		r.from = p.From
	}
	if !given("to") {
		r.to = p.To
	}
	if given("to") && !given("anchor") && p.Anchor != quorum && !above(p.Anchor, r.to) {
		p.Anchor = "" // it belongs to another ledger
	}
	r.inherit(given, p)
	switch {
	case r.from == 0 && r.to == 0:
		return errors.New("there is no sync in the folder yet: give --from, --to and --server")
	case r.from == 0 || r.to == 0:
		return errors.New("--from and --to go together; the lowest ledger of the main network's history is 32570")
	case r.to < r.from:
		return fmt.Errorf("--to %d is below --from %d", r.to, r.from)
	}
	if err := r.check(); err != nil {
		return err
	}
	if before, err := trust.ParseLevel(p.Level); err == nil && p.To != 0 {
		now, _ := trust.ParseLevel(r.level)
		if now > before {
			return fmt.Errorf("the ledgers in the folder were proved only to %v, so they cannot become part of a history at %v: download that into another folder", before, now)
		}
	}
	return nil
}

// above says whether an anchor names a ledger that is not below an index.
func above(anchor string, index uint32) bool {
	text, _, both := strings.Cut(anchor, ":")
	n, err := strconv.ParseUint(text, 10, 32)
	return both && err == nil && n >= uint64(index)
}

// inherit takes the options that were not given from the sync in the folder, if there is one.
func (r *request) inherit(given func(flag string) bool, p store.Progress) {
	if !given("server") {
		r.servers = p.Servers
	}
	if !given("level") {
		r.level = cmp.Or(p.Level, defaultLevel)
	}
	if !given("anchor") {
		r.anchor = p.Anchor
	}
	if !given("unl") {
		r.unl = p.UNL
	}
	if !given("unl-key") {
		r.unlKey = p.UNLKey
	}
}

func (r *request) check() error {
	if len(r.servers) == 0 {
		return errors.New("no server: name one with --server, such as https://xrplcluster.com or wss://s2.ripple.com")
	}
	level, err := trust.ParseLevel(r.level)
	if err != nil {
		return fmt.Errorf("--level: %w", err)
	}
	if _, _, err := r.hash(); err != nil {
		return err
	}
	if r.anchor == quorum && r.unl == "" {
		return errors.New("--anchor quorum needs the trusted validators: --unl FILE")
	}
	if r.unl == "" && r.unlKey != "" {
		return errors.New("--unl-key is the key of the publisher of --unl: add --unl FILE")
	}
	if level == trust.L3 && r.anchor != quorum {
		return errors.New("--level L3 needs an anchor by quorum: add --anchor quorum and --unl FILE")
	}
	return nil
}

func (r *request) progress() store.Progress {
	return store.Progress{From: r.from, To: r.to, Servers: slices.Clone(r.servers), Level: r.level, Anchor: r.anchor, UNL: r.unl, UNLKey: r.unlKey}
}

func (r *request) span() history.Range { return history.Range{From: r.from, To: r.to} }

// named is the given anchor, if it is a hash.
func (r *request) named() (t backfill.Trusted, ok bool, err error) {
	t, ok, err = r.hash()
	if err != nil {
		return t, false, daemon.Usage(err)
	}
	if ok && t.Index < r.to {
		return t, false, daemon.Usage(fmt.Errorf("--anchor is ledger %d, below --to %d: proofs lead down from an anchor, never up", t.Index, r.to))
	}
	return t, ok, nil
}

// hash is named without the check against the range.
func (r *request) hash() (t backfill.Trusted, ok bool, err error) {
	if r.anchor == "" || r.anchor == quorum {
		return t, false, nil
	}
	t.Index = r.to
	text := r.anchor
	if index, after, both := strings.Cut(r.anchor, ":"); both {
		n, err := strconv.ParseUint(index, 10, 32)
		if err != nil || n == 0 {
			return t, false, fmt.Errorf("--anchor %q is neither HASH, INDEX:HASH nor quorum", r.anchor)
		}
		t.Index, text = uint32(n), after
	}
	if t.Hash, err = xrpl.ParseHash(text); err != nil {
		return t, false, fmt.Errorf("--anchor: %w", err)
	}
	return t, true, nil
}
