package chain

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"dyno/services/ledger/xrpl"
)

// maxLine bounds a line of a replay in bytes: a ledger of 10,000 large transactions.
const maxLine = 64 << 20

// replay reads ledgers from a file, one answer to `ledger` a line. They are served unchanged.
func (c *Chain) replay(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	ledgers, err := c.readLines(f)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(ledgers) == 0 {
		return fmt.Errorf("%s: there is no ledger in it", file)
	}
	slices.SortStableFunc(ledgers, func(a, b replayed) int { return cmp.Compare(a.header.Index, b.header.Index) })
	for i, l := range ledgers {
		if i > 0 && l.header.Index == ledgers[i-1].header.Index {
			return fmt.Errorf("%s: ledger %d is there twice", file, l.header.Index)
		}
		c.insert(l.header, l.hash, l.set)
	}
	c.target = len(c.entries)
	return nil
}

type replayed struct {
	header xrpl.Header
	hash   xrpl.Hash
	set    *set
}

func (c *Chain) readLines(r io.Reader) (all []replayed, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		if len(all) == MaxLedgers {
			return nil, fmt.Errorf("there are more than %d ledgers", MaxLedgers)
		}
		l, txs, err := parseLedger(lines.Bytes())
		if err == nil {
			l.set, err = c.newSet(txs)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		all = append(all, l)
	}
	return all, lines.Err()
}

// parseLedger reads an answer to `ledger` with binary: true, in the shape of any transport and
// version of the API.
func parseLedger(line []byte) (replayed, []xrpl.Transaction, error) {
	type result struct {
		Hash   string `json:"ledger_hash"`
		Ledger *struct {
			Data         string `json:"ledger_data"`
			Transactions []struct {
				Blob   string `json:"tx_blob"`
				Meta   string `json:"meta"`
				MetaV2 string `json:"meta_blob"`
			} `json:"transactions"`
		} `json:"ledger"`
	}
	var answer struct {
		result
		Result *result `json:"result"`
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return replayed{}, nil, err
	}
	r := answer.result
	if answer.Result != nil {
		r = *answer.Result
	}
	if r.Ledger == nil || r.Ledger.Data == "" {
		return replayed{}, nil, fmt.Errorf("it is no answer to `ledger` with binary: true")
	}
	data, err := hex.DecodeString(r.Ledger.Data)
	if err != nil {
		return replayed{}, nil, fmt.Errorf("ledger_data: %w", err)
	}
	var l replayed
	if l.header, err = xrpl.ParseHeader(data); err != nil {
		return replayed{}, nil, err
	}
	if l.hash = l.header.Hash(); r.Hash != "" {
		if l.hash, err = xrpl.ParseHash(r.Hash); err != nil {
			return replayed{}, nil, err
		}
	}
	var txs []xrpl.Transaction
	for i, t := range r.Ledger.Transactions {
		blob, err := hex.DecodeString(t.Blob)
		if err != nil {
			return replayed{}, nil, fmt.Errorf("tx_blob of transaction %d: %w", i, err)
		}
		meta, err := hex.DecodeString(cmp.Or(t.Meta, t.MetaV2))
		if err != nil {
			return replayed{}, nil, fmt.Errorf("metadata of transaction %d: %w", i, err)
		}
		txs = append(txs, xrpl.Transaction{Blob: blob, Meta: meta})
	}
	return l, txs, nil
}
