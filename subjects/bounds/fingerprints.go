package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"

	"dyno/subjects/bounds/suite"
)

const maxDocument = 1 << 20 // bytes of a request's body

var fingerprints = suite.Entry{
	Name: "hash", Family: "cpu", Truth: "cpu", Function: "main.stretch",
	InWords: "each request hashes its body thousands of times over: a chain of SHA-256",
	Method:  "POST", Path: "/sign", BodyBytes: 1024, Invisible: []string{"none"},
	Remedies: []suite.Remedy{{InWords: "half as many hashes", Scale: map[string]float64{"rounds": 0.5}, CPU: 0.5, Compute: "main.stretch"}},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		n := &notary{rounds: d.Between("rounds", 3_000, 9_000)}
		return func() (*suite.Service, error) { return suite.Serving("POST /sign", n.sign), nil }
	},
}

// notary answers with the fingerprint of the request's body.
type notary struct{ rounds int }

func (n *notary) sign(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDocument))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	sum := stretch(body, n.rounds)
	io.WriteString(w, hex.EncodeToString(sum[:]))
}

// stretch hashes repeatedly, each time the previous hash: about 0.1 us per round on processors with
// SHA instructions, about 0.3 us on others.
func stretch(data []byte, rounds int) [sha256.Size]byte {
	sum := sha256.Sum256(data)
	for range rounds {
		sum = sha256.Sum256(sum[:])
	}
	return sum
}
