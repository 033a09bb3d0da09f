package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"dyno/parts/xrpl"
)

// maxRequest bounds a request in bytes. rippled takes 1 MB; nothing that is understood here needs more than this.
const maxRequest = 64 << 10

// params are what methods take. Over a WebSocket they lie beside command and id, over HTTP in params[0].
type params struct {
	Command      *string         `json:"command"`
	Method       *string         `json:"method"`
	ID           json.RawMessage `json:"id"`
	APIVersion   *int            `json:"api_version"`
	LedgerIndex  json.RawMessage `json:"ledger_index"`
	LedgerHash   *string         `json:"ledger_hash"`
	Transactions bool            `json:"transactions"`
	Expand       bool            `json:"expand"`
	Binary       bool            `json:"binary"`
	Transaction  string          `json:"transaction"`
	Streams      []string        `json:"streams"`
}

// request is one call of a method.
type request struct {
	params
	method string
	raw    []byte // the parameters as they came, which errors repeat
	socket *socket
}

// version is that of the API, 1 or 2.
func (r *request) version() int {
	if r.APIVersion == nil {
		return 1
	}
	return *r.APIVersion
}

// refusal is a request that is not even one, with the text that a server of its transport gives.
type refusal struct{ text string }

func (r refusal) Error() string { return r.text }

var (
	errParams  = errors.New("invalid parameters")
	errVersion = refusal{"invalid_API_version"}
)

// parsePost reads a JSON-RPC request: {"method": M, "params": [{...}]}. A refusal is answered 400 with its text.
func parsePost(body []byte) (*request, error) {
	var outer struct {
		Method json.RawMessage   `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(body, &outer); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) && kind.Field == "params" {
			return nil, refusal{"params unparsable"}
		}
		return nil, refusal{"Unable to parse request: " + err.Error()}
	}
	r := &request{}
	switch err := json.Unmarshal(outer.Method, &r.method); {
	case len(outer.Method) == 0 || string(outer.Method) == "null":
		return nil, refusal{"Null method"}
	case err != nil:
		return nil, refusal{"method is not string"}
	case r.method == "":
		return nil, refusal{"method is empty"}
	case len(outer.Params) > 1:
		return nil, refusal{"params unparsable"}
	}
	r.raw = []byte("{}")
	if len(outer.Params) == 1 {
		r.raw = outer.Params[0]
	}
	if first := bytes.TrimLeft(r.raw, " \t\r\n"); first[0] != '{' && string(first) != "null" {
		return nil, refusal{"params unparsable"}
	}
	return r, r.parse()
}

// parseMessage reads a request from a WebSocket: {"command": M, "id": ID, ...}. Of a refusal the request is nil.
func parseMessage(message []byte) (*request, error) {
	r := &request{raw: message}
	if !json.Valid(message) || bytes.TrimLeft(message, " \t\r\n")[0] != '{' {
		return nil, refusal{"jsonInvalid"}
	}
	err := r.parse()
	switch {
	case r.Command != nil:
		r.method = *r.Command
	case r.Method != nil:
		r.method = *r.Method
	default:
		return r, refusal{"missingCommand"}
	}
	return r, err
}

// parse reads the parameters. It leaves them as far as they could be read.
func (r *request) parse() error {
	if err := json.Unmarshal(r.raw, &r.params); err != nil {
		return errParams
	}
	if v := r.version(); v < 1 || v > 2 {
		return errVersion
	}
	return nil
}

// which is the ledger that is asked for.
type which struct {
	index     uint32
	hash      xrpl.Hash
	byHash    bool
	validated bool // the last one
}

// ledger reads which ledger is asked for. Its error is the message of invalidParams.
func (p *params) ledger() (w which, err error) {
	if p.LedgerHash != nil {
		w.byHash = true
		if w.hash, err = xrpl.ParseHash(*p.LedgerHash); err != nil {
			return w, errors.New("ledgerHashMalformed")
		}
		return w, nil
	}
	text := string(p.LedgerIndex)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	switch text {
	case "", "null", "validated", "closed", "current": // of the last two this server knows none but the validated one
		w.validated = true
		return w, nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return w, errors.New("ledgerIndexMalformed")
	}
	w.index = uint32(n)
	return w, nil
}
