package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rlp"

	"dyno/services/chain/jsonrpc"
)

// Bounds of POST /submit.
const (
	maxSubmitted    = 5_000_000 // bytes of the body
	maxTransactions = 10_000    // in it
)

var errTransactions = fmt.Errorf("a body has at most %d transactions", maxTransactions)

// submission is the answer to POST /submit.
type submission struct {
	Accepted []common.Hash `json:"accepted"`
	Refused  []refusedOne  `json:"refused"`
}

// refusedOne is a transaction that was refused.
type refusedOne struct {
	Index   int    `json:"index"` // in the body
	Code    int    `json:"code"`  // of JSON-RPC
	Message string `json:"message"`
}

// Submit serves POST /submit: the body is one transaction in its canonical form, the bytes that
// eth_sendRawTransaction takes in hexadecimal, or several, one after the other. The answer comes
// when those that are accepted are durable:
//
//	{"accepted":["0x.."],"refused":[{"index":1,"code":-32000,"message":"nonce too low: .."}]}
//
// After bytes that are no transaction, or 10,000 transactions, the rest of the body is not read;
// that is refused, too.
func Submit(p Pool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			answerJSON(w, http.StatusMethodNotAllowed, map[string]string{"error": "transactions are sent with POST"})
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSubmitted))
		if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
			io.CopyN(io.Discard, r.Body, 4*maxSubmitted) // some clients do not read an answer before they have sent all
			answerJSON(w, http.StatusRequestEntityTooLarge, map[string]string{"error": "the body is larger than 5,000,000 bytes: send it in parts"})
			return
		}
		if err != nil || len(body) == 0 {
			answerJSON(w, http.StatusBadRequest, map[string]string{"error": "the body must be transactions in their canonical form, one after the other; it is empty or did not arrive"})
			return
		}
		raws, rest := split(body)
		out := submission{Accepted: []common.Hash{}, Refused: []refusedOne{}}
		for i, done := range p.Submit(r.Context(), raws) {
			if done.Err == nil {
				out.Accepted = append(out.Accepted, done.Hash)
				continue
			}
			e := Refusal(done.Err)
			out.Refused = append(out.Refused, refusedOne{i, e.Code, e.Message})
		}
		if rest != nil {
			out.Refused = append(out.Refused, refusedOne{len(raws), jsonrpc.ServerError, "the rest of the body is not read: " + rest.Error()})
		}
		answerJSON(w, http.StatusOK, out)
	})
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // an error means that the client has gone
}

// split returns the transactions of a body, which shares its memory with them: each is a list in
// RLP, behind the byte of its type unless it is a legacy one. The error says why the rest is none.
func split(body []byte) (raws [][]byte, err error) {
	for len(body) > 0 {
		if len(raws) == maxTransactions {
			return raws, errTransactions
		}
		list := body
		if body[0] < 0x80 {
			list = body[1:]
		}
		_, rest, err := rlp.SplitList(list)
		if err != nil {
			return raws, err
		}
		size := len(body) - len(rest)
		raws, body = append(raws, body[:size:size]), rest
	}
	return raws, nil
}
