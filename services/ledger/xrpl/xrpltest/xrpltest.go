// Package xrpltest gives tests ledgers: real ones of the main network, from 2013 to 2025, where the
// machine has them (they are not part of the repository), and small made-up chains whose hashes,
// trees and links are right, and the same in every run. They are not signed: for signatures there
// is the simulator. It starts no goroutines.
package xrpltest

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"dyno/services/ledger/xrpl"
)

// file is in a folder above the repository. Each line is an answer to `ledger`, in binary.
var file = filepath.Join("shared", "data", "xrpl", "ledgers-binary.jsonl")

// Lines returns the answers, or skips the test.
func Lines(t testing.TB) (all [][]byte) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		f, err := os.Open(filepath.Join(dir, file))
		if err == nil {
			defer f.Close()
			lines := bufio.NewScanner(f)
			lines.Buffer(nil, 64<<20)
			for lines.Scan() {
				all = append(all, bytes.Clone(lines.Bytes()))
			}
			if err := lines.Err(); err != nil || len(all) == 0 {
				t.Fatalf("%d real ledgers, %v", len(all), err)
			}
			return all
		}
		if dir == filepath.Dir(dir) {
			t.Skipf("no folder above this one has %s: tests over real ledgers are left out", file)
		}
	}
}

// Ledgers returns the ledgers, or skips the test.
func Ledgers(t testing.TB) (ledgers []xrpl.Ledger) {
	t.Helper()
	for _, line := range Lines(t) {
		var answer struct {
			Result struct {
				Index  uint32    `json:"ledger_index"`
				Hash   xrpl.Hash `json:"ledger_hash"`
				Ledger struct {
					Header       Hex `json:"ledger_data"`
					Transactions []struct {
						Blob Hex `json:"tx_blob"`
						Meta Hex `json:"meta"`
					} `json:"transactions"`
				} `json:"ledger"`
			} `json:"result"`
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			t.Fatal(err)
		}
		r := answer.Result
		l := xrpl.Ledger{Index: r.Index, Hash: r.Hash, Header: r.Ledger.Header}
		for _, tx := range r.Ledger.Transactions {
			l.Transactions = append(l.Transactions, xrpl.Transaction{Blob: tx.Blob, Meta: tx.Meta})
		}
		ledgers = append(ledgers, l)
	}
	return ledgers
}

// Hex is bytes that JSON holds as hex digits.
type Hex []byte

// UnmarshalText decodes hex digits of either case.
func (h *Hex) UnmarshalText(text []byte) (err error) {
	*h, err = hex.AppendDecode(nil, text)
	return err
}
