package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"dyno/parts/guard"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/answer"
)

func welcome(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `Verified XRP Ledger history.

POST /                                      JSON-RPC as rippled speaks it: ledger, tx, account_tx, server_info, ping
GET  /                                      the same over WebSocket
GET  /api/ledger/INDEX|HASH|validated       a ledger's header and the hashes of its transactions; ?binary=true: all of it
GET  /api/tx/HASH                           a transaction
GET  /api/accounts/ADDRESS/transactions     an account's, newest first; ?forward=true &limit=N &from=INDEX &to=INDEX &marker=
`)
}

// Forbid answers a request that the guard refuses, in the form of the other errors.
func (s *Server) Forbid(w http.ResponseWriter, _ *http.Request, no *guard.Refusal) {
	s.refuse(w, &answer.Error{Token: answer.ErrNoPermission.Token, Code: answer.ErrNoPermission.Code, Message: no.Text, Status: no.Status})
}

// getLedger is ledger of API version 2: decoded with hashes, or in binary with all transactions.
func (s *Server) getLedger(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("ledger")
	binary, err := strconv.ParseBool(cmp.Or(r.URL.Query().Get("binary"), "false"))
	if err != nil {
		s.refuse(w, errNot("binary", "true or false"))
		return
	}
	read := parseIndex
	if len(name) == 2*len(xrpl.Hash{}) {
		read = parseHash
	}
	at, err := read(name)
	if err != nil {
		s.refuse(w, err)
		return
	}
	p, err := s.find(r.Context(), at, 2)
	if err != nil {
		s.refuse(w, err)
		return
	}
	want := answer.Shape{Version: 2, Binary: binary, Transactions: true, Expand: binary}
	s.give(w, r, func() ([]byte, error) { return p.Result(want) }, fmt.Sprintf(`"%v-%t"`, p.Hash, binary), !at.newest)
}

// getTransaction is the method tx of API version 2 in binary.
func (s *Server) getTransaction(w http.ResponseWriter, r *http.Request) {
	id, err := xrpl.ParseHash(r.PathValue("hash"))
	if err != nil {
		s.refuse(w, answer.ErrInvalidParams.Saying(err.Error()))
		return
	}
	s.give(w, r, func() ([]byte, error) {
		p, tx, err := s.locate(r.Context(), id)
		if err != nil {
			return nil, explain(err, answer.ErrNoTransaction)
		}
		return p.Found(tx, 2, true, s.config.Network())
	}, "", true)
}

// getAccount is the method account_tx of API version 2 in binary, with a path to the next page.
func (s *Server) getAccount(w http.ResponseWriter, r *http.Request) {
	s.give(w, r, func() ([]byte, error) { return s.accountByPath(r.Context(), r.PathValue("account"), r.URL.Query()) }, "", false)
}

// accountByPath converts a path and query to a call of account_tx.
func (s *Server) accountByPath(ctx context.Context, account string, query url.Values) ([]byte, error) {
	p := params{"binary": json.RawMessage("true"), "account": quoted(account)}
	for name, param := range map[string]string{"forward": "forward", "limit": "limit", "from": "ledger_index_min", "to": "ledger_index_max"} {
		if text := query.Get(name); text != "" {
			if !json.Valid([]byte(text)) || name != "forward" && !isDigits(text) {
				return nil, errField(name)
			}
			p[param] = json.RawMessage(text)
		}
	}
	if text := query.Get("marker"); text != "" {
		index, position, ok := strings.Cut(text, ":")
		if !ok || !isDigits(index) || !isDigits(position) {
			return nil, errField("marker")
		}
		p["marker"] = fmt.Appendf(nil, `{"ledger":%s,"seq":%s}`, index, position)
	}
	q, err := p.account(2)
	if err != nil {
		return nil, err
	}
	if q.ledgers, err = s.ledgersOf(ctx, &call{params: p, version: 2}); err != nil {
		return nil, err
	}
	b, next, err := s.accountPage(ctx, q)
	if err != nil || next == nil {
		return b, err
	}
	query.Set("marker", fmt.Sprintf("%d:%d", next.Index, next.Position))
	path := "/api/accounts/" + url.PathEscape(account) + "/transactions?" + query.Encode()
	return append(append(append(b[:len(b)-1], `,"next":`...), quoted(path)...), '}'), nil
}

func quoted(text string) json.RawMessage {
	b, _ := json.Marshal(text) // strings never fail
	return b
}

// isDigits says whether text is a JSON integer: digits without a leading zero.
func isDigits(text string) bool {
	return text != "" && (text == "0" || text[0] != '0') && strings.Trim(text, "0123456789") == ""
}

// give answers a GET. The result for a hash or an index never changes, so clients may cache it
// (immutable); with an entity tag, a client that has it gets 304 before anything is rendered.
func (s *Server) give(w http.ResponseWriter, r *http.Request, render func() ([]byte, error), tag string, immutable bool) {
	h := w.Header()
	if tag != "" && strings.Contains(r.Header.Get("If-None-Match"), tag) {
		h.Set("ETag", tag)
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body, err := render()
	if err != nil {
		s.refuse(w, err)
		return
	}
	h.Set("Cache-Control", "no-cache")
	if immutable {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if tag != "" {
		h.Set("ETag", tag)
	}
	h.Set("Content-Type", "application/json; charset=UTF-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

func (s *Server) refuse(w http.ResponseWriter, err error) {
	f := s.fault(&call{method: "GET"}, err)
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(f.Status)
	result := f.Members()
	result["status"] = "error"
	_, _ = w.Write(encode(result))
}
