package serve

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/answer"
)

// params are a request's parameters by name, not yet parsed.
type params map[string]json.RawMessage

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func (p params) has(name string) bool { _, ok := p[name]; return ok }

// flag reads a boolean as rippled does: all values are true except false, 0 and empty ones.
func (p params) flag(name string) bool {
	raw := bytes.TrimSpace(p[name])
	switch string(raw) {
	case "", "null", "false", `""`, "[]", "{}":
		return false
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	return err != nil || n != 0
}

// value reads a parameter of a type; not ok: there is none, or it has another type.
func value[T any](p params, name string) (v T, ok bool) {
	ok = !isNull(p[name]) && json.Unmarshal(p[name], &v) == nil
	return v, ok
}

func (p params) isBool(name string) bool { _, ok := value[bool](p, name); return ok }

func (p params) text(name string) (string, bool) { return value[string](p, name) }

func (p params) number(name string) (int64, bool) { return value[int64](p, name) }

// specifier says which ledger is requested: by hash, by index, or the newest.
type specifier struct {
	hash   *xrpl.Hash
	index  uint32
	newest bool
}

// ledger reads ledger_hash, ledger_index or the older "ledger"; default: the newest ledger.
func (p params) ledger() (specifier, error) {
	var names []string
	for _, name := range []string{"ledger", "ledger_hash", "ledger_index"} {
		if !isNull(p[name]) {
			names = append(names, name)
		}
	}
	if len(names) > 1 {
		return specifier{}, errLedgerTwice
	}
	if len(names) == 0 {
		return specifier{newest: true}, nil
	}
	name := names[0]
	text, isText := p.text(name)
	switch {
	case name == "ledger_hash" && !isText:
		return specifier{}, answer.ErrHashNotText
	case name == "ledger_hash", name == "ledger" && len(text) == 2*len(xrpl.Hash{}):
		return parseHash(text)
	case isText:
		return parseIndex(text)
	}
	n, ok := p.number(name)
	if !ok || n < 0 || n > math.MaxUint32 {
		return specifier{}, answer.ErrIndexUnreadable
	}
	return specifier{index: uint32(n)}, nil
}

func parseHash(text string) (specifier, error) {
	h, err := xrpl.ParseHash(text)
	if err != nil {
		return specifier{}, answer.ErrHashMalformed
	}
	return specifier{hash: &h}, nil
}

// parseIndex reads an index, or rippled's names for ledgers at the tip: all mean the newest here.
func parseIndex(text string) (specifier, error) {
	switch text {
	case "validated":
		return specifier{newest: true}, nil
	case "current", "":
		return specifier{}, answer.ErrNoCurrent
	case "closed":
		return specifier{}, answer.ErrNoClosed
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return specifier{}, answer.ErrIndexUnreadable
	}
	return specifier{index: uint32(n)}, nil
}
