package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"dyno/parts/refusal"
	"dyno/services/ledger/xrpl"
)

// maxRequest bounds a request in bytes. rippled accepts 1 MB; no request that this server
// understands needs more than this.
const maxRequest = 64 << 10

// params are a method's parameters: beside command and id over a WebSocket, in params[0] over HTTP.
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

type request struct {
	params
	method string
	came   []byte // the request as received
	socket *socket
}

// raw is the parameters as received, which errors repeat.
func (r *request) raw() []byte {
	if r.socket != nil || r.came == nil {
		return r.came
	}
	var outer struct{ Params []json.RawMessage }
	if json.Unmarshal(r.came, &outer) != nil || len(outer.Params) != 1 {
		return []byte("{}")
	}
	return outer.Params[0]
}

// version is the API version, 1 or 2.
func (r *request) version() int {
	if r.APIVersion == nil {
		return 1
	}
	return *r.APIVersion
}

// refuse refuses bytes that are no request, with the text that a server of its transport gives.
func refuse(text string) error { return refusal.New(http.StatusBadRequest, "%s", text) }

var (
	errParams  = errors.New("invalid parameters")
	errVersion = refuse("invalid_API_version")
)

// parsePost reads a JSON-RPC request: {"method": M, "params": [{...}]}. A refusal is answered with
// status 400 and its text.
func parsePost(body []byte) (*request, error) {
	var call struct {
		Method string
		Params []params
	}
	r := &request{came: body}
	if err := json.Unmarshal(body, &call); err != nil || call.Method == "" || len(call.Params) > 1 {
		return r, r.reject()
	}
	r.method = call.Method
	if len(call.Params) == 1 {
		r.params = call.Params[0]
	}
	return r, r.check()
}

// reject returns the error of a request over HTTP, checked in rippled's order.
func (r *request) reject() error {
	var outer struct{ Method, Params json.RawMessage }
	if err := json.Unmarshal(r.came, &outer); err != nil {
		return refuse("Unable to parse request: " + err.Error())
	}
	var params []json.RawMessage
	switch {
	case len(outer.Method) == 0 || string(outer.Method) == "null":
		return refuse("Null method")
	case outer.Method[0] != '"':
		return refuse("method is not string")
	case string(outer.Method) == `""`:
		return refuse("method is empty")
	case json.Unmarshal(outer.Params, &params) != nil || len(params) != 1 || !isObject(params[0]):
		return refuse("params unparsable")
	}
	return errParams
}

func isObject(text []byte) bool {
	first := bytes.TrimLeft(text, " \t\r\n")
	return len(first) > 0 && first[0] == '{'
}

// parseMessage reads a request from a WebSocket: {"command": M, "id": ID, ...}.
func parseMessage(message []byte, from *socket) (*request, error) {
	r := &request{came: message, socket: from}
	if err := json.Unmarshal(message, &r.params); err != nil {
		if !json.Valid(message) || !isObject(message) {
			r.came = quote(string(message))
			return r, refuse("jsonInvalid")
		}
		return r, errParams
	}
	switch {
	case r.Command != nil:
		r.method = *r.Command
	case r.Method != nil:
		r.method = *r.Method
	default:
		return r, refuse("missingCommand")
	}
	return r, r.check()
}

func (r *request) check() error {
	if v := r.version(); v < 1 || v > 2 {
		return errVersion
	}
	return nil
}

type which struct {
	index     uint32
	hash      xrpl.Hash
	byHash    bool
	validated bool // the last validated one
}

// ledger reads which ledger is requested. Its error is the message of invalidParams.
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
	case "", "null", "validated", "closed", "current": // this server has only validated ledgers
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
