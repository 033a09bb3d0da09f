package storetest

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"dyno/parts/xrpl"
)

// Real reads the real ledgers beside the repository, or skips the test if they are missing. They
// are not neighbours of each other.
func Real(t testing.TB) []*xrpl.Ledger {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
	}
	const name = "shared/data/xrpl/ledgers-binary.jsonl"
	f, err := os.Open(filepath.Join(dir, "..", name))
	if err != nil {
		t.Skipf("real ledgers are not there: ../%s", name)
	}
	defer f.Close()
	var ledgers []*xrpl.Ledger
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		l, err := parse(lines.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		ledgers = append(ledgers, l)
	}
	if err := lines.Err(); err != nil || len(ledgers) == 0 {
		t.Fatalf("%d real ledgers, %v", len(ledgers), err)
	}
	return ledgers
}

func parse(line []byte) (*xrpl.Ledger, error) {
	var answer struct {
		Result struct {
			Ledger struct {
				Data         text `json:"ledger_data"`
				Transactions []struct {
					Blob text `json:"tx_blob"`
					Meta text `json:"meta"`
				} `json:"transactions"`
			} `json:"ledger"`
			Hash  xrpl.Hash `json:"ledger_hash"`
			Index uint32    `json:"ledger_index"`
		} `json:"result"`
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, err
	}
	r := answer.Result
	l := &xrpl.Ledger{Index: r.Index, Hash: r.Hash, Header: r.Ledger.Data}
	for _, t := range r.Ledger.Transactions {
		l.Transactions = append(l.Transactions, xrpl.Transaction{Blob: t.Blob, Meta: t.Meta})
	}
	return l, xrpl.SortByIndex(l.Transactions)
}

// text is bytes in hex.
type text []byte

func (t *text) UnmarshalText(b []byte) (err error) {
	*t, err = hex.DecodeString(string(b))
	return err
}
