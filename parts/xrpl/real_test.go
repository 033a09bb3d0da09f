package xrpl

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// realFile contains real ledgers, one response per line. It is not part of the repository.
var realFile = filepath.Join("..", "..", "..", "shared", "data", "xrpl", "ledgers-binary.jsonl")

// real returns real ledgers, from 2013 to 2025. Their bytes are shared by all tests.
func real(t testing.TB) []Ledger {
	t.Helper()
	ledgers, err := readReal()
	if os.IsNotExist(err) {
		t.Skipf("no real ledgers in %s: tests over them are left out", realFile)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ledgers
}

var readReal = sync.OnceValues(func() (ledgers []Ledger, err error) {
	f, err := os.Open(realFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var answer struct {
			Result struct {
				Index  uint32 `json:"ledger_index"`
				Hash   Hash   `json:"ledger_hash"`
				Ledger struct {
					Header       hexBytes `json:"ledger_data"`
					Transactions []struct {
						Blob hexBytes `json:"tx_blob"`
						Meta hexBytes `json:"meta"`
					} `json:"transactions"`
				} `json:"ledger"`
			} `json:"result"`
		}
		if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
			return nil, err
		}
		r := answer.Result
		l := Ledger{Index: r.Index, Hash: r.Hash, Header: r.Ledger.Header}
		for _, tx := range r.Ledger.Transactions {
			l.Transactions = append(l.Transactions, Transaction{Blob: tx.Blob, Meta: tx.Meta})
		}
		ledgers = append(ledgers, l)
	}
	return ledgers, lines.Err()
})

type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.AppendDecode(nil, text)
	return err
}
